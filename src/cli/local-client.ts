// Performs: requests to the running agent over its unix socket; every failure is a sentence with a remedy.

import type { Rejection } from "../api/pod/desired-pod.ts";
import type { ShutdownView } from "../node/shutdown/node-shutdown.ts";
import type { SelfUpdateView } from "../self-update/self-update-view.ts";
import type { RestartedContainer } from "../node/restart-pod.ts";
import type { HoldVerb } from "../rollout/update-holds.ts";
import { deadline, type Clock } from "../lib/clock.ts";
import type { TrustView } from "../trust/trust-view.ts";
import {
  isImages,
  isListOf,
  isPull,
  isPulled,
  isRejections,
  isRestarted,
  isSelfUpdate,
  isShutdown,
  isTrust,
  isVersion,
  type ImageView,
} from "../node/api-views.ts";
import {
  isBrowserAddress,
  isKubeconfig,
  isUsers,
  type BrowserAddressView,
  type KubeconfigView,
  type UsersView,
} from "../node/user-views.ts";
import { CliError } from "./exit-codes.ts";
import { statusError, warningsOf } from "./write/status-text.ts";
import { errorCode } from "../lib/errors.ts";
import { isJsonObject, parseJson, type JsonObject } from "../lib/json.ts";

export interface LocalClientOptions {
  readonly socket: string;
  readonly clock: Clock;
  /** Longest wait for one whole answer in ms; default 10 s. */
  readonly timeoutMs?: number;
}

/** An answer of the Kubernetes API, whatever its status. */
export interface KubeReply {
  readonly status: number;
  readonly body: JsonObject;
  /** As kubectl prints them. */
  readonly warnings: readonly string[];
}

interface KubeRequest extends Pick<Ask, "signal" | "timeoutMs"> {
  readonly method: "GET" | "DELETE" | "PATCH";
  readonly path: string;
  readonly body?: { readonly type: string; readonly value: unknown };
}

interface Ask {
  /** The form of the answer; default: JSON. */
  readonly accept?: string | undefined;
  readonly method?: "GET" | "DELETE" | "POST" | "PATCH";
  readonly body?: KubeRequest["body"];
  readonly signal?: AbortSignal | undefined;
  readonly timeoutMs?: number;
}

interface Answered extends Pick<KubeReply, "status" | "warnings"> {
  readonly text: string;
}

const TIMEOUT_MS = 10_000;
const SHUTDOWN = "/shutdown";
const SELF_UPDATE = "/self-update";
/** Longer than any grace period. */
const RESTART_MS = 86_400_000;
const KUBECONFIG = "/kubeconfig";
const UI_TOKENS = "/ui/tokens";
/** A slow processor makes keys. */
const KEYS_MS = 60_000;
/** The agent collects for ten minutes at most. */
const REMOVE_MS = 660_000;
/** A slow line brings a large image overnight. */
const PULL_MS = 86_400_000;

interface NamedObject {
  readonly namespace: string;
  readonly name: string;
}

/** Every method throws CliError. */
export class LocalClient {
  /** Its path. */
  readonly socket: string;
  readonly #clock: Clock;
  readonly #timeoutMs: number;

  constructor(options: LocalClientOptions) {
    this.socket = options.socket;
    this.#clock = options.clock;
    this.#timeoutMs = options.timeoutMs ?? TIMEOUT_MS;
  }

  /** The objects of the list at `path`. */
  async list<T>(
    path: string,
    isItem: (value: unknown) => value is T,
    signal?: AbortSignal,
  ): Promise<readonly T[]> {
    return (await this.read(path, isListOf(isItem), signal)).items;
  }

  /** The object at `path` of the Kubernetes API; rejects with the server's sentence. */
  async object<T>(
    path: string,
    is: (value: unknown) => value is T,
    ask: Pick<Ask, "accept" | "signal"> = {},
  ): Promise<T> {
    const { status, text } = await this.#ask(path, ask);
    if (status === 200) return this.#decoded(path, text, is);
    throw statusError(text) ?? this.#refused(path, status, text);
  }

