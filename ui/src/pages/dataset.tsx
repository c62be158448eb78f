// Can I use this now? One sentence, its history, its columns, its rows, and what is around it.
import { useState } from "react";
import { Link, useLocation } from "wouter";
import { part, post, Trouble, useGet } from "../api";
import { age, count, duration, plural, words } from "../format";
import { Ago, Dialog, Num, OutcomeBar, Shown, Tabs } from "../parts/bits";
import { History } from "../parts/history";
import { Letter, Mark, VerdictChip } from "../parts/marks";
import { Asked, Empty, Skeleton, TroubleState } from "../parts/state";
import { Table } from "../parts/table";
import type { ColumnLineage, DatasetDetail, Job, Level, Page, Promise_, Queue, Sample } from "../types";
import { useChoices } from "../url";
import { dataVerdict, goodShare, judged, ranVerdict } from "../verdict";

export default function DatasetPage({ dataset }: { dataset: string }) {
  const found = useGet<DatasetDetail>(`/datasets/${part(dataset)}`);
  return (
    <Asked of={found} what="The dataset" skeleton={<Skeleton rows={12} />}>
      {(one) => <Told told={one} />}
    </Asked>
  );
}

function Told({ told }: { told: DatasetDetail }) {
  const [choices, choose] = useChoices();
  const [running, setRunning] = useState(false);
  const [, go] = useLocation();
  const queues = useGet<Page<Queue>>("/quarantine");
  const levels = useGet<Page<Promise_>>("/service-levels");
  const queue = queues.data?.items.find((one) => one.dataset === told.dataset);
  const promise = levels.data?.items.find((one) => one.dataset === told.dataset);
  const last = judged(told.runs);
  const waiting = queue?.active ?? 0;
  const tab = choices.tab ?? "overview";
  const missed = (promise?.levels ?? []).filter((one) => one.kept === false);
  return (
    <>
      <div className="head">
        <div className="line">
          <Letter layer={told.layer} />
          <h1>{told.dataset}</h1>
          <VerdictChip verdict={ranVerdict(told.last_run?.status)} title={told.last_run?.reason ?? undefined} />
          <VerdictChip verdict={waiting ? { role: "bad", word: `${count(waiting)} quarantined` } : dataVerdict(last)} />
          <span className="actions">
            <Link className="btn" href={`/graph?focus=${part(told.dataset)}`}>
              Graph
            </Link>
            <Link className="btn" href={`/contracts/${part(told.dataset)}`}>
              Contract
            </Link>
            {waiting > 0 && (
              <Link className="btn" href={`/quarantine?dataset=${part(told.dataset)}`}>
                Quarantine
              </Link>
            )}
            <button type="button" className="btn first" onClick={() => setRunning(true)}>
              Run…
            </button>
          </span>
        </div>
        <p className="finding">
          {told.last_run ? (
            <>
              {last ? (
                <>
                  Newest rows <strong>{age(last.started_at)}</strong> old
                  {last.target_version !== null && <>, version {last.target_version}</>}
                  <span className="sep">·</span>
                  {goodShare(last)} good
                </>
              ) : (
                "No run has read a row yet"
              )}
              {waiting > 0 && (
                <>
                  <span className="sep">·</span>
                  <Link href={`/quarantine?dataset=${part(told.dataset)}`} className="ink-bad" data-count={waiting}>
                    {plural(waiting, "row")} quarantined
                  </Link>
                </>
              )}
              {missed.length > 0 && (
                <>
                  <span className="sep">·</span>
                  <Link href="/levels" className="ink-bad">
                    {plural(missed.length, "promise")} missed
                  </Link>
                </>
              )}
            </>
          ) : (
            "It has never run. Its contract tells what the first run would do."
          )}
        </p>
        <p className="muted small">
          {told.title && `${told.title} · `}
          {[told.domain, told.system].filter(Boolean).join(" / ")} · {told.owner ?? "nobody owns it"} · contract {told.contract_version ?? "–"} · {told.strategy} into <code>{told.target}</code>
          {told.description && (
            <>
              <br />
              {told.description}
            </>
          )}
        </p>
      </div>
      {told.last_run && (told.last_run.status === "held_back" || told.last_run.status === "gated") && (
        <div className="banner held">
          <Mark role="held" /> {told.last_run.reason} {told.last_run.status === "gated" && <Link href="/approvals">Decide</Link>}
        </div>
      )}
      <Tabs
        label="Parts of the dataset"
        chosen={tab}
        onChoose={(id) => choose({ tab: id === "overview" ? undefined : id, column: undefined })}
        tabs={[
          { id: "overview", name: "Overview" },
          { id: "schema", name: "Columns", count: told.fields.length },
          { id: "runs", name: "Runs" },
          { id: "sample", name: "Rows" },
        ]}
      />
      {tab === "overview" && <Overview told={told} promise={promise?.levels ?? []} queue={queue} go={go} />}
      {tab === "schema" && <Schema told={told} />}
      {tab === "runs" && <RunsTab told={told} />}
      {tab === "sample" && <Rows told={told} />}
      {running && <StartRun dataset={told.dataset} onClose={() => setRunning(false)} />}
    </>
  );
}

