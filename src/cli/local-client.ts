// Performs: speaks to the running agent over its unix socket; what goes wrong becomes a sentence with a way out.

import type { Rejection } from "../api/pod/desired-pod.ts";
import { deadline, type Clock } from "../lib/clock.ts";
import {
  isEventList,
  isLocalObjectList,
  isNode,
  isPodList,
  isRejections,
  isTrust,
  isVersion,
  type EventView,
  type LocalObjectView,
  type NodeView,
  type PodView,
  type TrustView,
} from "./api-views.ts";
import { CliError, systemCode } from "./cli-error.ts";

export interface LocalClientOptions {
  readonly socket: string;
  readonly clock: Clock;
  /** Longest wait for one whole answer in ms; default 10 s. */
  readonly timeoutMs?: number;
}

export interface Health {
  readonly healthy: boolean;
  /** What the agent says, reasons included. */
  readonly text: string;
}

export interface ObjectsAsked {
  /** undefined = all of them. */
  readonly namespace: string | undefined;
  /** The content of Secrets as well. */
  readonly showSecrets: boolean;
}

interface Ask {
  readonly method?: "GET" | "DELETE" | "POST";
  readonly signal?: AbortSignal | undefined;
}

const TIMEOUT_MS = 10_000;

export type HoldVerb = "hold" | "release";

/** Every method throws CliError (exit code 1). */
export class LocalClient {
  readonly #socket: string;
  readonly #clock: Clock;
  readonly #timeoutMs: number;

  constructor(options: LocalClientOptions) {
    this.#socket = options.socket;
    this.#clock = options.clock;
    this.#timeoutMs = options.timeoutMs ?? TIMEOUT_MS;
  }

  /** Every pod of the node, as the local API lists them. */
  async pods(signal?: AbortSignal): Promise<readonly PodView[]> {
    return (await this.#json("/pods", isPodList, signal)).items;
  }

  /** What the sources refused, shadowed or ignored. */
  async rejected(signal?: AbortSignal): Promise<readonly Rejection[]> {
    return this.#json("/rejected", isRejections, signal);
  }

  /** What happened lately, the latest last. */
  async events(signal?: AbortSignal): Promise<readonly EventView[]> {
    return (await this.#json("/events", isEventList, signal)).items;
  }

  /** `resource` as in paths: `configmaps`. */
  async objects(
    resource: string,
    { namespace, showSecrets }: ObjectsAsked,
  ): Promise<readonly LocalObjectView[]> {
    const within = namespace === undefined ? "" : `namespaces/${encodeURIComponent(namespace)}/`;
    const query = showSecrets ? "?showSecrets=true" : "";
    return (await this.#json(`/api/v1/${within}${resource}${query}`, isLocalObjectList, undefined))
      .items;
  }

  /** Everything in the directory of a claim, for good; rejects with the agent's own sentence if it is in use. */
  async removeClaimData({
    namespace,
    name,
  }: {
    readonly namespace: string;
    readonly name: string;
  }): Promise<void> {
    const place = `namespaces/${encodeURIComponent(namespace)}`;
    const path = `/api/v1/${place}/persistentvolumeclaims/${encodeURIComponent(name)}`;
    const { status, text } = await this.#ask(`${path}?data=true`, { method: "DELETE" });
    if (status === 404 || status === 409) throw new CliError(1, text.trim());
    if (status !== 200) throw this.#refused(path, status, text);
  }

  async node(signal?: AbortSignal): Promise<NodeView> {
    return this.#json("/node", isNode, signal);
  }

  /** The version of the agent that runs, not of this binary. */
  async version(signal?: AbortSignal): Promise<string> {
    return (await this.#json("/version", isVersion, signal)).version;
  }

  /** At most `seconds` more for a pod that is being stopped; rejects with the agent's own sentence if it is not. */
  async shortenGrace(
    { namespace, name }: { readonly namespace: string; readonly name: string },
    seconds: number,
  ): Promise<void> {
    const path = `/pods/${encodeURIComponent(namespace)}/${encodeURIComponent(name)}`;
    const { status, text } = await this.#ask(`${path}?gracePeriodSeconds=${seconds}`, {
      method: "DELETE",
    });
    if (status === 404 || status === 409) throw new CliError(1, text.trim());
    if (status !== 200) throw this.#refused(path, status, text);
  }

  /** Whose documents run there. */
  async trust(): Promise<TrustView> {
    return this.#json("/trust", isTrust, undefined);
  }

  /** Forgets what the node knows about trust; what holds afterwards. */
  async resetTrust(): Promise<TrustView> {
    const path = "/trust/reset";
    const { status, text } = await this.#ask(path, { method: "POST" });
    if (status !== 200) throw this.#refused(path, status, text);
    return this.#known(path, text, isTrust);
  }

  /** `pod` undefined = the whole node; rejects with the agent's own sentence if it cannot be. */
  async changeHold(
    verb: HoldVerb,
    pod: { readonly namespace: string; readonly name: string } | undefined,
  ): Promise<void> {
    const place =
      pod === undefined
        ? ""
        : `/pods/${encodeURIComponent(pod.namespace)}/${encodeURIComponent(pod.name)}`;
    const path = `${place}/${verb}`;
    const { status, text } = await this.#ask(path, { method: "POST" });
    if (status === 404 || status === 409) throw new CliError(1, text.trim());
    if (status !== 200) throw this.#refused(path, status, text);
  }

  async healthz(signal?: AbortSignal): Promise<Health> {
    const { status, text } = await this.#ask("/healthz", { signal });
    if (status !== 200 && status !== 503) throw this.#refused("/healthz", status, text);
    return { healthy: status === 200, text };
  }

  async #json<T>(
    path: string,
    is: (value: unknown) => value is T,
    signal: AbortSignal | undefined,
  ): Promise<T> {
    const { status, text } = await this.#ask(path, { signal });
    if (status !== 200) throw this.#refused(path, status, text);
    return this.#known(path, text, is);
  }

  #known<T>(path: string, text: string, is: (value: unknown) => value is T): T {
    const value = parseJson(text);
    if (is(value)) return value;
    throw new CliError(
      1,
      `${this.#socket} answers ${path} in a form this command does not know; is it the agent's socket, and is this binary as new as the running agent?`,
    );
  }

