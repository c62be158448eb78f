export default function Page(_: { dataset: string }) { return <h1>contract</h1>; }
