// The frame: rail, top line, palette, the page of the address; a door where the service asks who you are.
import { Activity, ChartNoAxesColumn, CircleCheck, FileText, LayoutGrid, Menu, Moon, Search, Send, Share2, ShieldAlert, Sun, Timer } from "lucide-react";
import { Component, type ReactNode, Suspense, lazy, useEffect, useRef, useState } from "react";
import { Link, Route, Switch, useLocation } from "wouter";
import { useGet, useRefused } from "./api";
import { isOffline } from "./contact";
import { count, time, ZONE } from "./format";
import { useLive, useLiveness } from "./live";
import { useKeys } from "./parts/bits";
import { Door } from "./parts/door";
import { Palette, ShortcutSheet } from "./parts/palette";
import { Empty, Skeleton } from "./parts/state";
import type { Approval, Me, Page, Queue } from "./types";

const Estate = lazy(() => import("./pages/estate"));
const Runs = lazy(() => import("./pages/runs"));
const Run = lazy(() => import("./pages/run"));
const Quarantine = lazy(() => import("./pages/quarantine"));
const DatasetPage = lazy(() => import("./pages/dataset"));
const GraphPage = lazy(() => import("./pages/graph"));
const Contracts = lazy(() => import("./pages/contracts"));
const ContractPage = lazy(() => import("./pages/contract"));
const Kpis = lazy(() => import("./pages/kpis"));
const Approvals = lazy(() => import("./pages/approvals"));
const Levels = lazy(() => import("./pages/levels"));
const Exports = lazy(() => import("./pages/exports"));
const JobPage = lazy(() => import("./pages/job"));

const ITEMS = [
  { href: "/", name: "Estate", icon: LayoutGrid },
  { href: "/runs", name: "Runs", icon: Activity },
  { href: "/graph", name: "Graph", icon: Share2 },
  { href: "/quarantine", name: "Quarantine", icon: ShieldAlert },
  { href: "/kpis", name: "KPIs", icon: ChartNoAxesColumn },
  { href: "/contracts", name: "Contracts", icon: FileText },
  { href: "/approvals", name: "Approvals", icon: CircleCheck },
  { href: "/levels", name: "Service levels", icon: Timer },
  { href: "/exports", name: "Exports", icon: Send },
];

export function App() {
  const refused = useRefused();
  useLive();
  if (refused) return <Door />;
  return <Frame />;
}

