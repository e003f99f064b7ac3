// Judges an HTTP response of a probe: a result, or a redirect to follow. kubelet: DoHTTPProbe

import { isRedirect, MAX_REQUESTS, redirected, urlOf } from "../host/probe/http-request.ts";
import type { HttpAnswer, HttpRequest } from "../host/probe/probe-edge.ts";
import { cut, failure, SUCCESS, type ProbeResult } from "./probe-result.ts";

type HttpStep =
  | { readonly type: "Follow"; readonly request: HttpRequest }
  | { readonly type: "Result"; readonly result: ProbeResult };

/** `sent`: every request of this probe so far, the newest last; `response` is to that one. */
export function judgeHttp(sent: readonly HttpRequest[], response: HttpAnswer): HttpStep {
  const newest = sent.at(-1);
  if (newest === undefined || !isRedirect(response.status, response.location))
    return { type: "Result", result: byStatus(response) };
  const next = redirected(sent, response.location);
  if (next === undefined)
    return failed(newest, `failed to parse Location header ${JSON.stringify(response.location)}`);
  if (next === "elsewhere") return { type: "Result", result: byStatus(response) };
  if (sent.length >= MAX_REQUESTS) return failed(next, "stopped after 10 redirects");
  return { type: "Follow", request: next };
}

/** The error of a request without response, as Go words it. */
export function getFailed(request: HttpRequest, message: string): string {
  return `Get ${JSON.stringify(urlOf(request))}: ${message}`;
}

function failed(request: HttpRequest, message: string): HttpStep {
  return { type: "Result", result: failure(getFailed(request, message)) };
}

// The body of a failure stays out of the message: it may contain secrets, and events leave the node.
function byStatus({ status, body }: HttpAnswer): ProbeResult {
  if (status < 200 || status >= 400) return failure(`HTTP probe failed with statuscode: ${status}`);
  if (status < 300) return SUCCESS;
  return { type: "Warning", output: cut(`Probe terminated redirects, Response body: ${body}`) };
}
