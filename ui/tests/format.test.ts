// Numbers and times as people read them.
import { describe, expect, it } from "vitest";
import { duration, exact, hours, plural, share } from "../src/format";

describe("a share is never rounded into a lie", () => {
  it.each([
    [10, 10, "100 %"],
    [9_999, 10_000, "99.99 %"],
    [999_999, 1_000_000, "99.99 %"],
    [1, 100_000, "<0.1 %"],
    [0, 10, "0 %"],
    [2, 3, "66.7 %"],
    [0, 0, "–"],
  ])("%d of %d is %s", (part, all, said) => expect(share(part, all)).toBe(said));
});

describe("a duration has no sixtieth second", () => {
  it.each([
    [0.0171, "17 ms"],
    [59.94, "59.9 s"],
    [59.96, "1 m 0 s"],
    [119.7, "2 m 0 s"],
    [3_599.6, "1 h 0 m"],
    [7_260, "2 h 1 m"],
    [null, "–"],
  ])("%s seconds are %s", (seconds, said) => expect(duration(seconds)).toBe(said));
});

it("says hours as people do", () => {
  expect([0.02, 0.5, 1, 23.96, 72].map(hours)).toEqual(["1 min", "30 min", "1 h", "24 h", "3 d"]);
});

it("counts one thing as one", () => {
  expect([plural(1, "row"), plural(0, "row"), plural(1_234, "batch", "batches")]).toEqual(["1 row", "0 rows", "1\u202f234 batches"]);
});

it("tells an exact time with its zone once", () => {
  expect(exact("2026-11-17T18:59:16.5Z")).toMatch(/ · 2026-11-17 18:59:16\.500 UTC$/);
});
