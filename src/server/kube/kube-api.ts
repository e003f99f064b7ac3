// Performs: the Kubernetes API of this node: finds out what a path means, and lets the file of that verb answer.

import type { Clock, Monotonic } from "../../lib/clock.ts";
import type { Random } from "../../lib/random.ts";
import { versionInfo } from "../../lib/version-info.ts";
import type { ServerFacts } from "../../node/node-api.ts";
import type { ApiRequest, Reply } from "../http/exchange.ts";
import { openApiReply } from "../openapi/openapi-routes.ts";
import { CLAIMS, removeClaimData } from "../delete.ts";
import {
  apiGroup,
  apiGroupList,
  apiResourceList,
  apiVersions,
  type SubResource,
} from "./discovery.ts";
import { apiVersionOf, type KubeResource } from "./kube-resource.ts";
import { jsonAnswer, refusal, unknownPath } from "./kube-status.ts";
import type { LogCursorFiles } from "../../runtime/logs/log-cursor.ts";
import { PodLogs } from "../logs/pod-logs.ts";
import { ReadObjects, type ObjectPlace } from "./read-objects.ts";
import { PODS, RESOURCES } from "./resources.ts";
import { WatchCache } from "./watch-cache.ts";
import { ChangeObjects } from "./write/change-objects.ts";
import type { ManifestStore } from "./write/manifest-store.ts";

export interface KubeApiOptions {
  readonly clock: Clock;
  readonly facts: ServerFacts;
  readonly files: LogCursorFiles;
  readonly podLogsDir: string;
  readonly onChange: (run: () => void) => Disposable;
  /** Absent = those of this node. */
  readonly resources?: readonly KubeResource[];
  /** Where clients' objects become files; absent = this API only reads. */
  readonly writing?: { readonly store: ManifestStore; readonly random: Random };
}

const STREAM_VERBS = ["create", "get"];
const SUB_RESOURCES: readonly SubResource[] = [
  { name: "pods/attach", kind: "PodAttachOptions", verbs: STREAM_VERBS },
  { name: "pods/exec", kind: "PodExecOptions", verbs: STREAM_VERBS },
  { name: "pods/log", kind: "Pod", verbs: ["get"] },
  { name: "pods/portforward", kind: "PodPortForwardOptions", verbs: STREAM_VERBS },
];
/** After the start: without a runtime the node never knows its pods, and answers all the same. */
const SYNC_MS = 5_000;
const LOOK_MS = 25;
const CORE_PATH = /^\/api\/v1\/(.+)$/;
const GROUP_PATH = /^\/apis\/([^/]+)\/([^/]+)\/(.+)$/;
const NAMESPACED = /^namespaces\/([^/]+)\/([^/]+)(?:\/([^/]+))?(?:\/(.+))?$/;
const PLAIN = /^([^/]+)(?:\/([^/]+))?(?:\/(.+))?$/;
const CONTAINER_LOGS = /^\/containerLogs\/([^/]+)\/([^/]+)\/([^/]+)$/;
const WATCHED = "watch/";

/** `below`: the part of the object, `log`; undefined = the object itself. */
interface BelowPlace extends ObjectPlace {
  readonly below: string | undefined;
}

export class KubeApi implements Disposable {
  readonly #clock: Clock;
  readonly #syncsUntil: Monotonic;
  readonly #facts: ServerFacts;
  readonly #cache: WatchCache;
  readonly #read: ReadObjects;
  readonly #logs: PodLogs;
  readonly #resources: readonly KubeResource[];
  readonly #change: ChangeObjects | undefined;

