// What feeds this, what breaks if it breaks? Lanes from source to gold; never more than was asked; a list as its twin.
import { type KeyboardEvent, useCallback, useMemo, useState } from "react";
import { Link, useLocation } from "wouter";
import { part, query, useGet } from "../api";
import { count, plural, words } from "../format";
import { Tabs } from "../parts/bits";
import { Groups } from "../parts/grouped";
import { laneOf, onlySystem, systemOf } from "../parts/groups";
import { lay } from "../parts/lanes";
import { Letter, Mark } from "../parts/marks";
import { Asked, Empty, NoMatch, Skeleton } from "../parts/state";
import { Table } from "../parts/table";
import type { ColumnLineage, Dataset, Graph, Page, Queue, Short } from "../types";
import { useChoices } from "../url";
import { datasetRole, goodShare, judged, type Role, ranVerdict, unsure } from "../verdict";

const MOST = 300;

function useRoom() {
  const [room, setRoom] = useState(1030);
  const box = useCallback((one: HTMLDivElement | null) => {
    if (one) setRoom(one.clientWidth);
  }, []);
  return [box, room] as const;
}

export default function GraphPage() {
  const [choices, choose] = useChoices();
  const up = Number(choices.up ?? (choices.focus ? 1 : 0));
  const down = Number(choices.down ?? (choices.focus ? 1 : 0));
  const graph = useGet<Graph>(`/lineage${query(choices.focus ? { focus: choices.focus, up, down } : {})}`, { keep: true });
  const datasets = useGet<Page<Dataset>>("/datasets?runs=14");
  const queues = useGet<Page<Queue>>("/quarantine");
  const columns = useGet<ColumnLineage>(choices.focus && choices.column ? `/lineage/columns/${part(choices.focus)}${query({ column: choices.column, depth: 10 })}` : null);
  const systems = [...new Set((datasets.data?.items ?? []).map(systemOf))].sort();
  const names = (datasets.data?.items ?? []).map((one) => one.dataset).sort();
  return (
    <>
      <div className="head">
        <h1>Graph</h1>
        <div className="row wrap">
          <label className="row">
            <span className="label">Around</span>
            <select className="select" style={{ width: 260 }} value={choices.focus ?? ""} onChange={(event) => choose({ focus: event.target.value || undefined, system: undefined, up: undefined, down: undefined, column: undefined })}>
              <option value="">the whole estate</option>
              {names.map((one) => (
                <option key={one}>{one}</option>
              ))}
            </select>
          </label>
          {!choices.focus && systems.length > 1 && (
            <label className="row">
              <span className="label">System</span>
              <select className="select" style={{ width: 200 }} value={choices.system ?? ""} onChange={(event) => choose({ system: event.target.value || undefined })}>
                <option value="">all of them</option>
                {systems.map((one) => (
                  <option key={one}>{one}</option>
                ))}
              </select>
            </label>
          )}
          {choices.focus && !choices.column && (
            <>
              <Steps name="up" value={up} onChange={(value) => choose({ up: String(value) })} />
              <Steps name="down" value={down} onChange={(value) => choose({ down: String(value) })} />
            </>
          )}
          {choices.focus && <ColumnPick dataset={choices.focus} column={choices.column} onPick={(column) => choose({ column })} />}
        </div>
      </div>
      {choices.column && choices.focus ? (
        <Asked of={columns} what="The way of the column" skeleton={<Skeleton rows={8} />}>
          {(told) => <Columns told={told} focus={choices.focus ?? ""} column={choices.column ?? ""} />}
        </Asked>
      ) : (
        <Asked of={graph} what="The graph" skeleton={<Skeleton rows={8} height={46} />}>
          {(told) => (told.datasets.length ? <Drawn graph={told} datasets={datasets.data?.items ?? []} queues={queues.data?.items} up={up} down={down} /> : <Empty title="There is no dataset"><p>Serve a folder with contracts.</p></Empty>)}
        </Asked>
      )}
    </>
  );
}

function Steps({ name, value, onChange }: { name: string; value: number; onChange: (value: number) => void }) {
  return (
    <span className="row" role="group" aria-label={`Steps ${name}`}>
      <span className="label">{name}</span>
      <button type="button" className="btn icon" aria-label={`Fewer steps ${name}`} disabled={value === 0} onClick={() => onChange(value - 1)}>
        −
      </button>
      <span className="num">{value}</span>
      <button type="button" className="btn icon" aria-label={`More steps ${name}`} disabled={value >= 20} onClick={() => onChange(value + 1)}>
        +
      </button>
    </span>
  );
}

