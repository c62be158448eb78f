// Contact with the service: silence is told, and a part of the page that did not come is no defect.
import { describe, expect, it } from "vitest";
import { isOffline, SILENT_AFTER_MS, stateNow } from "../src/contact";

describe("the sign of life", () => {
  it("turns stale when nothing was heard for two heartbeats and a little", () => {
    expect(stateNow("live", 1_000, 1_000 + SILENT_AFTER_MS)).toBe("live");
    expect(stateNow("live", 1_000, 1_001 + SILENT_AFTER_MS)).toBe("stale");
  });
  it("leaves what is known already", () => {
    expect(stateNow("waiting", 0, 1e9)).toBe("waiting");
    expect(stateNow("asleep", 0, 1e9)).toBe("asleep");
  });
});

describe("a page that broke", () => {
  it("is offline where a part of it did not come, in the words of every browser", () => {
    for (const said of [
      "Failed to fetch dynamically imported module: http://127.0.0.1:8096/assets/run-1.js",
      "error loading dynamically imported module: http://127.0.0.1:8096/assets/run-1.js",
      "Importing a module script failed.",
      "Unable to preload CSS for /assets/run-1.css",
    ])
      expect(isOffline(new TypeError(said))).toBe(true);
  });
  it("is a defect where the code itself failed", () => {
    expect(isOffline(new TypeError("Cannot read properties of undefined (reading 'map')"))).toBe(false);
    expect(isOffline("Failed to fetch dynamically imported module")).toBe(false);
  });
});
