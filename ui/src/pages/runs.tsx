// Which runs need me? A list that grows as it is scrolled, facets with counts, new runs behind a pill.
import { useQueryClient } from "@tanstack/react-query";
import { useVirtualizer } from "@tanstack/react-virtual";
import { useEffect, useMemo, useRef, useState } from "react";
import { Link, useLocation } from "wouter";
import { query, useGet, usePages } from "../api";
import { count, duration } from "../format";
import { Ago, Finding, LINE, listHeight, Num, OutcomeBar, useKeys } from "../parts/bits";
import { Facet, Facets } from "../parts/facet";
import { Letter, Mark, VerdictChip } from "../parts/marks";
import { Empty, NoMatch, Skeleton, TroubleState } from "../parts/state";
import type { Page, Run } from "../types";
import { useChoices } from "../url";
import { dataVerdict, LAYERS, ranVerdict } from "../verdict";

const FILTERS = ["status", "dataset", "layer", "domain", "engine", "pipeline"];
const REAL = ["succeeded", "failed", "partial", "gated", "held_back", "running", "skipped"];

export default function Runs() {
  const [choices, choose, href] = useChoices();
  const quiet = choices.all !== "1" && !choices.status;
  const wanted = { dataset: choices.dataset, layer: choices.layer, domain: choices.domain, engine: choices.engine, pipeline: choices.pipeline, status: choices.status ? [choices.status] : quiet ? REAL : [] };
  const path = `/runs${query({ ...wanted, limit: 100 })}`;
  const keys = useQueryClient();
  const facets = useGet<{ counts: Record<string, Record<string, number>> }>(`/runs/facets${query(wanted)}`, { keep: true });
  const list = usePages<Page<Run>>(path, true);
  const items = useMemo(() => (list.data?.pages ?? []).flatMap((one) => one.items), [list.data]);
  const head = useGet<Page<Run>>(path, { every: 15_000 });
  const fresh = useMemo(() => {
    if (!head.data || !items[0]) return 0;
    const at = head.data.items.findIndex((one) => one.run_id === items[0]?.run_id);
    return at < 0 ? head.data.items.length : at;
  }, [head.data, items]);
  const counts = facets.data?.counts ?? {};
  const filtered = FILTERS.filter((one) => choices[one]);
  const only = (status: string) => href({ status });
  const failed = counts.status?.failed ?? 0;
  const gated = (counts.status?.gated ?? 0) + (counts.status?.held_back ?? 0);
  return (
    <>
      <div className="head">
        <h1>Runs</h1>
        <Finding>
          <Link href={only("succeeded")}>{count(counts.status?.succeeded ?? 0)} ran</Link>
          <Link href={only("failed")} className={failed ? "ink-bad" : ""}>
            {count(failed)} failed
          </Link>
          <Link href={only("gated")} className={gated ? "ink-held" : ""}>
            {count(counts.status?.gated ?? 0)} stopped by a gate
          </Link>
          <Link href={only("held_back")}>{count(counts.status?.held_back ?? 0)} held back</Link>
          <Link href={only("no_new_data")}>{count(counts.status?.no_new_data ?? 0)} found nothing new</Link>
        </Finding>
      </div>
      <div className="with-facets">
        <Facets chosen={filtered.length}>
          <Facet title="Verdict of the run" name="status" counts={counts.status} chosen={choices.status} href={href} show={(value) => ranVerdict(value).word} mark={(value) => <Mark role={ranVerdict(value).role} size={10} />} />
          <Facet title="Layer" name="layer" counts={counts.layer} chosen={choices.layer} href={href} order={LAYERS} />
          <Facet title="Domain" name="domain" counts={counts.domain} chosen={choices.domain} href={href} />
          <Facet title="Dataset" name="dataset" counts={counts.dataset} chosen={choices.dataset} href={href} show={String} most={12} />
          <Facet title="Engine" name="engine" counts={counts.engine} chosen={choices.engine} href={href} />
        </Facets>
        <div className="section">
          <div className="row wrap small">
            {filtered.map((name) => (
              <Link key={name} href={href({ [name]: undefined })} className="chip run" aria-label={`Remove filter ${name} ${choices[name]}`}>
                {name} {name === "status" ? ranVerdict(choices[name]).word : choices[name]} ×
              </Link>
            ))}
            <label className="row muted">
              <input type="checkbox" checked={!quiet} disabled={Boolean(choices.status)} onChange={(event) => choose({ all: event.target.checked ? "1" : undefined })} />
              with runs that found nothing new
            </label>
          </div>
          {fresh > 0 && (
            <button type="button" className="pill" onClick={() => keys.resetQueries({ queryKey: [path, "still"] })}>
              {fresh} new {fresh === 1 ? "run" : "runs"}
            </button>
          )}
          {list.isPending ? (
            <Skeleton rows={12} />
          ) : list.isError && !items.length ? (
            <TroubleState error={list.error} onRetry={() => list.refetch()} what="The list of runs" />
          ) : !items.length ? (
            filtered.length ? (
              <NoMatch what="runs" onClear={() => choose({ status: undefined, dataset: undefined, layer: undefined, domain: undefined, engine: undefined, pipeline: undefined })} />
            ) : (
              <Empty title="Nothing has run yet">
                <p>
                  Start a pass with <code>lakelogic drive --registry contracts/_registry.yaml</code>, or run one dataset from its page.
                </p>
              </Empty>
            )
          ) : (
            <List items={items} more={list.hasNextPage ? () => !list.isFetchingNextPage && list.fetchNextPage() : undefined} />
          )}
        </div>
      </div>
    </>
  );
}

