// One stream of hints for all tabs: the tab that holds the lock listens, the others hear it from there.
import { useEffect, useSyncExternalStore } from "react";
import { BASE, client, headers, useRefused } from "./api";
import { SILENT_AFTER_MS, type State, stateNow } from "./contact";

export type Liveness = { state: State; at: Date };
let now: Liveness = { state: "waiting", at: new Date() };
let heardAt = Date.now();
const listeners = new Set<() => void>();
function tell(state: Liveness["state"]): void {
  now = { state, at: new Date() };
  for (const one of listeners) one();
}
export function useLiveness(): Liveness {
  return useSyncExternalStore(
    (changed) => {
      listeners.add(changed);
      return () => listeners.delete(changed);
    },
    () => now,
  );
}

/** Something came from the service, if only that it is still there. */
function heard(): void {
  heardAt = Date.now();
  tell("live");
}

let timer: number | undefined;
function hinted(): void {
  window.clearTimeout(timer);
  timer = window.setTimeout(() => {
    void client.invalidateQueries({ predicate: (one) => one.queryKey[1] !== "still" });
    heard();
  }, 400);
}

async function listen(signal: AbortSignal, said: (seq: string) => void, beat: () => void): Promise<void> {
  const last = sessionStorage.getItem("lakelogic_seq");
  const answer = await fetch(`${BASE}/api/v1/events`, {
    headers: headers(last ? { "Last-Event-ID": last, Accept: "text/event-stream" } : { Accept: "text/event-stream" }),
    signal,
  });
  if (!answer.ok || answer.body === null) throw new Error(String(answer.status));
  beat();
  const reader = answer.body.pipeThrough(new TextDecoderStream()).getReader();
  let rest = "";
  for (;;) {
    const { done, value } = await reader.read();
    if (done) return;
    beat();
    rest += value;
    const parts = rest.split("\n\n");
    rest = parts.pop() ?? "";
    for (const one of parts) {
      const seq = one.match(/^id: (\d+)$/m)?.[1];
      if (seq) {
        sessionStorage.setItem("lakelogic_seq", seq);
        said(seq);
      }
    }
  }
}

export function useLive(): void {
  const refused = useRefused();
  useEffect(() => {
    if (refused) return;
    const channel = new BroadcastChannel("lakelogic");
    channel.onmessage = (told: MessageEvent<string>) => (told.data === "beat" ? heard() : hinted());
    let ended = false;
    let stop = new AbortController();
    const say = () => {
      hinted();
      channel.postMessage("hint");
    };
    const beat = () => {
      heard();
      channel.postMessage("beat");
    };
    // A connection can be dead without an error: after too long a silence it is given up and made anew.
    const watch = window.setInterval(() => {
      const state = stateNow(now.state, heardAt, Date.now());
      if (state === now.state) return;
      now = { state, at: new Date(heardAt) };
      for (const one of listeners) one();
      stop.abort();
    }, SILENT_AFTER_MS / 9);
    const loop = async () => {
      let pause = 2000;
      while (!ended) {
        if (document.hidden) {
          tell("asleep");
          await new Promise((seen) => document.addEventListener("visibilitychange", seen, { once: true }));
          continue;
        }
        stop = new AbortController();
        try {
          await navigator.locks.request("lakelogic-events", { signal: stop.signal }, () => listen(stop.signal, say, beat));
          pause = 2000;
        } catch {
          if (ended) return;
          if (!document.hidden && now.state !== "stale") tell("waiting");
          pause = Math.min(pause * 1.7, 30_000);
        }
        await new Promise((go) => window.setTimeout(go, pause));
      }
    };
    const turned = () => {
      if (document.hidden) stop.abort();
      else tell("waiting"); // until the service has said something
    };
    document.addEventListener("visibilitychange", turned);
    void loop();
    return () => {
      ended = true;
      window.clearInterval(watch);
      stop.abort();
      channel.close();
      document.removeEventListener("visibilitychange", turned);
    };
  }, [refused]);
}
