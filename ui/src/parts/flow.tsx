// The account of a run drawn as a flow: what was read, what became of it, and why. Widths are linear; the table is its twin.
import { useLayoutEffect, useMemo, useRef, useState } from "react";
import { Link } from "wouter";
import { count, share } from "../format";
import type { Account } from "../types";
import type { Role } from "../verdict";
import { Table } from "./table";

export interface FlowNode {
  id: string;
  column: number;
  name: string;
  sub?: string;
  value: number;
  role: Role;
  pattern?: "hatch" | "double" | "dots";
  href?: string;
}
export interface FlowLink {
  from: string;
  to: string;
  value: number;
  role: Role;
}
export interface FlowData {
  read: number;
  nodes: FlowNode[];
  links: FlowLink[];
  notes: string[];
}

const APPLIED: [string, string][] = [
  ["inserted", "inserted"],
  ["updated", "updated"],
  ["unchanged", "already there, unchanged"],
  ["deleted", "deleted"],
];

export function flowOf(told: Account, facets: Record<string, number> | null, more: { source: string; target: string | null; version: number | null; links: { quarantine: string | null; rule: (rule: string) => string | null } }): FlowData {
  const account = told.account;
  const read = account.read ?? 0;
  const nodes: FlowNode[] = [{ id: "read", column: 0, name: "Read", sub: more.source, value: read, role: "skip" }];
  const links: FlowLink[] = [];
  const notes: string[] = [];
  const add = (node: FlowNode, from: string, value = node.value) => {
    nodes.push(node);
    links.push({ from, to: node.id, value, role: node.role });
  };
  const made = sum(account.expanded);
  if (made > 0) {
    nodes.push({ id: "made", column: 0, name: "Made by a step", sub: Object.keys(account.expanded ?? {}).join(", "), value: made, role: "skip" });
    notes.push(`${count(made)} rows came of rows that were taken apart.`);
  }
  const good = account.good ?? 0;
  const bad = account.quarantined ?? 0;
  const grouped = sum(account.grouped);
  const target = more.target ? `${more.target}${more.version === null ? "" : ` v${more.version}`}` : undefined;
  if (grouped > 0) {
    add({ id: "grouped", column: 1, name: "Gathered", sub: Object.keys(account.grouped ?? {}).map((one) => one.replaceAll("_", " ")).join(", "), value: grouped, role: "skip", pattern: "double" }, "read", Math.min(grouped, read));
    nodes.push({ id: "good", column: 2, name: "Good", sub: target, value: good, role: "good" });
    links.push({ from: "grouped", to: "good", value: good, role: "good" });
    notes.push(`${count(grouped)} rows were gathered into ${count(good + bad)}: the unit changes at that step.`);
  } else if (good > 0 || read === 0) add({ id: "good", column: 1, name: "Good", sub: target, value: good, role: "good" }, "read");
  for (const [step, value] of Object.entries(account.filtered ?? {}))
    if (value) add({ id: `filtered:${step}`, column: 1, name: "Filtered", sub: step.replaceAll("_", " "), value, role: "skip" }, "read");
  for (const [step, value] of Object.entries(account.deduplicated ?? {}))
    if (value) add({ id: `dedup:${step}`, column: 1, name: "Deduplicated", sub: step.replaceAll("_", " "), value, role: "skip", pattern: "double" }, "read");
  if (bad > 0) add({ id: "bad", column: grouped ? 2 : 1, name: "Quarantined", sub: share(bad, good + bad) + " of the rows judged", value: bad, role: "bad", pattern: "hatch", href: more.links.quarantine ?? undefined }, grouped ? "grouped" : "read");
  const left = told.unaccounted ?? 0;
  if (left !== 0) add({ id: "lost", column: 1, name: "Unaccounted", sub: "somebody must look", value: Math.abs(left), role: "warn", pattern: "hatch" }, "read");
  const applied = account.applied ?? {};
  const parts = APPLIED.map(([key, name]) => [name, applied[key] ?? 0] as const).filter(([, value]) => value > 0);
  if (!grouped && parts.length > 0 && parts.reduce((all, one) => all + one[1], 0) === good)
    for (const [name, value] of parts) add({ id: `applied:${name}`, column: 2, name: name[0]?.toUpperCase() + name.slice(1), value, role: "good" }, "good");
  if (bad > 0) {
    const rules = Object.entries(facets ?? told.rule_failures ?? {}).filter(([, value]) => value > 0).sort((a, b) => b[1] - a[1]);
    const failures = rules.reduce((all, one) => all + one[1], 0);
    const shown = rules.slice(0, 8);
    const rest = rules.slice(8);
    const width = (value: number) => (failures ? (value / failures) * bad : 0);
    const column = grouped ? 3 : 2;
    for (const [rule, value] of shown) {
      nodes.push({ id: `rule:${rule}`, column, name: rule.replaceAll("_", " "), value, role: "bad", pattern: "hatch", href: (facets && more.links.rule(rule)) || undefined });
      links.push({ from: "bad", to: `rule:${rule}`, value: width(value), role: "bad" });
    }
    if (rest.length) {
      const value = rest.reduce((all, one) => all + one[1], 0);
      nodes.push({ id: "rule:…", column, name: `under ${rest.length} more ${rest.length === 1 ? "rule" : "rules"}`, value, role: "bad", pattern: "hatch" });
      links.push({ from: "bad", to: "rule:…", value: width(value), role: "bad" });
    }
    if (failures > bad) notes.push(`A row can break several rules: ${count(failures)} failures on ${count(bad)} rows.`);
  }
  return { read, nodes, links, notes };
}
function sum(of: Record<string, number> | undefined): number {
  return Object.values(of ?? {}).reduce((all, one) => all + one, 0);
}

