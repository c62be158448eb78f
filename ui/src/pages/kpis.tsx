// Why is this number this? From a figure to the rows it was made of, and theirs, down to the file and the line.
import { useEffect, useRef, useState } from "react";
import { Link } from "wouter";
import { get, part, query, Trouble, useGet } from "../api";
import { count, middle, plural, words } from "../format";
import { Ago, Shown } from "../parts/bits";
import { Letter } from "../parts/marks";
import { Asked, Empty, NoMatch, Skeleton, TroubleState } from "../parts/state";
import { Table } from "../parts/table";
import type { Dataset, Drill, Page, Sample, SourceLines, UpRow, Upstream, Value } from "../types";
import { useChoices } from "../url";

interface Stop {
  d: string;
  k?: Value[];
  a?: string;
  f?: string;
  l?: number;
}

export default function Kpis({ dataset }: { dataset?: string }) {
  const [choices, choose] = useChoices();
  const datasets = useGet<Page<Dataset>>("/datasets?runs=14");
  if (dataset && (choices.key || choices.at)) return <Chain dataset={dataset} />;
  return (
    <Asked of={datasets} what="The figures" skeleton={<Skeleton rows={10} />}>
      {(page) => {
        const all = page.items.filter((one) => one.layer === "gold" && (!dataset || one.dataset === dataset));
        const gold = all.filter((one) => `${one.dataset} ${one.title ?? ""} ${one.domain ?? ""}`.toLowerCase().includes((choices.find ?? "").toLowerCase()));
        return (
          <>
            <div className="head">
              <h1>{dataset ?? "KPIs"}</h1>
              <p className="finding">{all.length ? "Choose a figure. It leads back to the rows it was made of, and theirs, down to the line of the file." : ""}</p>
            </div>
            {all.length > 8 && (
              <div className="row wrap">
                <input className="input" style={{ maxWidth: 320 }} aria-label="Search figures" placeholder="Dataset, title or domain" value={choices.find ?? ""} onChange={(event) => choose({ find: event.target.value }, { replace: true })} />
                <span className="muted small" role="status">
                  {plural(gold.length, "dataset")}
                </span>
              </div>
            )}
            {gold.length ? (
              gold.map((one) => <Figures key={one.dataset} dataset={one} whole={Boolean(dataset)} />)
            ) : all.length ? (
              <NoMatch what="datasets" onClear={() => choose({ find: undefined })} />
            ) : (
              <Empty title="There is no gold dataset">
                <p>Figures come from contracts of the layer gold.</p>
              </Empty>
            )}
          </>
        );
      }}
    </Asked>
  );
}

/** Whether an element was ever near the window: what nobody scrolls to is not asked for. */
function useSeen() {
  const box = useRef<HTMLElement>(null);
  const [seen, setSeen] = useState(false);
  useEffect(() => {
    if (!box.current || seen) return;
    const watcher = new IntersectionObserver(([entry]) => entry?.isIntersecting && setSeen(true), { rootMargin: "200px" });
    watcher.observe(box.current);
    return () => watcher.disconnect();
  }, [seen]);
  return [box, seen] as const;
}

