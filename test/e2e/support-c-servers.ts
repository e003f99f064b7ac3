// Servers in the test's own process that probes and hooks ask; what they were asked is kept.

import { readFileSync } from "node:fs";
import { resolve } from "node:path";

import { Server, ServerCredentials, status as GrpcStatus } from "@grpc/grpc-js";

import { eventually } from "../harness/eventually.ts";
import { uptime } from "./support-c-life.ts";

const TLS = resolve(import.meta.dir, "../fixtures/tls");

export interface HttpQuestion {
  /** Seconds since boot. */
  readonly at: number;
  readonly method: string;
  /** Path and query. */
  readonly path: string;
  readonly headers: Headers;
}

/** Undefined = never answered. */
export type HttpReply = (path: string) => Response | undefined;

/** An HTTP server on a free port of 127.0.0.1. */
export class HttpServer implements Disposable {
  readonly questions: HttpQuestion[] = [];
  readonly port: number;
  readonly #server: ReturnType<typeof Bun.serve>;

  /** `tls`: with a certificate that nobody trusts. */
  constructor(reply: HttpReply, options: { readonly tls?: boolean } = {}) {
    const tls = {
      key: readFileSync(resolve(TLS, "broker.key")),
      cert: readFileSync(resolve(TLS, "broker.pem")),
    };
    this.#server = Bun.serve({
      hostname: "127.0.0.1",
      port: 0,
      ...(options.tls === true ? { tls } : {}),
      fetch: async (request) => {
        const { pathname, search } = new URL(request.url);
        const { method, headers } = request;
        this.questions.push({ at: uptime(), method, path: `${pathname}${search}`, headers });
        return reply(pathname) ?? (await new Promise<never>(() => undefined));
      },
    });
    const { port } = this.#server;
    if (port === undefined) throw new Error("the server listens on no port");
    this.port = port;
  }

  about(path: string): readonly HttpQuestion[] {
    return this.questions.filter((question) => question.path.split("?")[0] === path);
  }

  /** Waits until something was asked for the `nth` time. */
  async asked(path: string, nth = 1): Promise<HttpQuestion> {
    return eventually(`${path} was asked ${nth} times`, () => this.about(path)[nth - 1], {
      timeout: 60_000,
      explain: () => this.questions.map((each) => each.path).join(" "),
    });
  }

  [Symbol.dispose](): void {
    void this.#server.stop(true);
  }
}

export type Serving = "SERVING" | "NOT_SERVING";

const SERVING_NUMBER = { SERVING: 1, NOT_SERVING: 2 } as const;

/** grpc.health.v1.Health on one address. */
export class HealthServer implements Disposable {
  /** Names of the services asked for, in order. */
  readonly asked: string[] = [];
  readonly #services: Map<string, Serving>;
  readonly #server = new Server();

  private constructor(services: Readonly<Record<string, Serving>>) {
    this.#services = new Map(Object.entries(services));
  }

  /** `services` by name, "" = the server as a whole; others are not found. */
  static async listen(
    host: string,
    services: Readonly<Record<string, Serving>>,
  ): Promise<{ readonly server: HealthServer; readonly port: number }> {
    const health = new HealthServer(services);
    health.#addCheck();
    const port = await new Promise<number>((done, failed) =>
      health.#server.bindAsync(`${host}:0`, ServerCredentials.createInsecure(), (error, bound) =>
        error === null ? done(bound) : failed(error),
      ),
    );
    return { server: health, port };
  }

  say(service: string, serving: Serving): void {
    this.#services.set(service, serving);
  }

  [Symbol.dispose](): void {
    this.#server.forceShutdown();
  }

  #addCheck(): void {
    const check = {
      path: "/grpc.health.v1.Health/Check",
      requestStream: false,
      responseStream: false,
      requestSerialize: asBytes,
      requestDeserialize: healthRequest,
      responseSerialize: (serving: Serving) => Buffer.from([0x08, SERVING_NUMBER[serving]]),
      responseDeserialize: asBytes,
    } as const;
    this.#server.addService(
      { check },
      {
        check: (
          call: { readonly request: HealthRequest },
          done: (error: object | null, serving?: Serving) => void,
        ) => {
          const { service } = call.request;
          this.asked.push(service);
          const serving = this.#services.get(service);
          if (serving !== undefined) done(null, serving);
          else done({ code: GrpcStatus.NOT_FOUND, details: "unknown service" });
        },
      },
    );
  }
}

function asBytes(bytes: unknown): Buffer {
  return Buffer.from(bytes as Uint8Array);
}

/** HealthCheckRequest { string service = 1 }; a name has fewer than 128 bytes here. */
interface HealthRequest {
  readonly service: string;
}

function healthRequest(bytes: Buffer): HealthRequest {
  const named = bytes[0] === 0x0a;
  return { service: named ? bytes.subarray(2, 2 + (bytes[1] ?? 0)).toString() : "" };
}
