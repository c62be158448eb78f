// Which rows are quarantined, why, and what do I do? Causes first, then rows, then one row's story.
import { useVirtualizer } from "@tanstack/react-virtual";
import { useEffect, useMemo, useRef, useState } from "react";
import { Link } from "wouter";
import { get, part, query, Trouble, useGet, usePages } from "../api";
import { age, count, middle, plural, words } from "../format";
import { Ago, LINE, listHeight, useKeys } from "../parts/bits";
import { Decide, type Chosen } from "../parts/decide";
import { Facet, Facets } from "../parts/facet";
import { Inspector } from "../parts/inspector";
import { Letter, Mark } from "../parts/marks";
import { Asked, Empty, NoMatch, Skeleton, TroubleState } from "../parts/state";
import type { Dataset, Page, Queue, QueueFacets, QueueRow } from "../types";
import { useChoices } from "../url";

/** As many rows as the service takes one by one. */
const MOST_NAMED = 1_000;

export default function Quarantine() {
  const [choices] = useChoices();
  const queues = useGet<Page<Queue>>("/quarantine");
  return (
    <Asked of={queues} what="The quarantine" skeleton={<Skeleton rows={10} />}>
      {(page) => (choices.dataset ? <One dataset={choices.dataset} queues={page.items} /> : <Causes queues={page.items} />)}
    </Asked>
  );
}

function Causes({ queues }: { queues: Queue[] }) {
  const [choices, choose, href] = useChoices();
  const datasets = useGet<Page<Dataset>>("/datasets?runs=14");
  const about = new Map((datasets.data?.items ?? []).map((one) => [one.dataset, one]));
  const shown = queues.filter((one) => !choices.domain || about.get(one.dataset)?.domain === choices.domain);
  const rows = shown.reduce((sum, one) => sum + one.active, 0);
  const oldest = shown.filter((one) => one.active).map((one) => one.oldest).filter(Boolean).sort()[0];
  const causes = shown.flatMap((queue) => Object.entries(queue.rules).map(([rule, number]) => ({ queue, rule, number }))).sort((a, b) => b.number - a.number);
  const domains: Record<string, number> = {};
  for (const one of queues) {
    const domain = about.get(one.dataset)?.domain;
    if (domain && one.active) domains[domain] = (domains[domain] ?? 0) + one.active;
  }
  return (
    <>
      <div className="head">
        <h1>Quarantine</h1>
        <p className="finding">
          {rows ? (
            <>
              <strong>{plural(rows, "row")}</strong> of {plural(shown.filter((one) => one.active).length, "dataset")} {rows === 1 ? "waits" : "wait"}
              {oldest && `, the oldest for ${age(oldest)}`}. {plural(causes.length, "cause")}.
            </>
          ) : (
            "Nothing is quarantined."
          )}
        </p>
      </div>
      {rows === 0 ? (
        <Empty title="Nothing is quarantined">
          <p>Every row that was judged was good, was replayed, or was taken out by somebody. The runs tell how many there were.</p>
          <Link href="/runs">See the runs</Link>
        </Empty>
      ) : (
        <div className="quarantine">
          <Facets chosen={choices.domain ? 1 : 0}>
            <Facet title="Domain" name="domain" counts={domains} chosen={choices.domain} href={href} />
            <section>
              <h2>Dataset</h2>
              <ul>
                {shown.filter((one) => one.active).sort((a, b) => b.active - a.active).map((one) => (
                  <li key={one.dataset}>
                    <Link href={`/quarantine?dataset=${part(one.dataset)}`}>
                      <Letter layer={about.get(one.dataset)?.layer} />
                      <span className="ellipsis">{one.dataset.replace(/^(bronze|silver|gold)_/, "")}</span>
                      <span className="n" data-count={one.active}>
                        {count(one.active)}
                      </span>
                    </Link>
                  </li>
                ))}
              </ul>
            </section>
          </Facets>
          <section className="section" aria-label="Causes">
            <header>
              <h2>By cause</h2>
              {choices.domain && (
                <button type="button" className="chip run" onClick={() => choose({ domain: undefined })}>
                  domain {choices.domain} ×
                </button>
              )}
            </header>
            <div>
              {causes.map(({ queue, rule, number }) => (
                <Link key={queue.dataset + rule} className="cause" href={`/quarantine?dataset=${part(queue.dataset)}&rule=${part(rule)}`} data-count={number}>
                  <span className="n">{count(number)}</span>
                  <span className="what">{words(rule)}</span>
                  <Letter layer={about.get(queue.dataset)?.layer} />
                  <span className="sub">
                    {queue.dataset} · since <Ago at={queue.oldest} />
                  </span>
                </Link>
              ))}
            </div>
          </section>
        </div>
      )}
    </>
  );
}