function Figures({ dataset, whole }: { dataset: Dataset; whole: boolean }) {
  const [box, seen] = useSeen();
  const sample = useGet<Sample>(seen ? `/datasets/${part(dataset.dataset)}/sample?limit=${whole ? 200 : 6}` : null);
  return (
    <section className="section" aria-label={dataset.dataset} ref={box}>
      <header>
        <h2>
          <Link className="plain" href={`/kpis/${part(dataset.dataset)}`}>
            {dataset.title ?? dataset.dataset}
          </Link>
        </h2>
        <span className="muted small">
          {dataset.dataset}
          {sample.data && ` · ${plural(sample.data.total ?? 0, "row")}`}
          {sample.data?.version !== null && sample.data?.version !== undefined && ` · version ${sample.data.version}`}
        </span>
      </header>
      <Asked of={sample} what="Its rows" skeleton={seen ? <Skeleton rows={4} /> : <div style={{ minHeight: 120 }} />}>
        {(told) =>
          told.rows.length ? (
            <Table label={`Figures of ${dataset.dataset}`} heads={told.columns.map((name) => ({ name: words(name), num: numeric(told, name) }))}>
              {told.rows.map((row, number) => {
                const key = dataset.primary_key.map((name) => row[name]);
                const way = key.length && key.every((one) => one !== null && one !== undefined) ? (name: string) => `/kpis/${part(dataset.dataset)}${query({ key: JSON.stringify(key), column: name })}` : null;
                return (
                  <tr key={number}>
                    {told.columns.map((name) => {
                      const is = numeric(told, name);
                      return (
                        <td key={name} className={is ? "num" : "nowrap"}>
                          {way && is && row[name] !== null ? (
                            <Link href={way(name)} data-kpi={`${key.join("/")}:${name}`}>
                              <Figure value={row[name] as Value} />
                            </Link>
                          ) : (
                            <span className="cell-text">
                              <Shown value={row[name]} />
                            </span>
                          )}
                        </td>
                      );
                    })}
                  </tr>
                );
              })}
            </Table>
          ) : (
            <p className="muted">It has no rows yet.</p>
          )
        }
      </Asked>
      {!whole && (sample.data?.total ?? 0) > 6 && (
        <Link className="more" href={`/kpis/${part(dataset.dataset)}`}>
          All {plural(sample.data?.total ?? 0, "row")}
        </Link>
      )}
    </section>
  );
}
function numeric(told: Sample, name: string): boolean {
  return told.rows.some((row) => row[name] !== null) && told.rows.every((row) => row[name] === null || typeof row[name] === "number" || (typeof row[name] === "string" && /^-?\d{1,30}(\.\d+)?$/.test(row[name] as string)));
}
function Figure({ value }: { value: Value }) {
  const text = String(value);
  const [whole, rest] = text.split(".");
  const grouped = (whole ?? "").replace(/\B(?=(\d{3})+(?!\d))/g, "\u202f");
  return <>{rest === undefined ? grouped : `${grouped}.${rest}`}</>;
}

function Chain({ dataset }: { dataset: string }) {
  const [choices, choose, href] = useChoices();
  const [failed, setFailed] = useState<Trouble | null>(null);
  const box = useRef<HTMLDivElement>(null);
  const key = choices.key ? (safe(choices.key) as Value[]) : undefined;
  const stops: Stop[] = [{ d: dataset, k: Array.isArray(key) ? key : key === undefined ? undefined : [key as Value], a: choices.at }, ...((safe(choices.way ?? "[]") as Stop[]) ?? [])];
  const column = choices.column;
  const first = useGet<Drill>(`/lineage/rows/${part(dataset)}/upstream${asked(stops[0] as Stop)}&limit=50`);
  const figure = column ? first.data?.row.values[column] : undefined;
  useEffect(() => {
    box.current?.scrollTo({ left: box.current.scrollWidth, behavior: "instant" });
  }, [choices.way]);
  const pick = (depth: number, stop: Stop) => choose({ way: JSON.stringify([...stops.slice(1, depth + 1), stop]) });
  const [busy, setBusy] = useState(false);
  const follow = async () => {
    setBusy(true);
    const way = stops.slice(1);
    try {
      for (let depth = 0; depth < 12; depth += 1) {
        const at = way[way.length - 1] ?? (stops[0] as Stop);
        if (at.f) break;
        const told = await get<Drill>(`/lineage/rows/${part(at.d)}/upstream${asked(at)}&limit=50`);
        const made = told.upstreams.find((one) => one.role === "source" && one.rows.length) ?? told.upstreams.find((one) => one.rows.length);
        const stop = made?.rows[0] ? stopOf(made, made.rows[0], told.row.dataset) : null;
        if (!stop) break;
        way.push(stop);
      }
      choose({ way: JSON.stringify(way) });
    } catch (error) {
      setFailed(error instanceof Trouble ? error : new Trouble(0, {}));
    }
    setBusy(false);
  };
  const evidence = async () => {
    try {
      const first = stops[0] as Stop;
      const told = await get<unknown>(`/lineage/rows/${part(dataset)}/chain${asked(first)}&limit=50`);
      const url = URL.createObjectURL(new Blob([JSON.stringify(told, null, 2)], { type: "application/json" }));
      const link = document.createElement("a");
      link.href = url;
      link.download = `evidence-${dataset}.json`;
      link.click();
      URL.revokeObjectURL(url);
    } catch (error) {
      setFailed(error instanceof Trouble ? error : new Trouble(0, {}));
    }
  };
  return (
    <>
      <div className="head">
        <div className="line">
          <h1>{column ? words(column) : dataset}</h1>
          {figure !== undefined && (
            <span className="kpi-value">
              <Figure value={figure} />
            </span>
          )}
          <span className="muted">{key ? (Array.isArray(key) ? key : [key]).map(String).join(" / ") : choices.at}</span>
          <span className="actions">
            <Link className="btn" href={`/kpis/${part(dataset)}`}>
              All figures
            </Link>
            {column && (
              <Link className="btn" href={`/graph?focus=${part(dataset)}&column=${part(column)}`}>
                Way of the column
              </Link>
            )}
            <button type="button" className="btn" onClick={evidence}>
              Evidence as JSON
            </button>
          </span>
        </div>
        <nav aria-label="Way down" className="row wrap small">
          {stops.map((one, depth) => (
            <Link key={depth} className="chip line" href={href({ way: depth ? JSON.stringify(stops.slice(1, depth + 1)) : undefined })}>
              {one.f ? `${one.f.split("/").pop()}:${one.l ?? "–"}` : `${one.d} ${one.k ? one.k.map(String).join("/") : ""}`}
            </Link>
          ))}
        </nav>
      </div>
      {failed && <TroubleState error={failed} what="The way down" />}
      <div className="miller" ref={box} tabIndex={0} role="region" aria-label="From the figure to the source">
        {stops.map((one, depth) =>
          one.f ? <File key={depth} stop={one} /> : <Pane key={`${depth}${one.d}${JSON.stringify(one.k ?? one.a)}`} stop={one} column={depth === 0 ? column : undefined} next={stops[depth + 1]} onPick={(stop) => pick(depth, stop)} />,
        )}
        {!stops[stops.length - 1]?.f && (
          <div className="hint">
            <button type="button" className="btn" disabled={busy} onClick={follow}>
              Follow the first row down to its source
            </button>
          </div>
        )}
      </div>
    </>
  );
}
function safe(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return text === "" ? [] : [text];
  }
}
function asked(stop: Stop): string {
  return stop.k ? query({ key: stop.k.map(String) }) : query({ at: stop.a });
}

