// A directory of Quadlet units of Podman → services, with a remark for everything that has no counterpart. podman-systemd.unit(5)

import type { ComposeFiles } from "./compose-mounts.ts";
import { boundBy, ContainerReader } from "./quadlet-container.ts";
import { LEFT_OUT } from "./quadlet-keys.ts";
import { openUnit, sectionOf, type QuadletUnit } from "./quadlet-unit.ts";
import { remarking } from "./service-fields.ts";
import { UNKNOWN, type Imported, type ImportedFile, type Remark } from "./service.ts";
import type { UnitFile, UnitSection } from "./unit-file.ts";

export interface QuadletInput {
  /** Units of the directory with their drop-ins, by name: `web.container`. */
  readonly units: Readonly<Record<string, string>>;
  readonly files: ComposeFiles;
}

const MAX_UNITS = 64;

export function importQuadlet({ units, files }: QuadletInput): Imported {
  const remarks: Remark[] = [];
  const tell = remarking(remarks);
  const names = Object.keys(units).toSorted();
  if (names.length > MAX_UNITS)
    tell("the directory", `only its first ${MAX_UNITS} units are imported`, true);
  const opened = names.slice(0, MAX_UNITS).flatMap((file) => {
    const text = units[file] ?? "";
    const [, stem, kind] = /^(.+)@\.(\w+)$/.exec(file) ?? [];
    const isTemplate = stem !== undefined && !/^\s*DefaultInstance\s*=/m.test(text);
    if (isTemplate)
      tell(file, `is a template: copy it for each instance, as ${stem}@one.${kind}`, true);
    const unit = (): QuadletUnit =>
      openUnit({
        file,
        text,
        home: files.variable("HOME"),
        read: files.read,
        tell: (field, message, isError) => tell(`${file}: ${field}`, message, isError),
      });
    return isTemplate ? [] : [unit()];
  });
  const directory = withPods(new Map(opened.map((unit) => [unit.file, unit])));
  const imported: ImportedFile[] = [];
  const services = [...directory.values()].flatMap((unit) => {
    if (unit.kind !== "container") {
      remarkOther(unit, directory);
      return [];
    }
    const reader = new ContainerReader(unit, { directory, files });
    const service = reader.read();
    imported.push(...reader.imported);
    return service ?? [];
  });
  return { services, files: imported, remarks };
}

/** Keys of a pod that each of its containers has here. */
const OF_ALL = ["Volume", "ShmSize"];
/** Keys that its first container has here. */
const OF_FIRST = ["PublishPort", "Network", "NetworkAlias", "HostName", "AddHost", "DNS"];

/** Gives the containers of each pod the keys of the pod. */
function withPods(directory: ReadonlyMap<string, QuadletUnit>): ReadonlyMap<string, QuadletUnit> {
  const seen = new Set<string>();
  return new Map(
    [...directory].map(([file, unit]) => {
      const container = sectionOf(unit, "Container");
      const name = container.get("Pod")?.at(-1);
      const pod = name === undefined ? undefined : directory.get(name);
      if (name === undefined || pod === undefined) return [file, unit];
      const keys = seen.has(name) ? OF_ALL : [...OF_ALL, ...OF_FIRST];
      seen.add(name);
      const section = new Map(container);
      for (const key of keys) {
        const values = [...(sectionOf(pod, "Pod").get(key) ?? []), ...(container.get(key) ?? [])];
        if (values.length > 0) section.set(key, values);
      }
      const sections: UnitFile = new Map([...unit.sections, ["Container", section]]);
      return [file, { ...unit, sections }];
    }),
  );
}

/** Keys of a volume that are read, and those of one that binds a path. */
const NAMED = ["VolumeName", "Label"];
const BOUND = ["Device", "Options", "Type"];

/** A unit that is no container: it is part of one, or has no counterpart. */
function remarkOther(unit: QuadletUnit, directory: ReadonlyMap<string, QuadletUnit>): void {
  const { file, kind, tell } = unit;
  switch (kind) {
    case "pod": {
      const isUsed = [...directory.values()].some(
        (one) => sectionOf(one, "Container").get("Pod")?.at(-1) === file,
      );
      if (!isUsed) tell("Pod", "no container of the directory is in it, and it is left out");
      return tellKeys(unit, "Pod", [...OF_ALL, ...OF_FIRST]);
    }
    case "volume":
      return tellKeys(unit, "Volume", boundBy(unit) === undefined ? NAMED : [...NAMED, ...BOUND]);
    case "image":
      return tellKeys(unit, "Image", ["Image", "Label", "ServiceName"]);
    case "network":
      return tell("Network", "pods of a node reach each other; networks separate nothing here");
    case "build":
      return tell("Build", "a node builds no image: build and push it, and name it as Image", true);
    case "kube": {
      const [yaml] = sectionOf(unit, "Kube").get("Yaml") ?? [];
      const message = "is a manifest already: apply it as it is";
      return tell("Yaml", yaml === undefined ? "is missing" : `${yaml} ${message}`);
    }
  }
}

function tellKeys(unit: QuadletUnit, name: string, known: readonly string[]): void {
  const section: UnitSection = sectionOf(unit, name);
  for (const key of section.keys())
    if (!known.includes(key)) unit.tell(key, LEFT_OUT[key] ?? UNKNOWN);
}