function Frame() {
  const [place, go] = useLocation();
  const [menu, setMenu] = useState(false);
  const [palette, setPalette] = useState(false);
  const [sheet, setSheet] = useState(false);
  const main = useRef<HTMLElement>(null);
  const first = useRef(true);
  const queues = useGet<Page<Queue>>("/quarantine");
  const approvals = useGet<Page<Approval>>("/approvals");
  const me = useGet<Me>("/me");
  const waiting = (queues.data?.items ?? []).reduce((sum, one) => sum + one.active, 0);
  const badges: Record<string, [number, string]> = {
    "/quarantine": [waiting, ""],
    "/approvals": [approvals.data?.items.length ?? 0, "held"],
  };
  useEffect(() => {
    setMenu(false);
    if (first.current) first.current = false;
    else main.current?.focus({ preventScroll: true });
    window.scrollTo(0, 0);
  }, [place]);
  useEffect(() => {
    const heard = (event: KeyboardEvent) => {
      if ((event.metaKey || event.ctrlKey) && event.key.toLowerCase() === "k") {
        event.preventDefault();
        setPalette(true);
      }
    };
    const search = () => setPalette(true);
    window.addEventListener("keydown", heard);
    window.addEventListener("lakelogic:search", search);
    return () => {
      window.removeEventListener("keydown", heard);
      window.removeEventListener("lakelogic:search", search);
    };
  }, []);
  const waits = useRef(false);
  useKeys({
    "/": () => setPalette(true),
    "?": () => setSheet(true),
    g: () => {
      waits.current = true;
      window.setTimeout(() => {
        waits.current = false;
      }, 900);
    },
    ...Object.fromEntries(
      Object.entries({ e: "/", r: "/runs", q: "/quarantine", k: "/kpis", c: "/contracts", a: "/approvals", l: "/levels", x: "/exports", h: "/graph" }).map(([key, href]) => [
        key,
        (event: KeyboardEvent) => {
          if (!waits.current) return;
          event.stopImmediatePropagation();
          waits.current = false;
          go(href);
        },
      ]),
    ),
  });
  const at = ITEMS.filter((one) => (one.href === "/" ? place === "/" : place.startsWith(one.href))).pop();
  return (
    <div className="frame">
      <a
        className="skip-link"
        href="#content"
        onClick={(event) => {
          event.preventDefault();
          main.current?.focus();
        }}
      >
        Skip to content
      </a>
      {menu && <button type="button" className="scrim" aria-label="Close menu" onClick={() => setMenu(false)} />}
      <nav className={`rail${menu ? " open" : ""}`} aria-label="Pages">
        <Link href="/" className="brand">
          <Logo /> LakeLogic
        </Link>
        {ITEMS.map((one) => {
          const [number, role] = badges[one.href] ?? [0, ""];
          return (
            <Link key={one.href} href={one.href} className="item" aria-current={at === one || (one.href === "/" && place.startsWith("/datasets")) ? "page" : undefined}>
              <one.icon size={15} aria-hidden="true" />
              {one.name}
              {number > 0 && <span className={`badge ${role}`}>{count(number)}</span>}
            </Link>
          );
        })}
        <div className="foot">
          {me.data && (
            <span title={Object.entries(me.data.roles).map(([domain, role]) => `${role} ${domain === "*" ? "everywhere" : `in ${domain}`}`).join(", ")}>
              {me.data.person} · {Object.values(me.data.roles).join(", ")}
            </span>
          )}
          <span title="All times of this page are in this zone; UTC on hover">{ZONE}</span>
          {me.data && <span>LakeLogic {me.data.version}</span>}
        </div>
      </nav>
      <div className="main">
        <header className="top">
          <button type="button" className="btn bare icon menu-open" aria-label="Menu" aria-expanded={menu} onClick={() => setMenu(true)}>
            <Menu size={18} aria-hidden="true" />
          </button>
          <Crumbs place={place} />
          <span className="grow" />
          <Liveness />
          <button type="button" className="search-open" onClick={() => setPalette(true)} aria-label="Search" aria-keyshortcuts="Control+K">
            <Search size={14} aria-hidden="true" />
            <span>Search</span>
            <span className="kbd">Ctrl K</span>
          </button>
          <Theme />
        </header>
        <main id="content" className="content" tabIndex={-1} ref={main}>
          <Guard key={place}>
            <Suspense fallback={<Skeleton rows={8} />}>
              <Switch>
                <Route path="/" component={Estate} />
                <Route path="/runs" component={Runs} />
                <Route path="/runs/:run">{({ run }) => <Run key={run} run={decodeURIComponent(run)} />}</Route>
                <Route path="/graph" component={GraphPage} />
                <Route path="/quarantine" component={Quarantine} />
                <Route path="/kpis">
                  <Kpis />
                </Route>
                <Route path="/kpis/:dataset">{({ dataset }) => <Kpis dataset={decodeURIComponent(dataset)} />}</Route>
                <Route path="/contracts" component={Contracts} />
                <Route path="/contracts/:dataset">{({ dataset }) => <ContractPage key={dataset} dataset={decodeURIComponent(dataset)} />}</Route>
                <Route path="/approvals" component={Approvals} />
                <Route path="/levels" component={Levels} />
                <Route path="/exports" component={Exports} />
                <Route path="/jobs/:job">{({ job }) => <JobPage key={job} job={decodeURIComponent(job)} />}</Route>
                <Route path="/datasets/:dataset">{({ dataset }) => <DatasetPage key={dataset} dataset={decodeURIComponent(dataset)} />}</Route>
                <Route>
                  <h1>Nothing at this address</h1>
                  <Empty title="There is no such page">
                    <p>The address may be old, or mistyped.</p>
                    <button type="button" className="btn" onClick={() => setPalette(true)}>
                      Search datasets, runs and pages
                    </button>
                  </Empty>
                </Route>
              </Switch>
            </Suspense>
          </Guard>
        </main>
      </div>
      <Palette open={palette} onClose={() => setPalette(false)} pages={ITEMS} />
      <ShortcutSheet open={sheet} onClose={() => setSheet(false)} />
    </div>
  );
}

