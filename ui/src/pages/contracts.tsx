export default function Page() { return <h1>contracts</h1>; }
