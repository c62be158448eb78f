// What waits for my yes? Batches behind a closed gate, with what a yes and a no would do; and what was decided.
import { useId, useState } from "react";
import { Link, useLocation } from "wouter";
import { part, post, Trouble, useGet } from "../api";
import { count, plural, share, words } from "../format";
import { Ago, Dialog, Tabs } from "../parts/bits";
import { Mark } from "../parts/marks";
import { Asked, Empty, TroubleState } from "../parts/state";
import { Table } from "../parts/table";
import type { Act, Approval, Job, Page } from "../types";
import { useChoices } from "../url";

export default function Approvals() {
  const [choices, choose] = useChoices();
  const found = useGet<Page<Approval>>("/approvals");
  const acts = useGet<Page<Act>>("/ledger/acts?limit=100");
  const [decide, setDecide] = useState<{ one: Approval; release: boolean } | null>(null);
  const tab = choices.tab ?? "waiting";
  const waiting = found.data?.items.length ?? 0;
  return (
    <>
      <div className="head">
        <h1>Approvals</h1>
        <p className="finding">{found.data ? (waiting ? `${plural(waiting, "batch", "batches")} behind a closed gate ${waiting === 1 ? "waits" : "wait"} for a decision.` : "No batch waits for a decision.") : "\u00a0"}</p>
      </div>
      <Tabs
        label="Approvals"
        chosen={tab}
        onChoose={(id) => choose({ tab: id === "waiting" ? undefined : id })}
        tabs={[
          { id: "waiting", name: "Waiting", count: waiting },
          { id: "decided", name: "What people did" },
        ]}
      />
      {tab === "waiting" ? (
        <Asked of={found} what="The approvals">
          {(page) =>
            page.items.length ? (
              <div className="section">
                {page.items.map((one) => (
                  <Batch key={one.run_id} one={one} onDecide={(release) => setDecide({ one, release })} />
                ))}
              </div>
            ) : (
              <Empty title="Nothing waits for you">
                <p>A batch appears here when a gate closes: too many rows quarantined, or a rule about the whole dataset failed.</p>
                <Link href="/runs">See the runs</Link>
              </Empty>
            )
          }
        </Asked>
      ) : (
        <Asked of={acts} what="The record">
          {(page) => (page.items.length ? <Acts items={page.items} /> : <Empty title="Nobody has done anything yet"><p>Replays, discards and decisions are kept here with who and why.</p></Empty>)}
        </Asked>
      )}
      {decide && <Decide one={decide.one} release={decide.release} onClose={() => setDecide(null)} />}
    </>
  );
}

function Batch({ one, onDecide }: { one: Approval; onDecide: (release: boolean) => void }) {
  const { good, quarantined, source } = one.counts;
  return (
    <article className="approve" data-approval={one.run_id}>
      <div className="row wrap">
        <Mark role="held" />
        <h2>
          <Link className="plain" href={`/datasets/${part(one.dataset)}`}>
            {one.dataset}
          </Link>
        </h2>
        <span className="muted">
          held <Ago at={one.held_at} />
        </span>
        <span className="grow" />
        <Link href={`/runs/${one.run_id}`}>
          <code>{one.run_id}</code>
        </Link>
      </div>
      <ul>
        {one.overtaken && <li className="finding">{one.overtaken}</li>}
        {one.reasons.map((reason) => (
          <li key={reason} className="finding">
            {reason}
          </li>
        ))}
      </ul>
      <div className="figures">
        <div>
          <span className="v">{count(source)}</span>
          <div className="k">read</div>
        </div>
        <div>
          <span className="v">
            {count(good)}
            <small>{share(good, good + quarantined)}</small>
          </span>
          <div className="k">
            <Mark role="held" size={9} /> good, waiting
          </div>
        </div>
        <div>
          <Link className="v ink-bad" href={`/quarantine?dataset=${part(one.dataset)}&run=${part(one.run_id)}`} data-count={quarantined}>
            {count(quarantined)}
          </Link>
          <div className="k">
            <Mark role="bad" size={9} /> quarantined
          </div>
        </div>
      </div>
      <div className="row wrap">
        <span className="muted small grow">
          {one.overtaken
            ? "It cannot be released any more. Given up, what it read and nobody published is read by the next run."
            : "A yes publishes exactly the rows that were judged. A no gives them up; the next run reads their input again."}
        </span>
        <button type="button" className="btn danger" onClick={() => onDecide(false)}>
          Give {plural(good, "row")} up…
        </button>
        {!one.overtaken && (
          <button type="button" className="btn first" onClick={() => onDecide(true)}>
            Release {plural(good, "row")}…
          </button>
        )}
      </div>
    </article>
  );
}

function Decide({ one, release, onClose }: { one: Approval; release: boolean; onClose: () => void }) {
  const [why, setWhy] = useState("");
  const [failed, setFailed] = useState<Trouble | null>(null);
  const [busy, setBusy] = useState(false);
  const [once] = useState(() => `page-${crypto.randomUUID()}`);
  const [, go] = useLocation();
  const field = useId();
  const confirm = async () => {
    setBusy(true);
    try {
      const job = await post<Job>(`/approvals/${part(one.run_id)}/${release ? "release" : "discard"}`, { why: why.trim() }, once);
      go(`/jobs/${job.job_id}`);
    } catch (error) {
      setFailed(error instanceof Trouble ? error : new Trouble(0, {}));
      setBusy(false);
    }
  };
  return (
    <Dialog
      open
      onClose={onClose}
      title={release ? `Release ${plural(one.counts.good, "row")} of ${one.dataset}` : `Give up ${plural(one.counts.good, "row")} of ${one.dataset}`}
      footer={
        <>
          <button type="button" className="btn" onClick={onClose}>
            Cancel
          </button>
          <button type="button" className={`btn first${release ? "" : " danger"}`} disabled={!why.trim() || busy} onClick={confirm}>
            {release ? `Release ${plural(one.counts.good, "row")}` : `Give ${plural(one.counts.good, "row")} up`}
          </button>
        </>
      }
    >
      <p>
        {release
          ? "Readers will see exactly the rows that were judged. It is refused if the staged files, the table or the contract have changed since."
          : "Nothing is published. Their input was never published either, so the next run reads it again."}
      </p>
      <ul>
        {one.reasons.map((reason) => (
          <li key={reason} className="banner held">
            <Mark role="held" /> {reason}
          </li>
        ))}
      </ul>
      <div className="field">
        <label htmlFor={field}>Why (kept in the ledger, with your name)</label>
        <textarea id={field} className="input" value={why} maxLength={2000} onChange={(event) => setWhy(event.target.value)} />
      </div>
      {failed && <TroubleState error={failed} what="The decision" />}
    </Dialog>
  );
}

function Acts({ items }: { items: Act[] }) {
  return (
    <Table label="What people did" heads={["When", "Who", "What", "Dataset", "Why"]}>
      {items.map((one) => (
        <tr key={one.act_id}>
          <td>
            <Ago at={one.done_at} />
          </td>
          <td>{one.person}</td>
          <td>{words(one.act)}</td>
          <td>{one.dataset ? <Link href={`/datasets/${part(one.dataset)}`}>{one.dataset}</Link> : <span className="muted">–</span>}</td>
          <td>{one.why ?? <span className="muted">–</span>}</td>
        </tr>
      ))}
    </Table>
  );
}
