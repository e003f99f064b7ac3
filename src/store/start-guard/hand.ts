// What is in hand: work whose size another party chose, noted before it begins, so that after a death the next start
// knows in which hands the process died. Lines of a small file, and the deaths counted for each hand.

import { isJsonObject, parseJson } from "../../lib/json.ts";

/**
 * `Document`: judging, restoring and adopting one document; `File`: reading one version of a manifest file;
 * `Pod`: a sync of one pod; `Removal`: removing what one pod has left on the host.
 */
export type HandKind = "Document" | "File" | "Pod" | "Removal";

export interface Hand {
  readonly kind: HandKind;
  /** The same for the same work only: a UID, or a place with the digest of its content. */
  readonly id: string;
  /** For people: `default/web`, a path, a source. */
  readonly name: string;
}

/** What is needed of a pod to name its hand. */
interface NamedUID {
  readonly uid: string;
  readonly namespace: string;
  readonly name: string;
}

export function podHand({ uid, namespace, name }: NamedUID): Hand {
  return { kind: "Pod", id: uid, name: `${namespace}/${name}` };
}

export function removalHand({ uid, namespace, name }: NamedUID): Hand {
  return { kind: "Removal", id: uid, name: `${namespace}/${name}` };
}

/** `digest` of the message, or of the accepted payload. */
export function documentHand(source: string, digest: string): Hand {
  return { kind: "Document", id: `${source} ${digest}`, name: source };
}

/** `digest` of the content. */
export function fileHand(path: string, digest: string): Hand {
  return { kind: "File", id: `${path} ${digest}`, name: path };
}

export function handKey({ kind, id }: Hand): string {
  return `${kind} ${id}`;
}

/** By `handKey`: how often the process has ended while the hand was held; absent = never, or the work was done since. */
export type Deaths = ReadonlyMap<string, number>;

/** What was in hand when a process ended, and which process that was. */
export interface InHand {
  readonly process: string;
  readonly hands: readonly Hand[];
}

/** The file is written over in place and never becomes shorter: what follows this line is older. */
const END = '"end"';
const KINDS: readonly string[] = ["Document", "File", "Pod", "Removal"] satisfies HandKind[];

export function inHandText({ process, hands }: InHand): string {
  const lines = hands.map(({ kind, id, name }) => JSON.stringify([kind, id, name]));
  return [JSON.stringify(["Process", process]), ...lines, END, ""].join("\n");
}

/** A line that a power failure has cut is left out. */
export function readInHand(text: string): InHand {
  const lines = text.split("\n");
  const end = lines.indexOf(END);
  const rows = (end < 0 ? lines : lines.slice(0, end)).map(textsOf);
  const process = rows.find(([kind]) => kind === "Process")?.[1] ?? "";
  return { process, hands: rows.flatMap(handOf) };
}

function textsOf(line: string): readonly string[] {
  const row = parseJson(line);
  return Array.isArray(row) ? row.filter((one) => typeof one === "string") : [];
}

function handOf([kind, id, name]: readonly string[]): readonly Hand[] {
  if (!isKind(kind) || id === undefined || name === undefined) return [];
  return [{ kind, id, name }];
}

function isKind(kind: string | undefined): kind is HandKind {
  return kind !== undefined && KINDS.includes(kind);
}

/** Hands of work that no longer exists are counted for ever: the most remembered. */
const MAX_COUNTED = 500;

/** One more death in each of these hands; of too many, those with the fewest deaths are forgotten. */
export function afterDeath(deaths: Deaths, hands: readonly Hand[]): Deaths {
  const counted = new Map(deaths);
  for (const key of new Set(hands.map(handKey))) {
    const before = counted.get(key) ?? 0;
    // Newest last.
    counted.delete(key);
    counted.set(key, before + 1);
  }
  if (counted.size <= MAX_COUNTED) return counted;
  const kept = [...counted].toReversed().toSorted(([, a], [, b]) => b - a);
  return new Map(kept.slice(0, MAX_COUNTED).toReversed());
}

/** What the database holds: the deaths, and the process whose death was counted last. */
export interface DeathRecord {
  readonly counted: string;
  readonly deaths: Deaths;
}

export function deathRecordText({ counted, deaths }: DeathRecord): string {
  return JSON.stringify({ counted, deaths: Object.fromEntries(deaths) });
}

export function readDeathRecord(text: string | undefined): DeathRecord {
  const value = text === undefined ? undefined : parseJson(text);
  if (!isJsonObject(value)) return { counted: "", deaths: new Map() };
  const { counted, deaths } = value;
  const known = isJsonObject(deaths) ? Object.entries(deaths) : [];
  return {
    counted: typeof counted === "string" ? counted : "",
    deaths: new Map(known.flatMap(([key, n]) => (typeof n === "number" ? [[key, n]] : []))),
  };
}
