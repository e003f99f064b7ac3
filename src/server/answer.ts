// A path of the local API: its methods, and what it answers as JSON or one line of text.

import type { NamedPod } from "../api/v1/pod.ts";
import type { ServerFacts } from "../node/node-api.ts";
import type { Answer } from "./http/exchange.ts";

export interface LocalRequest<Facts = ServerFacts> {
  readonly facts: Facts;
  /** What the groups of the path have matched. */
  readonly parts: readonly (string | undefined)[];
  readonly query: URLSearchParams;
}

/** `Made`: a promise if the answer takes calls of the runtime. */
export interface Route<Made = Answer, Request = LocalRequest> {
  /** How the answer to an unknown path names it; absent = it does not. */
  readonly listed?: string;
  /** Matches the whole path. */
  readonly path: RegExp;
  /** GET includes HEAD. */
  readonly methods: {
    readonly [method in "GET" | "POST" | "DELETE"]?: (request: Request) => Made;
  };
  /** The answer to another method: the one to use instead. */
  readonly refusal: string;
}

/** undefined = the path names none. */
export function namedPod([namespace, name]: LocalRequest["parts"]): NamedPod | undefined {
  return namespace === undefined || name === undefined ? undefined : { namespace, name };
}

export function json(value: unknown): Answer {
  return { status: 200, contentType: "application/json", body: JSON.stringify(value) };
}

export function text(status: number, sentence: string): Answer {
  return { status, contentType: "text/plain; charset=utf-8", body: `${sentence}\n` };
}

/** k8s: metav1.Status of a change that was made. */
export function success(
  message: string,
  details?: { readonly name: string; readonly kind: string; readonly uid?: string },
): Answer {
  return json({
    kind: "Status",
    apiVersion: "v1",
    metadata: {},
    status: "Success",
    message,
    ...(details === undefined ? {} : { details }),
    code: 200,
  });
}
