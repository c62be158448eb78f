export default function Page(_: { dataset?: string }) { return <h1>kpis</h1>; }
