// Where datasets stand in the picture, and how a large estate becomes few groups.
import { describe, expect, it } from "vitest";
import { groupsOf, onlySystem } from "../src/parts/groups";
import { lay } from "../src/parts/lanes";
import type { Graph } from "../src/types";

function node(dataset: string, layer: string, system: string) {
  return { dataset, entity: dataset, layer, domain: "shop", system, owner: null, upstreams: [], hidden: { upstream: 0, downstream: 0 } };
}
function edge(upstream: string, downstream: string) {
  return { upstream, downstream, kinds: [], file: "", line: 1 };
}
const graph: Graph = {
  focus: null,
  unknown: [],
  datasets: [node("b1", "bronze", "pos"), node("b2", "reference", "pos"), node("s1", "silver", "pos"), node("b3", "bronze", "crm"), node("g1", "gold", "crm")],
  edges: [edge("b1", "s1"), edge("b2", "s1"), edge("b3", "g1"), edge("s1", "g1")],
};

describe("groups", () => {
  it("hold every dataset once, by system and layer, and reference tables beside bronze", () => {
    const { groups } = groupsOf(graph);
    expect(groups.map((one) => [one.id, one.members])).toEqual([
      ["shop/pos:bronze", ["b1", "b2"]],
      ["shop/pos:silver", ["s1"]],
      ["shop/crm:bronze", ["b3"]],
      ["shop/crm:gold", ["g1"]],
    ]);
  });
  it("have one edge where many datasets have one, and none to themselves", () => {
    const { edges } = groupsOf({ ...graph, edges: [...graph.edges, edge("b1", "b2")] });
    expect(edges.map((one) => `${one.from} ${one.to}`)).toEqual(["shop/pos:bronze shop/pos:silver", "shop/crm:bronze shop/crm:gold", "shop/pos:silver shop/crm:gold"]);
  });
  it("open into one system, which says how many edges lead out of it", () => {
    const { graph: inside, out } = onlySystem(graph, "shop/pos");
    expect(inside.datasets.map((one) => one.dataset)).toEqual(["b1", "b2", "s1"]);
    expect(inside.edges).toHaveLength(2);
    expect(out).toBe(1);
  });
});

describe("lanes", () => {
  const nodes = Array.from({ length: 6 }, (_, number) => ({ id: `n${number}`, lane: ["bronze", "silver", "silver", "silver", "gold", "gold"][number] as string }));
  const edges = Array.from({ length: 5 }, (_, number) => ({ from: `n${number}`, to: `n${number + 1}` }));
  it("fit six columns into a page of 1280", () => {
    const laid = lay(nodes, edges, 1034);
    expect(laid.width).toBeLessThanOrEqual(1034);
    expect(laid.node).toBeGreaterThanOrEqual(136);
  });
  it("let no node stand on another one", () => {
    const laid = lay(Array.from({ length: 40 }, (_, number) => ({ id: `x${number}`, lane: number % 2 ? "bronze" : "silver" })), [], 800);
    const seen = new Set([...laid.spots.values()].map((one) => `${one.x}:${Math.round(one.y)}`));
    expect(seen.size).toBe(40);
  });
  it("come out the same twice", () => {
    expect(lay(nodes, edges, 900)).toEqual(lay(nodes, edges, 900));
  });
});