  /** Gives the parts of an answer to `take` as they come, until its end or `signal` aborts. */
  async stream(
    path: string,
    take: (part: Uint8Array) => Promise<void>,
    { signal, accept }: { readonly signal: AbortSignal; readonly accept?: string },
  ): Promise<void> {
    try {
      const reach = { unix: this.socket, signal, timeout: false, ...headersOf(accept) };
      const response = await fetch(`http://agent${path}`, reach);
      if (response.status !== 200) {
        const text = await response.text();
        throw statusError(text) ?? this.#refused(path, response.status, text);
      }
      if (response.body === null) return;
      for await (const part of response.body) if (isBytes(part)) await take(part);
    } catch (thrown) {
      if (signal.aborted) return;
      if (thrown instanceof CliError) throw thrown;
      throw this.unreachable(thrown, undefined);
    }
  }

  async pod<T>({ namespace, name }: NamedObject, is: (value: unknown) => value is T): Promise<T> {
    const place = `/api/v1/namespaces/${encodeURIComponent(namespace)}`;
    const path = `${place}/pods/${encodeURIComponent(name)}`;
    return this.object(path, is);
  }

  /** What the sources refused, shadowed or ignored. */
  async rejected(signal?: AbortSignal): Promise<readonly Rejection[]> {
    return this.read("/rejected", isRejections, signal);
  }

  /** Why a pod does not run; rejects with the agent's sentence. */
  async explanation<T>(path: string, is: (value: unknown) => value is T): Promise<T> {
    const { status, text } = await this.#ask(path, {});
    if (status === 404) throw new CliError(text.trim());
    if (status !== 200) throw this.#refused(path, status, text);
    return this.#decoded(path, text, is);
  }

  /** Sentences of what is wrong with the agent; none = it is healthy. */
  async health(): Promise<readonly string[]> {
    const { status, text } = await this.#ask("/healthz", {});
    if (status === 200) return [];
    if (status !== 503) throw this.#refused("/healthz", status, text);
    return text.trim().split("\n");
  }

  /** The version of the agent that runs, not of this binary. */
  async version(): Promise<string> {
    return (await this.read("/version", isVersion)).version;
  }

  /** Deletes everything in the directory of a claim, for good; rejects with the agent's sentence if it is in use. */
  async removeClaimData({ namespace, name }: NamedObject): Promise<void> {
    const place = `/api/v1/namespaces/${encodeURIComponent(namespace)}`;
    const path = `${place}/persistentvolumeclaims/${encodeURIComponent(name)}`;
    await this.#change("DELETE", path, "?data=true");
  }

  /** `pod` undefined = the whole node; rejects with the agent's sentence if the agent refuses. */
  async changeHold(verb: HoldVerb, pod: NamedObject | undefined): Promise<void> {
    await this.#change("POST", `${pod === undefined ? "" : podPath(pod)}/${verb}`);
  }

  /** Resolves when the containers of the pod run again; rejects with the agent's sentence. */
  async restart(
    pod: NamedObject,
    container: string | undefined,
    signal: AbortSignal,
  ): Promise<readonly RestartedContainer[]> {
    const query = container === undefined ? "" : `?container=${encodeURIComponent(container)}`;
    const path = `${podPath(pod)}/restart`;
    const text = await this.#change("POST", path, query, { timeoutMs: RESTART_MS, signal });
    return this.#decoded(path, text, isRestarted).containers;
  }

  /** How far a shutdown is. */
  async shutdown(signal?: AbortSignal): Promise<ShutdownView> {
    return this.read(SHUTDOWN, isShutdown, signal);
  }

  async beginShutdown(): Promise<ShutdownView> {
    return this.#decoded(SHUTDOWN, await this.#change("POST", SHUTDOWN), isShutdown);
  }

