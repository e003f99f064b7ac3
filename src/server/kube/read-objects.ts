// Performs: GET of one object, of a list, and of a watch.

import type { Clock } from "../../lib/clock.ts";
import { deadline } from "../../lib/clock.ts";
import type { ServerFacts } from "../../node/node-api.ts";
import { withoutContent } from "../../node/object-list.ts";
import type { V1Object } from "../../node/v1-shape.ts";
import type { ApiRequest, Reply, Sink } from "../http/exchange.ts";
import { apiVersionOf, type KubeResource } from "./kube-resource.ts";
import { failureStatus, jsonAnswer, jsonTextAnswer, notFound, refusal } from "./kube-status.ts";
import { continueToken, readListOptions, type ListOptions } from "./list-options.ts";
import { keyOf, memberOf, objectText, withResourceVersion } from "./object-meta.ts";
import { includeObjectOf, tableOf, tableVersion } from "./table.ts";
import type { Change, Snapshot, WatchCache } from "./watch-cache.ts";

export interface ReadObjectsOptions {
  readonly clock: Clock;
  readonly cache: WatchCache;
  readonly facts: ServerFacts;
}

/** What a path names. */
export interface ObjectPlace {
  readonly resource: KubeResource;
  /** undefined = all namespaces, or the resource has none. */
  readonly namespace: string | undefined;
  /** undefined = all of them. */
  readonly name: string | undefined;
}

/** `false` hides the content of Secrets. */
const SHOW_SECRETS = "showSecrets";
const LIST_META = { remainingItemCount: undefined, continue: undefined };
/** A quiet watch sends a bookmark this often, so that its version does not expire. */
const BOOKMARK_MS = 60_000;

export class ReadObjects {
  readonly #options: ReadObjectsOptions;

  constructor(options: ReadObjectsOptions) {
    this.#options = options;
  }

  async reply(request: ApiRequest, place: ObjectPlace): Promise<Reply> {
    const { resource } = place;
    const options = readListOptions(request.url.searchParams, resource, place);
    if (!options.ok) return refusal(400, options.errors.map(({ message }) => message).join("; "));
    if (options.value.isWatch && !resource.verbs.includes("watch"))
      return refusal(405, `${resource.name} cannot be watched; list them again`);
    if (options.value.isWatch) return this.#watch(request, place, options.value);
    const snapshot = await this.#snapshot(resource, request.signal);
    if (place.name === undefined)
      return this.#list(request, snapshot, { ...place, ...options.value });
    return this.#get(request, snapshot, { ...place, ...options.value });
  }

  async #snapshot(resource: KubeResource, signal: AbortSignal): Promise<Snapshot> {
    const { cache, facts } = this.#options;
    const known = cache.list(resource);
    if (resource.load === undefined) return known;
    const loaded = await resource.load(facts, signal);
    const versions = new Map(known.objects.map((one) => [keyOf(one), versionOf(one)]));
    const objects = loaded.map((one) => {
      const version = versions.get(keyOf(one));
      return version === undefined ? one : withResourceVersion(one, version);
    });
    return { version: known.version, objects };
  }

  #get(
    request: ApiRequest,
    { objects, version }: Snapshot,
    { resource, name = "", matches }: ObjectPlace & ListOptions,
  ): Reply {
    const object = objects.find(matches);
    if (object === undefined) return notFound(resource.name, name);
    const shape = this.#shape(request, resource);
    return jsonAnswer(
      shape.table?.([object], { resourceVersion: String(version) }) ?? shape.one(object),
    );
  }

  #list(request: ApiRequest, snapshot: Snapshot, options: ObjectPlace & ListOptions): Reply {
    const { resource } = options;
    const { items, metadata } = page(snapshot, options);
    const shape = this.#shape(request, resource);
    if (shape.table !== undefined) return jsonAnswer(shape.table(items, metadata));
    const [kind, apiVersion] = [`${resource.kind}List`, apiVersionOf(resource)];
    const head = JSON.stringify({ kind, apiVersion, metadata }).slice(0, -"}".length);
    const texts = items.map((object) => objectText(shape.one(object)));
    return jsonTextAnswer(`${head},"items":[${texts.join(",")}]}`);
  }

  #watch(request: ApiRequest, { resource }: ObjectPlace, options: ListOptions): Reply {
    const shape = this.#shape(request, resource);
    return {
      status: 200,
      contentType: "application/json",
      write: async (sink, signal) => {
        const { timeoutSeconds } = options;
        if (timeoutSeconds === undefined)
          return this.#follow({ resource, options, shape, sink, signal });
        using limit = deadline(this.#options.clock, timeoutSeconds * 1000, signal);
        return await this.#follow({ resource, options, shape, sink, signal: limit.signal });
      },
    };
  }

  async #follow(following: Following): Promise<void> {
    const { resource, options, shape, sink, signal } = following;
    const { cache } = this.#options;
    let version = options.resourceVersion;
    if (version === undefined || options.sendInitialEvents) version = await this.#begin(following);
    let isQuiet = false;
    while (!signal.aborted) {
      const sent = this.#sendSince(version, following);
      if (sent === undefined) return send(sink, "ERROR", tooOld(version));
      const { isAll, written } = sent;
      ({ version } = sent);
      await written;
      if (!isAll) continue;
      if (isQuiet && options.bookmarks) {
        version = cache.version;
        await bookmark(sink, shape, { resource, version, isFirst: false });
      }
      isQuiet = await this.#isQuiet(resource, signal);
    }
  }

  /** Sends what there is; resolves to its version. */
  async #begin({ resource, options, shape, sink }: Following): Promise<number> {
    const { objects, version } = this.#options.cache.list(resource);
    for (const object of objects.filter(options.matches))
      await send(sink, "ADDED", shape.one(object));
    if (options.sendInitialEvents)
      await bookmark(sink, shape, { resource, version, isFirst: true });
    return version;
  }

  /** Waits for a change; true = there was none for so long that the client gets a bookmark. */
  async #isQuiet(resource: KubeResource, signal: AbortSignal): Promise<boolean> {
    const { cache, clock } = this.#options;
    using quiet = deadline(clock, BOOKMARK_MS, signal);
    await cache.changed(resource, quiet.signal);
    return quiet.signal.aborted;
  }

  /**
   * Sends the changes after `version` until the client has to take some first: those that are left are asked for anew, so
   * that nothing is kept for a client that reads slowly. undefined = they are no longer known. `isAll`: there were none.
   */
  #sendSince(version: number, following: Following): Sent | undefined {
    const changes = this.#options.cache.since(following.resource, version);
    if (changes === undefined) return undefined;
    for (const change of changes) {
      const written = this.#sendChange(change, following);
      if (written !== undefined) return { version: change.version, isAll: false, written };
    }
    const last = changes.at(-1)?.version;
    return { version: last ?? version, isAll: last === undefined, written: undefined };
  }

  /** An object that comes to match is added for this client, one that no longer does is deleted. */
  #sendChange(
    { type, object, before }: Change,
    { options, shape, sink }: Pick<Following, "options" | "shape" | "sink">,
  ): Promise<void> | undefined {
    const is = options.matches(object);
    const was = before !== undefined && options.matches(before);
    if (type === "MODIFIED" && is !== was)
      return send(sink, is ? "ADDED" : "DELETED", shape.one(object));
    return is ? send(sink, type, shape.one(object)) : undefined;
  }

  #shape(request: ApiRequest, resource: KubeResource): Shape {
    const version = tableVersion(request.header("accept"));
    if (version === undefined) return { one: shownObject(request, resource) };
    const include = includeObjectOf(request.url.searchParams);
    const now = (): number => this.#options.clock.now();
    let isFirst = true;
    const table = (objects: readonly V1Object[], metadata: V1Object): V1Object =>
      tableOf(resource, objects, { version, include, now: now(), metadata, withColumns: true });
    return {
      table,
      one: (object) => {
        const { resourceVersion } = memberOf(object, "metadata");
        const metadata = { resourceVersion };
        const withColumns = isFirst;
        isFirst = false;
        return tableOf(resource, [object], { version, include, now: now(), metadata, withColumns });
      },
    };
  }
}

