// What is promised, who said so, what would change? The contract with the origin of every value, its plan, and a diff.
import { useMemo, useState } from "react";
import { Link } from "wouter";
import { part, post, Trouble, useGet } from "../api";
import { plural } from "../format";
import { Shown, Tabs } from "../parts/bits";
import { Mark } from "../parts/marks";
import { Asked, Skeleton, TroubleState } from "../parts/state";
import type { Contract, Value } from "../types";
import { useChoices } from "../url";
import type { Role } from "../verdict";
import { type Line, lines } from "../yaml";

interface Change {
  path: string;
  before: Value;
  after: Value;
  gravity: string;
  reason: string;
}
interface Diff {
  verdict: string;
  changes: Change[];
}
const VERDICT: Record<string, [Role, string]> = { breaking: ["bad", "Breaking"], "needs care": ["warn", "Needs care"], safe: ["good", "Safe"], same: ["skip", "The same"] };

export default function ContractPage({ dataset }: { dataset: string }) {
  const [choices, choose] = useChoices();
  const found = useGet<Contract>(`/contracts/${part(dataset)}`);
  const tab = choices.tab ?? "contract";
  return (
    <Asked of={found} what="The contract" skeleton={<Skeleton rows={14} />}>
      {(told) => {
        const files = [...new Set(told.origins.map((one) => one.file))];
        const values = lines(told.document).filter((one) => one.value !== null).length;
        return (
          <>
            <div className="head">
              <div className="line">
                <h1>{told.dataset}</h1>
                <span className="chip line">contract {told.version ?? "without a version"}</span>
                <span className="actions">
                  <Link className="btn" href={`/datasets/${part(dataset)}`}>
                    Dataset
                  </Link>
                  <Link className="btn" href={`/graph?focus=${part(dataset)}`}>
                    Graph
                  </Link>
                </span>
              </div>
              <p className="finding">
                {plural(values, "value")} out of {plural(files.length, "file")}
                {told.packs.length > 0 && ` and ${plural(told.packs.length, "policy pack")} (${told.packs.join(", ")})`}.
              </p>
            </div>
            <Tabs
              label="Parts of the contract"
              chosen={tab}
              onChoose={(id) => choose({ tab: id === "contract" ? undefined : id })}
              tabs={[
                { id: "contract", name: "With origins" },
                { id: "plan", name: "What a run does" },
                { id: "diff", name: "Compare with a change" },
              ]}
            />
            {tab === "contract" && <Tree told={told} />}
            {tab === "plan" && <Plan dataset={dataset} />}
            {tab === "diff" && <Compare told={told} />}
          </>
        );
      }}
    </Asked>
  );
}

function originKind(file: string, own: string): [string, string] {
  const name = file.split("/").pop() ?? file;
  if (file === own) return ["dataset", "dataset"];
  if (name.startsWith("_domain")) return ["domain", "domain"];
  if (name.startsWith("_system")) return ["system", "system"];
  if (name.startsWith("_registry")) return ["registry", "registry"];
  if (file.includes("pack")) return ["pack", "pack"];
  return ["other", "file"];
}

function Tree({ told }: { told: Contract }) {
  const [choices, choose] = useChoices();
  const only = choices.from;
  const origins = useMemo(() => new Map(told.origins.map((one) => [one.path, one])), [told]);
  const all = useMemo(() => lines(told.document), [told]);
  const find = (path: string) => {
    let at = path;
    while (at) {
      const found = origins.get(at);
      if (found) return found;
      const cut = Math.max(at.lastIndexOf("."), at.lastIndexOf("["));
      at = cut < 0 ? "" : at.slice(0, cut);
    }
    return null;
  };
  const kinds = new Map<string, number>();
  for (const one of all) {
    const from = find(one.path);
    const kind = from ? originKind(from.file, told.file)[0] : "default";
    if (one.value !== null) kinds.set(kind, (kinds.get(kind) ?? 0) + 1);
  }
  const shown = only ? all.filter((one) => one.value !== null && (() => {
    const from = find(one.path);
    return (from ? originKind(from.file, told.file)[0] : "default") === only;
  })()) : all;
  return (
    <div className="section">
      <div className="row wrap small">
        <span className="muted">Values from</span>
        {[...kinds].map(([kind, number]) => (
          <button key={kind} type="button" className={`chip ${only === kind ? "run" : "line"}`} aria-pressed={only === kind} onClick={() => choose({ from: only === kind ? undefined : kind })}>
            {kind} {number}
          </button>
        ))}
      </div>
      <div className="tree" tabIndex={0} role="region" aria-label="Contract with origins">
        {shown.map((one, number) => {
          const from = find(one.path);
          const before = number > 0 ? find(shown[number - 1]?.path ?? "") : null;
          return <TreeLine key={one.path + number} line={one} flat={Boolean(only)} from={from} own={told.file} same={Boolean(from && before && before.file === from.file)} />;
        })}
      </div>
    </div>
  );
}

