// An answer of the local API: JSON, or one line of text.

export interface Answer {
  readonly status: number;
  readonly contentType: string;
  readonly body: string;
  /** With 405: the methods that the path supports. */
  readonly allow?: string;
}

export function json(value: unknown): Answer {
  return { status: 200, contentType: "application/json", body: JSON.stringify(value) };
}

export function text(status: number, sentence: string): Answer {
  return { status, contentType: "text/plain; charset=utf-8", body: `${sentence}\n` };
}

/** `sentence` names the method to use instead. */
export function notAllowed(allow: string, sentence: string): Answer {
  return { ...text(405, sentence), allow };
}

/** k8s: metav1.Status of a change that was made. */
export function success(
  message: string,
  details?: { readonly name: string; readonly kind: string },
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
