// Search everything by name (Ctrl K), and the sheet of shortcuts (?).
import { useEffect, useMemo, useRef, useState } from "react";
import { useLocation } from "wouter";
import { useGet } from "../api";
import type { Dataset, Page } from "../types";
import { Dialog } from "./bits";
import { Letter } from "./marks";

interface Found {
  href: string;
  name: string;
  kind: string;
  layer?: string | null;
}

export function Palette({ open, onClose, pages }: { open: boolean; onClose: () => void; pages: { href: string; name: string }[] }) {
  const box = useRef<HTMLDialogElement>(null);
  const [text, setText] = useState("");
  const [at, setAt] = useState(0);
  const [, go] = useLocation();
  const datasets = useGet<Page<Dataset>>(open ? "/datasets?runs=14" : null);
  useEffect(() => {
    if (open && !box.current?.open) {
      setText("");
      setAt(0);
      box.current?.showModal();
    }
    if (!open) box.current?.close();
  }, [open]);
  const found = useMemo(() => {
    const wanted = text.trim().toLowerCase();
    const known: Found[] = pages.map((one) => ({ href: one.href, name: one.name, kind: "page" }));
    const named: Found[] = (datasets.data?.items ?? []).map((one) => ({ href: `/datasets/${encodeURIComponent(one.dataset)}`, name: one.dataset, kind: [one.domain, one.system].filter(Boolean).join(" / "), layer: one.layer }));
    const every = wanted ? [...named, ...known] : [...known, ...named];
    const hits = every.filter((one) => wanted.split(/\s+/).every((word) => `${one.name} ${one.kind}`.toLowerCase().includes(word)));
    if (/^(run|plan)-/.test(wanted)) hits.unshift({ href: `/runs/${wanted}`, name: wanted, kind: "run" });
    if (/^job-/.test(wanted)) hits.unshift({ href: `/jobs/${wanted}`, name: wanted, kind: "job" });
    return hits.slice(0, 40);
  }, [text, datasets.data, pages]);
  const enter = (one: Found | undefined) => {
    if (!one) return;
    onClose();
    go(one.href);
  };
  return (
    <dialog className="dialog palette" ref={box} aria-label="Search" onClose={onClose}>
      <input
        className="input"
        role="combobox"
        aria-expanded="true"
        aria-controls="found"
        aria-activedescendant={found[at] ? `found-${at}` : undefined}
        aria-label="Search datasets, runs and pages"
        placeholder="Dataset, run id or page"
        value={text}
        onChange={(event) => {
          setText(event.target.value);
          setAt(0);
        }}
        onKeyDown={(event) => {
          if (event.key === "ArrowDown" || event.key === "ArrowUp") {
            event.preventDefault();
            const next = Math.max(0, Math.min(found.length - 1, at + (event.key === "ArrowDown" ? 1 : -1)));
            setAt(next);
            document.getElementById(`found-${next}`)?.scrollIntoView({ block: "nearest" });
          }
          if (event.key === "Enter") enter(found[at]);
        }}
      />
      <ul role="listbox" id="found" aria-label="Found">
        {found.map((one, number) => (
          <li key={one.href + one.kind} id={`found-${number}`} role="option" aria-selected={number === at} onMouseMove={() => setAt(number)} onClick={() => enter(one)}>
            {one.layer && <Letter layer={one.layer} />}
            <span className="ellipsis">{one.name}</span>
            <span className="kind">{one.kind}</span>
          </li>
        ))}
        {found.length === 0 && <li role="option" aria-selected="false" aria-disabled="true" className="muted">Nothing has that name</li>}
      </ul>
    </dialog>
  );
}

const SHORTCUTS: [string, string][] = [
  ["Ctrl K or /", "search"],
  ["g then e r h q k c a l x", "estate, runs, graph, quarantine, KPIs, contracts, approvals, levels, exports"],
  ["j k", "next, previous row"],
  ["Enter", "open the row"],
  ["x", "choose the row"],
  ["a", "choose all that match"],
  ["r d", "replay, discard what is chosen"],
  ["arrows, f", "in the graph: walk along edges, put a dataset into the middle"],
  ["Esc", "close"],
  ["?", "this sheet"],
];

export function ShortcutSheet({ open, onClose }: { open: boolean; onClose: () => void }) {
  const [off, setOff] = useState(() => localStorage.getItem("lakelogic_keys") === "off");
  return (
    <Dialog open={open} onClose={onClose} title="Shortcuts">
      <dl className="facts">
        {SHORTCUTS.map(([keys, what]) => (
          <div key={keys} style={{ display: "contents" }}>
            <dt>
              <span className="kbd">{keys}</span>
            </dt>
            <dd>{what}</dd>
          </div>
        ))}
      </dl>
      <label className="row">
        <input
          type="checkbox"
          checked={off}
          onChange={(event) => {
            setOff(event.target.checked);
            localStorage.setItem("lakelogic_keys", event.target.checked ? "off" : "on");
          }}
        />
        Switch single-key shortcuts off
      </label>
    </Dialog>
  );
}
