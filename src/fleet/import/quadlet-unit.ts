// One unit of Quadlet as systemd and Podman would read it: with its specifiers and variables replaced, and options of podman as
// keys.

import { readMount, readPodmanArgs } from "./podman-args.ts";
import type { Tell } from "./service.ts";
import { readUnitFile, type UnitFile, type UnitSection } from "./unit-file.ts";
import { envLines, shellWords, type Variables } from "./words.ts";

export interface QuadletUnit {
  /** `web.container` */
  readonly file: string;
  /** `web` */
  readonly stem: string;
  readonly kind: string;
  readonly sections: UnitFile;
  /** Of [Service]: what systemd replaces in commands. */
  readonly variables: Variables;
  readonly tell: Tell;
}

export interface WrittenUnit {
  readonly file: string;
  /** With its drop-ins. */
  readonly text: string;
  readonly home: string | undefined;
  readonly read: (path: string) => string | undefined;
  readonly tell: Tell;
}

const EMPTY: UnitSection = new Map();

export function sectionOf(unit: Pick<QuadletUnit, "sections">, name: string): UnitSection {
  return unit.sections.get(name) ?? EMPTY;
}

export function openUnit(written: WrittenUnit): QuadletUnit {
  const { file, text, tell } = written;
  const [, stem = file, kind = ""] = /^(.+)\.(\w+)$/.exec(file) ?? [];
  const plain = readUnitFile(text);
  const specified = mapSections(plain, (value, key) =>
    withSpecifiers(value, key, { ...written, stem, instance: instanceOf(stem, plain) }),
  );
  const variables = variablesOf(specified.get("Service") ?? EMPTY, written);
  const sections = mapSections(specified, (value, key, section) =>
    PODMAN.includes(section) && !FREE.includes(key)
      ? withVariables(value, variables, (message) => tell(key, message, true))
      : value,
  );
  const whole = withMounts(withPodmanArgs(sections, tell));
  return { file, stem, kind, sections: whole, variables, tell };
}

/** Sections whose values are words of a command that systemd runs. */
const PODMAN = ["Container", "Pod", "Image", "Volume"];
/** Keys that mean nothing here, so that their variables do not matter. */
const FREE = ["Label", "Annotation"];

function mapSections(
  file: UnitFile,
  change: (value: string, key: string, section: string) => string,
): UnitFile {
  return new Map(
    [...file].map(([name, section]) => [
      name,
      new Map(
        [...section].map(([key, values]) => [key, values.map((one) => change(one, key, name))]),
      ),
    ]),
  );
}

/** Of a template: that of its name, else the default one. */
function instanceOf(stem: string, file: UnitFile): string | undefined {
  const [, instance] = /@(.*)$/.exec(stem) ?? [];
  return instance === "" ? file.get("Install")?.get("DefaultInstance")?.at(-1) : instance;
}

interface Specified extends WrittenUnit {
  readonly stem: string;
  readonly instance: string | undefined;
}

/** systemd.unit(5): specifiers; those that name the machine or the user are left to a person. */
function withSpecifiers(value: string, key: string, unit: Specified): string {
  const { stem, instance, home, tell } = unit;
  const [prefix = stem] = stem.split("@");
  const known: Readonly<Record<string, string | undefined>> = {
    "%": "%",
    n: `${stem}.service`,
    N: stem,
    p: prefix,
    i: instance,
    I: instance,
    h: home,
  };
  return value.replaceAll(/%([%A-Za-z])/g, (whole, letter: string) => {
    const replaced = known[letter];
    if (replaced === undefined) tell(key, `${whole} in ${value}: write what it stands for`, true);
    else if (letter === "h" && key !== "EnvironmentFile")
      tell(key, `%h becomes ${replaced} of the node: put it there, or choose another path`);
    return replaced ?? whole;
  });
}

function variablesOf(service: UnitSection, { read, tell }: WrittenUnit): Variables {
  const files = (service.get("EnvironmentFile") ?? []).map((path) => {
    const text = read(path.replace(/^-/, ""));
    if (text === undefined && !path.startsWith("-"))
      tell("[Service] EnvironmentFile", `${path} cannot be read: its variables are not replaced`);
    return envLines(text ?? "");
  });
  const own = (service.get("Environment") ?? []).flatMap(shellWords).flatMap(pairOf);
  return Object.assign({}, Object.fromEntries(own), ...files) as Variables;
}

/** `NAME=value`; none = it has no value. */
export function pairOf(written: string): readonly (readonly [string, string])[] {
  const equals = written.indexOf("=");
  return equals < 1 ? [] : [[written.slice(0, equals), written.slice(equals + 1)]];
}

/** systemd.service(5): `${NAME}` anywhere, and `$$`. */
function withVariables(
  value: string,
  variables: Variables,
  fail: (message: string) => void,
): string {
  return value.replaceAll(/\$\$|\$\{(\w+)\}/g, (whole, name: string | undefined) => {
    if (name === undefined) return "$";
    const replaced = variables[name];
    if (replaced === undefined)
      fail(`${whole} has no value: write it, or set it in [Service] by Environment`);
    return replaced ?? whole;
  });
}

function withPodmanArgs(file: UnitFile, tell: Tell): UnitFile {
  return replacing(file, "PodmanArgs", (written) => {
    const { keys, others } = readPodmanArgs(written);
    if (others.length > 0) tell("PodmanArgs", `${others.join(" ")}: has no counterpart`);
    return keys;
  });
}

/** What of Mount can be written as Volume or Tmpfs is. */
function withMounts(file: UnitFile): UnitFile {
  return replacing(file, "Mount", (written) =>
    written.map((one) => readMount(one) ?? ["Mount", one]),
  );
}

/** The container with other entries in place of those of one key. */
function replacing(
  file: UnitFile,
  replaced: string,
  by: (written: readonly string[]) => readonly (readonly [key: string, value: string])[],
): UnitFile {
  const container = file.get("Container");
  const written = container?.get(replaced);
  if (container === undefined || written === undefined) return file;
  const section = new Map(container);
  section.delete(replaced);
  for (const [key, value] of by(written)) section.set(key, [...(section.get(key) ?? []), value]);
  return new Map([...file, ["Container", section]]);
}
