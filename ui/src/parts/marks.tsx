// Status as shape and colour: a filled circle, a diamond, a triangle, a pause, a ring, a dashed ring.
import type { ReactNode } from "react";
import { Link } from "wouter";
import type { Role, Verdict } from "../verdict";

export function Mark({ role, size = 12 }: { role: Role; size?: number }) {
  return (
    <svg className="mark" width={size} height={size} viewBox="0 0 12 12" aria-hidden="true" data-shape={role}>
      {role === "good" && <circle className="m-good" cx="6" cy="6" r="4.5" />}
      {role === "bad" && <path className="m-bad" d="M6 0.6 11.4 6 6 11.4 0.6 6z" />}
      {role === "warn" && <path className="m-warn" d="M6 1 11.5 10.8H0.5z" />}
      {role === "held" && <path className="m-held" d="M2 1.5h2.8v9H2zM7.2 1.5H10v9H7.2z" />}
      {role === "skip" && <circle className="m-skip" cx="6" cy="6" r="4" />}
      {role === "unknown" && <circle className="m-unknown" cx="6" cy="6" r="4.5" />}
      {role === "run" && <circle className="m-run" cx="6" cy="6" r="4.4" />}
    </svg>
  );
}
export function Chip({ role, children, href, title }: { role: Role; children: ReactNode; href?: string; title?: string }) {
  const inner = (
    <>
      <Mark role={role} size={10} />
      <span>{children}</span>
    </>
  );
  return href ? (
    <Link className={`chip ${role}`} href={href} title={title}>
      {inner}
    </Link>
  ) : (
    <span className={`chip ${role}`} title={title}>
      {inner}
    </span>
  );
}
export function VerdictChip({ verdict, title }: { verdict: Verdict; title?: string }) {
  return (
    <Chip role={verdict.role} title={title}>
      {verdict.word}
    </Chip>
  );
}
export function Letter({ layer }: { layer: string | null | undefined }) {
  if (!layer) return null;
  return (
    <abbr className="letter" title={layer}>
      {layer === "reference" ? "Ref" : (layer[0] ?? "").toUpperCase()}
    </abbr>
  );
}
