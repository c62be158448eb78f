// Asking the service: same origin, a token where one is asked for, trouble as an error that says what to do.
import { QueryClient, type UseQueryResult, useInfiniteQuery, useQuery } from "@tanstack/react-query";
import { useSyncExternalStore } from "react";

export const BASE = new URL(document.baseURI).pathname.replace(/\/$/, "");
const TOKEN = "lakelogic_token";

export class Trouble extends Error {
  status: number;
  code: string | null;
  hint: string | null;
  requestId: string | null;
  diagnostics: { message?: string; path?: string; line?: number; hint?: string; code?: string }[];
  constructor(status: number, body: Record<string, unknown>) {
    super(String(body.title ?? body.detail ?? "The service did not answer as it should."));
    this.status = status;
    this.code = (body.code as string) ?? null;
    this.hint = (body.hint as string) ?? null;
    this.requestId = (body.request_id as string) ?? null;
    this.diagnostics = (body.diagnostics as Trouble["diagnostics"]) ?? [];
  }
}

const listeners = new Set<() => void>();
let refused = false;

export function token(): string | null {
  return sessionStorage.getItem(TOKEN);
}
export function giveToken(text: string | null): void {
  if (text) sessionStorage.setItem(TOKEN, text);
  else sessionStorage.removeItem(TOKEN);
  refused = false;
  for (const one of listeners) one();
}
export function useRefused(): boolean {
  return useSyncExternalStore(
    (changed) => {
      listeners.add(changed);
      return () => listeners.delete(changed);
    },
    () => refused,
  );
}
function refuse(): void {
  if (refused) return;
  refused = true;
  for (const one of listeners) one();
}

export function headers(more: Record<string, string> = {}): Record<string, string> {
  const known = token();
  return known ? { Authorization: `Bearer ${known}`, ...more } : more;
}

async function asked(path: string, init: RequestInit): Promise<unknown> {
  let answer: Response;
  try {
    answer = await fetch(`${BASE}/api/v1${path}`, init);
  } catch {
    throw new Trouble(0, { title: "The service cannot be reached.", hint: "Is it running? It is asked again when you retry." });
  }
  let body: unknown = null;
  try {
    body = await answer.json();
  } catch {
    throw new Trouble(answer.status, { title: "The answer cannot be read.", request_id: answer.headers.get("x-request-id") });
  }
  if (!answer.ok) {
    if (answer.status === 401) refuse();
    throw new Trouble(answer.status, (body ?? {}) as Record<string, unknown>);
  }
  return body;
}

export async function get<T>(path: string, signal?: AbortSignal): Promise<T> {
  return (await asked(path, { headers: headers({ Accept: "application/json" }), signal })) as T;
}
export async function post<T>(path: string, body: unknown, once?: string): Promise<T> {
  const more: Record<string, string> = { "Content-Type": "application/json", Accept: "application/json" };
  if (once) more["Idempotency-Key"] = once;
  return (await asked(path, { method: "POST", headers: headers(more), body: JSON.stringify(body) })) as T;
}

export const client = new QueryClient({
  defaultOptions: {
    queries: {
      staleTime: 5_000,
      retry: (count, error) => error instanceof Trouble && (error.status === 0 || error.status === 503) && count < 1,
      retryDelay: 600,
      refetchOnWindowFocus: true,
    },
  },
});

export function useGet<T>(path: string | null, more: { every?: number | ((told: T | undefined) => number | false); keep?: boolean } = {}): UseQueryResult<T, Trouble> {
  return useQuery<T, Trouble>({
    queryKey: [path],
    queryFn: ({ signal }: { signal: AbortSignal }) => get<T>(path as string, signal),
    enabled: path !== null,
    refetchInterval: typeof more.every === "function" ? (asked: { state: { data: T | undefined } }) => (more.every as (told: T | undefined) => number | false)(asked.state.data) : (more.every ?? false),
    placeholderData: more.keep ? (before: T | undefined) => before : undefined,
  } as never);
}

export function query(values: Record<string, string | number | boolean | string[] | null | undefined>): string {
  const made = new URLSearchParams();
  for (const [name, value] of Object.entries(values)) {
    if (Array.isArray(value)) for (const one of value) made.append(name, one);
    else if (value !== null && value !== undefined && value !== "") made.set(name, String(value));
  }
  const text = made.toString();
  return text ? `?${text}` : "";
}
export const part = encodeURIComponent;

/** A list that goes on: the pages so far, and how to ask for the next one. `still` lists change only when they are asked to. */
export function usePages<T extends { items: unknown[]; next: string | null }>(path: string, still = false) {
  return useInfiniteQuery<T, Trouble, { pages: T[] }, (string | null)[], string | null>({
    queryKey: still ? [path, "still"] : [path, "pages"],
    queryFn: ({ pageParam, signal }) => get<T>(pageParam ? `${path}&after=${pageParam}` : path, signal),
    initialPageParam: null,
    getNextPageParam: (page) => page.next,
    ...(still ? { refetchOnWindowFocus: false, staleTime: Number.POSITIVE_INFINITY } : {}),
  });
}