interface Placed extends FlowNode {
  x: number;
  y: number;
  tall: number;
}
const THICK = 8;
const LEAST = 2;

function laid(data: FlowData, width: number) {
  const columns = Math.max(...data.nodes.map((one) => one.column)) + 1;
  const heights = new Map<string, number>();
  const through = (id: string) => {
    const into = data.links.filter((one) => one.to === id).reduce((all, one) => all + one.value, 0);
    const out = data.links.filter((one) => one.from === id).reduce((all, one) => all + one.value, 0);
    return Math.max(into, out) || data.nodes.find((one) => one.id === id)?.value || 0;
  };
  const scale = 210 / Math.max(1, data.read);
  for (const one of data.nodes) heights.set(one.id, Math.max(LEAST, through(one.id) * scale));
  const label = 214;
  const step = columns > 1 ? (width - label) / (columns - 1) : 0;
  const placed: Placed[] = [];
  let bottom = 0;
  for (let column = 0; column < columns; column += 1) {
    let y = 10;
    for (const one of data.nodes.filter((node) => node.column === column)) {
      const tall = heights.get(one.id) ?? LEAST;
      const slot = Math.max(tall, one.sub ? 34 : 20);
      placed.push({ ...one, x: column * step, y: y + (slot - tall) / 2, tall });
      y += slot + 10;
    }
    bottom = Math.max(bottom, y + 8);
  }
  const at = new Map(placed.map((one) => [one.id, one]));
  const spent = new Map<string, { in: number; out: number }>();
  const bands = data.links.flatMap((one) => {
    const from = at.get(one.from);
    const to = at.get(one.to);
    if (!from || !to) return [];
    const thick = Math.max(LEAST, one.value * scale);
    const used = spent.get(one.from) ?? { in: 0, out: 0 };
    const got = spent.get(one.to) ?? { in: 0, out: 0 };
    const wide = Math.min(thick, Math.max(LEAST, from.tall - used.out));
    const y0 = from.y + Math.min(used.out, Math.max(0, from.tall - LEAST));
    const y1 = to.y + got.in;
    spent.set(one.from, { ...used, out: used.out + thick });
    spent.set(one.to, { ...(spent.get(one.to) ?? got), in: got.in + thick });
    const x0 = from.x + THICK;
    const x1 = to.x;
    const bend = (x1 - x0) / 2;
    const end = Math.min(thick, to.tall);
    const path = `M${x0},${y0}C${x0 + bend},${y0} ${x1 - bend},${y1} ${x1},${y1}L${x1},${y1 + end}C${x1 - bend},${y1 + end} ${x0 + bend},${y0 + wide} ${x0},${y0 + wide}Z`;
    return [{ ...one, path, small: one.value * scale < LEAST, href: to.href, name: to.name, value: to.value }];
  });
  return { placed, bands, tall: bottom };
}

