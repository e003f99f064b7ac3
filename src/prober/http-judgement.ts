// What an HTTP answer means to a probe, and which redirect it follows. kubelet: DoHTTPProbe, RedirectChecker

import type { HttpAnswer, HttpRequest } from "../host/probe-edge.ts";
import { cut, failure, SUCCESS, type ProbeAnswer } from "./probe-answer.ts";
import { urlOf } from "./probe-target.ts";

export type HttpStep =
  | { readonly type: "Follow"; readonly request: HttpRequest }
  | { readonly type: "Answer"; readonly answer: ProbeAnswer };

/** The first request counts. */
const MAX_REQUESTS = 10;
const REDIRECTS: readonly number[] = [301, 302, 303, 307, 308];

/** `asked`: every request of this probe so far, the newest last; `answer` is to that one. */
export function judgeHttp(asked: readonly HttpRequest[], answer: HttpAnswer): HttpStep {
  const [first] = asked;
  const newest = asked.at(-1);
  const redirects = REDIRECTS.includes(answer.status) && answer.location !== "";
  if (first === undefined || newest === undefined || !redirects)
    return { type: "Answer", answer: byStatus(answer) };
  const next = redirected(first, newest, answer.location);
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

function redirected(
  first: HttpRequest,
  from: HttpRequest,
  location: string,
): HttpRequest | "elsewhere" | undefined {
  const url = URL.parse(location, urlOf(from));
  const scheme = url === null ? undefined : SCHEMES[url.protocol];
  if (url === null || scheme === undefined) return undefined;
  if (url.hostname !== URL.parse(urlOf(first))?.hostname) return "elsewhere";
  return {
    scheme,
    host: first.host,
    port: url.port === "" ? DEFAULT_PORT[scheme] : Number(url.port),
    path: url.pathname + url.search,
    headers: isAbsolute(location)
      ? from.headers.filter(({ name }) => name.toLowerCase() !== "host")
      : from.headers,
  };
}

const SCHEMES: Readonly<Record<string, HttpRequest["scheme"]>> = {
  "http:": "HTTP",
  "https:": "HTTPS",
};
const DEFAULT_PORT: Readonly<Record<HttpRequest["scheme"], number>> = { HTTP: 80, HTTPS: 443 };

// A relative redirect stays with the virtual host that was asked for.
function isAbsolute(location: string): boolean {
  return /^[a-z][a-z\d+.-]*:/i.test(location);
}
