// Performs: runs a probe once and classifies the outcome. kubelet: prober.runProbe

import type { HttpGetHandler, Probe } from "../api/v1/probe.ts";
import {
  addressOf,
  httpTarget,
  PROBE_USER_AGENT,
  type AddressFacts,
} from "../host/probe/probe-http-request.ts";
import type { HttpRequest, ProbeCall, ProbeEdge } from "../host/probe/probe-edge.ts";
import type { Clock } from "../lib/clock.ts";
import { messageOf, reasonOf } from "../lib/errors.ts";
import {
  execTimeout,
  getFailed,
  judgeHttp,
  failure,
  grpcResult,
  SUCCESS,
  thrownResult,
  type ProbeResult,
} from "./probe-result.ts";
import type { Container } from "../api/v1/container.ts";
import { expandWords } from "../runtime/cri-config/expansion.ts";

/**
 * Runs a command in a container. A rejection with `Timeout`, or with `DeadlineExceeded` soon after the command's timeout,
 * means that the command took too long: a failure. Any other rejection is an error of the runtime and changes nothing.
 */
export type ProbeExec = (
  containerId: string,
  command: readonly string[],
  limits: { readonly timeoutSeconds: number; readonly signal: AbortSignal },
) => Promise<{ readonly exitCode: number; readonly output: string }>;

interface ProbeContext {
  readonly clock: Clock;
  readonly edge: ProbeEdge;
  readonly exec: ProbeExec;
}

interface ProbeRun {
  readonly probe: Probe;
  readonly container: Container;
  readonly containerId: string;
  /** undefined = unknown. */
  readonly podIP: string | undefined;
  readonly signal: AbortSignal;
}

/** The first try included. kubelet: maxProbeRetries */
const MAX_TRIES = 3;
/** How long a runtime may take to end a command after its timeout; one that takes longer is stuck. */
const STUCK_MS = 5_000;

/** Never rejects. An error is retried at once, a failure is a result. */
export async function runProbe(context: ProbeContext, run: ProbeRun): Promise<ProbeResult> {
  for (let tries = 1; ; tries += 1) {
    const result = await runOnce(context, run).catch(plainResult);
    const isFinal = result.type !== "Error" || tries >= MAX_TRIES || run.signal.aborted;
    if (isFinal) return result;
  }
}

async function runOnce(context: ProbeContext, run: ProbeRun): Promise<ProbeResult> {
  const { handler } = run.probe;
  switch (handler.type) {
    case "exec":
      return runExec(context, run, expandWords(handler.command, plainValues(run), "command"));
    case "httpGet":
      return runHttp(context, run, handler);
    case "tcpSocket": {
      const address = addressOf(handler, factsOf(run));
      if (!address.ok) return noTarget(address.message);
      await context.edge.tcpConnect(address.target, callOf(run));
      return SUCCESS;
    }
    case "grpc": {
      const { port, service } = handler;
      const address = addressOf({ port }, factsOf(run));
      if (!address.ok) return noTarget(address.message);
      return grpcResult(await context.edge.grpcHealth({ ...address.target, service }, callOf(run)));
    }
  }
}

async function runExec(
  { clock, exec }: ProbeContext,
  { probe, containerId, signal }: ProbeRun,
  command: readonly string[],
): Promise<ProbeResult> {
  const { timeoutSeconds } = probe;
  const since = clock.monotonic();
  try {
    const { exitCode, output } = await exec(containerId, command, { timeoutSeconds, signal });
    return exitCode === 0 ? SUCCESS : failure(output);
  } catch (thrown) {
    const reason = reasonOf(thrown, "");
    const elapsed = clock.monotonic() - since;
    // Long after the command's timeout it is the agent's deadline for the runtime that has passed.
    const byRuntime = reason === "DeadlineExceeded" && elapsed < timeoutSeconds * 1000 + STUCK_MS;
    if (reason === "Timeout" || byRuntime) return execTimeout(command, timeoutSeconds);
    if (reason === "ResourceExhausted") return TOO_MUCH_OUTPUT;
    return { type: "Error", message: messageOf(thrown) };
  }
}

/** As the manifest has them; a value that comes from elsewhere counts as empty. kubelet: ExpandContainerCommandOnlyStatic */
function plainValues({ container: { env } }: ProbeRun): ReadonlyMap<string, string> {
  return new Map(env.map((one) => [one.name, "value" in one ? one.value : ""]));
}

/** Its exit code is not read either. */
const TOO_MUCH_OUTPUT = failure("the command wrote more than 1 MiB of output; make it write less");

// All requests of a chain of redirects share one timeout.
async function runHttp(
  { clock, edge }: ProbeContext,
  run: ProbeRun,
  handler: HttpGetHandler,
): Promise<ProbeResult> {
  const target = httpTarget(handler, { ...factsOf(run), userAgent: PROBE_USER_AGENT });
  if (!target.ok) return noTarget(target.message);
  const { timeoutMs, signal } = callOf(run);
  const until = clock.monotonic() + timeoutMs;
  const sent: HttpRequest[] = [];
  let request = target.target;
  while (true) {
    sent.push(request);
    const left = Math.max(1, until - clock.monotonic());
    try {
      const step = judgeHttp(sent, await edge.httpGet(request, { timeoutMs: left, signal }));
      if (step.type === "Result") return step.result;
      request = step.request;
    } catch (thrown) {
      return thrownResult(thrown, (message) => getFailed(request, message));
    }
  }
}

function noTarget(message: string): ProbeResult {
  return { type: "Error", message };
}

function plainResult(thrown: unknown): ProbeResult {
  return thrownResult(thrown, (message) => message);
}

function factsOf({ container: { ports }, podIP }: ProbeRun): AddressFacts {
  return { ports, podIP };
}

function callOf({ probe, signal }: ProbeRun): ProbeCall {
  return { timeoutMs: probe.timeoutSeconds * 1000, signal };
}
