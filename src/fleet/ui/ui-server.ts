// Performs: HTTP for the page of the fleet, with TLS if there is a certificate: its files, a session for the token, the stream
// of rows, one node, and what a person orders.

import { createServer, type IncomingMessage, type Server, type ServerResponse } from "node:http";
import { createServer as createSecureServer } from "node:https";
import { CliError } from "../../cli/exit-codes.ts";
import { hostAndPort, type ListenAddress } from "../../config/listen-config.ts";
import { messageOf } from "../../lib/errors.ts";
import { parseJson } from "../../lib/json.ts";
import { SESSION_KEY_HEADER } from "../../server/access/browser-access.ts";
import { PAGE_HEADERS } from "../../server/page/page-route.ts";
import { refusalOf, SESSION_PATH, type Asked, type Door } from "./judge-request.ts";
import type { NodeDetails } from "./node-row.ts";
import { PAGE_FILES } from "./page-files.ts";
import { orderOf, type LogOrder, type RolloutOrder } from "./page-request.ts";
import type { PageSessions } from "./page-sessions.ts";
import { streamFleet, type StreamOptions } from "./page-stream.ts";

/** What a person may order; each throws CliError, or returns why it is not done. */
export interface PageWork {
  /** Why nothing is done here; undefined = it may. */
  readonly refusal: string | undefined;
  change(order: RolloutOrder): string | undefined;
  logs(order: LogOrder, signal: AbortSignal): Promise<readonly string[]>;
}

export interface UiServerOptions extends StreamOptions {
  readonly address: ListenAddress;
  readonly door: Door;
  /** PEM; undefined = without TLS. */
  readonly tls: { readonly cert: string; readonly key: string } | undefined;
  readonly sessions: PageSessions;
  /** undefined = it is not known. */
  readonly details: (name: string) => NodeDetails | undefined;
  readonly work: PageWork;
}

/** Pages that are open at once. */
export const MAX_STREAMS = 16;
const MAX_CONNECTIONS = 128;
const MAX_HEADER_BYTES = 16 * 1024;
/** Of a request. */
export const MAX_BODY_BYTES = 4 * 1024;

export class UiServer implements AsyncDisposable {
  readonly #options: UiServerOptions;
  readonly #stop = new AbortController();
  readonly #server: Server;
  #streams = 0;

  private constructor(options: UiServerOptions) {
    this.#options = options;
    const answer = (request: IncomingMessage, response: ServerResponse): void => {
      this.#answer(request, response).catch(() => response.destroy());
    };
    const limits = { maxHeaderSize: MAX_HEADER_BYTES };
    this.#server =
      options.tls === undefined
        ? createServer(limits, answer)
        : createSecureServer({ ...limits, ...options.tls, minVersion: "TLSv1.2" }, answer);
    this.#server.maxConnections = MAX_CONNECTIONS;
  }

  /** Port 0 = any free one. Throws CliError when it is taken, or the certificate cannot be used. */
  static async open(options: UiServerOptions): Promise<UiServer> {
    const { address } = options;
    const listening = Promise.withResolvers<void>();
    try {
      const opened = new UiServer(options);
      opened.#server.once("error", listening.reject);
      opened.#server.listen(address.port, address.host, () => listening.resolve());
      await listening.promise;
      return opened;
    } catch (error) {
      throw new CliError(
        `${hostAndPort(address)} cannot be used: ${messageOf(error)}; choose another address, or check the certificate and its key`,
        error,
      );
    }
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
    const asked = this.#asked(request);
    const { path } = asked;
    const refused = refusalOf(asked, this.#options.door);
    if (refused !== undefined) {
      const { status, message, allow } = refused;
      return send(response, status, message, allow === undefined ? {} : { allow });
    }
    const file = PAGE_FILES[path];
    if (file !== undefined) {
      response.writeHead(200, { ...PAGE_HEADERS, "content-type": file.type }).end(file.body);
      return;
    }
    if (path === SESSION_PATH) return this.#begin(asked, response);
    if (asked.method === "POST") return this.#order(path, request, response);
    if (path === "/api/nodes") return this.#stream(response);
    const name = /^\/api\/node\/([^/]+)$/.exec(path)?.[1];
    const node = name === undefined ? undefined : this.#options.details(decodeURIComponent(name));
    if (node === undefined) return send(response, 404, "the broker has nothing of this node");
    sendJson(response, 200, node);
  }

  #begin({ host = "" }: Asked, response: ServerResponse): void {
    const { setCookie, key } = this.#options.sessions.begin(host);
    sendJson(response, 201, { key }, { "set-cookie": setCookie });
  }

