// What a new document would change (`agent fleet diff`, `apply --dry-run`): object by object, with field paths; what a Secret
// holds is never shown.

import type { WrittenInput } from "./compose-document.ts";
import type { RetainedDocument } from "./retained-document.ts";
import { formatPath, type FieldPath } from "../../api/decode/field-path.ts";
import { shortText } from "../../lib/short-text.ts";
import { isJsonObject, canonicalJson, memberOf } from "../../lib/json.ts";

export interface FieldChange {
  /** Kubernetes' field path. */
  readonly path: string;
  /** JSON, shortened; "" = is not there. Of a Secret: `(hidden)`. */
  readonly before: string;
  readonly after: string;
}

export interface ObjectChange {
  readonly type: "Added" | "Removed" | "Changed";
  /** `Pod default/web`. */
  readonly object: string;
  readonly fields: readonly FieldChange[];
}

const MAX_SHOWN = 80;
const HIDDEN = "(hidden)";

/** Lists of `resources`; ordered by object. */
export function diffDocuments(
  before: readonly unknown[],
  after: readonly unknown[],
): readonly ObjectChange[] {
  const old = byName(before);
  const fresh = byName(after);
  const names = [...new Set([...old.keys(), ...fresh.keys()])].toSorted();
  return names.flatMap((object): readonly ObjectChange[] => {
    const was = old.get(object);
    const is = fresh.get(object);
    if (was === undefined) return [{ type: "Added", object, fields: [] }];
    if (is === undefined) return [{ type: "Removed", object, fields: [] }];
    if (canonicalJson(was) === canonicalJson(is)) return [];
    const isSecret = /^(?:Sealed)?Secret /.test(object);
    return [{ type: "Changed", object, fields: fieldChanges(was, is, { path: [], isSecret }) }];
  });
}

export function diffLines(changes: readonly ObjectChange[]): readonly string[] {
  const signs = { Added: "+", Removed: "-", Changed: "~" } as const;
  return changes.flatMap(({ type, object, fields }) => [
    `${signs[type]} ${object}`,
    ...fields.map(({ path, before, after }) => `    ${path}: ${fieldLine(before, after)}`),
  ]);
}

function fieldLine(before: string, after: string): string {
  if (before === "") return `added ${after}`;
  if (after === "") return `removed, was ${before}`;
  return before === HIDDEN ? "changed (hidden)" : `${before} → ${after}`;
}

function byName(resources: readonly unknown[]): ReadonlyMap<string, unknown> {
  return new Map(resources.flatMap(members).map((object) => [nameOf(object), object]));
}

/** A list of any kind is what it holds: nothing of a Secret is shown because it came in a list. */
function members(resource: unknown): readonly unknown[] {
  const [kind, items] = [memberOf(resource, "kind"), memberOf(resource, "items")];
  if (typeof kind !== "string" || !kind.endsWith("List") || !Array.isArray(items))
    return [resource];
  const of = kind.slice(0, -"List".length);
  // The members of a PodList need not repeat what they are.
  const own = of === "" ? {} : { apiVersion: "v1", kind: of };
  return items.flatMap((item: unknown) =>
    isJsonObject(item) ? members({ ...own, ...item }) : [item],
  );
}

function nameOf(object: unknown): string {
  const metadata = memberOf(object, "metadata");
  const text = (value: unknown, fallback: string): string =>
    typeof value === "string" && value !== "" ? value : fallback;
  const namespace = text(memberOf(metadata, "namespace"), "default");
  const name = text(memberOf(metadata, "name"), "?");
  return `${text(memberOf(object, "kind"), "object")} ${namespace}/${name}`;
}

interface Place {
  readonly path: FieldPath;
  readonly isSecret: boolean;
}

function fieldChanges(before: unknown, after: unknown, place: Place): readonly FieldChange[] {
  if (canonicalJson(before) === canonicalJson(after)) return [];
  const keys = commonKeys(before, after);
  if (keys === undefined) {
    const { path, isSecret } = place;
    const show = (value: unknown): string => shown(value, isSecret);
    return [{ path: formatPath(path), before: show(before), after: show(after) }];
  }
  return keys.flatMap((key) =>
    fieldChanges(member(before, key), member(after, key), {
      ...place,
      path: [...place.path, key],
    }),
  );
}

/** undefined = there is nothing to go down into on both sides. */
function commonKeys(before: unknown, after: unknown): readonly (string | number)[] | undefined {
  if (Array.isArray(before) && Array.isArray(after))
    return Array.from({ length: Math.max(before.length, after.length) }, (_, index) => index);
  if (!isJsonObject(before) || !isJsonObject(after)) return undefined;
  return [...new Set([...Object.keys(before), ...Object.keys(after)])].toSorted();
}

function member(value: unknown, key: string | number): unknown {
  if (Array.isArray(value)) return typeof key === "number" ? (value[key] as unknown) : undefined;
  return memberOf(value, `${key}`);
}

function shown(value: unknown, isSecret: boolean): string {
  if (value === undefined) return "";
  return isSecret ? HIDDEN : shortText(JSON.stringify(value), MAX_SHOWN);
}

export function changeLines(
  retained: RetainedDocument | undefined,
  input: WrittenInput,
): readonly string[] {
  const after = input.objects.map(({ value }) => value);
  return diffLines(diffDocuments(retained?.resources ?? [], after));
}
