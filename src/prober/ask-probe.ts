// Performs: asks one question of one probe and makes an answer of whatever comes back. kubelet: prober.runProbe

import type { HttpGetHandler, Probe } from "../api/v1/probe.ts";
import type { Container } from "../api/v1/pod.ts";
import { NO_ADDRESS } from "../host/probe/http-request.ts";
import type { HttpRequest, ProbeCall, ProbeEdge } from "../host/probe/probe-edge.ts";
import type { Clock } from "../lib/clock.ts";
import { messageOf, reasonOf } from "../lib/errors.ts";
import { getFailed, judgeHttp } from "./http-judgement.ts";
import {
  execAnswer,
  execTimeout,
  grpcAnswer,
  SUCCESS,
  thrownAnswer,
  type ProbeAnswer,
} from "./probe-answer.ts";
import { probeRequest, tcpTarget } from "./probe-target.ts";

/**
 * Runs a command in a container. `Timeout`, or `DeadlineExceeded` soon after the command's time was over, is the word
 * that the command took too long: a failure. Any other rejection is the runtime's trouble and changes nothing.
 */
export type ProbeExec = (
  containerId: string,
  command: readonly string[],
  limits: { readonly timeoutSeconds: number; readonly signal: AbortSignal },
) => Promise<{ readonly exitCode: number; readonly output: string }>;

export interface Asking {
  readonly clock: Clock;
  readonly edge: ProbeEdge;
  readonly exec: ProbeExec;
}

export interface Question {
  readonly probe: Probe;
  readonly container: Container;
  readonly containerId: string;
  /** undefined = not known. */
  readonly podIP: string | undefined;
  readonly signal: AbortSignal;
}

/** kubelet: maxProbeRetries; all of them together. */
const MAX_TRIES = 3;
/** How long a runtime may take to end a command whose time is over; one that takes longer is stuck itself. */
const STUCK_MS = 5_000;

/** Never rejects. An error is asked again at once, a failure is an answer. */
export async function askProbe(asking: Asking, question: Question): Promise<ProbeAnswer> {
  for (let tries = 1; ; tries += 1) {
    const answer = await askOnce(asking, question).catch(thrownAsItIs);
    const again = answer.type === "Error" && tries < MAX_TRIES && !question.signal.aborted;
    if (!again) return answer;
  }
}

async function askOnce(asking: Asking, question: Question): Promise<ProbeAnswer> {
  const { handler } = question.probe;
  const { container, podIP } = question;
  switch (handler.type) {
    case "exec":
      return askExec(asking, question, handler.command);
    case "httpGet":
      return askHttp(asking, question, handler);
    case "tcpSocket": {
      const address = tcpTarget(handler, container, podIP);
      if (!address.ok) return noTarget(address.message);
      await asking.edge.tcpConnect(address.target, callOf(question));
      return SUCCESS;
    }
    case "grpc": {
      const { port, service } = handler;
      if (podIP === undefined) return noTarget(NO_ADDRESS);
      return grpcAnswer(
        await asking.edge.grpcHealth({ host: podIP, port, service }, callOf(question)),
      );
    }
  }
}

async function askExec(
  { clock, exec }: Asking,
  { probe, containerId, signal }: Question,
  command: readonly string[],
): Promise<ProbeAnswer> {
  const { timeoutSeconds } = probe;
  const since = clock.monotonic();
  try {
    return execAnswer(await exec(containerId, command, { timeoutSeconds, signal }));
  } catch (thrown) {
    const reason = reasonOf(thrown, "");
    const elapsed = clock.monotonic() - since;
    // Long after the command's time it is our own patience with the runtime that has ended.
    const byRuntime = reason === "DeadlineExceeded" && elapsed < timeoutSeconds * 1000 + STUCK_MS;
    if (reason === "Timeout" || byRuntime) return execTimeout(command, timeoutSeconds);
    return { type: "Error", message: messageOf(thrown) };
  }
}

// All requests of a chain of redirects share one time-out.
async function askHttp(
  { clock, edge }: Asking,
  question: Question,
  handler: HttpGetHandler,
): Promise<ProbeAnswer> {
  const target = probeRequest(handler, question.container, question.podIP);
  if (!target.ok) return noTarget(target.message);
  const { timeoutMs, signal } = callOf(question);
  const until = clock.monotonic() + timeoutMs;
  const asked: HttpRequest[] = [];
  let request = target.target;
  while (true) {
    asked.push(request);
    const left = Math.max(1, until - clock.monotonic());
    try {
      const step = judgeHttp(asked, await edge.httpGet(request, { timeoutMs: left, signal }));
      if (step.type === "Answer") return step.answer;
      request = step.request;
    } catch (thrown) {
      return thrownAnswer(thrown, (message) => getFailed(request, message));
    }
  }
}

function noTarget(message: string): ProbeAnswer {
  return { type: "Error", message };
}

function thrownAsItIs(thrown: unknown): ProbeAnswer {
  return thrownAnswer(thrown, (message) => message);
}

function callOf({ probe, signal }: Question): ProbeCall {
  return { timeoutMs: probe.timeoutSeconds * 1000, signal };
}