  async #order(path: string, request: IncomingMessage, response: ServerResponse): Promise<void> {
    const { work } = this.#options;
    const body = await bodyOf(request);
    if (body === undefined) return send(response, 413, `at most ${MAX_BODY_BYTES} bytes are read`);
    const order = orderOf(path, parseJson(body));
    if (order === undefined) return send(response, 400, "this order cannot be read");
    if (work.refusal !== undefined) return send(response, 403, work.refusal);
    switch (order.type) {
      case "Rollout": {
        const why = work.change(order);
        return why === undefined ? sendJson(response, 202, {}) : send(response, 409, why);
      }
      case "Log":
        return this.#logs(order, response);
    }
  }

  async #logs(order: LogOrder, response: ServerResponse): Promise<void> {
    try {
      const lines = await this.#options.work.logs(order, this.#whileOpen(response));
      sendJson(response, 200, { lines });
    } catch (thrown) {
      // The page shows it: the node is away, or has refused.
      send(response, 502, messageOf(thrown));
    }
  }

  async #stream(response: ServerResponse): Promise<void> {
    if (this.#streams >= MAX_STREAMS)
      return send(response, 503, `${MAX_STREAMS} pages are open: close one of them`);
    this.#streams += 1;
    try {
      await streamFleet(this.#options, response, this.#whileOpen(response));
    } finally {
      this.#streams -= 1;
      response.end();
    }
  }

  #whileOpen(response: ServerResponse): AbortSignal {
    const gone = new AbortController();
    response.once("close", () => gone.abort());
    return AbortSignal.any([gone.signal, this.#stop.signal]);
  }

  #asked({ method = "GET", url = "/", headers }: IncomingMessage): Asked {
    const { host, origin, cookie, authorization } = headers;
    const key = one(headers[SESSION_KEY_HEADER]);
    return {
      method,
      path: url.split("?")[0] ?? "/",
      host,
      origin,
      site: one(headers["sec-fetch-site"]),
      authorization,
      hasSession: host !== undefined && this.#options.sessions.has(host, cookie, key),
    };
  }
}

/** undefined = there is too much of it. */
async function bodyOf(request: IncomingMessage): Promise<string | undefined> {
  const parts: Uint8Array[] = [];
  let length = 0;
  for await (const part of request) {
    if (!(part instanceof Uint8Array)) continue;
    length += part.length;
    if (length > MAX_BODY_BYTES) return undefined;
    parts.push(part);
  }
  return Buffer.concat(parts).toString("utf8");
}

function one(header: string | string[] | undefined): string | undefined {
  return typeof header === "string" ? header : undefined;
}

type Headers = Readonly<Record<string, string>>;

function send(response: ServerResponse, status: number, message: string, more: Headers = {}): void {
  const type = { "content-type": "text/plain; charset=utf-8" };
  response.writeHead(status, { ...PAGE_HEADERS, ...type, ...more }).end(`${message}\n`);
}

function sendJson(
  response: ServerResponse,
  status: number,
  value: object,
  more: Headers = {},
): void {
  const type = { "content-type": "application/json", "cache-control": "no-store" };
  response.writeHead(status, { ...PAGE_HEADERS, ...type, ...more }).end(JSON.stringify(value));
}
