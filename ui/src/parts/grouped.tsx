// The picture of a large estate: one node for each system and layer, which leads to the graph of its system.
import { type Ref, useMemo } from "react";
import { Link } from "wouter";
import { part } from "../api";
import { count, plural } from "../format";
import type { Graph } from "../types";
import { type Role, worst } from "../verdict";
import { groupsOf } from "./groups";
import { lay } from "./lanes";
import { Letter, Mark } from "./marks";

export function Groups({ graph, roleOf, box, room }: { graph: Graph; roleOf: (dataset: string) => Role; box: Ref<HTMLDivElement>; room: number }) {
  const { groups, edges } = useMemo(() => groupsOf(graph), [graph]);
  const laid = useMemo(() => lay(groups, edges, room), [groups, edges, room]);
  return (
    <>
      <div className="graph-box" ref={box} tabIndex={0} role="region" aria-label="Graph of systems; the List tab holds every dataset">
        <div style={{ position: "relative", width: laid.width, height: laid.height }}>
          {laid.lanes.map((one) => (
            <div key={one.name} className="lane" style={{ left: one.x, width: one.width }}>
              <Letter layer={one.name} /> {one.name[0]?.toUpperCase()}
              {one.name.slice(1)}
            </div>
          ))}
          <svg className="edges" width={laid.width} height={laid.height} aria-hidden="true">
            {laid.paths.map((one) => (
              <path key={`${one.from} ${one.to}`} d={one.d} />
            ))}
          </svg>
          {groups.map((one) => {
            const spot = laid.spots.get(one.id);
            if (!spot) return null;
            const roles = one.members.map(roleOf);
            const role = worst(roles);
            const alike = roles.filter((other) => other === role).length;
            return (
              <Link key={one.id} href={`/graph?system=${part(one.within)}`} className={`gnode ${role}`} style={{ left: spot.x, top: spot.y, width: laid.node }} title={`${one.within}: ${plural(one.members.length, "dataset")} in ${one.lane}`} data-group={one.id}>
                <Mark role={role} />
                <span className="name">{one.name}</span>
                <span className="sub">
                  {role === "good" || role === "skip" || alike === roles.length ? plural(one.members.length, "dataset") : `${count(alike)} of ${plural(one.members.length, "dataset")}`}
                </span>
              </Link>
            );
          })}
        </div>
      </div>
      <p className="muted small">
        {plural(graph.datasets.length, "dataset")} in {plural(groups.length, "group")}, one for each system and layer; its mark is that of its worst dataset. Open one to see its datasets.
      </p>
    </>
  );
}
