// Performs: requests to the running agent over its unix socket; every failure is a sentence with a remedy.

import type { Rejection } from "../api/pod/desired-pod.ts";
import type { ShutdownView } from "../node/shutdown/node-shutdown.ts";
import type { HoldVerb } from "../rollout/update-holds.ts";
import { deadline, type Clock } from "../lib/clock.ts";
import type { TrustView } from "../trust/trust-view.ts";
import {
  isImages,
  isListOf,
  isPull,
  isPulled,
  isRejections,
  isShutdown,
  isTrust,
  isVersion,
  type ImageView,
} from "./api-views.ts";
import { CliError } from "./exit-codes.ts";
import { errorCode } from "../lib/errors.ts";
import { parseJson } from "../lib/json.ts";

export interface LocalClientOptions {
  readonly socket: string;
  readonly clock: Clock;
  /** Longest wait for one whole answer in ms; default 10 s. */
  readonly timeoutMs?: number;
}

interface Ask {
  readonly method?: "GET" | "DELETE" | "POST";
  readonly signal?: AbortSignal | undefined;
  readonly timeoutMs?: number;
}

const TIMEOUT_MS = 10_000;
const SHUTDOWN = "/shutdown";
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
  readonly #socket: string;
  readonly #clock: Clock;
  readonly #timeoutMs: number;

  constructor(options: LocalClientOptions) {
    this.#socket = options.socket;
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

  /** What the sources refused, shadowed or ignored. */
  async rejected(signal?: AbortSignal): Promise<readonly Rejection[]> {
    return this.read("/rejected", isRejections, signal);
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

  /** At most `seconds` more for a pod that is being stopped; rejects with the agent's sentence if it is not. */
  async shortenGrace(pod: NamedObject, seconds: number): Promise<void> {
    await this.#change("DELETE", podPath(pod), `?gracePeriodSeconds=${seconds}`);
  }

  /** `pod` undefined = the whole node; rejects with the agent's sentence if the agent refuses. */
  async changeHold(verb: HoldVerb, pod: NamedObject | undefined): Promise<void> {
    await this.#change("POST", `${pod === undefined ? "" : podPath(pod)}/${verb}`);
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

  /** Which keys sign for this node, and why. */
  async trust(): Promise<TrustView> {
    return this.read("/trust", isTrust);
  }

  /** Deletes the trust state of the node; the result is what holds afterwards. */
  async resetTrust(): Promise<TrustView> {
    const path = "/trust/reset";
    return this.#decoded(path, await this.#change("POST", path), isTrust);
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
    if (status === 404 || status === 409) throw new CliError(text.trim());
    if (status !== 200) throw this.#refused(path, status, text);
    return text;
  }

  #decoded<T>(path: string, text: string, is: (value: unknown) => value is T): T {
    const value = parseJson(text);
    if (is(value)) return value;
    throw new CliError(
      `${this.#socket} answered ${path} in an unknown form: check that it is the agent's socket, and that this binary is as new as the running agent`,
    );
  }

  async #ask(
    path: string,
    { method = "GET", signal, timeoutMs = this.#timeoutMs }: Ask,
  ): Promise<{ readonly status: number; readonly text: string }> {
    using limit = deadline(this.#clock, timeoutMs, signal);
    try {
      const response = await fetch(`http://agent${path}`, {
        method,
        unix: this.#socket,
        signal: limit.signal,
        // Bun's own limit of five minutes.
        timeout: false,
      });
      return { status: response.status, text: await response.text() };
    } catch (thrown) {
      throw this.#unreachable(thrown, limit.signal.aborted ? timeoutMs : undefined);
    }
  }

  /** `abortedMs`: the limit that has passed. */
  #unreachable(thrown: unknown, abortedMs: number | undefined): CliError {
    const [socket, code] = [this.#socket, errorCode(thrown)];
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
      `the agent on ${this.#socket} answered ${path} with HTTP ${status}${reason === "" ? "" : `: ${reason}`}`,
    );
  }
}

function podPath({ namespace, name }: NamedObject): string {
  return `/pods/${encodeURIComponent(namespace)}/${encodeURIComponent(name)}`;
}
