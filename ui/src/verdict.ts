// Two verdicts, side by side everywhere: did it run, and is the data good.
import { count, share } from "./format";
import type { Short } from "./types";

export type Role = "good" | "bad" | "warn" | "held" | "skip" | "unknown" | "run";
export interface Verdict {
  role: Role;
  word: string;
}

const RAN: Record<string, Verdict> = {
  succeeded: { role: "good", word: "Ran" },
  no_new_data: { role: "skip", word: "Nothing new" },
  failed: { role: "bad", word: "Failed" },
  partial: { role: "warn", word: "Partly ran" },
  gated: { role: "held", word: "Gate closed" },
  held_back: { role: "held", word: "Held back" },
  skipped: { role: "skip", word: "Skipped" },
  running: { role: "run", word: "Running" },
};
export function ranVerdict(status: string | null | undefined): Verdict {
  return status ? (RAN[status] ?? { role: "unknown", word: status }) : { role: "unknown", word: "Never run" };
}
export function dataVerdict(run: Pick<Short, "status" | "counts_source" | "counts_good" | "counts_quarantined"> | null | undefined): Verdict {
  if (!run || run.counts_source === null) return { role: "unknown", word: "Not judged" };
  if (!run.counts_source) return { role: "skip", word: "No rows" };
  const bad = run.counts_quarantined ?? 0;
  if (bad === 0) return { role: "good", word: "All good" };
  return { role: "bad", word: `${count(bad)} bad` };
}
/** Good rows as a share of those that were judged. */
export function goodShare(run: Pick<Short, "counts_good" | "counts_quarantined"> | null | undefined): string {
  if (!run || run.counts_good === null || run.counts_quarantined === null) return "–";
  return share(run.counts_good, run.counts_good + run.counts_quarantined);
}
export function judged<T extends Short>(runs: T[] | undefined): T | undefined {
  return runs?.find((one) => (one.counts_source ?? 0) > 0);
}
const GRAVITY: Role[] = ["bad", "held", "warn", "run", "unknown", "good", "skip"];
export function worst(roles: Role[]): Role {
  return GRAVITY.find((one) => roles.includes(one)) ?? "unknown";
}
export function gravity(role: Role): number {
  return GRAVITY.indexOf(role);
}
/** One mark for a dataset: the worse of its two verdicts, rows that wait in quarantine included. */
export function datasetRole(last: Short | null | undefined, waiting: number): Role {
  if (!last) return "unknown";
  const ran = ranVerdict(last.status).role;
  if (ran === "bad" || ran === "held" || ran === "warn") return ran;
  return waiting > 0 ? "bad" : "good";
}
/** What is not known is never shown as good: so it is while nobody has counted what waits. */
export function unsure(role: Role): Role {
  return role === "good" ? "unknown" : role;
}
export const LAYERS = ["reference", "bronze", "silver", "gold"];
export const LETTER: Record<string, string> = { reference: "R", bronze: "B", silver: "S", gold: "G" };