function Pane({ stop, column, next, onPick }: { stop: Stop; column?: string; next?: Stop; onPick: (stop: Stop) => void }) {
  const found = useGet<Drill>(`/lineage/rows/${part(stop.d)}/upstream${asked(stop)}&limit=50`);
  return (
    <section aria-label={stop.d} data-pane={stop.d}>
      <Asked of={found} what="The row" skeleton={<Skeleton rows={8} />}>
        {(told) => (
          <>
            <h2>
              <Letter layer={told.row.layer} />
              <Link className="plain ellipsis" href={`/datasets/${part(told.row.dataset)}`}>
                {told.row.dataset}
              </Link>
            </h2>
            <dl className="pairs">
              {Object.entries(told.row.values).filter(([name]) => !isLong(told.row.values[name])).map(([name, value]) => (
                <div key={name} style={{ display: "contents" }}>
                  <dt className={name === column ? "hot" : undefined}>{name}</dt>
                  <dd className={name === column ? "hot" : undefined}>
                    <Shown value={value} />
                  </dd>
                </div>
              ))}
            </dl>
            <p className="muted small">
              as of version {told.row.version ?? "–"}
              {told.row.run_id && (
                <>
                  {" · "}
                  <Link href={`/runs/${told.row.run_id}`}>run</Link> <Ago at={told.row.processed_at} />
                </>
              )}
            </p>
            {told.upstreams.map((up) => (
              <Made key={up.role + up.name} up={up} next={next} from={told.row.dataset} onPick={onPick} />
            ))}
          </>
        )}
      </Asked>
    </section>
  );
}
function isLong(value: Value | undefined): boolean {
  return typeof value === "string" && value.length > 80;
}

