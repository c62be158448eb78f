// Facets: values with how many there are; a click narrows, a second one widens again. On a phone they fold away.
import { type ReactNode, useState, useSyncExternalStore } from "react";
import { Link } from "wouter";
import { count, words } from "../format";

const narrow = window.matchMedia("(max-width: 860px)");
function useNarrow(): boolean {
  return useSyncExternalStore(
    (changed) => {
      narrow.addEventListener("change", changed);
      return () => narrow.removeEventListener("change", changed);
    },
    () => narrow.matches,
  );
}

export function Facets({ chosen, children }: { chosen: number; children: ReactNode }) {
  if (!useNarrow())
    return (
      <aside className="facets" aria-label="Filters">
        {children}
      </aside>
    );
  return (
    <details className="facets">
      <summary>Filters{chosen > 0 && ` (${chosen})`}</summary>
      {children}
    </details>
  );
}

export function Facet({ title, name, counts, chosen, href, show, mark, order, most = 8 }: { title: string; name: string; counts: Record<string, number> | undefined; chosen?: string; href: (changed: Record<string, string | undefined>) => string; show?: (value: string) => string; mark?: (value: string) => ReactNode; order?: string[]; most?: number }) {
  const [all, setAll] = useState(false);
  const entries = Object.entries(counts ?? {}).filter(([value]) => value !== "None");
  if (order) entries.sort((a, b) => order.indexOf(a[0]) - order.indexOf(b[0]));
  if (!entries.length) return null;
  const shown = all ? entries : entries.slice(0, most);
  return (
    <section>
      <h2>{title}</h2>
      <ul>
        {shown.map(([value, number]) => (
          <li key={value}>
            <Link href={href({ [name]: chosen === value ? undefined : value, row: undefined })} aria-current={chosen === value ? "true" : undefined} title={value}>
              {mark?.(value)}
              <span className="ellipsis">{show ? show(value) : words(value)}</span>
              <span className="n">{count(number)}</span>
            </Link>
          </li>
        ))}
      </ul>
      {entries.length > most && (
        <button type="button" className="fold" onClick={() => setAll(!all)}>
          {all ? "Fewer" : `${entries.length - most} more`}
        </button>
      )}
    </section>
  );
}