function Overview({ told, promise, queue, go }: { told: DatasetDetail; promise: Level[]; queue: Queue | undefined; go: (href: string) => void }) {
  const rules = Object.entries(queue?.rules ?? {}).sort((a, b) => b[1] - a[1]);
  return (
    <div className="side">
      <section className="section">
        <h2>History</h2>
        <History runs={told.runs} onOpen={(run) => go(`/runs/${run}`)} />
      </section>
      <div className="section">
        {rules.length > 0 && (
          <section className="rows">
            <h2>Failing rules</h2>
            <ul>
              {rules.slice(0, 6).map(([rule, number]) => (
                <li key={rule} className="rule">
                  <Mark role="bad" size={10} />
                  <span>{words(rule)}</span>
                  <Link className="num" href={`/quarantine?dataset=${part(told.dataset)}&rule=${part(rule)}`} data-count={number}>
                    {count(number)}
                  </Link>
                </li>
              ))}
            </ul>
            {rules.length > 6 && (
              <Link className="small" href={`/quarantine?dataset=${part(told.dataset)}`}>
                and {rules.length - 6} more
              </Link>
            )}
          </section>
        )}
        <section className="rows">
          <h2>Promises</h2>
          {promise.length ? (
            <ul>
              {promise.map((one) => (
                <li key={one.name} className="rule">
                  <Mark role={one.kept === null ? "unknown" : one.kept ? "good" : "bad"} size={10} />
                  <span>{words(one.name)}</span>
                  <span className="muted small">{one.promised ?? one.expected}</span>
                </li>
              ))}
            </ul>
          ) : (
            <p className="muted">Nothing is promised.</p>
          )}
        </section>
        <section className="rows">
          <h2>Around it</h2>
          <dl className="facts">
            <dt>Reads</dt>
            <dd>{told.upstreams.length ? told.upstreams.map((one) => <Neighbour key={one} name={one} />) : <span className="muted">its source</span>}</dd>
            <dt>Feeds</dt>
            <dd>{told.downstreams.length ? told.downstreams.map((one) => <Neighbour key={one} name={one} />) : <span className="muted">nothing of this estate</span>}</dd>
          </dl>
        </section>
      </div>
    </div>
  );
}
function Neighbour({ name }: { name: string }) {
  return (
    <div>
      <Link href={`/datasets/${part(name)}`}>{name}</Link>
    </div>
  );
}

function Schema({ told }: { told: DatasetDetail }) {
  const [choices, choose] = useChoices();
  const [text, setText] = useState("");
  const lineage = useGet<ColumnLineage>(`/lineage/columns/${part(told.dataset)}`);
  const from = new Map((lineage.data?.columns ?? []).map((one) => [one.column, one]));
  const shown = told.fields.filter((one) => one.name.toLowerCase().includes(text.toLowerCase()));
  return (
    <div className="section">
      {told.fields.length > 12 && <input className="input" style={{ maxWidth: 280 }} aria-label="Search columns" placeholder="Search columns" value={text} onChange={(event) => setText(event.target.value)} />}
      <Table label="Columns" heads={["Column", "Type", "Required", "Personal data", "Comes from", "Read by"]}>
        {shown.map((one) => {
          const known = from.get(one.name);
          const open = choices.column === one.name;
          return (
            <tr key={one.name} className={open ? "chosen" : undefined}>
              <td>
                <code>{one.name}</code>
                {told.primary_key.includes(one.name) && <span className="chip line" style={{ marginLeft: 8 }}>key</span>}
                {one.description && <div className="muted small">{one.description}</div>}
              </td>
              <td className="mono muted">{one.type}</td>
              <td>{one.required ? "required" : <span className="muted">may be null</span>}</td>
              <td>{one.personal ? <span className="chip held">{one.masking ? `masked: ${one.masking}` : "in clear"}</span> : <span className="muted">–</span>}</td>
              <td>
                {known ? (
                  known.upstream.length ? (
                    known.upstream.slice(0, 3).map((up) => (
                      <div key={up.name + up.column} className="small">
                        <span className="chip line">{up.kind}</span>{" "}
                        {up.dataset ? (
                          <Link href={`/graph?focus=${part(told.dataset)}&column=${part(one.name)}`}>
                            {up.dataset}.{up.column}
                          </Link>
                        ) : (
                          <code className="muted">{up.column}</code>
                        )}
                      </div>
                    ))
                  ) : (
                    <span className="muted small">{known.kind}</span>
                  )
                ) : (
                  <span className="muted">–</span>
                )}
              </td>
              <td className="small">
                {known?.downstream.slice(0, 3).map((down) => (
                  <div key={down.dataset + down.column}>
                    <Link href={`/datasets/${part(down.dataset)}?tab=schema&column=${part(down.column)}`}>
                      {down.dataset}.{down.column}
                    </Link>
                  </div>
                ))}
                {known && known.downstream.length > 3 && (
                  <button type="button" className="fold" onClick={() => choose({ column: one.name })}>
                    {known.downstream.length - 3} more
                  </button>
                )}
              </td>
            </tr>
          );
        })}
      </Table>
    </div>
  );
}

