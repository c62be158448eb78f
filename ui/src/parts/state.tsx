// Loading, empty, no match, trouble: one named state each, and the rest of the page stays.
import type { UseQueryResult } from "@tanstack/react-query";
import type { ReactNode } from "react";
import { Trouble } from "../api";
import { Mark } from "./marks";

export function Skeleton({ rows = 6, height = 24 }: { rows?: number; height?: number }) {
  return (
    <div className="rows" role="status" aria-label="Loading">
      {Array.from({ length: rows }, (_, number) => (
        <div key={number} className="skeleton" style={{ height, width: `${92 - ((number * 17) % 38)}%` }} />
      ))}
    </div>
  );
}
export function Empty({ title, children }: { title: string; children?: ReactNode }) {
  return (
    <section className="state" data-state="empty">
      <h2>
        <Mark role="unknown" /> {title}
      </h2>
      <div className="muted">{children}</div>
    </section>
  );
}
export function NoMatch({ onClear, what = "rows" }: { onClear: () => void; what?: string }) {
  return (
    <section className="state" data-state="no-match">
      <h2>No {what} match these filters</h2>
      <button type="button" className="btn" onClick={onClear}>
        Clear filters
      </button>
    </section>
  );
}
export function TroubleState({ error, onRetry, what }: { error: unknown; onRetry?: () => void; what?: string }) {
  const told = error instanceof Trouble ? error : new Trouble(0, { title: "The page could not do this." });
  const title =
    told.status === 403
      ? "You may not see this"
      : told.status === 404
        ? "There is no such thing"
        : told.status === 401
          ? "The service asks who you are"
          : `${what ?? "This"} could not be loaded`;
  // Advice for scripts is no advice for a reader of this page; what is not there does not come by asking again.
  const gone = told.status === 404;
  const hint = told.hint && !/^(GET|POST) \//.test(told.hint) ? told.hint : null;
  return (
    <section className="state bad" role="alert" data-state={`trouble-${told.status}`}>
      <h2>
        <Mark role={told.status === 403 ? "held" : "bad"} /> {title}
      </h2>
      <p>{told.message}</p>
      {hint && <p className="muted">{hint}</p>}
      <p className="muted small">
        {told.code && <code>{told.code}</code>} {told.status > 0 && `status ${told.status}`}
        {told.requestId && (
          <>
            {" · request "}
            <code>{told.requestId}</code>
          </>
        )}
      </p>
      {gone && (
        <button type="button" className="btn" onClick={() => window.dispatchEvent(new Event("lakelogic:search"))}>
          Search for it
        </button>
      )}
      {onRetry && !gone && (
        <button type="button" className="btn" onClick={onRetry}>
          Try again
        </button>
      )}
    </section>
  );
}
/** The state of one question: skeleton, trouble, or what `children` make of the answer. */
export function Asked<T>({
  of,
  what,
  skeleton,
  children,
}: {
  of: UseQueryResult<T, Trouble>;
  what?: string;
  skeleton?: ReactNode;
  children: (data: T) => ReactNode;
}) {
  if (of.data !== undefined)
    return (
      <>
        {of.isError && (
          <div className="banner warn" role="status">
            Shown as of {new Date(of.dataUpdatedAt).toLocaleTimeString()}; asking again failed.{" "}
            <button type="button" className="btn" onClick={() => of.refetch()}>
              Try again
            </button>
          </div>
        )}
        {children(of.data)}
      </>
    );
  if (of.isError) return <TroubleState error={of.error} onRetry={() => of.refetch()} what={what} />;
  return skeleton ?? <Skeleton />;
}
