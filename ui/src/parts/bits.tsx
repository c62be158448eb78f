// Small things that every page uses: times, values, tabs, dialogs, bars, strips.
import { X } from "lucide-react";
import { Children, Fragment, type KeyboardEvent, type ReactNode, useEffect, useId, useRef, useState } from "react";
import { Link } from "wouter";
import { ago, count, exact, share } from "../format";
import type { Short, Value } from "../types";
import { dataVerdict, ranVerdict } from "../verdict";

let tick = Date.now();
const clocks = new Set<() => void>();
window.setInterval(() => {
  if (document.hidden) return;
  tick = Date.now();
  for (const one of clocks) one();
}, 10_000);

export function Ago({ at }: { at: string | null | undefined }) {
  const [, again] = useState(0);
  useEffect(() => {
    const one = () => again((n) => n + 1);
    clocks.add(one);
    return () => void clocks.delete(one);
  }, []);
  if (!at) return <span className="muted">–</span>;
  return (
    <time dateTime={at} title={exact(at)} className="nowrap">
      {ago(at, Math.max(tick, Date.now()))}
    </time>
  );
}

/** What was found, in a line: phrases with a dot between them, and none where a phrase is left out. */
export function Finding({ children }: { children: ReactNode }) {
  return (
    <p className="finding">
      {Children.toArray(children).map((one, number) => (
        <Fragment key={number}>
          {number > 0 && <span className="sep">·</span>}
          {one}
        </Fragment>
      ))}
    </p>
  );
}

/** A value as it is kept: nothing, empty text and zero look different; masked ones say so. */
export function Shown({ value }: { value: Value | undefined }) {
  if (value === null || value === undefined) return <span className="null" title="null">∅</span>;
  if (value === "") return <span className="null" title="empty text">""</span>;
  if (value === "••••") return <span className="masked" title="masked">••••</span>;
  if (typeof value === "object") return <span className="mono">{JSON.stringify(value)}</span>;
  return <>{String(value)}</>;
}

export function Num({ value, href, role }: { value: number | null | undefined; href?: string; role?: string }) {
  const text = count(value);
  if (!href || !value) return <span className={role && value ? `ink-${role}` : undefined}>{text}</span>;
  return (
    <Link href={href} className={role ? `ink-${role}` : "plain"} data-count={value}>
      {text}
    </Link>
  );
}

export function Tabs({ tabs, chosen, onChoose, label }: { tabs: { id: string; name: string; count?: number | null }[]; chosen: string; onChoose: (id: string) => void; label: string }) {
  const box = useRef<HTMLDivElement>(null);
  const walk = (event: KeyboardEvent) => {
    const step = event.key === "ArrowRight" ? 1 : event.key === "ArrowLeft" ? -1 : 0;
    if (!step) return;
    const at = tabs.findIndex((one) => one.id === chosen);
    const next = tabs[(at + step + tabs.length) % tabs.length];
    if (next) {
      onChoose(next.id);
      box.current?.querySelector<HTMLElement>(`[data-tab="${next.id}"]`)?.focus();
    }
  };
  return (
    <div className="tabs" role="tablist" aria-label={label} onKeyDown={walk} ref={box}>
      {tabs.map((one) => (
        <button type="button" role="tab" key={one.id} data-tab={one.id} aria-selected={one.id === chosen} tabIndex={one.id === chosen ? 0 : -1} onClick={() => onChoose(one.id)}>
          {one.name}
          {one.count !== undefined && one.count !== null && <span className="count">{count(one.count)}</span>}
        </button>
      ))}
    </div>
  );
}

export function Dialog({ open, onClose, title, children, footer, wide }: { open: boolean; onClose: () => void; title: ReactNode; children: ReactNode; footer?: ReactNode; wide?: boolean }) {
  const box = useRef<HTMLDialogElement>(null);
  const name = useId();
  useEffect(() => {
    const one = box.current;
    if (!one) return;
    if (open && !one.open) one.showModal();
    if (!open && one.open) one.close();
  }, [open]);
  return (
    <dialog className={`dialog${wide ? " wide" : ""}`} ref={box} aria-labelledby={name} onClose={onClose}>
      {open && (
        <>
          <header>
            <h2 id={name}>{title}</h2>
            <button type="button" className="btn bare icon" aria-label="Close" onClick={onClose}>
              <X size={16} aria-hidden="true" />
            </button>
          </header>
          <div className="body">{children}</div>
          {footer && <footer>{footer}</footer>}
        </>
      )}
    </dialog>
  );
}

