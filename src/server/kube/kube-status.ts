// Answers of the Kubernetes API that are no objects. k8s: metav1.Status

import type { Answer } from "../http/exchange.ts";

const REASONS: Readonly<Record<number, string>> = {
  400: "BadRequest",
  401: "Unauthorized",
  403: "Forbidden",
  404: "NotFound",
  405: "MethodNotAllowed",
  406: "NotAcceptable",
  409: "Conflict",
  410: "Expired",
  413: "RequestEntityTooLarge",
  415: "UnsupportedMediaType",
  422: "Invalid",
  429: "TooManyRequests",
  500: "InternalError",
  503: "ServiceUnavailable",
  504: "Timeout",
};

export interface StatusCause {
  /** k8s: `FieldValueInvalid`, `FieldValueRequired`, … */
  readonly reason: string;
  readonly message: string;
  readonly field: string;
}

export interface StatusDetails {
  readonly name?: string;
  readonly kind?: string;
  readonly causes?: readonly StatusCause[];
}

/** `reason` absent = the usual one of the code. */
export function failureStatus(
  code: number,
  message: string,
  more: { readonly reason?: string; readonly details?: StatusDetails } = {},
): object {
  const { reason = REASONS[code] ?? "Unknown", details } = more;
  return {
    kind: "Status",
    apiVersion: "v1",
    metadata: {},
    status: "Failure",
    message,
    reason,
    ...(details === undefined ? {} : { details }),
    code,
  };
}

export function refusal(
  code: number,
  message: string,
  more?: { readonly reason?: string; readonly details?: StatusDetails },
): Answer {
  const body = JSON.stringify(failureStatus(code, message, more));
  return { status: code, contentType: "application/json", body };
}

/** k8s: `pods "web" not found`. */
export function notFound(resource: string, name: string): Answer {
  return refusal(404, `${resource} "${name}" not found`, { details: { name, kind: resource } });
}

/** A path that no resource of this node has. */
export function unknownPath(): Answer {
  return refusal(404, "the server could not find the requested resource", { details: {} });
}

export function jsonAnswer(value: unknown, status = 200): Answer {
  return jsonTextAnswer(JSON.stringify(value), status);
}

export function jsonTextAnswer(body: string, status = 200): Answer {
  return { status, contentType: "application/json", body };
}
