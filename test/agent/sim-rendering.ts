// What a container must find of the objects it reads, and what it was given in truth. Says it once more, in other words
// than the agent's.

import type { SimContent, ObjectName } from "./sim-objects.ts";
import type { SimContentVolume, SimReads, SimShown, SimVolume } from "./sim-reads.ts";
import type { SimSpec } from "./sim-specs.ts";

/** One place in which a container reads an object and learns no news of it. */
export type SimRef =
  | {
      readonly type: "Variable";
      readonly variable: string;
      readonly key: string;
      readonly optional: boolean;
    }
  | { readonly type: "All"; readonly prefix: string; readonly optional: boolean }
  | {
      readonly type: "Part";
      readonly mountPath: string;
      readonly shown: SimShown;
      readonly path: string;
    };

/** Everything that the runtime was told for a container. */
export interface Given {
  readonly env: ReadonlyMap<string, string>;
  /** Path in the container → text of the file that is mounted there. */
  readonly parts: ReadonlyMap<string, string>;
}

const NOTHING = "-";

export function refsOf(
  reads: SimReads,
  volumes: readonly SimVolume[],
): ReadonlyMap<ObjectName, readonly SimRef[]> {
  const refs = new Map<ObjectName, SimRef[]>();
  const add = (object: ObjectName, ref: SimRef): void => {
    refs.set(object, [...(refs.get(object) ?? []), ref]);
  };
  for (const { variable, object, key, optional } of reads.env)
    add(object, { type: "Variable", variable, key, optional });
  for (const { prefix, object, optional } of reads.from)
    add(object, { type: "All", prefix, optional });
  for (const { volume: name, path } of reads.parts) {
    const volume = volumes.find((one) => one.name === name);
    if (volume?.type !== "content") continue;
    const shown = volume.shows.find(({ items }) => items.some((item) => item.path === path));
    const [first] = volume.shows;
    const of = shown ?? first;
    if (of !== undefined)
      add(of.object, { type: "Part", mountPath: `/part/${name}`, shown: of, path });
  }
  return refs;
}

/** Objects without which the pod cannot run; `parts`: also those of which only a part is missing then. */
export function requiredBy(
  { volumes, containers }: Pick<SimSpec, "volumes" | "containers">,
  parts = true,
): ReadonlySet<ObjectName> {
  const required = new Set<ObjectName>();
  for (const volume of volumes) {
    if (volume.type === "claim") required.add(volume.claim);
    else for (const { object, optional } of volume.shows) if (!optional) required.add(object);
  }
  for (const { reads } of containers)
    for (const [object, refs] of refsOf(reads, volumes)) {
      // A part that is not there cannot be mounted, however optional its volume.
      const isNeeded = refs.some((ref) => (ref.type === "Part" ? parts : !ref.optional));
      if (isNeeded) required.add(object);
    }
  return required;
}

/** What is read with this content; undefined = the container cannot start. */
export function readWith(
  refs: readonly SimRef[],
  content: SimContent | undefined,
): string | undefined {
  const texts = refs.map((ref) => textOf(ref, content));
  return texts.includes(undefined) ? undefined : JSON.stringify(texts);
}

function textOf(ref: SimRef, content: SimContent | undefined): string | undefined {
  switch (ref.type) {
    case "Variable":
      return content?.data[ref.key] ?? (ref.optional ? NOTHING : undefined);
    case "All":
      if (content === undefined && !ref.optional) return undefined;
      return listed(
        Object.entries(content?.data ?? {}).map(([key, text]) => [`${ref.prefix}${key}`, text]),
      );
    case "Part":
      return filesWith(ref.shown, content)?.get(ref.path);
  }
}

/** The same as it was given in truth. */
export function given(refs: readonly SimRef[], { env, parts }: Given): string {
  return JSON.stringify(
    refs.map((ref) => {
      switch (ref.type) {
        case "Variable":
          return env.get(ref.variable) ?? NOTHING;
        case "All":
          return listed([...env].filter(([name]) => name.startsWith(ref.prefix)));
        case "Part":
          return parts.get(ref.mountPath) ?? NOTHING;
      }
    }),
  );
}

function listed(entries: readonly (readonly [string, string])[]): string {
  return entries
    .map(([name, text]) => `${name}=${text}`)
    .toSorted()
    .join();
}

/** Path → text; undefined = it cannot be shown. */
export function filesWith(
  { optional, items }: SimShown,
  content: SimContent | undefined,
): ReadonlyMap<string, string> | undefined {
  if (content === undefined) return optional ? new Map() : undefined;
  if (items.length === 0) return new Map(Object.entries(content.data));
  const files = new Map<string, string>();
  for (const { key, path } of items) {
    const text = content.data[key];
    if (text !== undefined) files.set(path, text);
    else if (!optional) return undefined;
  }
  return files;
}

/** Those of a volume's files that show this object. */
export function filesOf(
  volume: SimContentVolume,
  { object }: SimShown,
  files: ReadonlyMap<string, string>,
): ReadonlyMap<string, string> {
  if (volume.shows.length === 1) return files;
  return new Map([...files].filter(([path]) => path.startsWith(`${object}/`)));
}

export function sameFiles(
  one: ReadonlyMap<string, string>,
  other: ReadonlyMap<string, string> | undefined,
): boolean {
  if (one.size !== other?.size) return false;
  return [...one].every(([path, text]) => other.get(path) === text);
}
