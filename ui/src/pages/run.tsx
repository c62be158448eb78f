// One run: what went in, what came out, what was lost and why.
import { Link } from "wouter";
import { part, useGet } from "../api";
import { bytes, count, duration, plural, share, words } from "../format";
import { Ago, Shown, Tabs } from "../parts/bits";
import { Flow, FlowTable, flowOf } from "../parts/flow";
import { Letter, Mark, VerdictChip } from "../parts/marks";
import { Asked, Empty, Skeleton } from "../parts/state";
import { Table } from "../parts/table";
import type { Account, DatasetDetail, Log, QueueFacets, Run } from "../types";
import { useChoices } from "../url";
import { dataVerdict, ranVerdict } from "../verdict";

export default function RunPage({ run }: { run: string }) {
  const found = useGet<Run>(`/runs/${part(run)}`);
  return (
    <Asked of={found} what="The run" skeleton={<Skeleton rows={10} />}>
      {(one) => <Shown_ run={one} />}
    </Asked>
  );
}

function Shown_({ run }: { run: Run }) {
  const [choices, choose] = useChoices();
  const tab = choices.tab ?? "account";
  const around = useGet<DatasetDetail>(`/datasets/${part(run.dataset)}`);
  const others = around.data?.runs ?? [];
  const at = others.findIndex((one) => one.run_id === run.run_id);
  const bad = run.counts_quarantined ?? 0;
  const good = run.counts_good ?? 0;
  const rules = Object.entries(run.rule_failures ?? {}).sort((a, b) => b[1] - a[1]);
  const gates = (run.dataset_rules ?? []).filter((one) => !one.passed);
  return (
    <>
      <div className="head">
        <div className="line">
          <Letter layer={run.layer} />
          <h1>
            <Link href={`/datasets/${part(run.dataset)}`} className="plain">
              {run.dataset}
            </Link>
          </h1>
          <VerdictChip verdict={ranVerdict(run.status)} />
          <VerdictChip verdict={dataVerdict(run)} />
          <span className="actions">
            {at >= 0 && others[at + 1] && (
              <Link className="btn" href={`/runs/${others[at + 1]?.run_id}`}>
                Previous run
              </Link>
            )}
            {at > 0 && others[at - 1] && (
              <Link className="btn" href={`/runs/${others[at - 1]?.run_id}`}>
                Next run
              </Link>
            )}
            {bad > 0 && (
              <Link className="btn first" href={`/quarantine?dataset=${part(run.dataset)}&run=${part(run.run_id)}&state=all`}>
                Open {plural(bad, "quarantined row")}
              </Link>
            )}
          </span>
        </div>
        <p className="finding">{sentence(run, good, bad, rules)}</p>
        <p className="muted small">
          <code>{run.run_id}</code> · <Ago at={run.started_at} /> · took {duration(run.duration_seconds)}
          {run.engine && ` · ${run.engine} ${run.engine_version ?? ""}`} · contract {run.contract_version ?? "–"}
          {run.pipeline_run_id && (
            <>
              {" · pass "}
              <Link href={`/runs?pipeline=${part(run.pipeline_run_id)}&all=1`}>{run.pipeline_run_id}</Link>
            </>
          )}
          {run.environment && ` · ${run.environment}`}
        </p>
      </div>
      {run.status === "gated" && (
        <div className="banner held">
          <Mark role="held" /> The good rows wait behind a closed gate{run.reason ? `: ${run.reason}` : ""}. <Link href="/approvals">Decide</Link>
        </div>
      )}
      {run.status === "failed" && (
        <div className="banner bad">
          <Mark role="bad" /> {run.error_message ?? run.reason ?? "It failed."} {run.error_code && <code>{run.error_code}</code>}
          {run.error?.hint && <p className="muted">{run.error.hint}</p>}
          {(run.error?.diagnostics ?? []).map((one, number) => (
            <p key={number}>
              <code>
                {one.file ?? run.contract}
                {one.line ? `:${one.line}` : ""}
              </code>{" "}
              {one.message} <code>{one.code}</code>
              {one.hint && <span className="muted"> {one.hint}</span>}
            </p>
          ))}
        </div>
      )}
      {run.status === "held_back" && (
        <div className="banner held">
          <Mark role="held" /> {run.reason ?? "Something before it did not end well."}
        </div>
      )}
      {gates.map((one) => (
        <div className="banner bad" key={one.name}>
          <Mark role="bad" /> {words(one.name)}: found {String(one.value)}, expected {one.expected}
        </div>
      ))}
      <Tabs
        label="Parts of the run"
        chosen={tab}
        onChoose={(id) => choose({ tab: id === "account" ? undefined : id })}
        tabs={[
          { id: "account", name: "Account" },
          { id: "rules", name: "Rules", count: rules.length },
          { id: "promises", name: "Gates and levels", count: (run.dataset_rules?.length ?? 0) + (run.service_levels?.length ?? 0) },
          { id: "facts", name: "Inputs and outputs" },
          { id: "log", name: "Log" },
          { id: "raw", name: "Raw" },
        ]}
      />
      {tab === "account" && <AccountTab run={run} />}
      {tab === "rules" && <RulesTab run={run} rules={rules} />}
      {tab === "promises" && <Promises run={run} />}
      {tab === "facts" && <Facts run={run} />}
      {tab === "log" && <LogTab run={run} />}
      {tab === "raw" && (
        <pre className="pre" tabIndex={0}>
          {JSON.stringify(run, null, 2)}
        </pre>
      )}
    </>
  );
}

