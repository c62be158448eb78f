// Is anything wrong, where, since when? The whole estate as lanes of tiles, the worst first.
import { useMemo, useState } from "react";
import { Link } from "wouter";
import { part, useGet } from "../api";
import { age, count, plural, words } from "../format";
import { Ago, Strip } from "../parts/bits";
import { laneOf } from "../parts/groups";
import { Letter, Mark } from "../parts/marks";
import { Asked, Empty, Skeleton } from "../parts/state";
import type { Act, Approval, Dataset, Page, Queue, Run, Short } from "../types";
import { useChoices } from "../url";
import { datasetRole, goodShare, gravity, judged, LAYERS, type Role, ranVerdict, unsure } from "../verdict";

interface Tile extends Dataset {
  role: Role;
  waiting: number;
}
interface EstateTold {
  valid: boolean;
  summary: string;
  diagnostics?: { severity?: string; code?: string; message?: string; file?: string; line?: number }[];
}

export default function Estate() {
  const datasets = useGet<Page<Dataset>>("/datasets?runs=14", { every: 30_000 });
  const queues = useGet<Page<Queue>>("/quarantine");
  const approvals = useGet<Page<Approval>>("/approvals");
  return (
    <Asked of={datasets} what="The estate" skeleton={<Skeleton rows={10} height={40} />}>
      {(page) => (queues.isPending ? <Skeleton rows={10} height={40} /> : page.items.length ? <Matrix items={page.items} queues={queues.data?.items} approvals={approvals.data?.items ?? []} /> : <Nothing />)}
    </Asked>
  );
}

function Nothing() {
  return (
    <>
      <h1>Estate</h1>
      <Empty title="No contract was found where the service looks">
        <p>
          Write one with <code>lakelogic init</code>, or serve another folder: <code>lakelogic serve contracts</code>.
        </p>
      </Empty>
    </>
  );
}

