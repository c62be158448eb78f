// The receipt of a piece of work: how far it is, what came of it. Leaving this page stops nothing.
import { useState } from "react";
import { Link } from "wouter";
import { client, part, post, Trouble, useGet } from "../api";
import { count, duration, plural, words } from "../format";
import { Ago, Shown } from "../parts/bits";
import { Mark, VerdictChip } from "../parts/marks";
import { Asked, Skeleton, TroubleState } from "../parts/state";
import type { Job, Log, Values } from "../types";
import type { Verdict } from "../verdict";
import { LogLines } from "./run";

const STATES: Record<Job["state"], Verdict> = {
  waiting: { role: "skip", word: "Waiting" },
  running: { role: "run", word: "Running" },
  done: { role: "good", word: "Done" },
  failed: { role: "bad", word: "Failed" },
  cancelled: { role: "skip", word: "Cancelled" },
};
const KINDS: Record<string, string> = { run: "Run", replay: "Replay", discard: "Discard", release: "Release", give_up: "Give up", preview: "Preview", export: "Export" };

export default function JobPage({ job }: { job: string }) {
  const found = useGet<Job>(`/jobs/${part(job)}`, { every: (told) => (told && hasEnded(told) ? false : 2_000) });
  return (
    <Asked of={found} what="The job" skeleton={<Skeleton rows={8} />}>
      {(one) => <Receipt job={one} ended={hasEnded(one)} />}
    </Asked>
  );
}

function hasEnded(job: Job): boolean {
  return job.state !== "waiting" && job.state !== "running";
}

function Receipt({ job, ended }: { job: Job; ended: boolean }) {
  const log = useGet<Log>(`/jobs/${part(job.job_id)}/log`, { every: ended ? undefined : 2_000 });
  const [failed, setFailed] = useState<Trouble | null>(null);
  const outcome = (job.outcome ?? {}) as Values;
  const error = outcome.error as Values | undefined;
  const seconds = job.started_at && job.finished_at ? (new Date(job.finished_at).getTime() - new Date(job.started_at).getTime()) / 1000 : null;
  const numbers = Object.entries(outcome).filter(([name, value]) => typeof value === "number" && name !== "exit_code");
  const run = typeof outcome.run_id === "string" ? outcome.run_id : null;
  return (
    <>
      <div className="head">
        <div className="line">
          <h1>
            {KINDS[job.kind] ?? words(job.kind)} of {job.dataset}
          </h1>
          <VerdictChip verdict={STATES[job.state]} />
          <span className="actions">
            {!ended && (
              <button
                type="button"
                className="btn danger"
                disabled={job.cancel_asked}
                onClick={() =>
                  post(`/jobs/${part(job.job_id)}/cancel`, { why: "cancelled on the page" })
                    .then(() => client.invalidateQueries())
                    .catch((told) => setFailed(told))
                }
              >
                {job.cancel_asked ? "Being cancelled" : "Cancel"}
              </button>
            )}
            {(job.kind === "replay" || job.kind === "discard") && (
              <Link className="btn" href={`/quarantine?dataset=${part(job.dataset)}`}>
                Back to the quarantine
              </Link>
            )}
            <Link className="btn" href={`/datasets/${part(job.dataset)}`}>
              Open the dataset
            </Link>
          </span>
        </div>
        <p className="finding" role="status" data-job-state={job.state}>
          {job.state === "waiting" && "It waits for a worker. You may leave; it goes on without you."}
          {job.state === "running" && "It is being done. You may leave; it goes on without you."}
          {job.state === "done" && done(job, outcome)}
          {job.state === "failed" && (String(error?.message ?? error?.title ?? outcome.reason ?? outcome.status ?? "It failed."))}
          {job.state === "cancelled" && "It was cancelled; what was committed stays, nothing else."}
        </p>
        <p className="muted small">
          <code>{job.job_id}</code> · asked for by {job.person} <Ago at={job.created_at} />
          {job.why && ` · “${job.why}”`}
          {seconds !== null && ` · took ${duration(seconds)}`}
          {job.attempts > 1 && ` · tried ${job.attempts} times`}
        </p>
      </div>
      {failed && <TroubleState error={failed} />}
      {error && (
        <div className="banner bad">
          <Mark role="bad" /> {String(error.code ?? "")} {String(error.hint ?? "")}
        </div>
      )}
      {numbers.length > 0 && (
        <div className="figures" data-receipt>
          {numbers.map(([name, value]) => (
            <div key={name}>
              <span className="v">{count(value as number)}</span>
              <div className="k">{words(name)}</div>
            </div>
          ))}
        </div>
      )}
      {run && (
        <p>
          <Link href={`/runs/${part(run)}`}>See the run {run}</Link>
        </p>
      )}
      {job.state === "failed" && outcome.status === "gated" && (
        <p>
          <Link href="/approvals">The gate is closed: decide</Link>
        </p>
      )}
      <section className="section">
        <h2>What it said</h2>
        <Asked of={log} what="The log">
          {(told) => (told.lines.length ? <LogLines lines={told.lines} /> : <p className="muted">Nothing yet.</p>)}
        </Asked>
      </section>
      <details>
        <summary>What was asked for, and the whole outcome</summary>
        <dl className="facts">
          {Object.entries(job.choices).filter(([, value]) => value !== null && !(Array.isArray(value) && !value.length)).map(([name, value]) => (
            <div key={name} style={{ display: "contents" }}>
              <dt>{words(name)}</dt>
              <dd>
                <Shown value={value} />
              </dd>
            </div>
          ))}
        </dl>
        <pre className="pre" tabIndex={0}>
          {JSON.stringify(job.outcome, null, 2)}
        </pre>
      </details>
    </>
  );
}

function done(job: Job, outcome: Values): string {
  const number = (name: string) => (typeof outcome[name] === "number" ? (outcome[name] as number) : null);
  if (job.kind === "replay") {
    const good = number("replayed") ?? number("passed") ?? number("good") ?? number("rows");
    return good === null ? "The rows were judged again." : good === 0 ? "No row turned good; all stay in the queue." : `${plural(good, "row")} turned good and ${good === 1 ? "is" : "are"} published.`;
  }
  if (job.kind === "discard") return `${plural(number("discarded") ?? 0, "row")} left the queue for good.`;
  if (job.kind === "release") {
    const rows = number("rows") ?? 0;
    return `${plural(rows, "row")} ${rows === 1 ? "is" : "are"} published, exactly as judged.`;
  }
  if (job.kind === "give_up") return "The rows are given up; the next run reads their input again.";
  return "It is done.";
}
