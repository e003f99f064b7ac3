// exec, attach and port-forward at the server's door, with a client on a real socket and a streaming server in process.

import { afterEach, describe, expect, test } from "bun:test";
import { join } from "node:path";
import { create } from "@bufbuild/protobuf";
import { ContainerSchema, PodSandboxSchema } from "../../../src/cri/gen/runtime/v1/api_pb.ts";
import { realFiles } from "../../../src/host/real-files.ts";
import { createLogger } from "../../../src/lib/logger.ts";
import { LocalServer } from "../../../src/server/local-server.ts";
import { MAX_OF_USER } from "../../../src/server/stream/stream-places.ts";
import type { StreamRuntime } from "../../../src/server/stream/runtime-streams.ts";
import { aContainer, aPod } from "../../fakes/a-pod.ts";
import { VirtualClock } from "../../fakes/fake-clock.ts";
import {
  fakeStreamingServer,
  type FakeStreamingServer,
} from "../../fakes/fake-streaming-server.ts";
import { NO_STREAMS, someFacts } from "../../unit/server/some-facts.ts";
import { temporaryDirectories } from "../host/temporary-directories.ts";
import { StreamClient } from "./stream-client.ts";
import { RUNNING } from "./pod-entry.ts";

const newDirectory = temporaryDirectories();
const ended: Disposable[] = [];
afterEach(() => {
  for (const one of ended.splice(0).toReversed()) one[Symbol.dispose]();
});
function using<T extends Disposable>(resource: T): T {
  ended.push(resource);
  return resource;
}

const EXEC = "/api/v1/namespaces/default/pods/web/exec";
const ALL = `${EXEC}?command=cat&stdin=true&stdout=true&stderr=true`;
const FORWARD = "/api/v1/namespaces/default/pods/web/portforward";

interface World {
  readonly socket: string;
  readonly clock: VirtualClock;
  readonly calls: unknown[];
  readonly log: string[];
}

async function open(url: string, cri: Partial<StreamRuntime> = {}, pod = aPod()): Promise<World> {
  const clock = new VirtualClock();
  const socket = join(newDirectory(), "agent.sock");
  const calls: unknown[] = [];
  const log: string[] = [];
  const asked = (request: unknown): Promise<string> => {
    calls.push(request);
    return Promise.resolve(url);
  };
  const container = create(ContainerSchema, { id: "c1", metadata: { attempt: 1 } });
  const newer = create(ContainerSchema, { id: "c2", metadata: { attempt: 2 } });
  const sandbox = create(PodSandboxSchema, { id: "s1" });
  const server = new LocalServer({
    socket,
    files: realFiles(),
    podLogsDir: "/nonexistent",
    clock,
    log: createLogger({ clock, level: "debug", write: (line) => log.push(line) }),
    cri: {
      ...NO_STREAMS,
      listContainers: () => Promise.resolve([container, newer]),
      listPodSandbox: () => Promise.resolve([sandbox]),
      exec: asked,
      attach: asked,
      portForward: (id, ports) => asked({ id, ports }),
      ...cri,
    },
    facts: someFacts({
      pods: () => [
        { pod, status: RUNNING, source: "file", sourceRef: "a", specHash: "0", nodeName: "n" },
      ],
    }),
    onChange: () => ({ [Symbol.dispose]: () => undefined }),
  });
  await server.listen();
  using({ [Symbol.dispose]: () => server.stop() });
  return { socket, clock, calls, log };
}

async function withRuntime(
  options: Parameters<typeof fakeStreamingServer>[0] = {},
  pod = aPod(),
): Promise<World & { readonly runtime: FakeStreamingServer }> {
  const runtime = using(await fakeStreamingServer(options));
  return { ...(await open(runtime.url, {}, pod)), runtime };
}

const SUCCESS = JSON.stringify({ metadata: {}, status: "Success" });
const FAILURE = JSON.stringify({
  metadata: {},
  status: "Failure",
  message: "command terminated with exit code 3",
  reason: "NonZeroExitCode",
  details: { causes: [{ reason: "ExitCode", message: "3" }] },
});

