// What an HTTP answer means to a probe, and which redirect it follows. kubelet: DoHTTPProbe

import { isRedirect, MAX_REQUESTS, redirected, urlOf } from "../host/probe/http-request.ts";
import type { HttpAnswer, HttpRequest } from "../host/probe/probe-edge.ts";
import { cut, failure, SUCCESS, type ProbeAnswer } from "./probe-answer.ts";

export type HttpStep =
  | { readonly type: "Follow"; readonly request: HttpRequest }
  | { readonly type: "Answer"; readonly answer: ProbeAnswer };

/** `asked`: every request of this probe so far, the newest last; `answer` is to that one. */
export function judgeHttp(asked: readonly HttpRequest[], answer: HttpAnswer): HttpStep {
  const newest = asked.at(-1);
  if (newest === undefined || !isRedirect(answer.status, answer.location))
    return { type: "Answer", answer: byStatus(answer) };
  const next = redirected(asked, answer.location);
  if (next === undefined)
    return failed(newest, `failed to parse Location header ${JSON.stringify(answer.location)}`);
  if (next === "elsewhere") return { type: "Answer", answer: byStatus(answer) };
  if (asked.length >= MAX_REQUESTS) return failed(next, "stopped after 10 redirects");
  return { type: "Follow", request: next };
}

/** A request that got no answer, as Go says it. */
export function getFailed(request: HttpRequest, message: string): string {
  return `Get ${JSON.stringify(urlOf(request))}: ${message}`;
}

function failed(request: HttpRequest, message: string): HttpStep {
  return { type: "Answer", answer: failure(getFailed(request, message)) };
}

// The body of a failure stays out of the message: events travel further than the container's secrets should.
function byStatus({ status, body }: HttpAnswer): ProbeAnswer {
  if (status < 200 || status >= 400) return failure(`HTTP probe failed with statuscode: ${status}`);
  if (status < 300) return SUCCESS;
  return { type: "Warning", output: cut(`Probe terminated redirects, Response body: ${body}`) };
}
