// The sections of a unit that systemd reads: in which order its container starts, and which keys have no counterpart.

import { sectionOf, type QuadletUnit } from "./quadlet-unit.ts";
import { objectNameOf, type Service } from "./service.ts";
import { shellWords } from "./words.ts";

type Stage = Service["dependsOn"][string];

/** The containers that are ordered before it, by either of the two. */
export function dependenciesOfUnit(
  unit: QuadletUnit,
  directory: ReadonlyMap<string, QuadletUnit>,
): Service["dependsOn"] {
  const after = namesIn(unit, "After").flatMap((name): readonly QuadletUnit[] => {
    const other = containerOf(name, directory);
    if (other === undefined && !isOfSystem(name, directory))
      unit.tell("[Unit] After", `${name} is not in the directory: the pod does not wait for it`);
    return other === undefined ? [] : [other];
  });
  const before = [...directory.values()].filter((other) =>
    namesIn(other, "Before").some((name) => containerOf(name, directory) === unit),
  );
  return Object.fromEntries(
    [...after, ...before].map((other) => [objectNameOf(other.stem), stageOf(other)]),
  );
}

/** How far systemd waits for a unit. */
function stageOf(unit: QuadletUnit): Stage {
  if (sectionOf(unit, "Service").get("Type")?.at(-1) === "oneshot") return "Succeeded";
  return sectionOf(unit, "Container").get("Notify")?.at(-1) === "healthy" ? "Ready" : "Running";
}

function namesIn(unit: QuadletUnit, key: string): readonly string[] {
  return (sectionOf(unit, "Unit").get(key) ?? []).flatMap(shellWords);
}

function containerOf(
  name: string,
  directory: ReadonlyMap<string, QuadletUnit>,
): QuadletUnit | undefined {
  return directory.get(name.replace(/\.(?:service|container)$/, "") + ".container");
}

/** Targets, and services of units that are no container. */
function isOfSystem(name: string, directory: ReadonlyMap<string, QuadletUnit>): boolean {
  if (!name.endsWith(".service"))
    return /\.(?:target|socket|slice|network|volume|pod|image)$/.test(name);
  const [, stem = "", kind = ""] =
    /^(.+)-(network|volume|pod|image|build)\.service$/.exec(name) ?? [];
  return directory.has(`${stem}.${kind}`);
}

/** Keys of the sections of systemd that are read, or that mean nothing. */
const READ: Readonly<Record<string, readonly string[]>> = {
  Unit: ["Description", "Documentation", "After", "Before"],
  Service: [
    "Restart",
    "RestartSec",
    "TimeoutStopSec",
    "TimeoutStartSec",
    "Type",
    "RemainAfterExit",
    "Environment",
    "EnvironmentFile",
  ],
};
/** All that they say is that the unit runs, and which container it is. */
const WHOLE = ["Install", "Container", "Quadlet"];

export function remarkSystemd(unit: QuadletUnit): void {
  for (const [name, section] of unit.sections) {
    if (WHOLE.includes(name)) continue;
    const known = READ[name] ?? [];
    const keys = [...section.keys()].filter((key) => !known.includes(key));
    if (keys.length > 0)
      unit.tell(`[${name}]`, `${keys.join(", ")}: the node runs the pod, not systemd`);
  }
}
