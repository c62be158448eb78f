// Preview → reason → job → receipt. What is chosen is frozen by the preview's token; a second click is the same job.
import { useQuery, useQueryClient } from "@tanstack/react-query";
import { useId, useMemo, useState } from "react";
import { Link, useLocation } from "wouter";
import { get, part, post, Trouble } from "../api";
import { count, plural, words } from "../format";
import type { Job, Preview } from "../types";
import { Dialog, Shown } from "./bits";
import { Mark } from "./marks";
import { Skeleton, TroubleState } from "./state";
import { Table } from "./table";

export interface Chosen {
  rules: string[];
  categories: string[];
  run: string | null;
  rows: string[];
  everything: boolean;
  count: number;
}

export function Decide({ kind, dataset, chosen, onClose }: { kind: "replay" | "discard"; dataset: string; chosen: Chosen; onClose: () => void }) {
  const [why, setWhy] = useState("");
  const [busy, setBusy] = useState(false);
  const [failed, setFailed] = useState<Trouble | null>(null);
  const [, go] = useLocation();
  const keys = useQueryClient();
  const field = useId();
  const once = useMemo(() => `page-${crypto.randomUUID()}`, []);
  const body = { rules: chosen.rules, categories: chosen.categories, run: chosen.run, rows: chosen.rows, everything: chosen.everything };
  const preview = useQuery<Preview, Trouble>({
    queryKey: ["preview", kind, dataset, JSON.stringify(body), "still"],
    queryFn: () => previewed(`/quarantine/${part(dataset)}/${kind}/preview`, body),
    staleTime: 0,
    gcTime: 0,
    retry: false,
    refetchOnWindowFocus: false,
  });
  const told = preview.data;
  const confirm = async () => {
    setBusy(true);
    setFailed(null);
    try {
      const job = await post<Job>(`/quarantine/${part(dataset)}/${kind}`, { ...body, why: why.trim(), ...(told?.token ? { token: told.token } : {}) }, once);
      await keys.invalidateQueries({ predicate: (one) => one.queryKey[1] !== "still" });
      go(`/jobs/${job.job_id}`);
    } catch (error) {
      setFailed(error instanceof Trouble ? error : new Trouble(0, {}));
      setBusy(false);
    }
  };
  const verb = kind === "replay" ? "Replay" : "Discard";
  const number = told?.chosen ?? chosen.count;
  return (
    <Dialog
      open
      onClose={onClose}
      title={`${verb} ${plural(number, "row")} of ${dataset}`}
      footer={
        <>
          <span className="muted small grow">{kind === "replay" ? "What passes is published; what fails again stays." : "They stay in the table as discarded, with who and why."}</span>
          <button type="button" className="btn" onClick={onClose}>
            Cancel
          </button>
          <button type="button" className={`btn first${kind === "discard" ? " danger" : ""}`} disabled={!why.trim() || busy || preview.isPending || number === 0} onClick={confirm}>
            {verb} {plural(number, "row")}
          </button>
        </>
      }
    >
      {preview.isPending ? (
        <div>
          <p className="muted">Judging the rows by the contract as it is now. Nothing is written.</p>
          <Skeleton rows={4} />
        </div>
      ) : preview.isError ? (
        <TroubleState error={preview.error} onRetry={() => preview.refetch()} what="The preview" />
      ) : (
        told && <Told preview={told} kind={kind} />
      )}
      <div className="field">
        <label htmlFor={field}>Why (kept in the ledger, with your name)</label>
        <textarea id={field} className="input" value={why} maxLength={2000} onChange={(event) => setWhy(event.target.value)} placeholder={kind === "replay" ? "the region was added to the contract" : "test data of the supplier"} />
      </div>
      {failed && (
        <TroubleState
          error={failed}
          what={verb}
          onRetry={
            failed.status === 409
              ? () => {
                  setFailed(null);
                  void preview.refetch();
                }
              : undefined
          }
        />
      )}
    </Dialog>
  );
}

/** A preview of many rows is a job itself; it is waited for here. */
async function previewed(path: string, body: unknown): Promise<Preview> {
  let told = await post<Preview | Job>(path, body);
  while ("job_id" in told) {
    if (told.state === "done" && told.outcome) return told.outcome as unknown as Preview;
    if (told.state === "failed" || told.state === "cancelled") throw new Trouble(409, { title: "The preview did not come to an end." });
    await new Promise((go) => window.setTimeout(go, 1000));
    told = await get<Job>(`/jobs/${part(told.job_id)}`);
  }
  return told;
}

function Told({ preview, kind }: { preview: Preview; kind: string }) {
  const left = Object.entries(preview.left_out).filter(([, value]) => value > 0);
  return (
    <>
      {kind === "replay" ? (
        <div className="verdict-split" data-preview>
          <div>
            <div className="v ink-good">{count(preview.passed)}</div>
            <div className="muted small">
              <Mark role="good" size={9} /> would pass
            </div>
          </div>
          <div>
            <div className={`v ${preview.failed ? "ink-bad" : ""}`}>{count(preview.failed)}</div>
            <div className="muted small">
              <Mark role="bad" size={9} /> would fail again
            </div>
          </div>
          <div>
            <div className="v">{count(left.reduce((sum, one) => sum + one[1], 0))}</div>
            <div className="muted small">
              <Mark role="skip" size={9} /> left out
            </div>
          </div>
        </div>
      ) : (
        <p data-preview>
          <strong>{plural(preview.chosen, "row")}</strong> would leave the queue for good.
        </p>
      )}
      {left.map(([reason, number]) => (
        <p key={reason} className="muted small">
          {plural(number, "row")} left out: {reason}.
        </p>
      ))}
      {preview.reasons.length > 0 && (
        <ul>
          {preview.reasons.map((one) => (
            <li key={one.rule} className="rule">
              <Mark role="bad" size={10} />
              <span>{words(one.label ?? one.rule)}</span>
              <span className="num">{count(one.rows)}</span>
              <span className="why">{one.text}</span>
            </li>
          ))}
        </ul>
      )}
      {preview.downstreams.length > 0 && (
        <p className="muted small">
          Reads from it:{" "}
          {preview.downstreams.map((one) => (
            <Link key={one} href={`/datasets/${part(one)}`}>
              {one}{" "}
            </Link>
          ))}
        </p>
      )}
      {preview.rows.length > 0 && (
        <details>
          <summary>
            {preview.more ? `The first ${preview.rows.length} rows` : `The ${plural(preview.rows.length, "row")}`}
          </summary>
          <Table label="Rows one by one" dense heads={["Would", "Was", ...Object.keys(preview.rows[0]?.values ?? {}).slice(0, 5)]}>
            {preview.rows.map((one) => (
              <tr key={one.row_id}>
                <td>
                  <Mark role={one.outcome === "passed" ? "good" : one.outcome === "failed" ? "bad" : "skip"} size={10} /> {words(one.outcome)}
                </td>
                <td>{one.was.map(words).join(", ")}</td>
                {Object.keys(preview.rows[0]?.values ?? {}).slice(0, 5).map((name) => (
                  <td key={name} className="mono">
                    <Shown value={one.values[name]} />
                  </td>
                ))}
              </tr>
            ))}
          </Table>
        </details>
      )}
      {preview.notes.map((one) => (
        <p key={one} className="muted small">
          Note: {one}
        </p>
      ))}
    </>
  );
}
