// The account of a run as a flow, and the verdicts that stand beside everything.
import { describe, expect, it } from "vitest";
import { flowOf } from "../src/parts/flow";
import type { Account, Short } from "../src/types";
import { dataVerdict, datasetRole, unsure } from "../src/verdict";

const links = { quarantine: "/q", rule: (rule: string) => `/q?rule=${rule}` };
function told(rules: number): Account {
  const failures = Object.fromEntries(Array.from({ length: rules }, (_, number) => [`rule_${number}`, 1]));
  return { run_id: "r", dataset: "d", status: "succeeded", unaccounted: 0, rule_failures: failures, account: { read: 100, good: 100 - rules, quarantined: rules } };
}

describe("the flow", () => {
  it("adds up to what was read", () => {
    const data = flowOf(told(3), null, { source: "1 file", target: null, version: null, links });
    expect(data.links.filter((one) => one.from === "read").reduce((sum, one) => sum + one.value, 0)).toBe(100);
  });
  it("says in words what the rules are that have no band of their own", () => {
    const named = (rules: number) => flowOf(told(rules), null, { source: "1 file", target: null, version: null, links }).nodes.at(-1)?.name;
    expect([named(8), named(9), named(14)]).toEqual(["rule 7", "under 1 more rule", "under 6 more rules"]);
  });
  it("draws a gap as a band of its own", () => {
    const data = flowOf({ ...told(0), unaccounted: 2 }, null, { source: "1 file", target: null, version: null, links });
    expect(data.nodes.find((one) => one.id === "lost")?.value).toBe(2);
  });
});

describe("a verdict", () => {
  const run: Short = { run_id: "r", status: "succeeded", started_at: "", finished_at: null, duration_seconds: 1, counts_source: 10, counts_good: 10, counts_quarantined: 0, quality_score: 1, target_version: 0 };
  it("is bad while rows wait, whatever the last run brought", () => {
    expect([datasetRole(run, 0), datasetRole(run, 3), datasetRole(null, 0)]).toEqual(["good", "bad", "unknown"]);
  });
  it("is not good while nobody has counted what waits", () => {
    expect([unsure("good"), unsure("bad"), unsure("held")]).toEqual(["unknown", "bad", "held"]);
  });
  it("tells no rows from all good", () => {
    expect([dataVerdict(run).word, dataVerdict({ ...run, counts_source: 0 }).word]).toEqual(["All good", "No rows"]);
  });
});