  constructor(options: KubeApiOptions) {
    const { clock, facts, onChange, writing } = options;
    this.#facts = facts;
    this.#clock = clock;
    this.#syncsUntil = clock.monotonic() + SYNC_MS;
    this.#resources = options.resources ?? RESOURCES;
    this.#logs = new PodLogs({ ...options, pods: () => facts.pods() });
    this.#cache = new WatchCache({ clock, facts, onChange });
    this.#read = new ReadObjects({ clock, facts, cache: this.#cache });
    const own = { clock, facts, onChange, cache: this.#cache };
    this.#change = writing && new ChangeObjects({ ...own, ...writing });
  }

  [Symbol.dispose](): void {
    this.#cache[Symbol.dispose]();
  }

  /** undefined = the path is not one of this API. */
  async reply(request: ApiRequest): Promise<Reply | undefined> {
    const { pathname: path } = request.url;
    const described = this.#discovery(request, path.replace(/(.)\/$/, "$1"));
    if (described !== undefined) return described;
    const [, namespace, pod, container] = CONTAINER_LOGS.exec(path) ?? [];
    if (namespace !== undefined && pod !== undefined && container !== undefined)
      return this.#containerLog(request, { namespace, pod, container });
    const documented = openApiReply(request, {
      resources: this.#resources,
      version: () => this.#facts.version().version,
    });
    if (documented !== undefined) return documented;
    const place = placeOf(path, this.#resources);
    if (place === undefined) return /^\/apis?(?:\/|$)/.test(path) ? unknownPath() : undefined;
    await this.#synced(request.signal);
    return this.#verb(request, place);
  }

  /**
   * Waits at the start until the node knows what it has: an informer that comes back would take an empty list for the end of
   * all objects.
   */
  async #synced(signal: AbortSignal): Promise<void> {
    const isLate = (): boolean => signal.aborted || this.#clock.monotonic() >= this.#syncsUntil;
    while (!isLate() && !this.#facts.hasSynced()) await this.#clock.sleep(LOOK_MS, signal);
  }

  /** kubelet: the path of a log is the one that API servers ask it for. */
  #containerLog(
    { url }: ApiRequest,
    { namespace, pod, container }: Readonly<Record<"namespace" | "pod" | "container", string>>,
  ): Reply {
    const query = new URLSearchParams(url.searchParams);
    query.set("container", decoded(container));
    return this.#logs.reply(query, decoded(namespace), decoded(pod));
  }

  #discovery({ header }: ApiRequest, path: string): Reply | undefined {
    switch (path) {
      case "/api":
        return jsonAnswer(apiVersions(header("host") ?? "agent"));
      case "/apis":
        return jsonAnswer(apiGroupList(this.#resources));
      case "/version":
        return jsonAnswer(versionOf(this.#facts.version().version));
    }
    const [, group, version] = /^\/apis\/([^/]+)(?:\/([^/]+))?$/.exec(path) ?? [];
    if (path === "/api/v1")
      return jsonAnswer(apiResourceList(this.#resources, "v1", SUB_RESOURCES));
    if (group === undefined) return undefined;
    const found =
      version === undefined
        ? apiGroup(this.#resources, group)
        : apiResourceList(this.#resources, `${group}/${version}`, SUB_RESOURCES);
    return found === undefined ? unknownPath() : jsonAnswer(found);
  }

  async #verb(request: ApiRequest, place: BelowPlace): Promise<Reply> {
    const { resource, below } = place;
    if (below !== undefined) return this.#below(request, place);
    const { method } = request;
    if (isReading(method)) return this.#read.reply(request, place);
    if (resource.name === CLAIMS && method === "DELETE" && hasDataFlag(request))
      return this.#deleteData(request, place);
    const changed = await this.#change?.reply(request, place);
    return changed ?? refusal(405, readOnly(resource));
  }

  /** A part of an object, such as the log of a pod. */
  #below({ method, url }: ApiRequest, { resource, namespace, name, below }: BelowPlace): Reply {
    const isOfPod = resource.name === PODS.name && namespace !== undefined && name !== undefined;
    if (isOfPod && below === "log" && isReading(method))
      return this.#logs.reply(url.searchParams, namespace, name);
    return unknownPath();
  }

  /** The data only; the claim goes with its file or document. */
  #deleteData({ url }: ApiRequest, { namespace, name }: ObjectPlace): Reply {
    const parts = [namespace, name];
    return removeClaimData({ facts: this.#facts, parts, query: url.searchParams });
  }
}

function readOnly({ name }: KubeResource): string {
  if (name === "namespaces")
    return "namespaces are neither created nor deleted here: each is there as long as an object is in it";
  if (name === "nodes" || name === "events") return `${name} are read-only: this node makes them`;
  if (["images", "desired", "rejections"].includes(name)) return `${name} are only shown here`;
  return `${name} are read-only here; change them in their file or document`;
}

function hasDataFlag({ url }: ApiRequest): boolean {
  return url.searchParams.has("data");
}

function isReading(method: string): boolean {
  return method === "GET" || method === "HEAD";
}

/** undefined = no resource of this node. */
function placeOf(path: string, resources: readonly KubeResource[]): BelowPlace | undefined {
  const core = CORE_PATH.exec(path)?.[1];
  const [, group = "", version = "v1", other] = GROUP_PATH.exec(path) ?? [];
  const rest = core ?? other;
  if (rest === undefined) return undefined;
  const own = resources.filter((one) => apiVersionOf(one) === apiVersionOf({ group, version }));
  // An older form of the query ?watch=true.
  const inside = rest.startsWith(WATCHED) ? rest.slice(WATCHED.length) : rest;
  const [, namespace, namespaced, object, below] = NAMESPACED.exec(inside) ?? [];
  const resource = own.find((one) => one.isNamespaced && one.name === namespaced);
  if (resource !== undefined && namespace !== undefined)
    return { resource, namespace: decoded(namespace), name: decodedName(object), below };
  const [, plain, name, more] = PLAIN.exec(inside) ?? [];
  const cluster = own.find((one) => one.name === plain);
  if (cluster === undefined || (cluster.isNamespaced && name !== undefined)) return undefined;
  return { resource: cluster, namespace: undefined, name: decodedName(name), below: more };
}

function decodedName(part: string | undefined): string | undefined {
  return part === undefined ? undefined : decoded(part);
}

/** What is no valid escape is no name either. */
function decoded(part: string): string {
  try {
    return decodeURIComponent(part);
  } catch {
    // A name that no object has.
    return "%";
  }
}

/** k8s: version.Info. The numbers are those of the API that this one is a subset of. */
function versionOf(version: string): object {
  return {
    major: "1",
    minor: "36",
    ...versionInfo(version, process.arch),
    gitVersion: `v1.36.0-agent.${version.replace(/^v/, "").replace("+", "-")}`,
    version,
  };
}