function ColumnPick({ dataset, column, onPick }: { dataset: string; column?: string; onPick: (column?: string) => void }) {
  const found = useGet<{ fields: { name: string }[] }>(`/datasets/${part(dataset)}`);
  return (
    <label className="row">
      <span className="label">Column</span>
      <select className="select" style={{ width: 200 }} value={column ?? ""} onChange={(event) => onPick(event.target.value || undefined)}>
        <option value="">none, datasets only</option>
        {(found.data?.fields ?? []).map((one) => (
          <option key={one.name}>{one.name}</option>
        ))}
      </select>
    </label>
  );
}

function Drawn({ graph: whole, datasets, queues, up, down }: { graph: Graph; datasets: Dataset[]; queues: Queue[] | undefined; up: number; down: number }) {
  const [choices, choose] = useChoices();
  const { graph, out } = useMemo(() => (choices.system && !whole.focus ? onlySystem(whole, choices.system) : { graph: whole, out: 0 }), [whole, choices.system]);
  const many = graph.datasets.length > MOST;
  const [hot, setHot] = useState<string | null>(null);
  const [, go] = useLocation();
  const about = useMemo(() => new Map(datasets.map((one) => [one.dataset, one])), [datasets]);
  const waiting = useMemo(() => new Map((queues ?? []).map((one) => [one.dataset, one.active])), [queues]);
  const edges = useMemo(() => graph.edges.map((one) => ({ from: one.upstream, to: one.downstream })), [graph]);
  const [box, room] = useRoom();
  const laid = useMemo(() => lay((many ? [] : graph.datasets).map((one) => ({ id: one.dataset, lane: laneOf(one) })), edges, room, graph.focus ? 32 : undefined), [graph, many, edges, room]);
  const roleOf = (name: string): Role => {
    const role = datasetRole(about.get(name)?.last_run, waiting.get(name) ?? 0);
    return queues ? role : unsure(role);
  };
  const tab = choices.as ?? "picture";
  const around = (name: string) => graph.edges.filter((one) => one.upstream === name || one.downstream === name).length;
  const walk = (event: KeyboardEvent, name: string) => {
    const next = event.key === "ArrowRight" ? graph.edges.find((one) => one.upstream === name)?.downstream : event.key === "ArrowLeft" ? graph.edges.find((one) => one.downstream === name)?.upstream : null;
    let found = next ?? null;
    if (event.key === "ArrowDown" || event.key === "ArrowUp") {
      const here = laid.spots.get(name);
      const column = [...laid.spots.values()].filter((one) => one.x === here?.x).sort((a, b) => a.y - b.y);
      const at = column.findIndex((one) => one.id === name);
      found = column[at + (event.key === "ArrowDown" ? 1 : -1)]?.id ?? null;
    }
    if (event.key === "f") choose({ focus: name, up: "1", down: "1" });
    if (!found) return;
    event.preventDefault();
    document.querySelector<HTMLElement>(`[data-node="${CSS.escape(found)}"]`)?.focus();
  };
  return (
    <>
      <Tabs
        label="Graph as"
        chosen={tab}
        onChoose={(id) => choose({ as: id })}
        tabs={[
          { id: "picture", name: "Picture" },
          { id: "list", name: "List", count: graph.datasets.length },
        ]}
      />
      {graph.datasets.length === 0 ? (
        <NoMatch what="datasets" onClear={() => choose({ system: undefined })} />
      ) : tab === "list" ? (
        <List graph={graph} roleOf={roleOf} />
      ) : many ? (
        <Groups graph={graph} roleOf={roleOf} box={box} room={room} />
      ) : (
        <>
          <div className="graph-box" ref={box} tabIndex={0} role="region" aria-label="Graph of datasets; the List tab holds the same">
            <div style={{ position: "relative", width: laid.width, height: laid.height }}>
              {laid.lanes.map((one) => (
                <div key={one.name} className="lane" style={{ left: one.x, width: one.width }}>
                  <Letter layer={one.name} /> {one.name[0]?.toUpperCase()}
                  {one.name.slice(1)}
                </div>
              ))}
              <svg className="edges" width={laid.width} height={laid.height} aria-hidden="true">
                {laid.paths.map((one) => (
                  <path key={one.from + one.to} d={one.d} className={hot && (one.from === hot || one.to === hot) ? "hot" : roleOf(one.to) === "held" ? "late" : undefined} />
                ))}
              </svg>
              {graph.datasets.map((one) => {
                const spot = laid.spots.get(one.dataset);
                if (!spot) return null;
                const dataset = about.get(one.dataset);
                const role = roleOf(one.dataset);
                const bad = waiting.get(one.dataset) ?? 0;
                const last = judged<Short>(dataset?.recent);
                return (
                  <div key={one.dataset}>
                    <Link
                      href={`/datasets/${part(one.dataset)}`}
                      className={`gnode ${role}${graph.focus === one.dataset ? " focus" : ""}`}
                      style={{ left: spot.x, top: spot.y, width: laid.node }}
                      data-node={one.dataset}
                      title={one.dataset}
                      onMouseEnter={() => setHot(one.dataset)}
                      onMouseLeave={() => setHot(null)}
                      onFocus={() => setHot(one.dataset)}
                      onBlur={() => setHot(null)}
                      onKeyDown={(event) => walk(event, one.dataset)}
                    >
                      <Mark role={role} />
                      <span className="name">
                        {words(one.entity)} {one.layer === "reference" && <Letter layer="reference" />}
                      </span>
                      <span className="sub">
                        {role === "held" || (role === "bad" && !bad) ? ranVerdict(dataset?.last_run?.status).word : bad ? `${count(bad)} bad` : last ? goodShare(last) : "Never run"} · {one.domain ?? "no domain"}
                      </span>
                    </Link>
                    {one.hidden.upstream > 0 && (
                      <button type="button" className="gmore" style={{ left: spot.x - 28, top: spot.y + 13 }} aria-label={`${one.hidden.upstream} more upstream of ${one.dataset}`} onClick={() => choose({ up: String(up + 1) })}>
                        +{one.hidden.upstream}
                      </button>
                    )}
                    {one.hidden.downstream > 0 && (
                      <button type="button" className="gmore" style={{ left: spot.x + laid.node + 4, top: spot.y + 13 }} aria-label={`${one.hidden.downstream} more downstream of ${one.dataset}`} onClick={() => choose({ down: String(down + 1) })}>
                        +{one.hidden.downstream}
                      </button>
                    )}
                  </div>
                );
              })}
            </div>
          </div>
          <p className="muted small">
            {plural(graph.datasets.length, "dataset")}, {plural(graph.edges.length, "edge")}. Arrow keys walk along edges, <span className="kbd">f</span> puts a dataset into the middle, Enter opens it.
            {hot && ` ${hot}: ${plural(around(hot), "neighbour")}.`}
            {out > 0 && ` ${plural(out, "edge")} ${out === 1 ? "leads" : "lead"} out of the system.`}
            {(graph.focus || choices.system) && (
              <>
                {" "}
                <button type="button" className="btn bare" onClick={() => go("/graph")}>
                  Show the whole estate
                </button>
              </>
            )}
          </p>
        </>
      )}
    </>
  );
}