export function Flow({ data }: { data: FlowData }) {
  const box = useRef<HTMLDivElement>(null);
  const [width, setWidth] = useState(960);
  useLayoutEffect(() => {
    const one = box.current;
    if (!one) return;
    const watcher = new ResizeObserver(([entry]) => setWidth(Math.max(640, entry?.contentRect.width ?? 960)));
    watcher.observe(one);
    return () => watcher.disconnect();
  }, []);
  const { placed, bands, tall } = useMemo(() => laid(data, width), [data, width]);
  const small = bands.some((one) => one.small);
  return (
    <figure className="rows" data-flow>
      <div ref={box} className="scroll-x" tabIndex={0} role="region" aria-label="Flow of rows">
        <svg className="flow" width={width} height={tall} viewBox={`0 0 ${width} ${tall}`} aria-label="What became of the rows; the table below holds the same numbers">
          <defs>
            {(["bad", "warn"] as const).map((role) => (
              <pattern key={role} id={`hatch-${role}`} width="6" height="6" patternUnits="userSpaceOnUse" patternTransform="rotate(45)">
                <rect width="6" height="6" className={`fill-${role}`} opacity="0.55" />
                <rect width="2.4" height="6" className={`fill-${role}`} />
              </pattern>
            ))}
          </defs>
          {bands.map((one) => {
            const shape = (
              <path d={one.path} className={`band ${one.role} fill-${one.role}`} fill={undefined} style={one.role === "bad" || one.role === "warn" ? { fill: `url(#hatch-${one.role})` } : undefined}>
                <title>{`${one.name}: ${count(one.value)} (${share(one.value, data.read)} of what was read)${one.small ? ", not to scale" : ""}`}</title>
              </path>
            );
            return one.href ? (
              <Link key={one.from + one.to} href={one.href} aria-label={`${one.name}: ${count(one.value)} rows`}>
                {shape}
              </Link>
            ) : (
              <g key={one.from + one.to}>{shape}</g>
            );
          })}
          {placed.map((one) => {
            // A thin band that fans out leaves no room at its right: its words stand below it, on the left.
            const left = one.column > 0 && one.tall < 30 && data.links.some((link) => link.from === one.id);
            const x = left ? one.x - 6 : one.x + THICK + 8;
            const y = one.y + one.tall / 2 + (left ? 18 : one.sub ? -3 : 4);
            return (
              <g key={one.id} className={`label ${one.role}${one.column > 0 ? " inner" : ""}`} textAnchor={left ? "end" : undefined}>
                <rect x={one.x} y={one.y} width={THICK} height={one.tall} rx="1" className={`fill-${one.role}`} />
                <text x={x} y={y}>
                  <tspan fontWeight="650">{count(one.value)}</tspan> {clip(one.name, 24)}
                </text>
                {one.sub && (
                  <text className="sub" x={x} y={y + 15}>
                    {clip(one.sub, 30)}
                  </text>
                )}
              </g>
            );
          })}
        </svg>
      </div>
      {(data.notes.length > 0 || small) && (
        <figcaption className="muted small">
          {[...data.notes, ...(small ? ["The thinnest bands are drawn wider than they are; the numbers are exact."] : [])].join(" ")}
        </figcaption>
      )}
    </figure>
  );
}
function clip(text: string, most: number): string {
  return text.length <= most ? text : `${text.slice(0, most - 1)}…`;
}

export function FlowTable({ data }: { data: FlowData }) {
  return (
    <Table label="The flow in numbers" dense heads={["What", "Where or why", { name: "Rows", num: true }, { name: "Of what was read", num: true }]}>
      {data.nodes.map((one) => (
        <tr key={one.id}>
          <td style={{ paddingLeft: 10 + one.column * 16 }}>{one.name}</td>
          <td className="muted">{one.sub}</td>
          <td className="num">
            {one.href ? (
              <Link href={one.href} data-count={one.value}>
                {count(one.value)}
              </Link>
            ) : (
              count(one.value)
            )}
          </td>
          <td className="num muted">{share(one.value, data.read)}</td>
        </tr>
      ))}
    </Table>
  );
}
