// One GET of a text that a server offers, as the agent asks for it. Types only.

import type { Clock } from "../../lib/clock.ts";

export interface DownloadRequest {
  /** http: or https:, without user and password. */
  readonly url: string;
  readonly headers: Readonly<Record<string, readonly string[]>>;
  /** Of an earlier answer; absent = the whole text is wanted. */
  readonly etag?: string;
  readonly lastModified?: string;
  /** PEM texts; absent = the system's CAs, no client certificate. The server's certificate is always verified. */
  readonly ca?: string;
  readonly cert?: string;
  readonly key?: string;
  /** Of the text, also after decompression. */
  readonly maxBytes: number;
}

export type DownloadAnswer =
  | {
      readonly type: "Text";
      readonly bytes: Uint8Array;
      readonly etag?: string;
      readonly lastModified?: string;
    }
  /** It is the text of the given `etag` or `lastModified`. */
  | { readonly type: "NotModified" }
  /** Any other status; `retryAfterMs`: when the server wants to be asked again. */
  | { readonly type: "Status"; readonly status: number; readonly retryAfterMs?: number };

/** What HTTP servers see. */
export interface DownloadOptions {
  readonly clock: Clock;
  /** `agent/0.1.0 (linux/arm64)` */
  readonly userAgent: string;
}

/** Rejects with AgentError: `ConnectionFailed`, `Timeout`, `TooLarge`, `BadRedirect`, `BadAnswer` or `Aborted`. */
export type Download = (request: DownloadRequest, signal: AbortSignal) => Promise<DownloadAnswer>;
