// Are we keeping promises? Each promise with its target, what was found, and the last runs one by one.
import { Link } from "wouter";
import { part, useGet } from "../api";
import { count, hours, plural, share, words } from "../format";
import { Ago, Finding } from "../parts/bits";
import { Letter, Mark, VerdictChip } from "../parts/marks";
import { Asked, Empty, NoMatch } from "../parts/state";
import { Table } from "../parts/table";
import type { Level, Page, Promise_ } from "../types";
import { useChoices } from "../url";

export default function Levels() {
  const [choices, choose] = useChoices();
  const found = useGet<Page<Promise_>>("/service-levels?runs=30");
  return (
    <Asked of={found} what="The service levels">
      {(page) => {
        const rows = page.items.flatMap((one) => one.levels.map((level) => ({ one, level })));
        const silent = page.items.filter((one) => one.levels.length === 0);
        const missed = rows.filter(({ level }) => level.kept === false);
        const unknown = rows.filter(({ level }) => level.kept === null);
        const kept = rows.length - missed.length - unknown.length;
        const shown = rows.filter(({ level }) => (choices.show === "missed" ? level.kept === false : choices.show === "unmeasured" ? level.kept === null : true)).sort((a, b) => rank(a.level) - rank(b.level));
        return (
          <>
            <div className="head">
              <h1>Service levels</h1>
              <Finding>
                {plural(rows.length, "promise")}
                {missed.length > 0 && (
                  <Link className="ink-bad" href="/levels?show=missed">
                    {count(missed.length)} missed
                  </Link>
                )}
                {kept > 0 && <span className="ink-good">{kept === rows.length ? "all kept" : `${count(kept)} kept`}</span>}
                {unknown.length > 0 && <Link href="/levels?show=unmeasured">{unknown.length === rows.length ? "none measured yet" : `${count(unknown.length)} not measured`}</Link>}
                {silent.length > 0 && <span className="muted">{plural(silent.length, "dataset")} without a promise</span>}
              </Finding>
            </div>
            {rows.length === 0 ? (
              <Empty title="Nothing is promised">
                <p>
                  Write <code>service_levels:</code> into a contract, a system or a domain. What is not promised is not shown as kept.
                </p>
              </Empty>
            ) : shown.length === 0 ? (
              <NoMatch what="promises" onClear={() => choose({ show: undefined })} />
            ) : (
              <Table label="Promises" heads={["Dataset", "Promise", "Verdict", "Target", { name: "Now", num: true }, { name: "Last runs", wide: true }, { name: "Attained", num: true, wide: true }, { name: "Next due", num: true, wide: true }]}>
                {shown.map(({ one, level }) => (
                  <tr key={one.dataset + level.name}>
                    <td>
                      <span className="row">
                        <Letter layer={one.layer} />
                        <Link href={`/datasets/${part(one.dataset)}`} className="plain">
                          <strong>{one.dataset}</strong>
                        </Link>
                      </span>
                    </td>
                    <td>{words(level.name)}</td>
                    <td>
                      <VerdictChip verdict={level.kept === null ? { role: "unknown", word: "Not measured" } : level.kept ? { role: "good", word: "Kept" } : { role: "bad", word: "Missed" }} />
                    </td>
                    <td>{level.promised ?? level.expected}</td>
                    <td className="num">{amount(level)}</td>
                    <td className="wide-only">
                      <Bar level={level} />
                    </td>
                    <td className="num wide-only">{level.attained === null || level.attained === undefined ? <span className="muted">–</span> : share(level.attained * (level.runs ?? 1), level.runs ?? 1)}</td>
                    <td className="num wide-only">{level.next_due ? <Due at={level.next_due} /> : <span className="muted">–</span>}</td>
                  </tr>
                ))}
              </Table>
            )}
            {silent.length > 0 && rows.length > 0 && (
              <details>
                <summary>{plural(silent.length, "dataset")} without a promise</summary>
                <ul className="row wrap">
                  {silent.map((one) => (
                    <li key={one.dataset} className="chip line">
                      <Mark role="unknown" size={9} /> <Link href={`/datasets/${part(one.dataset)}`}>{one.dataset}</Link>
                    </li>
                  ))}
                </ul>
              </details>
            )}
          </>
        );
      }}
    </Asked>
  );
}

/** The missed first, then what was never measured, then what is kept. */
function rank(level: Level): number {
  return level.kept === false ? 0 : level.kept === null ? 1 : 2;
}
function amount(level: Level): string {
  const value = level.found ?? level.value;
  if (value === null || value === undefined) return "–";
  if (typeof value === "number" && level.unit === "hours") return hours(value);
  const text = typeof value === "number" ? count(Math.round(value * 100) / 100) : String(value);
  return level.unit ? `${text} ${level.unit}` : text;
}
function Bar({ level }: { level: Level }) {
  const runs = [...(level.history ?? [])].slice(0, 20).reverse();
  if (!runs.length) return <span className="muted">–</span>;
  return (
    <span className="level-bar" role="img" aria-label={`${runs.filter((one) => one.kept).length} of the last ${runs.length} runs kept it`}>
      {runs.map((one) => (
        <i key={one.run_id} className={one.kept === null ? "" : one.kept ? "kept" : "missed"} title={`${one.kept ? "kept" : "missed"} ${one.at}`} />
      ))}
    </span>
  );
}
function Due({ at }: { at: string }) {
  const left = (new Date(at).getTime() - Date.now()) / 3_600_000;
  return left < 0 ? (
    <span className="ink-bad">
      due <Ago at={at} />
    </span>
  ) : (
    <span>in {left < 1 ? `${Math.round(left * 60)} min` : `${Math.round(left)} h`}</span>
  );
}
