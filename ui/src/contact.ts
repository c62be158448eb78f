// When was the service last heard, and what does a broken page mean? Nothing here touches the page itself.

/** The service says something at least every 20 seconds; after twice that and a little, silence means something. */
export const SILENT_AFTER_MS = 45_000;

export type State = "live" | "waiting" | "asleep" | "stale";

/** What stands in the corner: a sign that was live turns stale when nothing was heard for too long. */
export function stateNow(state: State, heardAt: number, now: number): State {
  return state === "live" && now - heardAt > SILENT_AFTER_MS ? "stale" : state;
}

const CHUNK = /dynamically imported module|importing a module script failed|unable to preload|loading (css )?chunk/i;

/** A part of the page that did not come: the service is away, or another version of it is there. That is no defect. */
export function isOffline(error: unknown): boolean {
  return error instanceof Error && (error.name === "ChunkLoadError" || CHUNK.test(error.message));
}