function TreeLine({ line, from, own, same, flat }: { line: Line; from: { file: string; line: number } | null; own: string; same: boolean; flat: boolean }) {
  const [kind, word] = from ? originKind(from.file, own) : ["default", "default"];
  return (
    <div className="ln">
      <span className="code" style={{ paddingLeft: flat ? 0 : line.indent * 16 }}>
        {flat && <span className="muted">{line.path.includes(".") ? `${line.path.slice(0, line.path.lastIndexOf("."))}.` : ""}</span>}
        {line.dash && !flat && <span className="dash">- </span>}
        {line.key !== null && (
          <>
            <span className="k">{line.key}</span>:{" "}
          </>
        )}
        {line.value !== null && <span className={line.kind}>{line.value}</span>}
      </span>
      <span className={`origin${same ? " same" : ""}`}>
        {(!same || kind !== "dataset") && <span className={`from ${kind}`}>{word}</span>}
        {from ? (
          <span title={`${from.file}:${from.line}`}>
            {same ? "" : `${from.file.split("/").pop()}`}:{from.line}
          </span>
        ) : (
          ""
        )}
      </span>
    </div>
  );
}

function Plan({ dataset }: { dataset: string }) {
  const plan = useGet<{ text: string }>(`/contracts/${part(dataset)}/explain`);
  return (
    <Asked of={plan} what="The plan">
      {(told) => (
        <pre className="pre" tabIndex={0}>
          {told.text}
        </pre>
      )}
    </Asked>
  );
}

function Compare({ told }: { told: Contract }) {
  const [draft, setDraft] = useState(told.text);
  const [found, setFound] = useState<Diff | null>(null);
  const [failed, setFailed] = useState<Trouble | null>(null);
  const [busy, setBusy] = useState(false);
  const compare = async () => {
    setBusy(true);
    setFailed(null);
    try {
      setFound(await post<Diff>(`/contracts/${part(told.dataset)}/diff`, { text: draft }));
    } catch (error) {
      setFound(null);
      setFailed(error instanceof Trouble ? error : new Trouble(0, {}));
    }
    setBusy(false);
  };
  return (
    <div className="split">
      <section className="section">
        <div className="field">
          <label htmlFor="draft">The contract as it would be (YAML). Nothing is saved.</label>
          <textarea id="draft" className="input mono" spellCheck={false} style={{ minHeight: 460 }} value={draft} onChange={(event) => setDraft(event.target.value)} />
        </div>
        <div className="row">
          <button type="button" className="btn first" disabled={busy || !draft.trim()} onClick={compare}>
            Compare
          </button>
          <button type="button" className="btn" onClick={() => setDraft(told.text)}>
            Start again
          </button>
        </div>
      </section>
      <section className="section" aria-live="polite">
        {failed && (
          <>
            <TroubleState error={failed} what="The comparison" />
            {failed.diagnostics.map((one, number) => (
              <div key={number} className="banner bad">
                {one.line && `line ${one.line}: `}
                {one.message} {one.hint}
              </div>
            ))}
          </>
        )}
        {found ? (
          <>
            <p className={`verdict-big ink-${VERDICT[found.verdict]?.[0]}`} data-verdict={found.verdict}>
              <Mark role={VERDICT[found.verdict]?.[0] ?? "unknown"} size={26} />
              {VERDICT[found.verdict]?.[1] ?? found.verdict}
            </p>
            <p className="muted">{found.changes.length ? `${plural(found.changes.length, "change")}, the gravest first.${found.verdict === "breaking" ? " It needs a new major version." : ""}` : "Nothing that readers or runs would notice."}</p>
            <ul>
              {found.changes.map((one) => (
                <li key={one.path} className="rule">
                  <Mark role={VERDICT[one.gravity]?.[0] ?? "unknown"} size={10} />
                  <code>{one.path}</code>
                  <span className={`small ink-${VERDICT[one.gravity]?.[0]}`}>{one.gravity}</span>
                  <span className="why">
                    <code>
                      <Shown value={one.before} />
                    </code>{" "}
                    →{" "}
                    <code>
                      <Shown value={one.after} />
                    </code>
                    <br />
                    {one.reason}
                  </span>
                </li>
              ))}
            </ul>
          </>
        ) : (
          !failed && <p className="muted">Change something on the left and compare: the verdict comes first, then every change by gravity with what it means for readers.</p>
        )}
      </section>
    </div>
  );
}
