// Where nodes stand: a lane for each layer, a column for each depth within it, the order by barycentre sweeps.
import { LAYERS } from "../verdict";

export interface Spot {
  id: string;
  x: number;
  y: number;
}
export interface Laid {
  spots: Map<string, Spot>;
  lanes: { name: string; x: number; width: number }[];
  width: number;
  height: number;
}
export const NODE = { width: 196, height: 46 };
const STEP = { x: 262, y: 60 };
const TOP = 44;

export function laneOrder(lane: string): number {
  const order = ["source", ...LAYERS, "export"];
  const at = order.indexOf(lane);
  return at < 0 ? order.length : at;
}

export function lay(nodes: { id: string; lane: string }[], edges: { from: string; to: string }[]): Laid {
  const lane = new Map(nodes.map((one) => [one.id, one.lane]));
  const inside = edges.filter((one) => lane.has(one.from) && lane.has(one.to) && one.from !== one.to);
  const names = [...new Set(nodes.map((one) => one.lane))].sort((a, b) => laneOrder(a) - laneOrder(b));
  const depth = new Map<string, number>(nodes.map((one) => [one.id, 0]));
  // Depth within a lane: the longest way of edges that stay in it; bounded, so a circle cannot turn for ever.
  for (let round = 0; round < 12; round += 1) {
    let moved = false;
    for (const one of inside) {
      if (lane.get(one.from) !== lane.get(one.to)) continue;
      const next = (depth.get(one.from) ?? 0) + 1;
      if (next > (depth.get(one.to) ?? 0) && next < 12) {
        depth.set(one.to, next);
        moved = true;
      }
    }
    if (!moved) break;
  }
  const columns: string[][] = [];
  const lanes: Laid["lanes"] = [];
  const columnOf = new Map<string, number>();
  for (const name of names) {
    const members = nodes.filter((one) => one.lane === name);
    const deep = Math.max(...members.map((one) => depth.get(one.id) ?? 0)) + 1;
    lanes.push({ name, x: columns.length * STEP.x, width: deep * STEP.x });
    for (let step = 0; step < deep; step += 1) {
      const ids = members.filter((one) => depth.get(one.id) === step).map((one) => one.id).sort();
      for (const id of ids) columnOf.set(id, columns.length);
      columns.push(ids);
    }
  }
  const place = new Map<string, number>();
  const settle = () => columns.forEach((ids) => ids.forEach((id, number) => place.set(id, number - ids.length / 2)));
  settle();
  const near = (id: string, way: "up" | "down") => inside.filter((one) => (way === "up" ? one.to === id : one.from === id)).map((one) => place.get(way === "up" ? one.from : one.to) ?? 0);
  for (let sweep = 0; sweep < 8; sweep += 1) {
    const way = sweep % 2 ? "down" : "up";
    for (const ids of way === "up" ? columns : [...columns].reverse()) {
      const weight = new Map(ids.map((id) => {
        const found = near(id, way);
        return [id, found.length ? found.reduce((all, one) => all + one, 0) / found.length : (place.get(id) ?? 0)];
      }));
      ids.sort((a, b) => (weight.get(a) ?? 0) - (weight.get(b) ?? 0) || a.localeCompare(b));
      ids.forEach((id, number) => place.set(id, number - ids.length / 2));
    }
  }
  const tallest = Math.max(1, ...columns.map((ids) => ids.length));
  const height = TOP + tallest * STEP.y + 16;
  const spots = new Map<string, Spot>();
  columns.forEach((ids, column) => {
    const start = TOP + ((tallest - ids.length) * STEP.y) / 2;
    ids.forEach((id, number) => spots.set(id, { id, x: column * STEP.x + 32, y: start + number * STEP.y + 7 }));
  });
  return { spots, lanes, width: columns.length * STEP.x, height };
}

export function curve(from: Spot, to: Spot): string {
  const x0 = from.x + NODE.width;
  const y0 = from.y + NODE.height / 2;
  const x1 = to.x;
  const y1 = to.y + NODE.height / 2;
  const bend = Math.max(24, Math.abs(x1 - x0) / 2);
  return `M${x0},${y0}C${x0 + bend},${y0} ${x1 - bend},${y1} ${x1},${y1}`;
}