  async #ask(
    path: string,
    { method = "GET", signal }: Ask,
  ): Promise<{ readonly status: number; readonly text: string }> {
    using limit = deadline(this.#clock, this.#timeoutMs, signal);
    try {
      const response = await fetch(`http://agent${path}`, {
        method,
        unix: this.#socket,
        signal: limit.signal,
      });
      return { status: response.status, text: await response.text() };
    } catch (thrown) {
      throw this.#unreachable(thrown, limit.signal.aborted);
    }
  }

  #unreachable(thrown: unknown, aborted: boolean): CliError {
    if (aborted) {
      return new CliError(
        1,
        `the agent did not answer on ${this.#socket} within ${this.#timeoutMs / 1000} s; its log may say why (journalctl -u agent)`,
        thrown,
      );
    }
    const code = systemCode(thrown);
    if (code === "EACCES" || code === "EPERM")
      return new CliError(1, `permission denied on ${this.#socket}: try again with sudo`, thrown);
    if (code === "ENOENT" || code === "ECONNREFUSED") {
      return new CliError(
        1,
        `no agent is listening on ${this.#socket}: start it (sudo agent run), or name its socket with --socket or AGENT_SOCKET`,
        thrown,
      );
    }
    return new CliError(
      1,
      `cannot talk to the agent on ${this.#socket}: ${code ?? "unknown error"}`,
      thrown,
    );
  }

  #refused(path: string, status: number, text: string): CliError {
    const said = text.trim().slice(0, 500);
    return new CliError(
      1,
      `the agent on ${this.#socket} answered ${path} with HTTP ${status}${said === "" ? "" : `: ${said}`}`,
    );
  }
}

function parseJson(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    // Not JSON: the caller says what it expected.
    return undefined;
  }
}
