// One request to the API of the node and its answer, apart from the socket it came over.

/** Who sent a request, as its socket, certificate or token proves. */
export interface User {
  readonly name: string;
  readonly groups: readonly string[];
  /** `ReadOnly`: neither changes anything nor reads Secrets. */
  readonly access: "Full" | "ReadOnly";
}

export interface ApiRequest {
  readonly method: string;
  /** Its host is a placeholder; only path and query count. */
  readonly url: URL;
  /** undefined = the header is absent; several of one name are joined by commas. */
  readonly header: (name: string) => string | undefined;
  readonly user: User;
  /** Aborts when the client is gone or the server stops. */
  readonly signal: AbortSignal;
  /** The whole body. Rejects with AgentError `BodyTooLarge` beyond `maxBytes`, `BodyTooSlow` after a minute. */
  readonly body: (maxBytes: number) => Promise<Uint8Array>;
}

/** A body that is known as a whole. */
export interface Answer {
  readonly status: number;
  readonly contentType: string;
  readonly body: string;
  /** With 405: the methods that the path supports. */
  readonly allow?: string;
  /** Further ones, by their names in small letters. */
  readonly headers?: Readonly<Record<string, string>>;
  /** Texts of `Warning` headers, which kubectl prints; printable ASCII. */
  readonly warnings?: readonly string[];
}

/** Takes the parts of a body as they come. */
export interface Sink {
  /** Resolves when the client has taken enough of it for more to follow, or is gone; undefined = more may follow at once. */
  write(part: string | Uint8Array): Promise<void> | undefined;
}

/** A body that is written as it comes: a log, a watch. */
export interface StreamedAnswer {
  readonly status: number;
  readonly contentType: string;
  /** Resolves when the body is complete. `signal` aborts when the client is gone or the server stops. */
  readonly write: (sink: Sink, signal: AbortSignal) => Promise<void>;
}

export type Reply = Answer | StreamedAnswer;

export function isStreamed(reply: Reply): reply is StreamedAnswer {
  return "write" in reply;
}