class Guard extends Component<{ children: ReactNode }, { broken: boolean; offline: boolean }> {
  override state = { broken: false, offline: false };
  static getDerivedStateFromError(error: unknown) {
    return { broken: true, offline: isOffline(error) };
  }
  override render() {
    if (!this.state.broken) return this.props.children;
    if (this.state.offline)
      return (
        <section className="state bad" role="alert" data-state="offline">
          <h2>Offline: this part of the page could not be fetched</h2>
          <p className="muted">The service does not answer, or another version of it does. Load the page again when it is back.</p>
          <button type="button" className="btn" onClick={() => window.location.reload()}>
            Load again
          </button>
        </section>
      );
    return (
      <section className="state bad" role="alert">
        <h2>This page stumbled over an answer it did not expect</h2>
        <p className="muted">The rest still works. Load it again; if it happens again, this is a defect in LakeLogic.</p>
        <button type="button" className="btn" onClick={() => window.location.reload()}>
          Load again
        </button>
      </section>
    );
  }
}

export function Logo() {
  return (
    <svg width="20" height="20" viewBox="0 0 32 32" aria-hidden="true">
      <path d="M3 5h8c6 0 6 7 12 7h6v-6h-6C17 6 17 1 11 1H3z" className="fill-good" />
      <path d="M3 13h7c6 0 7 10 13 10h6v-6h-6c-5 0-6-8-13-8H3z" className="fill-run" />
      <path d="M3 21h5c6 0 8 9 15 9h6v-3h-6c-6 0-8-9-15-9H3z" className="fill-bad" />
    </svg>
  );
}

function Crumbs({ place }: { place: string }) {
  const [, first, second] = place.split("/");
  const top = ITEMS.find((one) => one.href === `/${first ?? ""}`) ?? (first === "datasets" ? ITEMS[0] : first === "jobs" ? { href: "/runs", name: "Jobs" } : undefined);
  return (
    <nav className="crumbs" aria-label="Where you are">
      <ol>
        {top && <li>{second ? <Link href={top.href}>{top.name}</Link> : <span>{top.name}</span>}</li>}
        {second && (
          <li>
            <span className="ellipsis">{decodeURIComponent(second)}</span>
          </li>
        )}
      </ol>
    </nav>
  );
}

function Liveness() {
  const now = useLiveness();
  const word = { live: "Live", asleep: "Asleep", stale: "Stale", waiting: "Reconnecting" }[now.state];
  return (
    <span className="live" role="status" title={`Newest hint or contact at ${time(now.at)}`}>
      <span className={`dot ${now.state === "live" ? "on" : "off"}`} />
      {word}
      <span className="when">· {time(now.at)}</span>
    </span>
  );
}

function Theme() {
  const dark = () => {
    const said = document.documentElement.dataset.theme;
    return said ? said === "dark" : window.matchMedia("(prefers-color-scheme: dark)").matches;
  };
  const [isDark, setDark] = useState(dark);
  return (
    <button
      type="button"
      className="btn bare icon"
      aria-label={isDark ? "Light colours" : "Dark colours"}
      onClick={() => {
        const next = isDark ? "light" : "dark";
        document.documentElement.dataset.theme = next;
        const path = new URL(document.baseURI).pathname;
        // biome-ignore lint: the server writes the attribute before the first paint, so it needs the cookie
        document.cookie = `lakelogic_theme=${next}; path=${path}; max-age=31536000; samesite=strict`;
        setDark(!isDark);
      }}
    >
      {isDark ? <Sun size={16} aria-hidden="true" /> : <Moon size={16} aria-hidden="true" />}
    </button>
  );
}