function sentence(run: Run, good: number, bad: number, rules: [string, number][]) {
  if (run.counts_source === null) return run.reason ?? "Nothing was read.";
  if (!run.counts_source) return run.reason ? `${run.reason[0]?.toUpperCase()}${run.reason.slice(1)}.` : "There was nothing new to read.";
  const first = rules[0];
  return (
    <>
      Read {plural(run.counts_source, "row")}
      {run.files ? ` from ${plural(run.files, "file")}` : ""}; {share(good, good + bad)} of those judged are good
      {bad > 0 && (
        <>
          , <Link href={`/quarantine?dataset=${part(run.dataset)}&run=${part(run.run_id)}&state=all`} data-count={bad}>{count(bad)} quarantined</Link>
          {first && rules.length > 1 && ` under ${rules.length} rules, most of them ${words(first[0])} (${count(first[1])})`}
          {first && rules.length === 1 && ` by ${words(first[0])}`}
        </>
      )}
      .
    </>
  );
}

function AccountTab({ run }: { run: Run }) {
  const told = useGet<Account>(`/runs/${part(run.run_id)}/account`);
  const bad = run.counts_quarantined ?? 0;
  const facets = useGet<QueueFacets>(bad > 0 ? `/quarantine/${part(run.dataset)}/facets?state=all&run=${part(run.run_id)}` : null);
  return (
    <Asked of={told} what="The account" skeleton={<Skeleton rows={1} height={280} />}>
      {(account) => {
        if (account.account.read === undefined)
          return (
            <Empty title="No account">
              <p>This run read nothing: {run.reason ?? run.error_message ?? "there was nothing to count"}.</p>
            </Empty>
          );
        const sure = facets.data?.total === bad ? (facets.data?.counts.rule ?? null) : null;
        const data = flowOf(account, sure, {
          source: run.files ? plural(run.files, "file") : "source",
          target: run.target,
          version: run.target_version,
          links: {
            quarantine: `/quarantine?dataset=${part(run.dataset)}&run=${part(run.run_id)}&state=all`,
            rule: (rule) => `/quarantine?dataset=${part(run.dataset)}&run=${part(run.run_id)}&rule=${part(rule)}&state=all`,
          },
        });
        const left = account.unaccounted;
        return (
          <>
            <div className="figures">
              <Figure name="read" value={account.account.read ?? 0} role="skip" />
              <Figure name="good" value={account.account.good ?? 0} role="good" note={share(account.account.good ?? 0, (account.account.good ?? 0) + bad)} />
              <Figure name="quarantined" value={bad} role={bad ? "bad" : "skip"} href={bad ? `/quarantine?dataset=${part(run.dataset)}&run=${part(run.run_id)}&state=all` : undefined} />
              <Figure name="filtered" value={total(account.account.filtered)} role="skip" />
              <Figure name="deduplicated" value={total(account.account.deduplicated)} role="skip" />
              {left !== null && <Figure name="unaccounted" value={left} role={left ? "warn" : "good"} />}
            </div>
            {left !== null && left !== 0 && (
              <div className="banner bad" role="alert">
                <Mark role="bad" /> {plural(Math.abs(left), "row")} unaccounted: this run must not be trusted until somebody has looked.
              </div>
            )}
            <Flow data={data} />
            <details>
              <summary>The same in numbers</summary>
              <FlowTable data={data} />
            </details>
            {account.account.digests && (
              <p className="muted small">
                Checked against what was written: {count(account.account.evidence?.scanned)} scanned, {count(account.account.evidence?.good_in_footers)} good and {count(account.account.evidence?.bad_in_footers)} bad in the files. Digest of the good rows <code>{account.account.digests.good?.slice(0, 12)}</code>
              </p>
            )}
          </>
        );
      }}
    </Asked>
  );
}
function total(of: Record<string, number> | undefined): number {
  return Object.values(of ?? {}).reduce((all, one) => all + one, 0);
}
function Figure({ name, value, role, note, href }: { name: string; value: number; role: "good" | "bad" | "skip" | "warn"; note?: string; href?: string }) {
  return (
    <div>
      {href ? (
        <Link className={`v ink-${role}`} href={href} data-count={value}>
          {count(value)}
        </Link>
      ) : (
        <span className="v">
          {count(value)}
          {note && <small>{note}</small>}
        </span>
      )}
      <div className="k">
        <Mark role={role} size={9} /> {name}
      </div>
    </div>
  );
}