  async cancelShutdown(): Promise<ShutdownView> {
    return this.#decoded(SHUTDOWN, await this.#change("DELETE", SHUTDOWN), isShutdown);
  }

  /** How far an update of the agent itself is; `change`: the query of what begins it. */
  async selfUpdate(change?: string): Promise<SelfUpdateView> {
    if (change === undefined) return this.read(SELF_UPDATE, isSelfUpdate);
    const text = await this.#change("POST", SELF_UPDATE, change);
    return this.#decoded(SELF_UPDATE, text, isSelfUpdate);
  }

  /** The images of the node, with what keeps each. */
  async images(): Promise<readonly ImageView[]> {
    return (await this.read("/images", isImages)).items;
  }

  /** How far the pull of the image is; undefined = unknown, or there is none. */
  async pullProgress(name: string): Promise<string | undefined> {
    const path = `/images/pull?name=${encodeURIComponent(name)}`;
    return (await this.read(path, isPull)).progress;
  }

  /** Resolves when the image is on the node; aborted with `signal`. Rejects with the agent's sentence. */
  async pullImage(name: string, signal: AbortSignal): Promise<string> {
    const path = "/images/pull";
    const query = `?name=${encodeURIComponent(name)}`;
    const limits = { timeoutMs: PULL_MS, signal };
    return this.#decoded(path, await this.#change("POST", path, query, limits), isPulled).ref;
  }

  /** What was removed; rejects with the agent's sentence if the image stays. */
  async removeImage(name: string, isForced: boolean): Promise<readonly ImageView[]> {
    const query = `?name=${encodeURIComponent(name)}${isForced ? "&force=true" : ""}`;
    return this.#images("DELETE", "/images", query);
  }

  /** What was removed, or would be. */
  async pruneImages(isDryRun: boolean): Promise<readonly ImageView[]> {
    return this.#images("POST", "/images/prune", isDryRun ? "?dryRun=true" : "");
  }

