export default function Page() { return <h1>levels</h1>; }