function List({ graph, roleOf }: { graph: Graph; roleOf: (name: string) => Role }) {
  const [choices, choose] = useChoices();
  const find = (choices.find ?? "").toLowerCase();
  const [up, down] = useMemo(() => {
    const reads = new Map<string, string[]>();
    const feeds = new Map<string, string[]>();
    for (const { upstream, downstream } of graph.edges) {
      reads.set(downstream, [...(reads.get(downstream) ?? []), upstream]);
      feeds.set(upstream, [...(feeds.get(upstream) ?? []), downstream]);
    }
    return [reads, feeds];
  }, [graph]);
  const rows = graph.datasets
    .filter((one) => `${one.dataset} ${systemOf(one)}`.toLowerCase().includes(find))
    .map((one) => ({ one, up: up.get(one.dataset) ?? [], down: down.get(one.dataset) ?? [] }));
  const csv = () => {
    const quote = (text: string) => `"${text.replaceAll('"', '""')}"`;
    const lines = [["dataset", "layer", "domain", "system", "state", "reads", "feeds"], ...rows.map(({ one, up, down }) => [one.dataset, one.layer ?? "", one.domain ?? "", one.system ?? "", roleOf(one.dataset), up.join(" "), down.join(" ")])];
    const url = URL.createObjectURL(new Blob([lines.map((line) => line.map(quote).join(",")).join("\n")], { type: "text/csv" }));
    const link = document.createElement("a");
    link.href = url;
    link.download = "graph.csv";
    link.click();
    URL.revokeObjectURL(url);
  };
  return (
    <div className="section">
      <div className="row wrap">
        {(graph.datasets.length > 12 || find) && <input className="input" style={{ maxWidth: 280 }} aria-label="Search datasets" placeholder="Dataset, domain or system" value={choices.find ?? ""} onChange={(event) => choose({ find: event.target.value }, { replace: true })} />}
        <button type="button" className="btn" disabled={rows.length === 0} onClick={csv}>
          Download {plural(rows.length, "row")} as CSV
        </button>
      </div>
      {rows.length === 0 ? (
        <NoMatch what="datasets" onClear={() => choose({ find: undefined })} />
      ) : (
        <Table label="Graph as a list" heads={["Dataset", "Domain", "Reads", "Feeds"]}>
          {rows.map(({ one, up, down }) => (
            <tr key={one.dataset}>
              <td>
                <span className="row">
                  <Mark role={roleOf(one.dataset)} />
                  <Letter layer={one.layer} />
                  <Link href={`/datasets/${part(one.dataset)}`}>{one.dataset}</Link>
                </span>
              </td>
              <td className="muted nowrap">{[one.domain, one.system].filter(Boolean).join(" / ")}</td>
              <td className="small">{up.join(", ") || <span className="muted">its source</span>}</td>
              <td className="small">{down.join(", ") || <span className="muted">–</span>}</td>
            </tr>
          ))}
        </Table>
      )}
    </div>
  );
}

