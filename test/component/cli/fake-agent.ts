// The local API of an agent on a unix socket: the real Kubernetes API over objects that a test sets, and a table of other answers.

import { systemClock } from "../../../src/lib/system-clock.ts";
import type { Rejection } from "../../../src/api/pod/desired-pod.ts";
import { realFiles } from "../../../src/host/real-files.ts";
import type { EventView, NodeView, ObjectView, PodView } from "../../../src/node/api-views.ts";
import { createLogger } from "../../../src/lib/logger.ts";
import { json, text } from "../../../src/server/answer.ts";
import type { ApiRequest, Reply } from "../../../src/server/http/exchange.ts";
import { ROOT } from "../../../src/server/access/find-user.ts";
import { HttpDoor } from "../../../src/server/http/http-door.ts";
import { KubeApi } from "../../../src/server/kube/kube-api.ts";
import type { KubeResource } from "../../../src/server/kube/kube-resource.ts";
import { RESOURCES } from "../../../src/server/kube/resources.ts";
import { someFacts } from "../../unit/server/some-facts.ts";

function withoutLoad(resource: KubeResource): KubeResource {
  const { load, ...rest } = resource;
  return load === undefined ? resource : rest;
}

/** The wall clock of the agent, for ages. */
const NOW = Date.parse("2026-01-01T00:12:00Z");

export class FakeAgent implements Disposable {
  readonly socket: string;
  rejected: readonly Rejection[] = [];
  /** Answers that replace the ones above, by path. */
  readonly answers = new Map<string, (request: Request) => Response | Promise<Response>>();
  readonly #objects = new Map<string, readonly ObjectView[]>();
  readonly #runs = new Set<() => void>();
  readonly #followed = Promise.withResolvers<void>();
  readonly #kube: KubeApi;
  readonly #door: HttpDoor;

  private constructor(socket: string) {
    this.socket = socket;
    this.#kube = new KubeApi({
      clock: { ...systemClock(), now: () => NOW },
      facts: someFacts({ version: () => ({ version: "9.9.9" }) }),
      files: realFiles(),
      podLogsDir: "/nonexistent",
      onChange: (run) => {
        this.#runs.add(run);
        this.#followed.resolve();
        return { [Symbol.dispose]: () => void this.#runs.delete(run) };
      },
      resources: RESOURCES.map((resource) => ({
        ...withoutLoad(resource),
        objects: () => this.#objectsOf(resource.kind).map((object) => ({ ...object })),
      })),
    });
    this.#door = new HttpDoor({
      clock: systemClock(),
      admit: () => ({ type: "Admitted", user: ROOT, leave: () => undefined }),
      log: createLogger({ clock: systemClock(), level: "error", write: () => undefined }),
      reply: (request) => this.#answer(request),
      upgrade: ({ socket: connection }) => {
        connection.destroy();
        return Promise.resolve(0);
      },
    });
  }

  static async start(socket: string): Promise<FakeAgent> {
    const agent = new FakeAgent(socket);
    await new Promise<void>((resolve) => {
      agent.#door.server.listen(socket, () => resolve());
    });
    return agent;
  }

  get pods(): readonly PodView[] {
    return this.#objectsOf("Pod") as readonly PodView[];
  }

  set pods(pods: readonly PodView[]) {
    this.#become("Pod", pods);
  }

  get events(): readonly EventView[] {
    return this.#objectsOf("Event") as readonly EventView[];
  }

  set events(events: readonly EventView[]) {
    this.#become("Event", events);
  }

  set node(node: NodeView) {
    this.#become("Node", [node]);
  }

  /** Resolves when a watch has seen what there is. */
  get followed(): Promise<void> {
    return this.#followed.promise;
  }

  /** As at a restart: every open answer ends. */
  dropConnections(): void {
    this.#door.drop();
  }

  [Symbol.dispose](): void {
    this.#door.end();
    this.#door.server.close();
    this.#kube[Symbol.dispose]();
  }

  #objectsOf(kind: string): readonly ObjectView[] {
    return this.#objects.get(kind) ?? [];
  }

  #become(kind: string, objects: readonly ObjectView[]): void {
    this.#objects.set(kind, objects);
    for (const run of this.#runs) run();
  }

  async #answer(request: ApiRequest): Promise<Reply> {
    const { method, url } = request;
    const given = this.answers.get(url.pathname);
    if (given !== undefined) {
      const { signal, header } = request;
      const body = ["GET", "HEAD"].includes(method) ? null : await request.body(1024 * 1024);
      const headers = { "content-type": header("content-type") ?? "" };
      const response = await given(new Request(url.href, { method, signal, body, headers }));
      const contentType = response.headers.get("content-type") ?? "text/plain";
      const warning = response.headers.get("warning");
      const more = warning === null ? {} : { headers: { warning } };
      return { status: response.status, contentType, body: await response.text(), ...more };
    }
    if (url.pathname === "/rejected") return json(this.rejected);
    return (await this.#kube.reply(request)) ?? text(404, "no such path");
  }
}
