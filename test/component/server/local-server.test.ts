import { describe, expect, test } from "bun:test";
import { existsSync, statSync, writeFileSync } from "node:fs";
import { connect } from "node:net";
import { join } from "node:path";
import type { Rejection } from "../../../src/api/pod/desired-pod.ts";
import {
  isEvent,
  isListOf,
  isNode,
  isPod,
  isRejections,
  isVersion,
} from "../../../src/node/api-views.ts";
import { realFiles } from "../../../src/host/real-files.ts";
import { messageOf } from "../../../src/lib/errors.ts";
import { createLogger } from "../../../src/lib/logger.ts";
import { LocalServer } from "../../../src/server/local-server.ts";
import { aPod } from "../../fakes/a-pod.ts";
import { VirtualClock } from "../../fakes/fake-clock.ts";
import { NO_IMAGES, NO_STREAMS, NODE_STATUS, someFacts } from "../../unit/server/some-facts.ts";
import { temporaryDirectories } from "../host/temporary-directories.ts";
import type { ImageOrders } from "../../../src/image/gc/image-orders.ts";
import type { ServerFacts } from "../../../src/node/node-api.ts";
import { RUNNING } from "./pod-entry.ts";

const newDirectory = temporaryDirectories();
const clock = new VirtualClock();

const status = RUNNING;
const rejection: Rejection = {
  source: "file",
  ref: "/m/a.yaml",
  code: "UnknownField",
  path: "spec.x",
  message: "unknown field",
};

interface Door extends Disposable {
  readonly socket: string;
  readonly server: LocalServer;
  readonly lines: string[];
  get(path: string, init?: RequestInit): Promise<Response>;
}

async function open(
  facts: Partial<ServerFacts> = {},
  socket = join(newDirectory(), "run", "agent.sock"),
): Promise<Door> {
  const lines: string[] = [];
  const server = new LocalServer({
    socket,
    files: realFiles(),
    podLogsDir: "/nonexistent",
    clock,
    log: createLogger({ clock, level: "info", write: (line) => lines.push(line) }),
    facts: someFacts(facts),
    cri: NO_STREAMS,
    onChange: () => ({ [Symbol.dispose]: () => undefined }),
  });
  await server.listen();
  return {
    socket,
    server,
    lines,
    get: (path, init) => fetch(`http://agent${path}`, { ...init, unix: socket }),
    [Symbol.dispose]: () => server.stop(),
  };
}

describe("an answer", () => {
  test("/healthz is ok, or says line by line what is stuck", async () => {
    const problems: string[] = [];
    using door = await open({ healthProblems: () => problems });
    const well = await door.get("/healthz");
    expect([well.status, await well.text()]).toEqual([200, "ok\n"]);
    problems.push("PLEG is stuck", "the runtime does not answer");
    const ill = await door.get("/healthz");
    expect([ill.status, await ill.text()]).toEqual([
      503,
      "PLEG is stuck\nthe runtime does not answer\n",
    ]);
  });

  test("/pods is a PodList that the command line understands", async () => {
    const entry = {
      pod: aPod(),
      status,
      source: "file",
      sourceRef: "a#0",
      specHash: "0",
      nodeName: "pi-1",
    } as const;
    using door = await open({ pods: () => [entry] });
    const response = await door.get("/pods");
    const body: unknown = await response.json();
    expect(response.headers.get("content-type")).toBe("application/json");
    expect(body).toMatchObject({
      kind: "PodList",
      apiVersion: "v1",
      metadata: {},
      items: [{ kind: "Pod", metadata: { name: "web" } }],
    });
    expect(isListOf(isPod)(body)).toBe(true);
  });

  test("/events is an EventList that the command line understands", async () => {
    const event = {
      id: 1,
      type: "Normal",
      reason: "Starting",
      object: { kind: "Node", name: "pi-1" },
      message: "Starting agent 1.",
      count: 1,
      first: 0,
      last: 0,
      host: "pi-1",
    } as const;
    using door = await open({ events: () => [event] });
    const response = await door.get("/events");
    const body: unknown = await response.json();
    expect(response.headers.get("content-type")).toBe("application/json");
    expect(body).toMatchObject({ kind: "EventList", items: [{ reason: "Starting" }] });
    expect(isListOf(isEvent)(body)).toBe(true);
  });

  test("/node, /rejected and /version are what the command line understands", async () => {
    using door = await open({
      rejected: () => [rejection],
      node: () => ({ name: "pi-1", labels: { site: "b" }, status: NODE_STATUS, createdAt: 0 }),
    });
    const bodies: unknown[] = [];
    for (const path of ["/node", "/rejected", "/version"])
      bodies.push(await (await door.get(path)).json());
    expect(bodies).toEqual([
      {
        kind: "Node",
        apiVersion: "v1",
        metadata: {
          name: "pi-1",
          labels: { site: "b" },
          creationTimestamp: "1970-01-01T00:00:00Z",
        },
        status: NODE_STATUS,
      },
      [rejection],
      expect.objectContaining({ version: "v0.1.0", major: "1" }),
    ]);
    expect([isNode(bodies[0]), isRejections(bodies[1]), isVersion(bodies[2])]).toEqual([
      true,
      true,
      true,
    ]);
  });

  test("to HEAD has the length and no body", async () => {
    using door = await open();
    const response = await door.get("/version", { method: "HEAD" });
    expect([response.status, await response.text()]).toEqual([200, ""]);
    const whole = await (await door.get("/version")).text();
    expect(response.headers.get("content-length")).toBe(String(whole.length));
  });

  test("to an unknown path is a sentence that names the known ones", async () => {
    using door = await open();
    const response = await door.get("/nodes");
    expect([response.status, await response.text()]).toEqual([
      404,
      "unknown path /nodes; the paths are /healthz, /pods, /rejected, /desired, /events, /trust, /trust/reset, /trust/rotate-key, /runningpods, /configz, /shutdown, /self-update, /ui/, /hold, /release, /node, /images, /images/pull, /images/prune, /metrics, /metrics/resource, /metrics/probes, /stats/summary\n",
    ]);
  });

  test("to a write is a refusal", async () => {
    using door = await open();
    const response = await door.get("/pods", { method: "POST", body: "{}" });
    expect([response.status, response.headers.get("allow"), await response.text()]).toEqual([
      405,
      "GET, HEAD",
      "/pods can only be read: use GET or HEAD\n",
    ]);
  });

  test("to DELETE of a pod is what became of the order, and others are told of DELETE", async () => {
    const orders: unknown[] = [];
    using door = await open({
      shortenGrace: (pod, seconds) => {
        orders.push([pod, seconds]);
        return { type: "Shortened" };
      },
    });
    const path = "/pods/shop/web?gracePeriodSeconds=2";
    const answer = await door.get(path, { method: "DELETE" });
    expect([answer.status, await answer.json()]).toMatchObject([200, { status: "Success" }]);
    expect(orders).toEqual([[{ namespace: "shop", name: "web" }, 2]]);
    const refused = await door.get(path);
    expect([refused.status, refused.headers.get("allow")]).toEqual([405, "DELETE"]);
    const unknown = await door.get("/pods/shop/web/log", { method: "DELETE" });
    expect(unknown.status).toBe(404);
    expect(orders).toHaveLength(1);
  });

  test("that fails is a 500 and a log line; the server goes on", async () => {
    using door = await open({
      pods: () => {
        throw new Error("no pods today");
      },
    });
    const response = await door.get("/pods");
    expect([response.status, await response.text()]).toEqual([
      500,
      "the agent could not answer: no pods today\n",
    ]);
    expect(door.lines.join("")).toContain("no pods today");
    expect((await door.get("/healthz")).status).toBe(200);
  });
});

