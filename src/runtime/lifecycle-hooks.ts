// Performs: runs a container's postStart or preStop hook once. kubelet: lifecycle/handlers.go

import type { PodUID } from "../api/v1/pod.ts";
import type { ExecHandler, HttpGetHandler } from "../api/v1/probe.ts";
import type { CallOptions } from "../cri/grpc-connection.ts";
import type { Edges } from "../edges.ts";
import type { HttpRequest, ProbeEdge } from "../host/probe/probe-edge.ts";
import { deadline } from "../lib/clock.ts";
import { AgentError, errorCode, messageOf, reasonOf } from "../lib/errors.ts";
import {
  followed,
  handlerText,
  hookRequest,
  plainRequest,
  type HookTarget,
} from "./hook-request.ts";
import { type LifecycleHandler, type SleepHandler } from "../api/v1/lifecycle.ts";

export interface LifecycleRunnerOptions extends Pick<Edges, "cri" | "clock"> {
  readonly edge: Pick<ProbeEdge, "httpGet">;
  /** Takes the values of Secrets out of what a hook has printed. */
  readonly redact: (text: string) => string;
  /** Resolves when the command of a hook may run, with undefined when `signal` aborts: its answer has up to 1 MiB. */
  readonly takePlace: (uid: PodUID, signal: AbortSignal) => Promise<Disposable | undefined>;
}

/** In UTF-16 units. */
const OUTPUT_LENGTH = 1024;
/** Of each stream: longer values of Secrets are not recognized. */
const REDACTED_BYTES = 64 * 1024;
/** Its exit code is not read either: it stands behind the output. */
const TOO_MUCH_OUTPUT = "the command wrote more than 1 MiB of output; make it write less";
/** The edge requires a timeout: the longest that a timer accepts. */
const NO_TIMEOUT_MS = 2 ** 31 - 1;
const NO_SIGNAL = new AbortController().signal;

export class LifecycleRunner {
  readonly #options: LifecycleRunnerOptions;

  constructor(options: LifecycleRunnerOptions) {
    this.#options = options;
  }

  /**
   * Resolves when the hook has succeeded: exit code 0 of a command, any answer to a request, the whole sleep.
   * Without `timeoutMs` there is no limit, as for the kubelet's postStart hook.
   * Rejects with AgentError: `Timeout` after `timeoutMs`, `Aborted` with the signal, else `LifecycleHookFailed`.
   */
  async run(
    handler: LifecycleHandler,
    target: HookTarget,
    options: CallOptions = {},
  ): Promise<void> {
    const { timeoutMs, signal } = options;
    using limit =
      timeoutMs === undefined ? undefined : deadline(this.#options.clock, timeoutMs, signal);
    try {
      await this.#perform(handler, target, { timeoutMs, signal: limit?.signal ?? signal });
    } catch (cause) {
      const what = `${handlerText(handler)} hook`;
      if (signal?.aborted === true) throw hookError("Aborted", `${what} was cut off`, cause);
      if (limit?.signal.aborted === true) {
        const seconds = (timeoutMs ?? 0) / 1000;
        throw hookError("Timeout", `${what} did not end within ${seconds} s`, cause);
      }
      throw hookError("LifecycleHookFailed", `${what} failed: ${messageOf(cause)}`, cause);
    }
  }

  #perform(handler: LifecycleHandler, target: HookTarget, limits: CallOptions): Promise<void> {
    switch (handler.type) {
      case "exec":
        return this.#exec(handler, target, limits);
      case "httpGet":
        return this.#httpGet(handler, target, limits);
      case "sleep":
        return this.#sleep(handler, limits);
    }
  }

  async #exec({ command }: ExecHandler, target: HookTarget, limits: CallOptions): Promise<void> {
    const { signal = NO_SIGNAL } = limits;
    using place = await this.#options.takePlace(target.uid, signal);
    if (place === undefined) throw new Error("cut off");
    // The runtime ends the command, should the agent be gone by then.
    const timeoutSeconds = Math.ceil((limits.timeoutMs ?? 0) / 1000);
    const args = { cmd: command, timeoutSeconds };
    const answer = this.#options.cri.execSync(target.containerId, args, { signal });
    const { exitCode, stdout, stderr } = await answer.catch((cause: unknown) => {
      if (reasonOf(cause, "") === "ResourceExhausted") throw new Error(TOO_MUCH_OUTPUT, { cause });
      throw cause;
    });
    if (exitCode === 0) return;
    const output = outputText([stdout, stderr], this.#options.redact);
    throw new Error(`exit code ${exitCode}${output === "" ? "" : `: ${output}`}`);
  }

  /** Any answer of the server is a success. */
  async #httpGet(handler: HttpGetHandler, target: HookTarget, limits: CallOptions): Promise<void> {
    const asked: HttpRequest[] = [];
    let next: HttpRequest | undefined = hookRequest(handler, target);
    while (next !== undefined) {
      asked.push(next);
      next = await this.#ask(asked, limits);
    }
  }

  /** The next request, if the answer is a redirect. */
  async #ask(asked: readonly HttpRequest[], limits: CallOptions): Promise<HttpRequest | undefined> {
    const { timeoutMs = NO_TIMEOUT_MS, signal } = limits;
    const newest = asked.at(-1);
    if (newest === undefined) return undefined;
    const ask = async (what: HttpRequest): Promise<HttpRequest | undefined> => {
      const answer = await this.#options.edge.httpGet(what, { timeoutMs, signal });
      return followed([...asked.slice(0, -1), what], answer);
    };
    try {
      return await ask(newest);
    } catch (error) {
      // The response's head is enough; its body is not read.
      if (reasonOf(error, "") === "BodyFailed") return undefined;
      // Old kubelets ignored the scheme HTTPS of a hook; like the kubelet, retry in plain text.
      if (newest.scheme !== "HTTPS" || !isPlainTextAnswer(error)) throw error;
      return ask(plainRequest(newest));
    }
  }

  async #sleep({ seconds }: SleepHandler, { signal }: CallOptions): Promise<void> {
    await this.#options.clock.sleep(seconds * 1000, signal);
    if (signal?.aborted === true) throw new Error("cut off");
  }
}

/** The error of Go, or of the TLS library, for a server that does not speak TLS. */
function isPlainTextAnswer(thrown: unknown): boolean {
  if (!(thrown instanceof Error)) return false;
  const words = `${thrown.message} ${errorCode(thrown)}`;
  return (
    /HTTP response to HTTPS client|wrong[ _]version[ _]number/i.test(words) ||
    isPlainTextAnswer(thrown.cause)
  );
}

/** The end of a command's output, which usually contains the error. */
function outputText(streams: readonly Uint8Array[], redact: (text: string) => string): string {
  // Redacted before it is cut: the rest of a value that is cut in two would not be recognized.
  const [stdout = "", stderr = ""] = streams.map((bytes) =>
    redact(new TextDecoder().decode(bytes.subarray(-REDACTED_BYTES))),
  );
  const end = stderr.slice(-OUTPUT_LENGTH);
  const before = stdout.slice(Math.max(0, stdout.length - (OUTPUT_LENGTH - end.length)));
  return `${before}${end}`.trim();
}

function hookError(reason: string, message: string, cause: unknown): AgentError {
  return new AgentError({ reason, message, cause });
}
