// Performs: `agent diff -f`: what `agent apply` would change, as a unified diff of the objects. kubectl: diff

import { isJsonObject, mapValues, withoutUndefined, type JsonObject } from "../../lib/json.ts";
import { UsageError } from "../exit-codes.ts";
import type { LocalClient } from "../local-client.ts";
import { printableText } from "../terminal-text.ts";
import type { Terminal } from "../process-io.ts";
import type { VerbCall } from "../define-verb.ts";
import { applyObject, type ApplyFlags } from "./apply.ts";
import { readObjects, type ManifestObject } from "./read-manifests.ts";
import { isFailure, metadataOf, statusText } from "./status-text.ts";
import { unifiedDiff } from "./unified-diff.ts";
import { objectPath } from "./written-kinds.ts";

/** Follow from the rest, or from when it was written. */
const VOLATILE = ["creationTimestamp", "generation", "managedFields", "resourceVersion", "uid"];
const HASH = "kubernetes.io/config.hash";

/** The exit code: 0 no difference, 1 differences, 2 an object was refused. Throws UsageError, CliError. */
export async function diff({ args, flags, terminal, connect }: VerbCall): Promise<0 | 1 | 2> {
  const { filename = [], ...options } = flags<ApplyFlags>();
  const paths = [...filename, ...args];
  if (paths.length === 0) throw new UsageError("must specify -f FILE: agent diff -f FILE");
  const objects = await readObjects({ ...options, paths }, terminal);
  const client = await connect();
  let code: 0 | 1 | 2 = 0;
  for (const object of objects) {
    const lines = await diffOf(client, object, terminal);
    if (lines === undefined) return 2;
    if (lines.length > 0) code = 1;
    for (const line of lines) terminal.out(`${printableText(line)}\n`);
  }
  return code;
}

/** undefined = it is refused, and why is printed. */
async function diffOf(
  client: LocalClient,
  object: ManifestObject,
  terminal: Terminal,
): Promise<readonly string[] | undefined> {
  const live = await client.kube({ method: "GET", path: objectPath(object) });
  const merged = await applyObject(client, object, { dryRun: "server", forceConflicts: true });
  const failed = [live, merged].find((reply) => isFailure(reply) && reply.status !== 404);
  if (failed !== undefined) {
    terminal.err(statusText(failed.body));
    return undefined;
  }
  const { stringify } = await import("yaml");
  const before = live.status === 404 ? undefined : comparable(live.body);
  const after = comparable(merged.body);
  const [was, is] = object.kind === "Secret" ? masked(before, after) : [before, after];
  const text = (one: JsonObject | undefined): string =>
    one === undefined ? "" : stringify(one, { sortMapEntries: true, aliasDuplicateObjects: false });
  const lines = unifiedDiff(text(was), text(is));
  const name = `v1.${object.kind}.${object.namespace}.${object.name}`;
  return lines.length === 0 ? [] : [`--- LIVE/${name}`, `+++ MERGED/${name}`, ...lines];
}

function comparable(object: JsonObject): JsonObject {
  const { status: _status, ...declared } = object;
  const { annotations, ...metadata } = metadataOf(object);
  const kept = Object.entries(metadata).filter(([key]) => !VOLATILE.includes(key));
  const own = isJsonObject(annotations)
    ? withoutUndefined({ ...annotations, [HASH]: undefined })
    : annotations;
  return {
    ...declared,
    metadata: { ...Object.fromEntries(kept), ...withoutUndefined({ annotations: own }) },
  };
}

/** The values of a Secret are never printed: only whether they differ. */
function masked(
  before: JsonObject | undefined,
  after: JsonObject,
): readonly [JsonObject | undefined, JsonObject] {
  const dataOf = (object: JsonObject | undefined): JsonObject =>
    isJsonObject(object?.["data"]) ? object["data"] : {};
  const [was, is] = [dataOf(before), dataOf(after)];
  const mask = (data: JsonObject, other: JsonObject, note: string): JsonObject =>
    mapValues(data, (value, key) => {
      const isOther = Object.hasOwn(other, key) && other[key] !== value;
      return isOther ? `*** (${note})` : "***";
    });
  return [
    before === undefined ? undefined : { ...before, data: mask(was, is, "before") },
    { ...after, data: mask(is, was, "after") },
  ];
}
