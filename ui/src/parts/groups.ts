// A large estate as groups: the datasets of one system in one layer are one, and so are the edges between them.
import type { Graph } from "../types";

export interface Group {
  id: string;
  name: string;
  within: string;
  lane: string;
  members: string[];
}
/** Reference tables stand beside bronze: both are where rows come in. */
export function laneOf(one: { layer: string | null }): string {
  return one.layer === "reference" ? "bronze" : (one.layer ?? "other");
}
/** The system of a dataset, as the address holds it. */
export function systemOf(one: { domain: string | null; system: string | null }): string {
  return [one.domain, one.system].filter(Boolean).join("/") || "no domain";
}
export function groupsOf(graph: Pick<Graph, "datasets" | "edges">): { groups: Group[]; edges: { from: string; to: string }[] } {
  const groups = new Map<string, Group>();
  const home = new Map<string, string>();
  for (const one of graph.datasets) {
    const id = `${systemOf(one)}:${laneOf(one)}`;
    const known = groups.get(id) ?? { id, name: one.system ?? one.domain ?? "no domain", within: systemOf(one), lane: laneOf(one), members: [] };
    known.members.push(one.dataset);
    groups.set(id, known);
    home.set(one.dataset, id);
  }
  const edges = new Map<string, { from: string; to: string }>();
  for (const one of graph.edges) {
    const from = home.get(one.upstream);
    const to = home.get(one.downstream);
    if (from && to && from !== to) edges.set(`${from} ${to}`, { from, to });
  }
  return { groups: [...groups.values()], edges: [...edges.values()] };
}
/** The graph of one system alone, and how many edges lead out of it. */
export function onlySystem(graph: Graph, system: string): { graph: Graph; out: number } {
  const datasets = graph.datasets.filter((one) => systemOf(one) === system);
  const inside = new Set(datasets.map((one) => one.dataset));
  const edges = graph.edges.filter((one) => inside.has(one.upstream) && inside.has(one.downstream));
  const out = graph.edges.filter((one) => inside.has(one.upstream) !== inside.has(one.downstream)).length;
  return { graph: { ...graph, datasets, edges }, out };
}