describe("a WebSocket", () => {
  test("v5 carries input, its end, output and the Status", async () => {
    const { socket, runtime, calls } = await withRuntime();
    const client = using(StreamClient.webSocket(socket, ALL, "v5.channel.k8s.io"));
    const inside = await runtime.next();
    const [error, stdin, stdout, stderr] = await Promise.all(
      ["error", "stdin", "stdout", "stderr"].map((name) => inside.stream(name)),
    );
    expect((await client.head()).text).toContain("Sec-WebSocket-Protocol: v5.channel.k8s.io");
    expect(inside.head[0]).toBe("POST /exec/token HTTP/1.1");
    expect(calls).toEqual([
      { containerId: "c2", cmd: ["cat"], stdin: true, stdout: true, stderr: true, tty: false },
    ]);
    expect(await client.message()).toEqual({ channel: 1, text: "" });
    client.send(0, "hello");
    client.send(255, "\0");
    await stdin?.ended;
    expect(stdin?.text).toBe("hello");
    await stdout?.send("out", true);
    await stderr?.send("err", true);
    await error?.send(FAILURE);
    const seen = [await client.message(), await client.message()];
    expect(seen).toContainEqual({ channel: 1, text: "out" });
    expect(seen).toContainEqual({ channel: 2, text: "err" });
    // As runtimes do: the reset of a stream comes right behind its Status.
    error?.reset();
    inside.socket.end();
    expect(await client.message()).toEqual({ channel: 3, text: FAILURE });
    expect(await client.message()).toEqual({ channel: -1, text: "1000" });
  });

  test("with a terminal has its size and no error output", async () => {
    const { socket, runtime } = await withRuntime();
    const target = `${EXEC}?command=sh&stdin=true&stdout=true&stderr=true&tty=true`;
    const client = using(StreamClient.webSocket(socket, target, "v4.channel.k8s.io"));
    const inside = await runtime.next();
    const resize = await inside.stream("resize");
    await client.head();
    client.send(4, '{"Width":80,"Height":24}');
    client.send(0, "x");
    const stdin = await inside.stream("stdin");
    while (stdin.text === "" || resize.text === "") await new Promise(setImmediate);
    expect(resize.text).toBe('{"Width":80,"Height":24}');
  });

  test("of an older protocol has a text for a failure, in base64 too", async () => {
    const { socket, runtime } = await withRuntime();
    const client = using(StreamClient.webSocket(socket, ALL, "base64.channel.k8s.io"));
    const inside = await runtime.next();
    const [error, stdin, stdout] = await Promise.all(
      ["error", "stdin", "stdout"].map((name) => inside.stream(name)),
    );
    await client.head();
    client.send(0, Buffer.from("in").toString("base64"), true);
    expect(await client.message()).toEqual({ channel: 1, text: "" });
    await stdout?.send("out");
    expect(await client.message()).toEqual({ channel: 1, text: "b3V0" });
    while (stdin?.text === "") await new Promise(setImmediate);
    expect(stdin?.text).toBe("in");
    await error?.send(FAILURE);
    inside.socket.end();
    const text = Buffer.from("command terminated with exit code 3").toString("base64");
    expect(await client.message()).toEqual({ channel: 3, text });
  });

  test("without a protocol works as the first one did, and a success has no message", async () => {
    const { socket, runtime } = await withRuntime();
    const client = using(StreamClient.webSocket(socket, ALL));
    const inside = await runtime.next();
    const error = await inside.stream("error");
    await inside.stream("stderr");
    await client.head();
    await client.message();
    await error.send(SUCCESS);
    inside.socket.end();
    expect(await client.message()).toEqual({ channel: -1, text: "1000" });
  });

  test("of a runtime that is lost ends as a failure, not as a success", async () => {
    const { socket, runtime } = await withRuntime();
    const client = using(StreamClient.webSocket(socket, ALL, "v5.channel.k8s.io"));
    const inside = await runtime.next();
    await inside.stream("stderr");
    await client.head();
    await client.message();
    inside.socket.destroy();
    const { channel, text } = await client.message();
    expect([channel, JSON.parse(text)]).toMatchObject([3, { status: "Failure", code: 500 }]);
  });

  test("has output and Status that a reset of their streams follows at once", async () => {
    const { socket, runtime } = await withRuntime();
    const client = using(StreamClient.webSocket(socket, ALL, "v5.channel.k8s.io"));
    const inside = await runtime.next();
    const [error, stdout] = await Promise.all([inside.stream("error"), inside.stream("stdout")]);
    await inside.stream("stderr");
    await client.head();
    await client.message();
    inside.socket.cork();
    void stdout.send("a");
    void stdout.send("b");
    stdout.reset();
    void error.send(FAILURE);
    error.reset();
    inside.socket.uncork();
    inside.socket.end();
    const seen: string[] = [];
    for (let next = await client.message(); next.channel >= 0; next = await client.message())
      seen.push(`${next.channel} ${next.text}`);
    expect([
      seen
        .slice(0, -1)
        .map((one) => one.slice(2))
        .join(""),
      seen.at(-1),
    ]).toEqual(["ab", `3 ${FAILURE}`]);
  });

  test("sends nothing for a stream that the runtime has ended", async () => {
    const { socket, runtime } = await withRuntime();
    const client = using(StreamClient.webSocket(socket, ALL, "v5.channel.k8s.io"));
    const inside = await runtime.next();
    const stdout = await inside.stream("stdout");
    const stderr = await inside.stream("stderr");
    await client.head();
    await client.message();
    const before = inside.bytes();
    await stdout.send("out", true);
    await stderr.send("err", true);
    await client.message();
    await client.message();
    for (let turn = 0; turn < 20; turn += 1) await new Promise(setImmediate);
    expect(inside.bytes()).toBe(before);
  });

  test("of a client that leaves is closed towards the runtime", async () => {
    const { socket, runtime } = await withRuntime();
    const client = StreamClient.webSocket(socket, ALL, "v5.channel.k8s.io");
    const inside = await runtime.next();
    await client.head();
    client.socket.destroy();
    await inside.closed;
  });

  test("of a client that does not read holds the runtime back", async () => {
    const { socket, runtime } = await withRuntime();
    const client = using(StreamClient.webSocket(socket, ALL, "v5.channel.k8s.io"));
    const inside = await runtime.next();
    const stdout = await inside.stream("stdout");
    await client.head();
    client.socket.pause();
    const part = new Uint8Array(64 * 1024);
    const before = process.memoryUsage.rss();
    let sent = 0;
    const flood = (async () => {
      for (; sent < 1000; sent += 1) await stdout.send(part);
    })();
    for (let last = -1; last !== sent;) {
      last = sent;
      for (let turn = 0; turn < 500; turn += 1) await new Promise(setImmediate);
    }
    // Buffers of sockets, and no more: of 64 MB a few arrive.
    expect(sent).toBeLessThan(250);
    expect(process.memoryUsage.rss() - before).toBeLessThan(60e6);
    client.socket.destroy();
    inside.socket.destroy();
    await flood;
  });

  test("of a runtime that does not read holds the client back", async () => {
    const { socket, runtime } = await withRuntime();
    const client = using(StreamClient.webSocket(socket, ALL, "v5.channel.k8s.io"));
    const inside = await runtime.next();
    await inside.stream("stderr");
    await client.head();
    inside.socket.pause();
    let sent = 0;
    const part = new Uint8Array(64 * 1024);
    while (client.socket.writableLength < 1024 * 1024 && sent < 1000) {
      client.send(0, part);
      sent += 1;
      for (let turn = 0; turn < 5; turn += 1) await new Promise(setImmediate);
    }
    expect(sent).toBeLessThan(250);
  });

  test("with a message that is too large is closed", async () => {
    const { socket, runtime } = await withRuntime();
    const client = using(StreamClient.webSocket(socket, ALL, "v5.channel.k8s.io"));
    const inside = await runtime.next();
    await client.head();
    expect(await client.message()).toEqual({ channel: 1, text: "" });
    client.send(0, new Uint8Array(5 * 1024 * 1024));
    await inside.closed;
  });

  test("tunnels the SPDY of a port-forward as it is", async () => {
    const { socket, runtime, calls } = await withRuntime({ isRaw: true });
    const protocol = "SPDY/3.1+portforward.k8s.io";
    const target = `${FORWARD}?ports=80`;
    const client = using(StreamClient.webSocket(socket, target, protocol));
    const inside = await runtime.next();
    expect((await client.head()).text).toContain(`Sec-WebSocket-Protocol: ${protocol}`);
    expect(calls).toEqual([{ id: "s1", ports: [80] }]);
    expect(inside.head).toContain("X-Stream-Protocol-Version: portforward.k8s.io");
    client.frame(0x82, Buffer.from("abc"));
    while (inside.bytes() < 3) await new Promise(setImmediate);
    inside.socket.write("Xyz");
    expect(await client.message()).toEqual({ channel: "X".charCodeAt(0), text: "yz" });
    inside.socket.end();
    expect(await client.message()).toEqual({ channel: -1, text: "1000" });
  });

  test("of older port-forwards has two channels for each port", async () => {
    const { socket, runtime } = await withRuntime();
    const target = `${FORWARD}?ports=80&ports=81`;
    const client = using(StreamClient.webSocket(socket, target, "v4.channel.k8s.io"));
    const inside = await runtime.next();
    await client.head();
    const seen = [];
    for (let index = 0; index < 4; index += 1) seen.push(await client.message());
    expect(seen.toSorted((a, b) => a.channel - b.channel)).toEqual([
      { channel: 0, text: "P\0" },
      { channel: 1, text: "P\0" },
      { channel: 2, text: "Q\0" },
      { channel: 3, text: "Q\0" },
    ]);
    client.send(0, "request");
    const data = await inside.stream("data");
    while (data.text === "") await new Promise(setImmediate);
    await data.send("answer");
    const channel = data.headers.get("port") === "80" ? 0 : 2;
    expect(await client.message()).toEqual({ channel, text: "answer" });
  });

  test.each([
    ["a port-forward", `${FORWARD}?ports=80`, "data"],
    ["a command", ALL, "stdin"],
  ])("of %s loses nothing that comes with the handshake", async (_what, target, name) => {
    const { socket, runtime } = await withRuntime();
    const client = using(StreamClient.webSocket(socket, target, "v4.channel.k8s.io"));
    client.send(0, "early");
    const stream = await (await runtime.next()).stream(name);
    await client.head();
    while (stream.text.length < 5) await new Promise(setImmediate);
    expect(stream.text).toBe("early");
  });

  test("whose subprotocol is unknown is refused before the runtime is asked", async () => {
    const { socket, calls } = await withRuntime();
    const client = using(StreamClient.webSocket(socket, ALL, "chat"));
    expect(await client.head()).toMatchObject({
      status: "HTTP/1.1 400 Bad Request",
      message: expect.stringContaining("v5.channel.k8s.io") as unknown,
    });
    expect(calls).toEqual([]);
  });

  test("is refused with the runtime's words if the runtime refuses", async () => {
    const { socket } = await withRuntime({ refuses: "token expired" });
    const client = using(StreamClient.webSocket(socket, ALL, "v5.channel.k8s.io"));
    expect(await client.head()).toMatchObject({
      status: "HTTP/1.1 500 Internal Server Error",
      message: "the container runtime refused the stream: token expired",
    });
  });
});

