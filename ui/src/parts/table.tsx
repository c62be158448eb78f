// The frame of a table: it scrolls sideways on its own, a keyboard reaches it, and each head says how its column is read.
import type { ReactNode } from "react";

/** A head: its words, or its words with how the column stands; `wide` columns are left out on a phone. */
export type Head = string | { name: string; num?: boolean; wide?: boolean; silent?: boolean };

export function Table({ label, heads, dense, children }: { label: string; heads: Head[]; dense?: boolean; children: ReactNode }) {
  return (
    <div className="scroll-x" tabIndex={0} role="region" aria-label={label}>
      <table className={dense ? "table dense" : "table"}>
        <thead>
          <tr>
            {heads.map((head, number) => {
              const { name, num = false, wide = false, silent = false } = typeof head === "string" ? { name: head } : head;
              return (
                <th scope="col" key={`${number}${name}`} className={[num && "num", wide && "wide-only"].filter(Boolean).join(" ") || undefined}>
                  {silent ? <span className="hidden-visually">{name}</span> : name}
                </th>
              );
            })}
          </tr>
        </thead>
        <tbody>{children}</tbody>
      </table>
    </div>
  );
}