/** How objects are written for a client. */
interface Shape {
  /** Absent = as objects. */
  readonly table?: (objects: readonly V1Object[], metadata: V1Object) => V1Object;
  readonly one: (object: V1Object) => V1Object;
}

/** Of a client that asks for it, Secrets lose their content. */
function shownObject({ url }: ApiRequest, { name }: KubeResource): (object: V1Object) => V1Object {
  const isHidden = name === "secrets" && url.searchParams.get(SHOW_SECRETS) === "false";
  return isHidden ? withoutContent : (object) => object;
}

interface Sent {
  readonly version: number;
  readonly isAll: boolean;
  /** undefined = more may follow at once. */
  readonly written: Promise<void> | undefined;
}

interface Following {
  readonly resource: KubeResource;
  readonly options: ListOptions;
  readonly shape: Shape;
  readonly sink: Sink;
  readonly signal: AbortSignal;
}

function page(
  { objects, version }: Snapshot,
  { matches, limit, after }: ListOptions,
): { readonly items: readonly V1Object[]; readonly metadata: V1Object } {
  const resourceVersion = String(version);
  const rest = objects.filter((object) => matches(object) && keyOf(object) > after);
  if (limit === undefined || rest.length <= limit)
    return { items: rest, metadata: { ...LIST_META, resourceVersion } };
  const items = rest.slice(0, limit);
  const last = items.at(-1);
  return {
    items,
    metadata: {
      resourceVersion,
      continue: continueToken(last === undefined ? "" : keyOf(last)),
      remainingItemCount: rest.length - limit,
    },
  };
}

function versionOf(object: V1Object): string {
  const { resourceVersion } = memberOf(object, "metadata");
  return typeof resourceVersion === "string" ? resourceVersion : "";
}

function send(sink: Sink, type: string, object: object): Promise<void> | undefined {
  return sink.write(`{"type":"${type}","object":${objectText(object)}}\n`);
}

/** k8s: the annotation ends the initial events of a streaming list. */
async function bookmark(
  sink: Sink,
  shape: Shape,
  { resource, version, isFirst }: { resource: KubeResource; version: number; isFirst: boolean },
): Promise<void> {
  const annotations = isFirst ? { annotations: { "k8s.io/initial-events-end": "true" } } : {};
  const metadata = { resourceVersion: String(version), creationTimestamp: null, ...annotations };
  const object = { kind: resource.kind, apiVersion: apiVersionOf(resource), metadata };
  await send(sink, "BOOKMARK", shape.table === undefined ? object : shape.table([], metadata));
}

function tooOld(version: number): object {
  return failureStatus(410, `too old resource version: ${version}; list again`);
}
