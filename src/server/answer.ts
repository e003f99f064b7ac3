// One answer of the local API: JSON, or a sentence.

export interface Answer {
  readonly status: number;
  readonly contentType: string;
  readonly body: string;
  /** With 405: the methods that the path knows. */
  readonly allow?: string;
}

export function json(value: unknown): Answer {
  return { status: 200, contentType: "application/json", body: JSON.stringify(value) };
}

export function text(status: number, sentence: string): Answer {
  return { status, contentType: "text/plain; charset=utf-8", body: `${sentence}\n` };
}

/** `sentence` says what to use instead. */
export function notAllowed(allow: string, sentence: string): Answer {
  return { ...text(405, sentence), allow };
}