describe("SPDY", () => {
  test("passes through as it is, with the runtime's answer", async () => {
    const { socket, runtime } = await withRuntime({ isRaw: true });
    const client = using(StreamClient.spdy(socket, ALL));
    const inside = await runtime.next();
    const { text } = await client.head();
    expect(text).toContain("101 Switching Protocols");
    expect(text).toContain("X-Stream-Protocol-Version: v4.channel.k8s.io");
    expect(inside.head).toContain("X-Stream-Protocol-Version: v4.channel.k8s.io");
    client.socket.write("abc");
    while (inside.bytes() < 3) await new Promise(setImmediate);
    inside.socket.end("xyz");
    expect(await client.bytes(3)).toBe("xyz");
    await client.closed;
  });

  test("ends towards the runtime when the client ends, also if the runtime does not care", async () => {
    const { socket, runtime, clock } = await withRuntime({ isRaw: true, ignoresEnd: true });
    const client = using(StreamClient.spdy(socket, ALL));
    const inside = await runtime.next();
    await client.head();
    const seen = new Promise<void>((resolve) => void inside.socket.once("end", () => resolve()));
    client.socket.end();
    await seen;
    for (let turn = 0; turn < 20; turn += 1) await new Promise(setImmediate);
    await clock.advance(10_000);
    await client.closed;
  });

  test("of a client that does not read holds the runtime back", async () => {
    const { socket, runtime } = await withRuntime({ isRaw: true });
    const client = using(StreamClient.spdy(socket, ALL));
    const inside = await runtime.next();
    await client.head();
    client.socket.pause();
    let sent = 0;
    const part = new Uint8Array(64 * 1024);
    while (inside.socket.writableLength < 1024 * 1024 && sent < 1000) {
      inside.socket.write(part);
      sent += 1;
      for (let turn = 0; turn < 5; turn += 1) await new Promise(setImmediate);
    }
    expect(sent).toBeLessThan(250);
  });

  test("attaches with the terminal that the container has", async () => {
    const pod = aPod({ containers: [aContainer("a", { tty: true, stdin: true })] });
    const { socket, runtime, calls } = await withRuntime({ isRaw: true }, pod);
    const target = "/api/v1/namespaces/default/pods/web/attach?stdin=1&stdout=1&stderr=1";
    using(StreamClient.spdy(socket, target));
    await runtime.next();
    expect(calls).toEqual([
      { containerId: "c2", stdin: true, stdout: true, stderr: false, tty: true },
    ]);
  });

  test("is reached under the kubelet's path too", async () => {
    const { socket, runtime, calls } = await withRuntime({ isRaw: true });
    using(StreamClient.spdy(socket, "/exec/default/web/a?command=id&output=1"));
    await runtime.next();
    expect(calls).toEqual([
      { containerId: "c2", cmd: ["id"], stdin: false, stdout: true, stderr: false, tty: false },
    ]);
  });
});

