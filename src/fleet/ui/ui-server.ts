// Performs: HTTP on loopback for the page of the fleet: its files, the rows as server-sent events, and one node.

import { createServer, type IncomingMessage, type Server, type ServerResponse } from "node:http";
import { CliError } from "../../cli/exit-codes.ts";
import type { Clock } from "../../lib/clock.ts";
import { messageOf } from "../../lib/errors.ts";
import { isSha256Of } from "../../lib/system-sha256.ts";
import commonStyle from "../../server/page/page.css" with { type: "text" };
import { PAGE_HEADERS } from "../../server/page/page-route.ts";
import style from "./fleet-page.css" with { type: "text" };
import document from "./fleet-page.html" with { type: "text" };
import script from "./fleet-page.js" with { type: "text" };
import type { FleetView } from "./fleet-view.ts";
import { refusalOf, type Asked } from "./judge-request.ts";
import type { NodeDetails } from "./node-row.ts";

export interface UiServerOptions {
  readonly clock: Clock;
  readonly view: FleetView;
  readonly tokenSha256: string;
  /** undefined = it is not known. */
  readonly details: (name: string) => NodeDetails | undefined;
}

/** Pages that are open at once. */
export const MAX_STREAMS = 16;
const MAX_CONNECTIONS = 128;
const MAX_HEADER_BYTES = 16 * 1024;
/** Changes of so long go out together. */
const COALESCE_MS = 400;
/** In one event, so that a slow reader is noticed between two. */
const ROWS_AT_ONCE = 500;
const LOOPBACK = "127.0.0.1";

const FILES: Readonly<Record<string, readonly [type: string, body: string]>> = {
  "/": ["text/html; charset=utf-8", document],
  "/page.css": ["text/css; charset=utf-8", commonStyle],
  "/fleet-page.css": ["text/css; charset=utf-8", style],
  "/fleet-page.js": ["text/javascript; charset=utf-8", script],
};

export class UiServer implements AsyncDisposable {
  readonly #options: UiServerOptions;
  readonly #stop = new AbortController();
  readonly #server: Server;
  #streams = 0;

  private constructor(options: UiServerOptions) {
    this.#options = options;
    this.#server = createServer({ maxHeaderSize: MAX_HEADER_BYTES }, (request, response) => {
      this.#answer(request, response).catch(() => response.destroy());
    });
    this.#server.maxConnections = MAX_CONNECTIONS;
  }

  /** `port` 0 = any free one. Throws CliError when it is taken. */
  static async open(options: UiServerOptions, port: number): Promise<UiServer> {
    const opened = new UiServer(options);
    const listening = Promise.withResolvers<void>();
    opened.#server.once("error", listening.reject);
    opened.#server.listen(port, LOOPBACK, () => listening.resolve());
    try {
      await listening.promise;
    } catch (error) {
      throw new CliError(
        `${LOOPBACK}:${port} cannot be used: ${messageOf(error)}; choose another --port`,
        error,
      );
    }
    return opened;
  }

  get port(): number {
    const address = this.#server.address();
    return address === null || typeof address === "string" ? 0 : address.port;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#stop.abort();
    const closed = Promise.withResolvers<void>();
    this.#server.close(() => closed.resolve());
    this.#server.closeAllConnections();
    await closed.promise;
  }

  async #answer(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const asked = askedOf(request);
    const { tokenSha256, details } = this.#options;
    const refused = refusalOf(asked, (token) => isSha256Of(token, tokenSha256));
    if (refused !== undefined) return send(response, refused.status, refused.message);
    const file = FILES[asked.path];
    if (file !== undefined) {
      response.writeHead(200, { ...PAGE_HEADERS, "content-type": file[0] }).end(file[1]);
      return;
    }
    if (asked.path === "/api/nodes") return this.#stream(response);
    const name = /^\/api\/node\/([^/]+)$/.exec(asked.path)?.[1];
    const node = name === undefined ? undefined : details(decodeURIComponent(name));
    if (node === undefined) return send(response, 404, "the broker has nothing of this node");
    const type = { "content-type": "application/json", "cache-control": "no-store" };
    response.writeHead(200, { ...PAGE_HEADERS, ...type }).end(JSON.stringify(node));
  }

  async #stream(response: ServerResponse): Promise<void> {
    if (this.#streams >= MAX_STREAMS)
      return send(response, 503, `${MAX_STREAMS} pages are open: close one of them`);
    const { clock, view } = this.#options;
    const gone = new AbortController();
    response.once("close", () => gone.abort());
    const signal = AbortSignal.any([gone.signal, this.#stop.signal]);
    this.#streams += 1;
    try {
      const type = { "content-type": "text/event-stream", "cache-control": "no-store" };
      response.writeHead(200, { ...PAGE_HEADERS, ...type });
      response.flushHeaders();
      for (let version = 0; !signal.aborted; await clock.sleep(COALESCE_MS, signal)) {
        const changes = view.since(version);
        if (changes === undefined) continue;
        const { rows, removed, isWhole } = changes;
        let from = 0;
        do {
          const part = rows.slice(from, from + ROWS_AT_ONCE);
          const isReset = isWhole && from === 0;
          const data = { isReset, rows: part, removed: from === 0 ? removed : [] };
          await written(response, `data: ${JSON.stringify(data)}\n\n`, signal);
          from += ROWS_AT_ONCE;
        } while (from < rows.length && !signal.aborted);
        ({ version } = changes);
      }
    } finally {
      this.#streams -= 1;
      response.end();
    }
  }
}

/** Resolves when the reader has taken enough for more to follow. */
async function written(response: ServerResponse, text: string, signal: AbortSignal): Promise<void> {
  if (signal.aborted || response.write(text)) return;
  const free = Promise.withResolvers<void>();
  const resolve = (): void => free.resolve();
  response.once("drain", resolve);
  signal.addEventListener("abort", resolve, { once: true });
  await free.promise;
  response.off("drain", resolve);
  signal.removeEventListener("abort", resolve);
}

function send(response: ServerResponse, status: number, message: string): void {
  response
    .writeHead(status, { ...PAGE_HEADERS, "content-type": "text/plain; charset=utf-8" })
    .end(`${message}\n`);
}

function askedOf({ method = "GET", url = "/", headers }: IncomingMessage): Asked {
  const site = headers["sec-fetch-site"];
  return {
    method,
    path: url.split("?")[0] ?? "/",
    host: headers.host,
    origin: headers.origin,
    site: typeof site === "string" ? site : undefined,
    authorization: headers.authorization,
  };
}
