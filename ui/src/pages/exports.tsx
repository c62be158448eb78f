// Did consumers get it? What each destination has, and what it lacks to be used at all.
import { useGet } from "../api";
import { plural, words } from "../format";
import { Shown } from "../parts/bits";
import { VerdictChip } from "../parts/marks";
import { Asked, Empty } from "../parts/state";
import type { Value, Values } from "../types";
import type { Role } from "../verdict";

interface Destination {
  configured: boolean;
  status: string;
  missing: string[];
}
interface Told {
  exports: Record<string, Destination>;
  items?: Values[];
  datasets?: Values[];
}
const NAMES: Record<string, string> = { snowflake: "Snowflake", databricks: "Databricks Unity Catalog", s3: "S3" };

export default function Exports() {
  const found = useGet<Told>("/exports");
  return (
    <Asked of={found} what="The exports">
      {(told) => {
        const all = Object.entries(told.exports ?? {});
        const ready = all.filter(([, one]) => one.configured).length;
        const items = told.items ?? told.datasets ?? [];
        return (
          <>
            <div className="head">
              <h1>Exports</h1>
              <p className="finding">{ready ? `${ready} of ${plural(all.length, "destination")} can be used from here.` : "No destination is set up on this machine. Nothing fails because of that."}</p>
            </div>
            <section className="section">
              <h2>Destinations</h2>
              <div className="scroll-x" tabIndex={0} role="region" aria-label="Destinations">
                <table className="table">
                  <thead>
                    <tr>
                      <th scope="col">Destination</th>
                      <th scope="col">State</th>
                      <th scope="col">What it lacks</th>
                    </tr>
                  </thead>
                  <tbody>
                    {all.map(([name, one]) => (
                      <tr key={name}>
                        <td>
                          <strong>{NAMES[name] ?? words(name)}</strong>
                        </td>
                        <td>
                          <VerdictChip verdict={one.configured ? { role: "good", word: "Ready" } : { role: "unknown", word: "Not set up" }} />
                        </td>
                        <td>{one.missing.length ? one.missing.map((variable) => <code key={variable} className="chip line" style={{ marginRight: 4 }}>{variable}</code>) : <span className="muted">nothing</span>}</td>
                      </tr>
                    ))}
                  </tbody>
                </table>
              </div>
            </section>
            {items.length > 0 ? (
              <section className="section">
                <h2>Deliveries</h2>
                <Deliveries items={items} />
              </section>
            ) : (
              <Empty title="No contract exports anything">
                <p>
                  Write <code>exports:</code> into a contract and run <code>lakelogic export</code>; deliveries appear here, dataset by destination.
                </p>
              </Empty>
            )}
          </>
        );
      }}
    </Asked>
  );
}

const STATE: Record<string, Role> = { done: "good", delivered: "good", current: "good", failed: "bad", behind: "warn", held_back: "held" };
function Deliveries({ items }: { items: Values[] }) {
  const columns = [...new Set(items.flatMap((one) => Object.keys(one)))].filter((name) => items.some((one) => one[name] !== null && typeof one[name] !== "object"));
  return (
    <div className="scroll-x" tabIndex={0} role="region" aria-label="Deliveries">
      <table className="table">
        <thead>
          <tr>
            {columns.map((name) => (
              <th scope="col" key={name}>
                {words(name)}
              </th>
            ))}
          </tr>
        </thead>
        <tbody>
          {items.map((one, number) => (
            <tr key={number}>
              {columns.map((name) => (
                <td key={name}>{name === "state" || name === "status" ? <VerdictChip verdict={{ role: STATE[String(one[name])] ?? "unknown", word: words(String(one[name])) }} /> : <Shown value={one[name] as Value} />}</td>
              ))}
            </tr>
          ))}
        </tbody>
      </table>
    </div>
  );
}