describe("the socket", () => {
  test("is only its owner's, and its directory is made", async () => {
    const umask = process.umask();
    using door = await open();
    expect(statSync(door.socket).mode & 0o777).toBe(0o600);
    expect(process.umask()).toBe(umask);
  });

  test("that a dead agent left behind is replaced", async () => {
    const socket = join(newDirectory(), "agent.sock");
    const dead = Bun.spawnSync([
      process.execPath,
      "-e",
      `require("node:net").createServer().listen(${JSON.stringify(socket)}, () => process.kill(process.pid, "SIGKILL"))`,
    ]);
    expect([dead.signalCode, existsSync(socket)]).toEqual(["SIGKILL", true]);
    using door = await open({}, socket);
    expect((await door.get("/healthz")).status).toBe(200);
  });

  test("that cannot be made is named", async () => {
    const directory = newDirectory();
    writeFileSync(join(directory, "file"), "");
    const socket = join(directory, "file", "agent.sock");
    const refused = await open({}, socket).catch(messageOf);
    expect(refused).toContain(`cannot listen on ${socket}: `);
  });

  test("is gone after the stop, and nobody is served any more", async () => {
    const door = await open();
    door.server.stop();
    expect(existsSync(door.socket)).toBe(false);
    expect(await door.get("/healthz").catch(() => "refused")).toBe("refused");
  });

  test("stops although a client holds its connection open", async () => {
    const door = await open();
    const client = connect(door.socket);
    await new Promise((resolve) => client.once("connect", resolve));
    client.write("GET /pods HTTP/1.1\r\n");
    const closed = new Promise((resolve) => client.once("close", resolve));
    client.on("error", () => undefined);
    door.server.stop();
    await closed;
    expect(existsSync(door.socket)).toBe(false);
  });

  test.each(["leaves", "is stopped"])("ends the pull of a client when it %s", async (why) => {
    const begun = Promise.withResolvers<void>();
    const ended = Promise.withResolvers<void>();
    const pull: ImageOrders["pull"] = (_image, signal) => {
      signal.addEventListener("abort", () => ended.resolve(), { once: true });
      begun.resolve();
      return new Promise(() => undefined);
    };
    using door = await open({ imageOrders: { ...NO_IMAGES, pull } });
    const leaving = new AbortController();
    const init = { method: "POST", signal: leaving.signal };
    const answer = door.get("/images/pull?name=a", init).catch(() => "gone");
    await begun.promise;
    if (why === "leaves") leaving.abort();
    else door.server.stop();
    await ended.promise;
    expect(await answer).toBe("gone");
  });
});