function RulesTab({ run, rules }: { run: Run; rules: [string, number][] }) {
  if (!rules.length)
    return (
      <Empty title="No rule failed">
        <p>Every row that was judged kept every rule.</p>
      </Empty>
    );
  const most = rules[0]?.[1] ?? 1;
  return (
    <Table label="Rules that failed" heads={["Rule", "Failures", { name: "Rows", num: true }, { name: "Of what was read", num: true }]}>
      {rules.map(([rule, number]) => (
        <tr key={rule}>
          <td>
            <Mark role="bad" size={10} /> <code>{rule}</code>
          </td>
          <td style={{ width: "40%" }}>
            <svg className="bar" width="100%" height="8" aria-hidden="true">
              <rect width={`${(number / most) * 100}%`} height="8" rx="1" className="fill-bad" />
            </svg>
          </td>
          <td className="num">{count(number)}</td>
          <td className="num muted">{share(number, run.counts_source ?? 0)}</td>
        </tr>
      ))}
    </Table>
  );
}

function Promises({ run }: { run: Run }) {
  const rows = [
    ...(run.dataset_rules ?? []).map((one) => ({ name: one.name, kept: one.passed as boolean | null, value: one.value, expected: one.expected, kind: `gate, ${one.severity}` })),
    ...(run.service_levels ?? []).map((one) => ({ name: one.name, kept: one.kept, value: one.value, expected: one.expected, kind: "service level" })),
  ];
  if (!rows.length)
    return (
      <Empty title="Nothing was promised">
        <p>The contract has no dataset rules and no service levels.</p>
      </Empty>
    );
  return (
    <Table label="Gates and levels" heads={["What", "Kind", "Expected", "Found", "Verdict"]}>
      {rows.map((one) => (
        <tr key={one.kind + one.name}>
          <td>{words(one.name)}</td>
          <td className="muted">{one.kind}</td>
          <td>{one.expected}</td>
          <td className="mono">
            <Shown value={one.value} />
          </td>
          <td>
            <VerdictChip verdict={one.kept === null ? { role: "unknown", word: "Not measured" } : one.kept ? { role: "good", word: "Kept" } : { role: "bad", word: "Missed" }} />
          </td>
        </tr>
      ))}
    </Table>
  );
}

function Facts({ run }: { run: Run }) {
  const facts: [string, React.ReactNode][] = [
    ["Contract", <Link key="c" href={`/contracts/${part(run.dataset)}`}>{run.contract}</Link>],
    ["Target", run.target ? <><code>{run.target}</code>{run.target_version !== null && ` version ${run.target_version}`}</> : "–"],
    ["Quarantine", run.quarantine_target ? <code>{run.quarantine_target}</code> : "–"],
    ["Files read", count(run.files)],
    ["Bytes read", bytes(run.bytes_read)],
    ["Bytes written", bytes(run.bytes_written)],
    ["Window", run.window_start ? `${run.window_start} to ${run.window_end ?? ""}` : "–"],
    ["Watermark", run.watermark ?? "–"],
    ["Cost", run.estimated_cost === null ? "not measured" : `${run.estimated_cost} ${run.cost_currency ?? ""}`],
    ["Schema drift", run.schema_drift ? <code>{JSON.stringify(run.schema_drift)}</code> : "none"],
    ["LakeLogic", run.lakelogic_version],
  ];
  return (
    <dl className="facts">
      {facts.map(([name, value]) => (
        <div key={name} style={{ display: "contents" }}>
          <dt>{name}</dt>
          <dd>{value}</dd>
        </div>
      ))}
    </dl>
  );
}

function LogTab({ run }: { run: Run }) {
  const log = useGet<Log>(`/runs/${part(run.run_id)}/log`);
  return (
    <Asked of={log} what="The log">
      {(told) =>
        told.lines.length ? (
          <LogLines lines={told.lines} />
        ) : (
          <Empty title="No log here">
            <p>{told.note ?? "It said nothing."}</p>
          </Empty>
        )
      }
    </Asked>
  );
}
export function LogLines({ lines }: { lines: Log["lines"] }) {
  return (
    <div className="log" tabIndex={0} role="log" aria-label="Log">
      {lines.map((one) => (
        <div key={one.seq} id={`L${one.seq}`}>
          <span className="no">{one.seq}</span>
          <span className="muted at">{new Date(one.at).toLocaleTimeString("en-GB")}</span>
          <span>{one.text ?? one.kind}</span>
        </div>
      ))}
    </div>
  );
}