describe("a stream is refused", () => {
  test.each([
    ["of an unknown pod", EXEC.replace("web", "db"), "404 Not Found", 'pods "db" not found'],
    ["of an unknown container", `${ALL}&container=x`, "400 Bad Request", "not valid for pod web"],
    ["without a command", `${EXEC}?stdout=1`, "400 Bad Request", "at least one command"],
    ["of another UID", "/exec/default/web/u-2/a?command=id&output=1", "404 Not Found", "not found"],
    ["of an unknown path", "/api/v1/namespaces/default/pods/web/eject", "404", "could not find"],
  ])("%s", async (_sentence, target, status, message) => {
    const { socket, calls } = await open("http://127.0.0.1:1/");
    const full =
      target.includes("?") || target.endsWith("eject") ? target : `${target}?stdout=1&command=id`;
    const client = using(StreamClient.spdy(socket, full));
    const head = await client.head();
    expect(head.status).toContain(status);
    expect(head.message).toContain(message);
    expect(calls).toEqual([]);
  });

  test("of a container or pod that does not run", async () => {
    const { socket } = await open("http://127.0.0.1:1/", {
      listContainers: () => Promise.resolve([]),
      listPodSandbox: () => Promise.resolve([]),
    });
    const client = using(StreamClient.spdy(socket, ALL));
    expect((await client.head()).message).toBe('container not found ("a")');
    const forward = using(StreamClient.spdy(socket, FORWARD));
    expect((await forward.head()).message).toBe('pod "web" is not running: its phase is Running');
  });

  test("if the runtime's server is on another machine", async () => {
    const { socket } = await open("http://10.1.2.3:80/exec/t");
    const client = using(StreamClient.spdy(socket, ALL));
    expect(await client.head()).toMatchObject({
      status: "HTTP/1.1 500 Internal Server Error",
      message: expect.stringContaining("loopback") as unknown,
    });
  });

  test("if nothing listens there", async () => {
    const { socket } = await open("http://127.0.0.1:1/exec/t");
    const client = using(StreamClient.spdy(socket, ALL));
    expect((await client.head()).message).toContain("127.0.0.1:1 cannot be used");
  });

  test("if a page of another site asks for it", async () => {
    const { socket, calls } = await open("http://127.0.0.1:1/");
    const client = using(StreamClient.spdy(socket, ALL, { Origin: "http://evil.example" }));
    expect((await client.head()).status).toContain("403");
    expect(calls).toEqual([]);
  });

  test("without an upgrade", async () => {
    const { socket } = await open("http://127.0.0.1:1/");
    for (const path of [ALL, "/exec/default/web/a"]) {
      const response = await fetch(`http://agent${path}`, { unix: socket, method: "POST" });
      expect([response.status, await response.json()]).toMatchObject([
        400,
        { kind: "Status", message: expect.stringContaining("Upgrade request required") as unknown },
      ]);
    }
  });

  test("if the user has too many, and served when one has ended", async () => {
    const { socket, runtime } = await withRuntime({ isRaw: true });
    const clients = Array.from({ length: MAX_OF_USER }, () =>
      using(StreamClient.spdy(socket, ALL)),
    );
    for (const client of clients) expect((await client.head()).status).toContain("101");
    const refused = await using(StreamClient.spdy(socket, ALL)).head();
    expect(refused).toMatchObject({
      status: "HTTP/1.1 429 Too Many Requests",
      message: expect.stringContaining('user "root" has 128') as unknown,
    });
    clients[0]?.socket.end();
    await clients[0]?.closed;
    for (let turn = 0; turn < 20; turn += 1) await new Promise(setImmediate);
    expect((await using(StreamClient.spdy(socket, ALL)).head()).status).toContain("101");
    await runtime.next();
  });
});