function Matrix({ items, queues, approvals }: { items: Dataset[]; queues: Queue[] | undefined; approvals: Approval[] }) {
  const [choices, , href] = useChoices();
  const estate = useGet<EstateTold>("/estate");
  const waiting = useMemo(() => new Map((queues ?? []).map((one) => [one.dataset, one.active])), [queues]);
  const tiles: Tile[] = items.map((one) => ({ ...one, waiting: waiting.get(one.dataset) ?? 0, role: queues ? datasetRole(one.last_run, waiting.get(one.dataset) ?? 0) : unsure(datasetRole(one.last_run, 0)) }));
  const lanes = [...LAYERS.filter((one) => tiles.some((tile) => laneOf(tile) === one)), ...new Set(tiles.map(laneOf).filter((one) => !LAYERS.includes(one)))];
  const groups = new Map<string, Tile[]>();
  for (const one of tiles) {
    const key = one.domain ?? "no domain";
    groups.set(key, [...(groups.get(key) ?? []), one]);
  }
  const sorted = [...groups].sort((a, b) => weight(a[1]) - weight(b[1]) || a[0].localeCompare(b[0]));
  const broken = tiles.filter((one) => ranVerdict(one.last_run?.status).role === "bad");
  const held = tiles.filter((one) => one.role === "held");
  const never = tiles.filter((one) => !one.last_run);
  const rows = tiles.reduce((sum, one) => sum + one.waiting, 0);
  const oldest = (queues ?? []).filter((one) => one.active > 0).map((one) => one.oldest).filter(Boolean).sort()[0];
  const lens = choices.show;
  const fits = (one: Tile) => (lens === "broken" ? broken.includes(one) : lens === "held" ? held.includes(one) : lens === "quarantined" ? one.waiting > 0 : lens === "never" ? !one.last_run : true);
  return (
    <>
      <div className="head">
        <h1>Estate</h1>
        <p className="finding">
          <Phrase on={!lens} href={href({ show: undefined })}>
            {plural(tiles.length, "dataset")}
          </Phrase>
          <span className="sep">·</span>
          {broken.length > 0 ? (
            <Phrase on={lens === "broken"} href={href({ show: "broken" })} role="bad">
              {count(broken.length)} broken
            </Phrase>
          ) : (
            <span className="ink-good">none broken</span>
          )}
          {held.length > 0 && (
            <>
              <span className="sep">·</span>
              <Phrase on={lens === "held"} href={href({ show: "held" })} role="held">
                {count(held.length)} held back
              </Phrase>
            </>
          )}
          <span className="sep">·</span>
          {rows > 0 ? (
            <>
              <Link href="/quarantine" className="ink-bad" data-count={rows}>
                {plural(rows, "row")} quarantined
              </Link>
              {oldest && <span className="muted">, the oldest for {age(oldest)}</span>}
            </>
          ) : queues ? (
            <span className="ink-good">nothing quarantined</span>
          ) : (
            <span className="muted">quarantine not counted</span>
          )}
          {approvals.length > 0 && (
            <>
              <span className="sep">·</span>
              <Link href="/approvals" className="ink-held">
                {plural(approvals.length, "decision")} waiting
              </Link>
            </>
          )}
          {never.length > 0 && (
            <>
              <span className="sep">·</span>
              <Phrase on={lens === "never"} href={href({ show: "never" })}>
                {count(never.length)} never run
              </Phrase>
            </>
          )}
        </p>
      </div>
      {estate.data && !estate.data.valid && (
        <div className="banner warn">
          <Mark role="warn" /> The contracts do not fit together: {estate.data.summary}. <Link href="/contracts">Look at them</Link>
        </div>
      )}
      <div className="estate">
        <div className="matrix" style={{ "--lanes": lanes.length } as React.CSSProperties}>
          <div className="lane-heads">
            <div />
            {lanes.map((one) => (
              <div key={one}>
                <Letter layer={one} /> {one[0]?.toUpperCase()}
                {one.slice(1)}
              </div>
            ))}
          </div>
          {sorted.map(([domain, members]) => {
            const systems = new Set(members.map((one) => one.system).filter(Boolean));
            if (!members.some(fits)) return null;
            return (
              <section key={domain} className="group" aria-label={domain}>
                <div className="who">
                  <strong>{domain}</strong>
                  <span className="muted small">{plural(members.length, "dataset")}</span>
                  {systems.size > 1 && <span className="muted small">{plural(systems.size, "system")}</span>}
                </div>
                {lanes.map((lane) => (
                  <Cell key={lane} lane={lane} tiles={members.filter((one) => laneOf(one) === lane && fits(one))} />
                ))}
              </section>
            );
          })}
        </div>
        <Lately items={items} />
      </div>
    </>
  );
}
function weight(tiles: Tile[]): number {
  return Math.min(...tiles.map((one) => gravity(one.role) * 1000 - Math.min(one.waiting, 900)));
}

function Phrase({ on, href, role, children }: { on: boolean; href: string; role?: string; children: React.ReactNode }) {
  return (
    <Link href={href} aria-current={on ? "true" : undefined} className={role ? `ink-${role}` : undefined}>
      {children}
    </Link>
  );
}

const QUIET: Role[] = ["good", "skip", "unknown"];

