// One quarantined row: as it landed, what each step made of it, how each rule saw it, where it came from.
import { X } from "lucide-react";
import { useEffect, useRef } from "react";
import { Link } from "wouter";
import { part, useGet } from "../api";
import { plural, words } from "../format";
import type { Step, Story, Value, Values } from "../types";
import { Ago, Shown } from "./bits";
import { Mark } from "./marks";
import { Asked, Skeleton } from "./state";

export function Inspector({ dataset, row, onClose, onAct }: { dataset: string; row: string; onClose: () => void; onAct: (kind: "replay" | "discard") => void }) {
  const story = useGet<Story>(`/quarantine/${part(dataset)}/rows/${part(row)}/explain`, { keep: true });
  const box = useRef<HTMLElement>(null);
  useEffect(() => {
    if (window.matchMedia("(max-width: 860px)").matches) box.current?.focus();
  }, []);
  return (
    <section className="inspector" aria-label="Row" ref={box} tabIndex={-1} data-row={row}>
      <header>
        <div className="grow">
          <h2>{(story.data?.rules ?? []).map(words).join(", ") || "Row"}</h2>
          <code className="muted">{row}</code>
        </div>
        <button type="button" className="btn bare icon" aria-label="Close row" onClick={onClose}>
          <X size={16} aria-hidden="true" />
        </button>
      </header>
      <div className={`body${story.isPlaceholderData ? " stale" : ""}`}>
        <Asked of={story} what="The story of this row" skeleton={<Skeleton rows={12} />}>
          {(told) => <Told story={told} dataset={dataset} />}
        </Asked>
      </div>
      {story.data?.state === "active" && (
        <footer>
          <button type="button" className="btn" onClick={() => onAct("discard")}>
            Discard…
          </button>
          <span className="grow" />
          <button type="button" className="btn first" onClick={() => onAct("replay")}>
            Replay 1 row…
          </button>
        </footer>
      )}
    </section>
  );
}

function Told({ story, dataset }: { story: Story; dataset: string }) {
  const steps = story.story ?? [];
  const rules = steps.filter((one) => one.kind === "rule");
  const failed = rules.filter((one) => one.outcome === "failed");
  const other = rules.filter((one) => one.outcome !== "failed");
  const landed = steps.find((one) => one.kind === "landed")?.values ?? {};
  const offends = new Set(failed.flatMap((one) => Object.keys(one.values).filter((name) => name !== "rule")));
  const made = steps.filter((one) => one.kind !== "rule" && one.kind !== "landed" && one.outcome === null);
  return (
    <>
      {story.state !== "active" && (
        <div className={`banner ${story.state === "replayed" ? "good" : "warn"}`}>
          <Mark role={story.state === "replayed" ? "good" : "skip"} /> {words(story.state ?? "")}
          {story.settled_by && ` by ${story.settled_by}`} <Ago at={story.settled_at} />
          {story.settled_why && `: “${story.settled_why}”`}
        </div>
      )}
      <section className="rows">
        <h3>Why</h3>
        {failed.length ? (
          <ul>
            {failed.map((one) => (
              <Judged key={one.what} step={one} />
            ))}
          </ul>
        ) : (
          <ul>
            {(story.errors ?? []).map((one) => (
              <li key={one} className="rule">
                <Mark role="bad" size={10} />
                <span>{one}</span>
              </li>
            ))}
          </ul>
        )}
        {story.state === "active" && steps.length > 0 && failed.length === 0 && (
          <p className="banner good">
            <Mark role="good" /> By the contract as it is now, no rule fails any more. A replay would publish it.
          </p>
        )}
      </section>
      <section className="rows">
        <h3>Values</h3>
        <Cells landed={landed} now={story.values} offends={offends} />
      </section>
      {made.length > 0 && (
        <details>
          <summary>What {made.length === 1 ? "one step" : `${made.length} steps`} made of it</summary>
          <ul>
            {made.map((one, number) => (
              <li key={number} className="rule">
                <Mark role="skip" size={9} />
                <span>
                  <strong>{words(one.kind)}</strong> {one.what}
                </span>
                <span className="why">
                  {Object.entries(one.values).map(([name, value]) => (
                    <span key={name}>
                      {name} <code><Shown value={value} /></code>{" "}
                    </span>
                  ))}
                </span>
              </li>
            ))}
          </ul>
        </details>
      )}
      {other.length > 0 && (
        <details>
          <summary>{other.length} other rules</summary>
          <ul>
            {other.map((one) => (
              <Judged key={one.what} step={one} />
            ))}
          </ul>
        </details>
      )}
      <section className="rows">
        <h3>Where it came from</h3>
        <dl className="facts">
          <dt>Source</dt>
          <dd>
            <code>{story.source ?? "–"}</code>
            {story.line !== null && story.line !== undefined && `, line ${story.line}`}
          </dd>
          <dt>Run</dt>
          <dd>
            <Link href={`/runs/${part(story.run_id)}`}>{story.run_id}</Link>
          </dd>
          <dt>First seen</dt>
          <dd>
            <Ago at={story.first_seen ?? story.at} />
          </dd>
          <dt>Last seen</dt>
          <dd>
            <Ago at={story.last_seen ?? story.at} /> under contract {story.contract_version ?? "–"}
          </dd>
          <dt>Bad in</dt>
          <dd>{plural(story.runs ?? 1, "run")}</dd>
          <dt>Same cause</dt>
          <dd>
            {(story.rules ?? []).map((rule) => (
              <Link key={rule} href={`/quarantine?dataset=${part(dataset)}&rule=${part(rule)}`}>
                {words(rule)}{" "}
              </Link>
            ))}
          </dd>
        </dl>
      </section>
      {story.notes.map((one) => (
        <p key={one} className="muted small">
          Note: {one}.
        </p>
      ))}
    </>
  );
}