function RunsTab({ told }: { told: DatasetDetail }) {
  if (!told.runs.length)
    return (
      <Empty title="It has never run">
        <p>
          Run it here, or with <code>lakelogic run {told.file}</code>.
        </p>
      </Empty>
    );
  return (
    <div className="section">
      <Table label="Runs" heads={["Started", "Run", "Data", "Outcome", { name: "Read", num: true }, { name: "Good", num: true }, { name: "Bad", num: true }, { name: "Version", num: true }, { name: "Took", num: true }]}>
        {told.runs.map((one) => (
          <tr key={one.run_id}>
            <td>
              <Link href={`/runs/${one.run_id}`}>
                <Ago at={one.started_at} />
              </Link>
            </td>
            <td>
              <VerdictChip verdict={ranVerdict(one.status)} title={one.reason ?? undefined} />
            </td>
            <td>
              <VerdictChip verdict={dataVerdict(one)} />
            </td>
            <td>
              <OutcomeBar run={one} />
            </td>
            <td className="num">{count(one.counts_source)}</td>
            <td className="num">{count(one.counts_good)}</td>
            <td className="num">
              <Num value={one.counts_quarantined} role="bad" href={`/quarantine?dataset=${part(told.dataset)}&run=${part(one.run_id)}&state=all`} />
            </td>
            <td className="num">{one.target_version ?? "–"}</td>
            <td className="num muted">{duration(one.duration_seconds)}</td>
          </tr>
        ))}
      </Table>
      <Link className="more" href={`/runs?dataset=${part(told.dataset)}&all=1`}>
        All its runs
      </Link>
    </div>
  );
}

function Rows({ told }: { told: DatasetDetail }) {
  const sample = useGet<Sample>(`/datasets/${part(told.dataset)}/sample?limit=50`);
  const numbers = new Set(told.fields.filter((one) => /^((tiny|small|big)?int|long|double|float|decimal)/.test(one.type)).map((one) => one.name));
  return (
    <Asked of={sample} what="The rows">
      {(one) =>
        one.rows.length ? (
          <div className="section">
            <p className="muted small">
              {one.rows.length} of {plural(one.total ?? 0, "row")} of <code>{one.table}</code>
              {one.version !== null && `, version ${one.version}`}. Masked values stay masked.
            </p>
            <Table label="Rows" dense heads={one.columns.map((name) => ({ name, num: numbers.has(name) }))}>
              {one.rows.map((row, number) => (
                <tr key={number}>
                  {one.columns.map((name) => (
                    <td key={name} className={`mono nowrap${numbers.has(name) ? " num" : ""}`}>
                      <span className="cell-text" title={typeof row[name] === "string" && row[name].length > 36 ? row[name] : undefined}>
                        <Shown value={row[name]} />
                      </span>
                    </td>
                  ))}
                </tr>
              ))}
            </Table>
          </div>
        ) : (
          <Empty title="The table has no rows">
            <p>It has never been written, or everything is quarantined.</p>
          </Empty>
        )
      }
    </Asked>
  );
}

function StartRun({ dataset, onClose }: { dataset: string; onClose: () => void }) {
  const [why, setWhy] = useState("");
  const [plan, setPlan] = useState<string | null>(null);
  const [failed, setFailed] = useState<unknown>(null);
  const [busy, setBusy] = useState(false);
  const [once] = useState(() => `page-${crypto.randomUUID()}`);
  const [, go] = useLocation();
  const start = async () => {
    setBusy(true);
    try {
      const job = await post<Job>("/runs", { dataset, why: why.trim() || null }, once);
      go(`/jobs/${job.job_id}`);
    } catch (error) {
      setFailed(error instanceof Trouble ? error : new Trouble(0, {}));
      setBusy(false);
    }
  };
  return (
    <Dialog
      open
      onClose={onClose}
      title={`Run ${dataset}`}
      footer={
        <>
          <button
            type="button"
            className="btn"
            onClick={() =>
              post<{ text: string }>("/runs/dry-run", { dataset })
                .then((told) => setPlan(told.text))
                .catch(setFailed)
            }
          >
            Show the plan
          </button>
          <span className="grow" />
          <button type="button" className="btn first" disabled={busy} onClick={start}>
            Run {dataset}
          </button>
        </>
      }
    >
      <p>A worker reads what is new, judges it by the contract as it is now, and publishes what is good. You can leave meanwhile.</p>
      <div className="field">
        <label htmlFor="run-why">Why (may stay empty; kept in the ledger)</label>
        <input id="run-why" className="input" value={why} onChange={(event) => setWhy(event.target.value)} />
      </div>
      {failed !== null && <TroubleState error={failed} what="The run" />}
      {plan && (
        <pre className="pre" tabIndex={0}>
          {plan}
        </pre>
      )}
    </Dialog>
  );
}