  async #images(
    method: "DELETE" | "POST",
    path: string,
    query: string,
  ): Promise<readonly ImageView[]> {
    const text = await this.#change(method, path, query, { timeoutMs: REMOVE_MS });
    return this.#decoded(path, text, isImages).items;
  }

  /** A new user of the API over TLS; rejects with the agent's sentence. */
  async kubeconfig(order: Readonly<Record<string, string>>): Promise<KubeconfigView> {
    return this.#decoded(KUBECONFIG, await this.#order(KUBECONFIG, order), isKubeconfig);
  }

  /** An address of the page that works once; rejects with the agent's sentence. */
  async browserAddress(order: Readonly<Record<string, string>>): Promise<BrowserAddressView> {
    return this.#decoded(UI_TOKENS, await this.#order(UI_TOKENS, order), isBrowserAddress);
  }

  async #order(path: string, order: Readonly<Record<string, string>>): Promise<string> {
    const query = `?${new URLSearchParams(order).toString()}`;
    return this.#change("POST", path, query, { timeoutMs: KEYS_MS });
  }

  /** Who may use the API over TLS. */
  async users(): Promise<UsersView> {
    return this.read(KUBECONFIG, isUsers);
  }

  async revokeUser(user: string): Promise<void> {
    await this.#change("DELETE", KUBECONFIG, `?user=${encodeURIComponent(user)}`);
  }

  async closeApi(): Promise<void> {
    await this.#change("DELETE", `${KUBECONFIG}/listen`);
  }

  /** Which keys sign for this node, and why. */
  async trust(): Promise<TrustView> {
    return this.read("/trust", isTrust);
  }

  /** `reset` deletes the trust state of the node, `rotate-key` gives it new keys; the result is what holds afterwards. */
  async changeTrust(how: "reset" | "rotate-key"): Promise<TrustView> {
    const path = `/trust/${how}`;
    return this.#decoded(path, await this.#change("POST", path), isTrust);
  }

  /** Asks the Kubernetes API. Throws CliError if the answer is no JSON object. */
  async kube({ path, ...asked }: KubeRequest): Promise<KubeReply> {
    const { status, text, warnings } = await this.#ask(path, asked);
    const body = this.#decoded(path, text, isJsonObject);
    return { status, body, warnings };
  }

  /** The JSON at `path`. */
  async read<T>(
    path: string,
    is: (value: unknown) => value is T,
    signal?: AbortSignal,
  ): Promise<T> {
    const { status, text } = await this.#ask(path, { signal });
    if (status !== 200) throw this.#refused(path, status, text);
    return this.#decoded(path, text, is);
  }

  /** The body of the answer; a refusal that concerns the object itself is the agent's own sentence. */
  async #change(
    method: "DELETE" | "POST",
    path: string,
    query = "",
    limits: Pick<Ask, "signal" | "timeoutMs"> = {},
  ): Promise<string> {
    const { status, text } = await this.#ask(`${path}${query}`, { method, ...limits });
    if (status === 404 || status === 409 || status === 504) throw new CliError(text.trim());
    if (status !== 200) throw this.#refused(path, status, text);
    return text;
  }

  #decoded<T>(path: string, text: string, is: (value: unknown) => value is T): T {
    const value = parseJson(text);
    if (is(value)) return value;
    throw new CliError(
      `${this.socket} answered ${path} in an unknown form: check that it is the agent's socket, and that this binary is as new as the running agent`,
    );
  }

  async #ask(
    path: string,
    { method = "GET", accept, signal, timeoutMs = this.#timeoutMs, body }: Ask,
  ): Promise<Answered> {
    using limit = deadline(this.#clock, timeoutMs, signal);
    try {
      const response = await fetch(`http://agent${path}`, {
        method,
        ...headersOf(accept),
        unix: this.socket,
        signal: limit.signal,
        // Bun's own limit of five minutes.
        timeout: false,
        ...(body === undefined
          ? {}
          : { body: JSON.stringify(body.value), headers: { "content-type": body.type } }),
      });
      const warnings = warningsOf(response.headers.get("warning") ?? "");
      return { status: response.status, text: await response.text(), warnings };
    } catch (thrown) {
      throw this.unreachable(thrown, limit.signal.aborted ? timeoutMs : undefined);
    }
  }

  /** Why there is no connection; `abortedMs`: the limit that has passed. */
  unreachable(thrown: unknown, abortedMs?: number): CliError {
    const [socket, code] = [this.socket, errorCode(thrown)];
    if (abortedMs !== undefined) {
      const seconds = abortedMs / 1000;
      return new CliError(
        `the agent did not answer on ${socket} within ${seconds} s; see its log (journalctl -u agent)`,
        thrown,
      );
    }
    if (code === "EACCES" || code === "EPERM")
      return new CliError(`permission denied on ${socket}: try again with sudo`, thrown);
    if (code === "ENOENT" || code === "ECONNREFUSED")
      return new CliError(
        `no agent is listening on ${socket}: start it (sudo agent run), or name its socket with --socket or AGENT_SOCKET`,
        thrown,
      );
    const why = code === "" ? "unknown error" : code;
    return new CliError(`cannot talk to the agent on ${socket}: ${why}`, thrown);
  }

  #refused(path: string, status: number, text: string): CliError {
    const reason = text.trim().slice(0, 500);
    return new CliError(
      `the agent on ${this.socket} answered ${path} with HTTP ${status}${reason === "" ? "" : `: ${reason}`}`,
    );
  }
}

function headersOf(accept: string | undefined): { readonly headers?: Record<string, string> } {
  return accept === undefined ? {} : { headers: { accept } };
}

function isBytes(part: unknown): part is Uint8Array {
  return part instanceof Uint8Array;
}

function podPath({ namespace, name }: NamedObject): string {
  return `/pods/${encodeURIComponent(namespace)}/${encodeURIComponent(name)}`;
}
