// Where nodes stand: a lane for each layer, a column for each depth within it, the order by barycentre sweeps.
// An edge that passes a column gets a place of its own there, so that it runs between nodes and not through them.
import { LAYERS } from "../verdict";

export interface Spot {
  id: string;
  x: number;
  y: number;
}
export interface Laid {
  spots: Map<string, Spot>;
  paths: { from: string; to: string; d: string; x: number; y: number }[];
  lanes: { name: string; x: number; width: number }[];
  width: number;
  height: number;
  node: number;
}
export const TALL = 46;
const SLOT = 60;
const PASS = 22;
const TOP = 44;

export function laneOrder(lane: string): number {
  const order = ["source", ...LAYERS, "export"];
  const at = order.indexOf(lane);
  return at < 0 ? order.length : at;
}

/** `edge` is kept free before the first column and behind the last one. */
export function lay(nodes: { id: string; lane: string }[], edges: { from: string; to: string }[], room: number, edge = 14): Laid {
  const lane = new Map(nodes.map((one) => [one.id, one.lane]));
  const inside = edges.filter((one) => lane.has(one.from) && lane.has(one.to) && one.from !== one.to);
  const depth = depths(nodes, inside, lane);
  const columns: string[][] = [];
  const spans: { name: string; start: number; deep: number }[] = [];
  const columnOf = new Map<string, number>();
  for (const name of [...new Set(nodes.map((one) => one.lane))].sort((a, b) => laneOrder(a) - laneOrder(b))) {
    const members = nodes.filter((one) => one.lane === name);
    const deep = Math.max(...members.map((one) => depth.get(one.id) ?? 0)) + 1;
    spans.push({ name, start: columns.length, deep });
    for (let step = 0; step < deep; step += 1) {
      const ids = members.filter((one) => depth.get(one.id) === step).map((one) => one.id).sort();
      for (const id of ids) columnOf.set(id, columns.length);
      columns.push(ids);
    }
  }
  const ways = inside.map((one, number) => {
    const start = columnOf.get(one.from) ?? 0;
    const end = columnOf.get(one.to) ?? 0;
    const stops = [one.from];
    for (let column = start + 1; column < end; column += 1) {
      const id = `~${number}:${column}`;
      columns[column]?.push(id);
      stops.push(id);
    }
    return { ...one, stops: [...stops, one.to] };
  });
  order(columns, ways.flatMap((one) => one.stops.slice(1).map((to, at) => [one.stops[at] as string, to] as const)));
  const step = Math.max(166, Math.min(262, Math.floor((room - edge) / Math.max(1, columns.length))));
  const gap = Math.max(30, Math.min(58, step - 140));
  const node = step - gap;
  const heights = columns.map((ids) => ids.reduce((all, id) => all + (id.startsWith("~") ? PASS : SLOT), 0));
  const tallest = Math.max(SLOT, ...heights);
  const spots = new Map<string, Spot>();
  columns.forEach((ids, column) => {
    let y = TOP + (tallest - (heights[column] ?? 0)) / 2;
    for (const id of ids) {
      const passes = id.startsWith("~");
      spots.set(id, { id, x: column * step + edge, y: passes ? y + PASS / 2 - TALL / 2 : y + (SLOT - TALL) / 2 });
      y += passes ? PASS : SLOT;
    }
  });
  const paths = ways.map((one) => drawn(one, spots, node));
  return { spots, paths, lanes: spans.map((one) => ({ name: one.name, x: one.start ? one.start * step + edge - gap / 2 : 0, width: one.deep * step + (one.start ? 0 : edge - gap / 2) })), width: columns.length * step + edge - 2, height: TOP + tallest + 12, node };
}

/** Depth within a lane: the longest way of edges that stay in it; bounded, so that a circle cannot turn for ever. */
function depths(nodes: { id: string }[], edges: { from: string; to: string }[], lane: Map<string, string>): Map<string, number> {
  const depth = new Map<string, number>(nodes.map((one) => [one.id, 0]));
  for (let round = 0; round < 12; round += 1) {
    let moved = false;
    for (const one of edges) {
      if (lane.get(one.from) !== lane.get(one.to)) continue;
      const next = (depth.get(one.from) ?? 0) + 1;
      if (next > (depth.get(one.to) ?? 0) && next < 12) {
        depth.set(one.to, next);
        moved = true;
      }
    }
    if (!moved) break;
  }
  return depth;
}

function order(columns: string[][], pieces: (readonly [string, string])[]): void {
  const place = new Map<string, number>();
  const up = new Map<string, string[]>();
  const down = new Map<string, string[]>();
  for (const [from, to] of pieces) {
    up.set(to, [...(up.get(to) ?? []), from]);
    down.set(from, [...(down.get(from) ?? []), to]);
  }
  const settle = (ids: string[]) => ids.forEach((id, number) => place.set(id, (number + 0.5) / ids.length));
  columns.forEach(settle);
  for (let sweep = 0; sweep < 12; sweep += 1) {
    const near = sweep % 2 ? down : up;
    for (const ids of sweep % 2 ? [...columns].reverse() : columns) {
      const weight = new Map(
        ids.map((id) => {
          const found = (near.get(id) ?? []).map((one) => place.get(one) ?? 0);
          return [id, found.length ? found.reduce((all, one) => all + one, 0) / found.length : (place.get(id) ?? 0)];
        }),
      );
      ids.sort((a, b) => (weight.get(a) ?? 0) - (weight.get(b) ?? 0) || a.localeCompare(b));
      settle(ids);
    }
  }
}

function drawn(way: { from: string; to: string; stops: string[] }, spots: Map<string, Spot>, node: number): Laid["paths"][number] {
  let d = "";
  let middle = { x: 0, y: 0 };
  way.stops.slice(1).forEach((id, at) => {
    const from = spots.get(way.stops[at] as string);
    const to = spots.get(id);
    if (!from || !to) return;
    const x0 = from.x + node;
    const y0 = from.y + TALL / 2;
    const x1 = to.x;
    const y1 = to.y + TALL / 2;
    const bend = Math.max(20, Math.abs(x1 - x0) / 2);
    d += `${at === 0 ? `M${x0},${y0}` : `L${x0},${y0}`}C${x0 + bend},${y0} ${x1 - bend},${y1} ${x1},${y1}`;
    if (at === 0) middle = { x: (x0 + x1) / 2, y: (y0 + y1) / 2 };
  });
  return { from: way.from, to: way.to, d, ...middle };
}
