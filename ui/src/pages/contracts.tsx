// Every contract of the estate, and whether they fit together.
import { useState } from "react";
import { Link } from "wouter";
import { part, useGet } from "../api";
import { middle, plural } from "../format";
import { Letter, Mark } from "../parts/marks";
import { Asked, Empty, NoMatch } from "../parts/state";
import { Table } from "../parts/table";

interface Told {
  valid: boolean;
  summary: string;
  diagnostics?: { code?: string; severity?: string; message?: string; hint?: string; file?: string; line?: number }[];
  datasets: { dataset: string; entity: string; layer: string | null; domain: string | null; system: string | null; owner: string | null; enabled: boolean; file: string; strategy: string; target: string; packs: string[] }[];
}

export default function Contracts() {
  const found = useGet<Told>("/estate");
  const [text, setText] = useState("");
  return (
    <>
      <div className="head">
        <h1>Contracts</h1>
        {found.data && (
          <p className="finding">
            {found.data.summary}
          </p>
        )}
      </div>
      <Asked of={found} what="The contracts">
        {(told) => {
          const shown = told.datasets.filter((one) => `${one.dataset} ${one.domain} ${one.owner} ${one.file}`.toLowerCase().includes(text.toLowerCase()));
          return (
            <>
              {(told.diagnostics ?? []).map((one, number) => (
                <div key={number} className={`banner ${one.severity === "error" ? "bad" : "warn"}`}>
                  <Mark role={one.severity === "error" ? "bad" : "warn"} /> {one.code} {one.message}
                  <span className="small">
                    {one.file}
                    {one.line && `:${one.line}`} {one.hint}
                  </span>
                </div>
              ))}
              {told.datasets.length === 0 ? (
                <Empty title="No contract was found">
                  <p>
                    Serve a folder that has some: <code>lakelogic serve contracts</code>.
                  </p>
                </Empty>
              ) : (
                <div className="section">
                  <div className="row wrap">
                    <input className="input" style={{ maxWidth: 320 }} aria-label="Search contracts" placeholder="Name, domain, owner or file" value={text} onChange={(event) => setText(event.target.value)} />
                    <span className="muted small" role="status">{plural(shown.length, "contract")}</span>
                  </div>
                  {shown.length === 0 ? (
                    <NoMatch what="contracts" onClear={() => setText("")} />
                  ) : (
                    <Table label="Contracts" heads={["Dataset", "Domain", "Owner", { name: "Writes", wide: true }, { name: "File", wide: true }]}>
                      {shown.map((one) => (
                        <tr key={one.dataset + one.file}>
                          <td>
                            <span className="row">
                              <Letter layer={one.layer} />
                              <Link href={`/contracts/${part(one.dataset)}`}>{one.dataset}</Link>
                              {!one.enabled && <span className="chip skip">off</span>}
                            </span>
                          </td>
                          <td className="muted nowrap">{[one.domain, one.system].filter(Boolean).join(" / ")}</td>
                          <td className="nowrap">{one.owner ?? <span className="muted">nobody</span>}</td>
                          <td className="wide-only nowrap">
                            <code>{one.target}</code> <span className="muted small">{one.strategy}</span>
                          </td>
                          <td className="mono muted wide-only nowrap" title={one.file}>
                            {middle(one.file, 30)}
                          </td>
                        </tr>
                      ))}
                    </Table>
                  )}
                </div>
              )}
            </>
          );
        }}
      </Asked>
    </>
  );
}