/** What became of the rows that were read, as one bar. */
export function OutcomeBar({ run, width = 120 }: { run: Short & { counts_filtered?: number | null; counts_deduplicated?: number | null }; width?: number }) {
  const read = run.counts_source ?? 0;
  if (!read) return <span className="muted">–</span>;
  const bad = run.counts_quarantined ?? 0;
  const good = run.counts_good ?? 0;
  const parts: [string, number][] = [
    ["good", good],
    ["skip", (run.counts_filtered ?? 0) + (run.counts_deduplicated ?? 0)],
    ["bad", bad],
  ];
  const all = Math.max(1, parts.reduce((sum, one) => sum + one[1], 0));
  let x = 0;
  return (
    <svg className="bar" width={width} height="8" role="img" aria-label={`${count(good)} good, ${count(bad)} bad of ${count(read)} read`}>
      {parts.map(([role, value]) => {
        if (!value) return null;
        const wide = Math.max(2, (value / all) * (width - 4));
        const made = <rect key={role} x={x} y="0" width={Math.min(wide, width - x)} height="8" className={`fill-${role}`} rx="1" />;
        x += wide + 1;
        return made;
      })}
    </svg>
  );
}

/** The last runs as thin marks, oldest first: height is the good share, colour the verdict, a stub where nothing was new. */
export function Strip({ runs, slots = 14 }: { runs: Short[] | undefined; slots?: number }) {
  const shown = [...(runs ?? [])].slice(0, slots).reverse();
  return (
    <svg className="strip" width={slots * 5} height="16" role="img" aria-label={`${shown.length} newest runs: ${summary(shown)}`}>
      {Array.from({ length: slots - shown.length }, (_, number) => (
        <rect key={`e${number}`} x={number * 5} y="13" width="3" height="3" className="fill-none" />
      ))}
      {shown.map((one, number) => {
        const ran = ranVerdict(one.status);
        const data = dataVerdict(one);
        const role = ran.role === "good" ? data.role : ran.role;
        const tall = role === "skip" || role === "unknown" ? 4 : 16;
        return (
          <rect key={one.run_id} x={(slots - shown.length + number) * 5} y={16 - tall} width="3" height={tall} className={`fill-${role}`} rx="1">
            <title>{`${ran.word}, ${data.word} · ${ago(one.started_at)}`}</title>
          </rect>
        );
      })}
    </svg>
  );
}
function summary(runs: Short[]): string {
  const found = new Map<string, number>();
  for (const one of runs) found.set(ranVerdict(one.status).word, (found.get(ranVerdict(one.status).word) ?? 0) + 1);
  return [...found].map(([word, times]) => `${times} ${word.toLowerCase()}`).join(", ") || "none";
}

export function Share({ good, bad }: { good: number | null | undefined; bad: number | null | undefined }) {
  if (good === null || good === undefined) return <span className="muted">–</span>;
  return <span title={`${count(good)} good, ${count(bad ?? 0)} bad`}>{share(good, good + (bad ?? 0))}</span>;
}

export const LINE = 44;
/** A list is as tall as what is in it, and never taller than the window leaves room for. */
export function listHeight(rows: number, around: number): { height: string; minHeight: number } {
  const all = rows * LINE + 2;
  return { height: `min(${all}px, calc(100vh - ${around}px))`, minHeight: Math.min(all, 320) };
}

export function useKeys(keys: Record<string, (event: globalThis.KeyboardEvent) => void>, on = true): void {
  const kept = useRef(keys);
  kept.current = keys;
  useEffect(() => {
    if (!on) return;
    const heard = (event: globalThis.KeyboardEvent) => {
      const at = event.target as HTMLElement;
      if (event.metaKey || event.ctrlKey || event.altKey || at.closest("input, textarea, select, dialog, [contenteditable]")) return;
      if (localStorage.getItem("lakelogic_keys") === "off") return;
      const found = kept.current[event.key];
      if (found) {
        event.preventDefault();
        found(event);
      }
    };
    window.addEventListener("keydown", heard);
    return () => window.removeEventListener("keydown", heard);
  }, [on]);
}
