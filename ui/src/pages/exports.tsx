// Did consumers get it? What each destination has, and what it lacks to be used at all.
import { useState } from "react";
import { Link, useLocation } from "wouter";
import { part, post, Trouble, useGet } from "../api";
import { count, plural, words } from "../format";
import { Ago, Dialog } from "../parts/bits";
import { VerdictChip } from "../parts/marks";
import { Asked, Empty, TroubleState } from "../parts/state";
import { Table } from "../parts/table";
import type { Job } from "../types";
import type { Role } from "../verdict";

interface Destination {
  configured: boolean;
  status: string;
  missing: string[];
}
interface Told {
  exports: Record<string, Destination>;
  items?: Delivery[];
}
interface Delivery {
  dataset: string;
  export: string;
  type: string;
  target: string;
  status: string;
  configured: boolean;
  missing: string[];
  table_version: number | null;
  exported_version: number | null;
  exported_at: string | null;
  rows: number | null;
  error: string | null;
}
const NAMES: Record<string, string> = { snowflake: "Snowflake", databricks: "Databricks Unity Catalog", s3: "S3" };

export default function Exports() {
  const found = useGet<Told>("/exports");
  return (
    <Asked of={found} what="The exports">
      {(told) => {
        const all = Object.entries(told.exports ?? {});
        const ready = all.filter(([, one]) => one.configured).length;
        const items = told.items ?? [];
        return (
          <>
            <div className="head">
              <h1>Exports</h1>
              <p className="finding">{ready ? `${ready} of ${plural(all.length, "destination")} can be used from here.` : "No destination is set up on this machine. Nothing fails because of that."}</p>
            </div>
            <section className="section">
              <h2>Destinations</h2>
              <Table label="Destinations" heads={["Destination", "State", "What it lacks"]}>
                {all.map(([name, one]) => (
                  <tr key={name}>
                    <td>
                      <strong>{NAMES[name] ?? words(name)}</strong>
                    </td>
                    <td>
                      <VerdictChip verdict={one.configured ? { role: "good", word: "Ready" } : { role: "unknown", word: "Not set up" }} />
                    </td>
                    <td>{one.missing.length ? one.missing.map((variable) => <code key={variable} className="chip line" style={{ marginRight: 4 }}>{variable}</code>) : <span className="muted">nothing</span>}</td>
                  </tr>
                ))}
              </Table>
            </section>
            {items.length > 0 ? (
              <section className="section">
                <h2>Deliveries</h2>
                <Deliveries items={items} />
              </section>
            ) : (
              <Empty title="No contract exports anything">
                <p>
                  Write <code>exports:</code> into a contract and run <code>lakelogic export</code>; deliveries appear here, dataset by destination.
                </p>
              </Empty>
            )}
          </>
        );
      }}
    </Asked>
  );
}

const WORDS: Record<string, string> = { "not configured": "Not set up" };
const STATE: Record<string, Role> = { "up to date": "good", exported: "good", current: "good", done: "good", failed: "bad", behind: "warn", "never exported": "unknown", "held back": "held" };

function Deliveries({ items }: { items: Delivery[] }) {
  const [sending, setSending] = useState<Delivery | null>(null);
  return (
    <>
    <Table label="Deliveries" heads={["Dataset", "Destination", "Target", "State", { name: "Delivered", num: true }, { name: "Newest", num: true }, { name: "Rows", num: true }, { name: "When", num: true }, { name: "What to do", silent: true }]}>
      {items.map((one) => (
        <tr key={one.dataset + one.export}>
          <td>
            <Link href={`/datasets/${part(one.dataset)}`}>{one.dataset}</Link>
          </td>
          <td>
            {NAMES[one.type] ?? words(one.type)}
            {one.export !== one.type && <span className="muted"> {one.export}</span>}
          </td>
          <td className="mono">{one.target}</td>
          <td>
            <VerdictChip verdict={{ role: one.error ? "bad" : (STATE[one.status] ?? "unknown"), word: WORDS[one.status] ?? words(one.status) }} title={one.error ?? undefined} />
          </td>
          <td className="num">{one.exported_version ?? <span className="muted">never</span>}</td>
          <td className="num">{one.table_version ?? "–"}</td>
          <td className="num">{count(one.rows)}</td>
          <td className="num">
            <Ago at={one.exported_at} />
          </td>
          <td className="num">
            <button type="button" className="btn" disabled={!one.configured || one.table_version === null} title={one.configured ? undefined : `lacks ${one.missing.join(", ")}`} onClick={() => setSending(one)}>
              Send…
            </button>
          </td>
        </tr>
      ))}
    </Table>
      {sending && <Send one={sending} onClose={() => setSending(null)} />}
    </>
  );
}

function Send({ one, onClose }: { one: Delivery; onClose: () => void }) {
  const [why, setWhy] = useState("");
  const [failed, setFailed] = useState<Trouble | null>(null);
  const [busy, setBusy] = useState(false);
  const [once] = useState(() => `page-${crypto.randomUUID()}`);
  const [, go] = useLocation();
  const again = one.exported_version !== null && one.exported_version === one.table_version;
  const send = async () => {
    setBusy(true);
    try {
      const job = await post<Job>(`/exports/${part(one.dataset)}`, { only: [one.export], again, why: why.trim() || null }, once);
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
      title={`Send ${one.dataset} to ${NAMES[one.type] ?? one.type}`}
      footer={
        <>
          <button type="button" className="btn" onClick={onClose}>
            Cancel
          </button>
          <button type="button" className="btn first" disabled={busy} onClick={send}>
            Send version {one.table_version} {again && "again"}
          </button>
        </>
      }
    >
      <p>
        Version {one.table_version} goes to <code>{one.target}</code>, masked as it is kept.
        {again && " It was sent already; sending it again puts the same rows there once more, by their keys."}
      </p>
      <div className="field">
        <label htmlFor="send-why">Why (may stay empty; kept in the ledger)</label>
        <input id="send-why" className="input" value={why} onChange={(event) => setWhy(event.target.value)} />
      </div>
      {failed && <TroubleState error={failed} what="The export" />}
    </Dialog>
  );
}
