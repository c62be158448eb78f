export default function Page() { return <h1>graph</h1>; }