function Made({ up, next, from, onPick }: { up: Upstream; next?: Stop; from: string; onPick: (stop: Stop) => void }) {
  return (
    <div className="rows">
      <h3>
        {up.role === "link" ? "Looked up in" : "Made of"} {up.total === null ? "" : plural(up.total, up.kind === "file" ? "line" : "row")} of {up.dataset ?? middle(up.name, 34)}
      </h3>
      {up.where && (
        <p className="muted small">
          where {up.where}
          {up.version !== null && `, version ${up.version}`}
        </p>
      )}
      {!up.exact && (
        <p className="banner warn small">
          {up.rows.length ? "These are at least the rows; there may be others among them." : "The rows cannot be told."} {up.why.join(" ")}
        </p>
      )}
      {up.through.length > 0 && (
        <details>
          <summary>
            {plural(up.through.length, "step")} between
          </summary>
          <ul className="small">
            {up.through.map((one, number) => (
              <li key={number}>
                <strong>{one.label}</strong> <code className="muted">{one.detail}</code>
              </li>
            ))}
          </ul>
        </details>
      )}
      <div>
        {up.rows.map((row, number) => {
          const stop = stopOf(up, row, from);
          const here = next && stop && (stop.f ? next.f === stop.f && next.l === stop.l : next.d === stop.d && JSON.stringify(next.k ?? next.a) === JSON.stringify(stop.k ?? stop.a));
          return stop ? (
            <button key={number} type="button" className="rowpick" aria-current={here ? "true" : undefined} onClick={() => onPick(stop)}>
              <RowLine up={up} row={row} />
            </button>
          ) : (
            <div key={number} className="rowpick">
              <RowLine up={up} row={row} />
            </div>
          );
        })}
      </div>
      {up.total !== null && up.total > up.rows.length && <p className="muted small">{count(up.total - up.rows.length)} more are not shown; the evidence holds up to 50 of each level.</p>}
    </div>
  );
}
function stopOf(up: Upstream, row: UpRow, from: string): Stop | null {
  if (up.kind === "file" && row.file) return { d: from, f: row.file, l: row.line ?? undefined };
  if (up.kind !== "dataset" || !up.dataset) return null;
  return row.key ? { d: up.dataset, k: row.key } : row.at ? { d: up.dataset, a: row.at } : null;
}
function RowLine({ up, row }: { up: Upstream; row: UpRow }) {
  const shown = up.columns.filter((name) => !isLong(row.values[name])).slice(0, 4);
  return (
    <>
      <strong>{row.key ? row.key.map(String).join(" / ") : row.file ? `${row.file.split("/").pop()}${row.line === null ? "" : `, line ${row.line}`}` : `row ${row.at ?? ""}`}</strong>
      <span className="muted small" style={{ display: "block", overflow: "hidden", textOverflow: "ellipsis", whiteSpace: "nowrap" }}>
        {shown.map((name, number) => (
          <span key={name}>
            {number > 0 && " · "}
            <Shown value={row.values[name]} />
          </span>
        ))}
      </span>
    </>
  );
}

function File({ stop }: { stop: Stop }) {
  const found = useGet<SourceLines>(stop.l === undefined ? null : `/lineage/source/${part(stop.d)}${query({ file: stop.f, line: stop.l, around: 5 })}`);
  return (
    <section className="file" aria-label="Source file" data-pane="file">
      <h2>
        <span className="letter">Src</span>
        <span className="ellipsis" title={stop.f}>
          {stop.f?.split("/").pop()}
        </span>
      </h2>
      <p className="muted small mono" style={{ overflowWrap: "anywhere" }} title={stop.f}>
        {(stop.f ?? "").split("/").slice(-3).join("/")}
        {stop.l !== undefined && `:${stop.l}`}
      </p>
      {stop.l === undefined ? (
        <p className="muted">Files of this format have no lines.</p>
      ) : (
        <Asked of={found} what="The file" skeleton={<Skeleton rows={6} />}>
          {(told) => (
            <>
              {told.changed && <p className="banner warn">The file has changed since it was read; these are its lines now.</p>}
              <div className="source-lines" tabIndex={0} role="region" aria-label="Lines of the source file">
                <table>
                  <thead>
                    <tr>
                      <th scope="col">line</th>
                      {told.columns.map((name) => (
                        <th scope="col" key={name}>
                          {name}
                        </th>
                      ))}
                    </tr>
                  </thead>
                  <tbody>
                    {told.lines.map((one) => (
                      <tr key={one.line} className={one.is_asked ? "asked" : undefined} aria-current={one.is_asked ? "true" : undefined} data-line={one.line}>
                        <td className="ln">{one.line}</td>
                        {told.columns.map((name) => (
                          <td key={name}>
                            <Shown value={one.values[name]} />
                          </td>
                        ))}
                      </tr>
                    ))}
                  </tbody>
                </table>
              </div>
              {told.hidden.length > 0 && <p className="muted small">Masked here because they are masked further on: {told.hidden.join(", ")}.</p>}
            </>
          )}
        </Asked>
      )}
    </section>
  );
}