function One({ dataset, queues }: { dataset: string; queues: Queue[] }) {
  const [choices, choose, href] = useChoices();
  const [chosen, setChosen] = useState<Set<string>>(new Set());
  const [act, setAct] = useState<{ kind: "replay" | "discard"; chosen: Chosen } | null>(null);
  const state = choices.state ?? "active";
  const wanted = { state, rule: choices.rule ? [choices.rule] : [], category: choices.category ? [choices.category] : [], run: choices.run, source: choices.source };
  const facets = useGet<QueueFacets>(`/quarantine/${part(dataset)}/facets${query(wanted)}`, { keep: true });
  // A facet is counted without its own filter, so that its numbers are what another value would bring.
  const byRule = useWithout(dataset, wanted, "rule", facets.data);
  const byCategory = useWithout(dataset, wanted, "category", facets.data);
  const byRun = useWithout(dataset, wanted, "run", facets.data);
  const bySource = useWithout(dataset, wanted, "source", facets.data);
  const path = `/quarantine/${part(dataset)}/rows${query({ ...wanted, limit: 100 })}`;
  const list = usePages<Page<QueueRow> & { total: number }>(path);
  const items = useMemo(() => (list.data?.pages ?? []).flatMap((one) => one.items), [list.data]);
  const total = list.data?.pages[0]?.total ?? facets.data?.total ?? 0;
  const filters = ["rule", "category", "run", "source"].filter((one) => choices[one]);
  const queue = queues.find((one) => one.dataset === dataset);
  useEffect(() => setChosen(new Set()), [path]);
  // The service chooses by rule, category and run. Of a source the rows are named one by one, so that no others are touched.
  const byName = Boolean(choices.source) && chosen.size === 0;
  const tooMany = byName && total > MOST_NAMED;
  const [failed, setFailed] = useState<Trouble | null>(null);
  const everything: Chosen = { rules: choices.rule ? [choices.rule] : [], categories: choices.category ? [choices.category] : [], run: choices.run ?? null, rows: [], everything: filters.length === 0, count: total };
  const some: Chosen = chosen.size ? { rules: [], categories: [], run: null, rows: [...chosen], everything: false, count: chosen.size } : everything;
  const start = async (kind: "replay" | "discard") => {
    setFailed(null);
    if (tooMany) return;
    try {
      const named = byName ? await idsOf(path) : [];
      setAct({ kind, chosen: byName ? { rules: [], categories: [], run: null, rows: named, everything: false, count: named.length } : some });
    } catch (error) {
      setFailed(error instanceof Trouble ? error : new Trouble(0, {}));
    }
  };
  const toggle = (id: string) =>
    setChosen((before) => {
      const next = new Set(before);
      if (next.has(id)) next.delete(id);
      else next.add(id);
      return next;
    });
  const one = choices.row;
  return (
    <>
      <div className="head">
        <div className="line">
          <h1>
            <Link className="plain" href={`/datasets/${part(dataset)}`}>
              {dataset}
            </Link>{" "}
            <span className="muted">quarantine</span>
          </h1>
          <span className="actions">
            <Link className="btn" href="/quarantine">
              All causes
            </Link>
          </span>
        </div>
        <p className="finding">
          <strong>{plural(total, "row")}</strong> {state === "active" ? (total === 1 ? "waits" : "wait") : state === "all" ? "in all states" : `${state}`}
          {choices.rule ? ` because of ${words(choices.rule)}` : ""}
          {facets.data?.oldest && state === "active" ? `, the oldest for ${age(facets.data.oldest)}` : ""}.
        </p>
      </div>
      <div className={`quarantine${one ? " open" : ""}`}>
        <Facets chosen={filters.length + (choices.state ? 1 : 0)}>
          <section>
            <h2>State</h2>
            <ul>
              {(["active", "replayed", "discarded", "superseded"] as const).map((name) => (
                <li key={name}>
                  <Link href={href({ state: name === "active" ? undefined : name, row: undefined })} aria-current={state === name ? "true" : undefined}>
                    <Mark role={name === "active" ? "bad" : name === "replayed" ? "good" : "skip"} size={9} />
                    {name === "active" ? "waiting" : name}
                    <span className="n">{count(facets.data ? (facets.data.counts.state?.[name] ?? 0) : queue?.[name])}</span>
                  </Link>
                </li>
              ))}
            </ul>
          </section>
          <Facet title="Rule" name="rule" counts={byRule?.rule} chosen={choices.rule} href={href} most={14} />
          <Facet title="Category" name="category" counts={byCategory?.category} chosen={choices.category} href={href} />
          <Facet title="Run" name="run" counts={byRun?.run_id} chosen={choices.run} href={href} show={(value) => value.replace("run-", "")} most={5} />
          <Facet title="Source" name="source" counts={bySource?.source} chosen={choices.source} href={href} show={(value) => middle(value, 24)} most={5} />
        </Facets>
        <section className="section" aria-label="Rows">
          {filters.length > 0 && (
            <div className="row wrap small">
              {filters.map((name) => (
                <Link key={name} href={href({ [name]: undefined, row: undefined })} className="chip run" aria-label={`Remove filter ${name}`}>
                  <span>
                    {name} {words(choices[name] ?? "")}
                  </span>{" "}
                  ×
                </Link>
              ))}
            </div>
          )}
          {list.isPending ? (
            <Skeleton rows={10} />
          ) : list.isError && !items.length ? (
            <TroubleState error={list.error} onRetry={() => list.refetch()} what="The rows" />
          ) : !items.length ? (
            filters.length ? (
              <NoMatch onClear={() => choose({ rule: undefined, category: undefined, run: undefined, source: undefined, row: undefined })} />
            ) : (
              <Empty title={state === "active" ? "Nothing waits here" : `No row was ${state}`}>
                <p>Every row of this dataset that was judged is good, was replayed or was taken out.</p>
                <Link href={`/datasets/${part(dataset)}`}>See its history</Link>
              </Empty>
            )
          ) : (
            <Rows items={items} chosen={chosen} toggle={toggle} at={one} total={total} onAll={() => setChosen(new Set())} onAct={(kind) => void start(kind)} more={list.hasNextPage ? () => !list.isFetchingNextPage && list.fetchNextPage() : undefined} />
          )}
          {state === "active" && items.length > 0 && (
            <div className="select-bar" role="group" aria-label="What to do">
              <span className="grow">
                {chosen.size ? (
                  <>
                    <strong>{plural(chosen.size, "row")}</strong> chosen of {count(total)}{" "}
                    <button type="button" className="btn bare" onClick={() => setChosen(new Set())}>
                      all {count(total)} instead
                    </button>
                  </>
                ) : (
                  <>
                    All <strong>{plural(total, "row")}</strong> that match
                  </>
                )}
              </span>
              {tooMany && <span className="ink-warn small">Of one source at most {count(MOST_NAMED)} rows go at once: choose a rule or a run too.</span>}
              <button type="button" className="btn" disabled={tooMany} onClick={() => void start("discard")} aria-keyshortcuts="d">
                Discard…
              </button>
              <button type="button" className="btn first" disabled={tooMany} onClick={() => void start("replay")} aria-keyshortcuts="r">
                Replay {plural(some.count, "row")}…
              </button>
            </div>
          )}
          {failed && <TroubleState error={failed} what="The choice" />}
        </section>
        {one && <Inspector dataset={dataset} row={one} onClose={() => choose({ row: undefined })} onAct={(kind) => setAct({ kind, chosen: { rules: [], categories: [], run: null, rows: [one], everything: false, count: 1 } })} />}
      </div>
      {act && <Decide kind={act.kind} dataset={dataset} chosen={act.chosen} onClose={() => setAct(null)} />}
    </>
  );
}

