// Performs: `agent describe KIND [NAME…]`: all about objects, with their events, in kubectl's form. Values of Secrets are never
// asked for.

import { isListOf } from "../../node/api-views.ts";
import { isJsonObject, type JsonObject } from "../../lib/json.ts";
import type { VerbCall } from "../define-verb.ts";
import { CliError, UsageError } from "../exit-codes.ts";
import { apiResources, type ApiResource } from "../get/api-resources.ts";
import { resourceArguments, type Wanted } from "../get/resource-arguments.ts";
import type { LocalClient } from "../local-client.ts";
import type { Described } from "./describe-common.ts";
import { describeNode } from "./describe-node.ts";
import { describeClaim, describeConfigMap, describeSecret } from "./describe-objects.ts";
import { describePod } from "./describe-pod.ts";
import { textAt } from "./read-json.ts";

interface DescribeFlags {
  readonly namespace: string;
  readonly allNamespaces?: boolean;
  readonly selector?: string;
}

type Describer = (described: Described & { readonly pods: readonly JsonObject[] }) => string;

/** By the kind. */
const DESCRIBERS: Readonly<Record<string, Describer>> = {
  Pod: describePod,
  Node: describeNode,
  ConfigMap: describeConfigMap,
  Secret: describeSecret,
  PersistentVolumeClaim: describeClaim,
};
/** Their descriptions name pods. */
const NEED_PODS = ["Node", "PersistentVolumeClaim"];

/** The exit code. Throws UsageError for a kind that cannot be described, CliError if there is no object of that name. */
export async function describe({ args, flags, terminal, connect }: VerbCall): Promise<0> {
  const asked = flags<DescribeFlags>();
  const client = await connect();
  const words = resourceArguments(args, await apiResources(client));
  if (!words.ok) throw new UsageError(words.errors.map(({ message }) => message).join("; "));
  const texts: string[] = [];
  for (const wanted of words.value.wanted) {
    const { resource, name } = wanted;
    const describer = DESCRIBERS[resource.kind];
    if (describer === undefined)
      throw new UsageError(
        `${resource.name} cannot be described; use agent get ${resource.name} -o yaml`,
      );
    const objects = await found(client, wanted, asked);
    if (objects.length === 0 && name !== undefined)
      throw new CliError(`${resource.name} "${name}" not found`);
    const [events, pods] = await Promise.all([
      items(client, "/api/v1/events"),
      NEED_PODS.includes(resource.kind) ? items(client, "/api/v1/pods") : [],
    ]);
    const now = terminal.clock.now();
    for (const object of objects) {
      const own = events.filter((event) => isAbout(event, object, resource));
      const near = pods.filter((pod) => isNear(pod, object));
      texts.push(describer({ object, events: own, pods: near, now, palette: terminal.palette }));
    }
  }
  if (texts.length === 0) terminal.err(`No resources found\n`);
  else terminal.out(texts.join("\n\n"));
  return 0;
}

/** As kubectl: without an object of exactly this name, those whose names begin so. */
async function found(
  client: LocalClient,
  { resource, name }: Wanted,
  { namespace, allNamespaces = false, selector }: DescribeFlags,
): Promise<readonly JsonObject[]> {
  const within =
    resource.isNamespaced && !allNamespaces ? `/namespaces/${encodeURIComponent(namespace)}` : "";
  const query = new URLSearchParams();
  if (selector !== undefined) query.set("labelSelector", selector);
  if (resource.kind === "Secret") query.set("showSecrets", "false");
  const asked = query.toString();
  const path = `${resource.root}${within}/${resource.name}${asked === "" ? "" : `?${asked}`}`;
  const all = await items(client, path);
  if (name === undefined) return all;
  const nameOf = (object: JsonObject): string => textAt(object, "metadata", "name");
  const exact = all.filter((object) => nameOf(object) === name);
  return exact.length > 0 ? exact : all.filter((object) => nameOf(object).startsWith(name));
}

async function items(client: LocalClient, path: string): Promise<readonly JsonObject[]> {
  return (await client.object(path, isListOf(isJsonObject))).items;
}

function isAbout(event: JsonObject, object: JsonObject, { kind }: ApiResource): boolean {
  const is = (field: string, of: string): boolean =>
    textAt(event, "involvedObject", field) === textAt(object, "metadata", of);
  if (textAt(event, "involvedObject", "kind") !== kind || !is("name", "name")) return false;
  const uid = textAt(object, "metadata", "uid");
  return kind === "Node" || (is("namespace", "namespace") && (uid === "" || is("uid", "uid")));
}

/** Of the same namespace, or of the node. */
function isNear(pod: JsonObject, object: JsonObject): boolean {
  const namespace = textAt(object, "metadata", "namespace");
  return namespace === "" || textAt(pod, "metadata", "namespace") === namespace;
}