function Judged({ step }: { step: Step }) {
  const seen = Object.entries(step.values).filter(([name]) => name !== "rule");
  const role = step.outcome === "failed" ? "bad" : step.outcome === "passed" ? "good" : "unknown";
  return (
    <li className="rule">
      <Mark role={role} size={10} />
      <strong>{words(step.what)}</strong>
      <span className={`small ink-${role}`}>{step.outcome}</span>
      <span className="why">
        {String(step.values.rule ?? "")}
        {seen.length > 0 && " · saw "}
        {seen.map(([name, value]) => (
          <span key={name}>
            {name} = <code><Shown value={value} /></code>{" "}
          </span>
        ))}
      </span>
    </li>
  );
}

function Cells({ landed, now, offends }: { landed: Values; now: Values; offends: Set<string> }) {
  const names = [...new Set([...Object.keys(now), ...Object.keys(landed)])].filter((one) => !one.startsWith("_lakelogic_"));
  names.sort((a, b) => Number(offends.has(b)) - Number(offends.has(a)));
  const hasLanded = Object.keys(landed).length > 0;
  return (
    <div className="scroll-x">
      <table className="table dense cells">
        <thead>
          <tr>
            <th scope="col">Field</th>
            {hasLanded && <th scope="col">As it landed</th>}
            <th scope="col">As it was read</th>
          </tr>
        </thead>
        <tbody>
          {names.map((name) => (
            <tr key={name} className={offends.has(name) ? "offends" : "plainrow"}>
              <td>
                <code>{name}</code>
              </td>
              {hasLanded && (
                <td className="mono">
                  <span className="clamp">
                    <Shown value={landed[name] as Value} />
                  </span>
                </td>
              )}
              <td className="mono">
                <span className="clamp" title={typeof now[name] === "string" ? (now[name] as string) : undefined}>
                  <Shown value={now[name] as Value} />
                </span>
              </td>
            </tr>
          ))}
        </tbody>
      </table>
    </div>
  );
}