type Wanted = { state: string; rule: string[]; category: string[]; run?: string; source?: string };
/** Counts under all filters but one; where that one is not chosen, those that are there already. */
function useWithout(dataset: string, wanted: Wanted, name: "rule" | "category" | "run" | "source", all: QueueFacets | undefined): QueueFacets["counts"] | undefined {
  const chosen = wanted[name]?.length;
  const found = useGet<QueueFacets>(chosen ? `/quarantine/${part(dataset)}/facets${query({ ...wanted, [name]: undefined })}` : null, { keep: true });
  return (chosen ? found.data : all)?.counts;
}

/** The ids of every row that a list would show, page after page. */
async function idsOf(path: string): Promise<string[]> {
  const ids: string[] = [];
  let after: string | null = null;
  do {
    const page: Page<QueueRow> = await get<Page<QueueRow>>(after ? `${path}&after=${part(after)}` : path);
    ids.push(...page.items.map((one) => one.row_id));
    after = page.next;
  } while (after && ids.length < MOST_NAMED);
  return ids;
}

function Rows({ items, chosen, toggle, at, total, more, onAct, onAll }: { items: QueueRow[]; chosen: Set<string>; toggle: (id: string) => void; at?: string; total: number; more?: () => void; onAct: (kind: "replay" | "discard") => void; onAll: () => void }) {
  const box = useRef<HTMLDivElement>(null);
  const [, choose] = useChoices();
  const rows = useVirtualizer({ count: items.length, getScrollElement: () => box.current, estimateSize: () => LINE, overscan: 10 });
  const shown = rows.getVirtualItems();
  const last = shown[shown.length - 1]?.index ?? 0;
  useEffect(() => {
    if (more && last >= items.length - 20) more();
  }, [last, items.length, more]);
  const place = items.findIndex((one) => one.row_id === at);
  const move = (step: number) => {
    const next = items[Math.max(0, Math.min(items.length - 1, place + step))];
    if (next) {
      choose({ row: next.row_id }, { replace: place >= 0 });
      rows.scrollToIndex(Math.max(0, place + step));
    }
  };
  useKeys({
    j: () => move(1),
    k: () => move(-1),
    x: () => at && toggle(at),
    a: () => onAll(),
    r: () => onAct("replay"),
    d: () => onAct("discard"),
    Escape: () => at && choose({ row: undefined }),
  });
  return (
    <div className="vlist" style={listHeight(items.length, 250)} ref={box} role="grid" aria-label="Quarantined rows" aria-rowcount={total} tabIndex={0}>
      <div style={{ height: rows.getTotalSize(), position: "relative" }} role="rowgroup">
        {shown.map((virtual) => {
          const one = items[virtual.index];
          if (!one) return null;
          return (
            <div
              key={one.row_id}
              role="row"
              aria-rowindex={virtual.index + 1}
              aria-selected={chosen.has(one.row_id)}
              className={`vrow q-row${chosen.has(one.row_id) ? " chosen" : ""}${one.row_id === at ? " at" : ""}`}
              style={{ height: LINE, transform: `translateY(${virtual.start}px)` }}
              onClick={() => choose({ row: one.row_id })}
            >
              <span role="gridcell">
                <input type="checkbox" aria-label={`Choose row ${one.row_id.slice(0, 8)}`} checked={chosen.has(one.row_id)} onClick={(event) => event.stopPropagation()} onChange={() => toggle(one.row_id)} disabled={one.state !== "active"} />
              </span>
              <span role="gridcell" className="ellipsis">
                <button
                  type="button"
                  className="link-like"
                  onClick={(event) => {
                    event.stopPropagation();
                    choose({ row: one.row_id });
                  }}
                >
                  {one.rules.map(words).join(", ") || words(one.rejection_reason ?? "no reason kept")}
                </button>
              </span>
              <span role="gridcell" className="muted small ellipsis wide-only" title={one.source ?? undefined}>
                {one.source ? middle(one.source, 30) : "–"}
                {one.line !== null && `:${one.line}`}
              </span>
              <span role="gridcell" className="muted small num">
                {one.state === "active" ? (
                  <>
                    {one.runs > 1 && <span className="wide-only" title={`Bad in ${one.runs} runs; newest first, by when it was seen last`}>{plural(one.runs, "run")} · </span>}
                    <Ago at={one.first_seen ?? one.at} />
                  </>
                ) : (
                  one.state
                )}
              </span>
            </div>
          );
        })}
      </div>
    </div>
  );
}