function List({ items, more }: { items: Run[]; more?: () => void }) {
  const box = useRef<HTMLDivElement>(null);
  const [, go] = useLocation();
  const [at, setAt] = useState(-1);
  const rows = useVirtualizer({ count: items.length, getScrollElement: () => box.current, estimateSize: () => LINE, overscan: 8 });
  const shown = rows.getVirtualItems();
  const last = shown[shown.length - 1]?.index ?? 0;
  useEffect(() => {
    if (more && last >= items.length - 20) more();
  }, [last, items.length, more]);
  const move = (step: number) => {
    const next = Math.max(0, Math.min(items.length - 1, at + step));
    setAt(next);
    rows.scrollToIndex(next);
  };
  useKeys({
    j: () => move(1),
    k: () => move(-1),
    Enter: () => {
      const one = items[at];
      if (one) go(`/runs/${one.run_id}`);
    },
  });
  return (
    <>
    <div className="run-heads" aria-hidden="true">
      <span>Dataset</span>
      <span>Did it run</span>
      <span>Is the data good</span>
      <span>Outcome</span>
      <span className="num">Read → good</span>
      <span className="num">Took</span>
      <span className="num">Started</span>
    </div>
    <div className="vlist runs-list" style={listHeight(items.length, 216)} ref={box} tabIndex={0} role="table" aria-label="Runs" aria-rowcount={more ? -1 : items.length}>
      <div style={{ height: rows.getTotalSize(), position: "relative" }} role="rowgroup">
        {shown.map((one) => {
          const run = items[one.index];
          if (!run) return null;
          return (
            <div key={run.run_id} role="row" aria-rowindex={one.index + 1} className={`vrow run-row${one.index === at ? " at" : ""}`} style={{ height: LINE, transform: `translateY(${one.start}px)` }} onClick={() => go(`/runs/${run.run_id}`)}>
              <span role="cell" className="c-what row">
                <Letter layer={run.layer} />
                <Link href={`/runs/${run.run_id}`} className="plain ellipsis" onClick={(event) => event.stopPropagation()}>
                  <strong>{run.dataset}</strong>
                </Link>
              </span>
              <span role="cell" className="c-ran">
                <VerdictChip verdict={ranVerdict(run.status)} title={run.reason ?? undefined} />
              </span>
              <span role="cell" className="c-data">
                {run.counts_source === null ? <span className="muted">–</span> : <VerdictChip verdict={dataVerdict(run)} />}
              </span>
              <span role="cell" className="c-bar row wide-only">
                <OutcomeBar run={run} width={100} />
              </span>
              <span role="cell" className="num wide-only">
                {run.counts_source === null ? <span className="muted">–</span> : <><Num value={run.counts_source} /> <span className="muted">→</span> <Num value={run.counts_good} /></>}
              </span>
              <span role="cell" className="num wide-only muted">{duration(run.duration_seconds)}</span>
              <span role="cell" className="num muted small">
                <Ago at={run.started_at} />
              </span>
            </div>
          );
        })}
      </div>
    </div>
    </>
  );
}