function Columns({ told, focus, column }: { told: ColumnLineage; focus: string; column: string }) {
  const [box, room] = useRoom();
  const laid = useMemo(() => lay(told.nodes.map((one) => ({ id: one.id, lane: one.dataset ? (one.layer ?? "other") : "source" })), told.edges, room), [told, room]);
  const kinds = new Map(told.edges.map((one) => [one.from + one.to, one.kind]));
  return (
    <>
      <p className="finding">
        <code>
          {focus}.{column}
        </code>{" "}
        is connected with {plural(Math.max(0, told.nodes.length - 1), "column")}.
      </p>
      <div className="graph-box" ref={box} tabIndex={0} role="region" aria-label="Way of the column; the table below holds the same">
        <div style={{ position: "relative", width: laid.width, height: laid.height }}>
          {laid.lanes.map((one) => (
            <div key={one.name} className="lane" style={{ left: one.x, width: one.width }}>
              {one.name !== "source" && <Letter layer={one.name} />} {one.name[0]?.toUpperCase()}
              {one.name.slice(1)}
            </div>
          ))}
          <svg className="edges" width={laid.width} height={laid.height} aria-hidden="true">
            {laid.paths.map((one) => {
              const kind = kinds.get(one.from + one.to) ?? "";
              return (
                <g key={one.from + one.to}>
                  <path d={one.d} className={kind === "masked" ? "late" : "hot"} />
                  <text x={one.x} y={one.y - 5} textAnchor="middle" className="edge-word">
                    {kind}
                  </text>
                </g>
              );
            })}
          </svg>
          {told.nodes.map((one) => {
            const spot = laid.spots.get(one.id);
            if (!spot) return null;
            const inner = (
              <>
                <span />
                <span className="name mono">{one.column}</span>
                <span className="sub">
                  {one.dataset ?? one.name}
                  {one.masked && ` · ${one.masked}`}
                </span>
              </>
            );
            const kind = `gnode${one.dataset === focus && one.column === column ? " focus" : ""}`;
            return one.dataset ? (
              <Link key={one.id} className={kind} style={{ left: spot.x, top: spot.y, width: laid.node }} href={`/graph?focus=${part(one.dataset)}&column=${part(one.column)}`} title={one.id}>
                {inner}
              </Link>
            ) : (
              <span key={one.id} className={kind} style={{ left: spot.x, top: spot.y, width: laid.node }} title={one.id}>
                {inner}
              </span>
            );
          })}
        </div>
      </div>
      <details open>
        <summary>The same as a table, with the steps</summary>
        <Table label="Steps of the column" dense heads={["From", "To", "How"]}>
          {told.edges.map((one) => (
            <tr key={one.from + one.to}>
              <td className="mono">{one.from}</td>
              <td className="mono">{one.to}</td>
              <td>
                {one.kind}
                {told.columns
                  .filter((known) => `${told.dataset}.${known.column}` === one.to)
                  .flatMap((known) => known.upstream.filter((up) => `${up.dataset ?? up.name}.${up.column}` === one.from).flatMap((up) => up.steps))
                  .map((step) => (
                    <div key={step.label + (step.expression ?? "")} className="muted small">
                      {step.label} <code>{step.expression ?? step.detail}</code>
                    </div>
                  ))}
              </td>
            </tr>
          ))}
        </Table>
      </details>
    </>
  );
}
