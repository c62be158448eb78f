// The history of a dataset on one axis: rows by outcome, the good share, and how long it took.
import { useLayoutEffect, useRef, useState } from "react";
import { ago, count, duration, share } from "../format";
import type { Run } from "../types";

const GUTTER = 92;

export function History({ runs, onOpen }: { runs: Run[]; onOpen: (run: string) => void }) {
  const box = useRef<HTMLDivElement>(null);
  const [width, setWidth] = useState(720);
  useLayoutEffect(() => {
    if (!box.current) return;
    const watcher = new ResizeObserver(([entry]) => setWidth(Math.max(280, entry?.contentRect.width ?? 720)));
    watcher.observe(box.current);
    return () => watcher.disconnect();
  }, []);
  const shown = [...runs].filter((one) => (one.counts_source ?? 0) > 0).reverse();
  if (!shown.length) return <p className="muted">No run has read a row yet.</p>;
  const step = (width - GUTTER) / shown.length;
  const wide = Math.max(3, Math.min(40, step - 6));
  const x = (number: number) => GUTTER + step * number + step / 2;
  const most = Math.max(...shown.map((one) => (one.counts_good ?? 0) + (one.counts_quarantined ?? 0) + (one.counts_filtered ?? 0) + (one.counts_deduplicated ?? 0)), 1);
  const shares = shown.map((one) => (one.counts_good ?? 0) / Math.max(1, (one.counts_good ?? 0) + (one.counts_quarantined ?? 0)));
  const low = Math.min(...shares, 0.995);
  const floor = low > 0.9 ? 0.9 : low > 0.5 ? 0.5 : 0;
  const y = (value: number) => 8 + (1 - (value - floor) / (1 - floor)) * 52;
  const ends: [number, "start" | "middle" | "end"][] = shown.length === 1 ? [[0, "middle"]] : [[0, step > 90 ? "middle" : "start"], [shown.length - 1, step > 90 ? "middle" : "end"]];
  const longest = Math.max(...shown.map((one) => one.duration_seconds ?? 0), 0.001);
  return (
    <div ref={box} className="rows">
      <svg className="chart" width={width} height="110" role="img" aria-label={`Rows of the last ${shown.length} runs by outcome, at most ${count(most)}`}>
        <text x="0" y="14">rows</text>
        <text x={GUTTER - 8} y="14" textAnchor="end">{count(most)}</text>
        <line className="axis" x1={GUTTER} x2={width} y1="100.5" y2="100.5" />
        {shown.map((one, number) => {
          let base = 100;
          const parts: [string, number][] = [
            ["good", one.counts_good ?? 0],
            ["skip", (one.counts_filtered ?? 0) + (one.counts_deduplicated ?? 0)],
            ["bad", one.counts_quarantined ?? 0],
          ];
          return (
            <g key={one.run_id} onClick={() => onOpen(one.run_id)} style={{ cursor: "pointer" }}>
              <title>{`${new Date(one.started_at).toLocaleString("en-GB")}: ${count(one.counts_good)} good, ${count(one.counts_quarantined)} quarantined`}</title>
              <rect x={x(number) - step / 2} y="4" width={step} height="96" fill="transparent" />
              {parts.map(([role, value]) => {
                if (!value) return null;
                const tall = Math.max(1.5, (value / most) * 88);
                base -= tall;
                return <rect key={role} x={x(number) - wide / 2} y={base} width={wide} height={tall} className={`fill-${role}`} />;
              })}
            </g>
          );
        })}
      </svg>
      <svg className="chart" width={width} height="72" role="img" aria-label={`Good share of the last ${shown.length} runs`}>
        <text x="0" y="14">good</text>
        <text x={GUTTER - 8} y="14" textAnchor="end">100 %</text>
        <text x={GUTTER - 8} y="62" textAnchor="end">{share(floor, 1)}</text>
        <line className="axis" x1={GUTTER} x2={width} y1="60.5" y2="60.5" />
        <line className="axis" x1={GUTTER} x2={width} y1="8.5" y2="8.5" />
        <path className="thread" d={shares.map((one, number) => `${number ? "L" : "M"}${x(number)},${y(one)}`).join("")} />
        {shares.map((one, number) => (
          <circle key={shown[number]?.run_id} cx={x(number)} cy={y(one)} r="3" className={`pt${one < 1 ? " bad" : ""}`}>
            <title>{share(shown[number]?.counts_good ?? 0, (shown[number]?.counts_good ?? 0) + (shown[number]?.counts_quarantined ?? 0))}</title>
          </circle>
        ))}
      </svg>
      <svg className="chart" width={width} height="64" role="img" aria-label={`Duration of the last ${shown.length} runs, at most ${duration(longest)}`}>
        <text x="0" y="14">took</text>
        <text x={GUTTER - 8} y="14" textAnchor="end">{duration(longest)}</text>
        <line className="axis" x1={GUTTER} x2={width} y1="40.5" y2="40.5" />
        {shown.map((one, number) => {
          const tall = Math.max(1, ((one.duration_seconds ?? 0) / longest) * 32);
          return (
            <rect key={one.run_id} x={x(number) - 2} y={40 - tall} width="4" height={tall} className="fill-skip">
              <title>{duration(one.duration_seconds)}</title>
            </rect>
          );
        })}
        {ends.map(([number, anchor]) => (
          <text key={number} x={anchor === "end" ? width : anchor === "start" ? GUTTER : x(number)} y="57" textAnchor={anchor}>
            {ago(shown[number]?.started_at)}
          </text>
        ))}
      </svg>
    </div>
  );
}
