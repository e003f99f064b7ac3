// The ConfigMaps, Secrets and claims of a simulated world: a few names, and contents that tell which edit they come from.

export const OBJECTS = [
  { kind: "ConfigMap", name: "conf" },
  { kind: "ConfigMap", name: "tuning" },
  { kind: "Secret", name: "cred" },
  { kind: "PersistentVolumeClaim", name: "store" },
] as const;
export type ObjectName = (typeof OBJECTS)[number]["name"];
type ObjectKind = (typeof OBJECTS)[number]["kind"];

/** Those that hold something to read. */
export const READABLE = ["conf", "tuning", "cred"] as const satisfies readonly ObjectName[];
export const CLAIM = "store" as const satisfies ObjectName;
export const KEYS = ["a", "b", "c"] as const;
/** `c` comes and goes with each edit of it. */
export type EditedKeys = "a" | "b" | "both" | "c";

/** Begins every value of a Secret: found anywhere else, somebody has told it. */
export const MARK = "hushed";

export interface SimContent {
  readonly data: Readonly<Record<string, string>>;
  readonly immutable: boolean;
}

/** A way to write an object that is refused. */
export type Spoiling = "field" | "value";

export function kindOf(name: ObjectName): ObjectKind {
  return name === "conf" || name === "tuning"
    ? "ConfigMap"
    : name === "cred"
      ? "Secret"
      : "PersistentVolumeClaim";
}

/** `revision` differs from edit to edit. */
export function edited(
  name: ObjectName,
  before: SimContent | undefined,
  { keys, revision }: { readonly keys: EditedKeys; readonly revision: number },
): SimContent {
  const value = (key: string): string =>
    `${kindOf(name) === "Secret" ? `${MARK}-` : ""}${name}-${key}-${revision}`;
  const fresh = { a: value("a"), b: value("b") };
  const old: SimContent["data"] = before?.data ?? fresh;
  const { c, ...rest } = old;
  const kept = c === undefined ? rest : { ...rest, c };
  if (before === undefined) return { data: fresh, immutable: false };
  const data = {
    a: { ...kept, a: fresh.a },
    b: { ...kept, b: fresh.b },
    both: { ...kept, ...fresh },
    c: c === undefined ? { ...rest, c: value("c") } : rest,
  }[keys];
  return { data, immutable: false };
}

/** The object as its author writes it. */
export function writtenObject(name: ObjectName, { data, immutable }: SimContent): object {
  const kind = kindOf(name);
  const head = { apiVersion: "v1", kind, metadata: { name, labels: labelsOf(kind, data) } };
  const frozen = immutable && kind !== "PersistentVolumeClaim" ? { immutable } : {};
  switch (kind) {
    case "ConfigMap":
      return { ...head, ...frozen, data };
    case "Secret":
      return { ...head, ...frozen, ...secretData(data) };
    case "PersistentVolumeClaim":
      return {
        ...head,
        spec: { accessModes: ["ReadWriteOnce"], resources: { requests: { storage: "1Gi" } } },
      };
  }
}

/** The same with a fault: whoever reads it keeps what was good. */
export function spoiledObject(name: ObjectName, content: SimContent, how: Spoiling): object {
  const good = writtenObject(name, content);
  if (how === "field") return { ...good, dta: {} };
  const bad = kindOf(name) === "PersistentVolumeClaim" ? { spec: {} } : { data: { a: {} } };
  return { ...good, ...bad };
}

/** Both ways to write a Secret, each now and then. */
function secretData(data: SimContent["data"]): object {
  const { a, ...rest } = data;
  const encoded = Object.entries(rest).map(([key, text]) => [
    key,
    Buffer.from(text).toString("base64"),
  ]);
  return {
    ...(a === undefined ? {} : { stringData: { a } }),
    data: Object.fromEntries(encoded) as Record<string, string>,
  };
}

/** An edit of a claim changes nothing but these. */
function labelsOf(kind: ObjectKind, { a = "" }: SimContent["data"]): Record<string, string> {
  return kind === "PersistentVolumeClaim" ? { edit: a } : {};
}