function Cell({ tiles, lane }: { tiles: Tile[]; lane: string }) {
  const [open, setOpen] = useState(false);
  if (!tiles.length) return <div className="cell" />;
  const sorted = [...tiles].sort((a, b) => gravity(a.role) - gravity(b.role) || b.waiting - a.waiting || a.entity.localeCompare(b.entity));
  // All that needs somebody, up to a screenful; the others only while there are few.
  const calls = sorted.filter((one) => !QUIET.includes(one.role)).length;
  const shown = open ? sorted : sorted.slice(0, Math.min(40, Math.max(8, calls)));
  const rest = sorted.slice(shown.length);
  const what = rest.every((one) => one.role === "good" || one.role === "skip") ? "healthy" : rest.every((one) => one.role === "unknown") ? "never run" : "more";
  const twice = new Set(tiles.map((one) => one.entity).filter((name, number, all) => all.indexOf(name) !== number));
  return (
    <div className="cell" data-lane={lane}>
      {shown.map((one) => (
        <TileLink key={one.dataset} tile={one} within={twice.has(one.entity) ? one.system : null} />
      ))}
      {(rest.length > 0 || open) && (
        <button type="button" className="fold" aria-expanded={open} onClick={() => setOpen(!open)}>
          {open ? "Fewer" : `${count(rest.length)} ${what}`}
        </button>
      )}
    </div>
  );
}

/** One dataset; `within` is its system where another one has the same name. */
function TileLink({ tile, within }: { tile: Tile; within: string | null }) {
  const last = judged<Short>(tile.recent) ?? tile.last_run ?? undefined;
  const status = ranVerdict(tile.last_run?.status);
  const under = status.role === "bad" || status.role === "held" || status.role === "warn" ? status.word : tile.waiting > 0 ? `${count(tile.waiting)} quarantined` : tile.last_run ? null : "Never run";
  return (
    <Link href={`/datasets/${part(tile.dataset)}`} className={`tile ${tile.role}`} title={tile.dataset} data-tile={tile.dataset}>
      <Mark role={status.role === "skip" || status.role === "good" ? tile.role : status.role} />
      <span className="name">
        {within && <span className="muted">{within} </span>}
        {words(tile.entity)} {tile.layer === "reference" && <Letter layer="reference" />}
      </span>
      <span className="share">{goodShare(last)}</span>
      <span className="under">
        <span className="q">{under ?? <Ago at={tile.last_run?.started_at} />}</span>
        <Strip runs={tile.recent} slots={8} />
      </span>
    </Link>
  );
}

function Lately({ items }: { items: Dataset[] }) {
  const acts = useGet<Page<Act>>("/ledger/acts?limit=12");
  const runs = useGet<Page<Run>>("/runs?limit=100&status=failed&status=gated&status=partial&status=succeeded");
  const known = new Set(items.map((one) => one.dataset));
  const news = [
    ...(runs.data?.items ?? [])
      .filter((one, number, all) => known.has(one.dataset) && all.findIndex((other) => other.dataset === one.dataset) === number && (one.status !== "succeeded" || (one.counts_quarantined ?? 0) > 0))
      .map((one) => ({
        key: one.run_id,
        at: one.started_at,
        role: ranVerdict(one.status).role === "good" ? ("bad" as Role) : ranVerdict(one.status).role,
        text: (
          <>
            <Link href={`/runs/${one.run_id}`}>{one.dataset}</Link> {one.status === "succeeded" ? `quarantined ${plural(one.counts_quarantined ?? 0, "row")}` : ranVerdict(one.status).word.toLowerCase()}
          </>
        ),
      })),
    ...(acts.data?.items ?? []).map((one) => ({
      key: one.act_id,
      at: one.done_at,
      role: "skip" as Role,
      text: (
        <>
          {one.person}: {words(one.act)} {one.dataset && <Link href={`/datasets/${part(one.dataset)}`}>{one.dataset}</Link>}
          {one.why && <span className="muted"> “{one.why}”</span>}
        </>
      ),
    })),
  ]
    .sort((a, b) => b.at.localeCompare(a.at))
    .slice(0, 14);
  return (
    <aside className="section" aria-label="Lately">
      <h2>Lately</h2>
      {news.length ? (
        <ul className="feed">
          {news.map((one) => (
            <li key={one.key}>
              <Mark role={one.role} size={10} />
              <span>{one.text}</span>
              <span className="when">
                <Ago at={one.at} />
              </span>
            </li>
          ))}
        </ul>
      ) : (
        <p className="muted">Nothing worth telling.</p>
      )}
    </aside>
  );
}
