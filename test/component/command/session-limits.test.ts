// How a session ends by itself, over a line of its own and in front of an API on a real socket, on virtual time.

import { afterEach, beforeEach, describe, expect, test } from "bun:test";
import { mkdtempSync, rmSync } from "node:fs";
import { createServer, type Socket } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";

import type { CommandOutcome } from "../../../src/command/response.ts";
import { TunnelCipher, tunnelKey } from "../../../src/host/tunnel/tunnel-cipher.ts";
import { Tunnel } from "../../../src/host/tunnel/tunnel.ts";
import type { TunnelStream } from "../../../src/host/tunnel/tunnel-stream.ts";
import { systemRandom } from "../../../src/lib/system-clock.ts";
import { tunnelName } from "../../../src/protocol/tunnel/handshake.ts";
import { VirtualClock } from "../../fakes/fake-clock.ts";
import { SessionNode } from "../../fakes/session-node.ts";
import { eventually } from "../../harness/eventually.ts";
import { ulid } from "../../unit/upstream/a-command.ts";

const MINUTE = 60_000;
const IDLE_MS = 15 * MINUTE;
const TOTAL_MS = 240 * MINUTE;
/** What the line takes one way. */
const LINE_MS = 20;
const IDLE = "nothing was sent for 15m";
const TOTAL = "a session lasts at most 4h";
const POD = "/api/v1/namespaces/default/pods/web";
const EXEC = `POST ${POD}/exec?command=cat HTTP/1.1\r\nHost: x\r\n\r\n`;
const LOG = `GET ${POD}/log?follow=true HTTP/1.1\r\nHost: x\r\n\r\n`;
const SWITCHED = "HTTP/1.1 101 Switching Protocols\r\n\r\n";
const PART = new Uint8Array(64 * 1024).fill(65);

/** What the API of the node does with a request. */
type Api = "Echoes" | "Takes" | "IsSilent" | "NeverReads" | "Floods";

interface Operator {
  readonly tunnel: Tunnel;
  /** How each side has ended. */
  readonly ends: { node?: CommandOutcome; operator?: string };
}

interface OpenStream extends Operator {
  readonly stream: TunnelStream;
  /** What the operator has received. */
  readonly seen: { bytes: number; isClosed: boolean };
}

/** Both sides of a line that takes a while. */
class Stage implements Disposable {
  readonly clock = new VirtualClock();
  readonly node: SessionNode;
  /** Connections to the API of the node that are open. */
  readonly open = new Set<Socket>();
  /** What the API of the node does with each request. */
  api: Api = "Echoes";
  /** Bytes that an API has taken that answers nothing. */
  taken = 0;
  /** Whether a packet of the node is lost. */
  loses: (packet: Uint8Array) => boolean = () => false;
  #isCut = false;
  #count = 0;
  readonly #operators = new Map<string, Tunnel>();

  readonly #directory = mkdtempSync(join(tmpdir(), "agent-node-"));
  readonly #api = join(this.#directory, "api.sock");
  readonly #server = createServer({ allowHalfOpen: true }, (socket) => {
    this.open.add(socket);
    socket.on("error", () => undefined);
    socket.once("close", () => this.open.delete(socket));
    this.#serve(socket);
  });

  private constructor() {
    this.node = new SessionNode({
      clock: this.clock,
      api: this.#api,
      publish: (topic, packet) => this.#toOperator(topic, packet),
    });
  }

  static async start(): Promise<Stage> {
    const stage = new Stage();
    const listening = Promise.withResolvers<void>();
    stage.#server.listen(stage.#api, listening.resolve);
    await listening.promise;
    return stage;
  }

  [Symbol.dispose](): void {
    for (const socket of this.open) socket.destroy();
    this.#server.close();
    rmSync(this.#directory, { recursive: true });
  }

  /** Resolves to undefined when the node has refused it. */
  async begin(): Promise<Operator | undefined> {
    this.#count += 1;
    const id = ulid(this.#count);
    const own = tunnelKey(systemRandom);
    const answered = Promise.withResolvers<Uint8Array | undefined>();
    const outcome = Promise.resolve(
      this.node.commands.runs.exec({
        command: {
          id,
          verb: "exec",
          target: {},
          args: { pod: "web", key: own.publicKey.toBase64() },
          ttl: 60,
        },
        signed: true,
        by: ["0123456789abcdef"],
        statusOnly: false,
        signal: new AbortController().signal,
        progress: ({ key }) => answered.resolve(Uint8Array.fromBase64(String(key))),
        release: () => undefined,
      }),
    );
    void outcome.then(() => answered.resolve(undefined));
    const nodeKey = await answered.promise;
    if (nodeKey === undefined) return undefined;
    const facts = { node: "pi-1", id, operatorKey: own.publicKey, nodeKey };
    const cipher = TunnelCipher.agree("operator", own, facts);
    if (cipher === undefined) throw new Error("no keys");
    const topic = `agent/v1/node/pi-1/session/${tunnelName(id)}`;
    const { clock, node } = this;
    const send = (payload: Uint8Array): void =>
      void clock.after(LINE_MS, () =>
        this.#isCut ? undefined : node.commands.receive({ topic, payload, qos: 0, retain: false }),
      );
    const tunnel = new Tunnel({ clock, cipher, side: "operator", send });
    this.#operators.set(`agent/v1/node/pi-1/response/${tunnelName(id)}`, tunnel);
    const operator: Operator = { tunnel, ends: {} };
    void outcome.then((end) => (operator.ends.node = end));
    void tunnel.ended.then(({ reason }) => (operator.ends.operator = reason));
    return operator;
  }

  /** A session with one stream, on which `request` was sent. */
  async beginStream(request: string): Promise<OpenStream> {
    const operator = await this.begin();
    if (operator === undefined) throw new Error("the node has refused");
    const stream = await operator.tunnel.open();
    const seen = { bytes: 0, isClosed: false };
    stream.receive({
      data: (data) => {
        seen.bytes += data.length;
        return Promise.resolve();
      },
      ended: () => undefined,
      closed: () => (seen.isClosed = true),
    });
    void stream.write(new TextEncoder().encode(request));
    await this.until("the API is asked", () => this.open.size > 0);
    return { ...operator, stream, seen };
  }

  /** Time passes as slowly as real sockets need it. */
  until(what: string, look: () => boolean): Promise<true> {
    return eventually(
      what,
      async () => {
        await this.clock.advance(5);
        return look();
      },
      { interval: 1 },
    );
  }

  /** The node has closed all its connections to the API. */
  isNothingOpen(): boolean {
    // Fails where the node has closed its side, also if this side reads nothing.
    for (const socket of this.open) socket.write("x");
    return this.open.size === 0;
  }

  /** Nothing is left on the node of its sessions, and no timer on either side. */
  async expectNothingLeft(reason: string): Promise<void> {
    await this.until("no connection is left", () => this.isNothingOpen());
    expect(this.node.commands.topics().wanted).toEqual([]);
    expect(this.clock.pending).toBe(0);
    expect(this.node.events.map((event) => [event.reason, event.message])).toEqual([
      ["SessionStarted", "a session over the broker, signed by key 0123456789abcdef"],
      ["SessionEnded", `the session of key 0123456789abcdef has ended: ${reason}`],
    ]);
  }

  /** Nothing goes either way any more. */
  cut(): void {
    this.#isCut = true;
    this.loses = () => true;
  }

  #toOperator(topic: string, packet: Uint8Array): void {
    if (this.loses(packet)) return;
    this.clock.after(LINE_MS, () => this.#operators.get(topic)?.receive(packet));
  }

  #serve(socket: Socket): void {
    switch (this.api) {
      case "IsSilent":
        return void socket.resume();
      case "NeverReads":
        socket.write(SWITCHED);
        return void socket.pause();
      case "Echoes":
        return void socket.once("data", () => {
          socket.write(SWITCHED);
          socket.on("data", (data) => void socket.write(data));
        });
      case "Takes":
        return void socket.once("data", () => {
          socket.write(SWITCHED);
          socket.on("data", ({ length }) => (this.taken += length));
        });
      case "Floods":
        socket.resume();
        return flood(socket);
    }
  }
}

function flood(socket: Socket): void {
  while (!socket.destroyed && socket.write(PART));
  socket.once("drain", () => flood(socket));
}

let stage: Stage;

beforeEach(async () => {
  stage = await Stage.start();
});

afterEach(() => stage[Symbol.dispose]());

describe("a session in which nothing is sent", () => {
  test("is ended by the node, which tells the operator why and keeps nothing of it", async () => {
    const { ends, seen } = await stage.beginStream(EXEC);
    await stage.until("the API answers", () => seen.bytes > 0);
    await stage.clock.advance(IDLE_MS - MINUTE);
    expect({ ends, open: stage.open.size }).toEqual({ ends: {}, open: 1 });
    // The node waits for no more than the operator's confirmation.
    await stage.clock.advance(MINUTE + 1_000);
    expect(ends).toMatchObject({ node: { code: 200, data: { reason: IDLE } }, operator: IDLE });
    expect(seen.isClosed).toBe(true);
    await stage.expectNothingLeft(IDLE);
  });

  test.each<Api>(["NeverReads", "IsSilent"])(
    "and whose API %s leaves no connection to it",
    async (api) => {
      stage.api = api;
      const { stream, ends } = await stage.beginStream(EXEC);
      for (let part = 0; part < 40; part += 1) void stream.write(PART);
      await stage.clock.advance(IDLE_MS + MINUTE);
      expect(ends.operator).toBe(IDLE);
      await stage.expectNothingLeft(IDLE);
    },
  );

  test("whose operator takes nothing more is one too", async () => {
    stage.api = "Floods";
    const { stream, ends } = await stage.beginStream(LOG);
    stream.receive({ data: () => new Promise(() => undefined), ended: noop, closed: noop });
    await stage.clock.advance(IDLE_MS + MINUTE);
    expect(ends.operator).toBe(IDLE);
    await stage.expectNothingLeft(IDLE);
  });

  test("tells why though the line loses it at first", async () => {
    const { ends, seen } = await stage.beginStream(EXEC);
    await stage.until("the API answers", () => seen.bytes > 0);
    await stage.clock.advance(IDLE_MS - MINUTE);
    let lost = 0;
    // One that only confirms is shorter.
    stage.loses = ({ length }) => length > 50 && lost < 2 && (lost += 1) > 0;
    await stage.clock.advance(MINUTE + 100);
    // Of what it had nothing waits for the operator's confirmation.
    await stage.until("no connection is left", () => stage.isNothingOpen());
    expect({ lost, ends }).toEqual({ lost: 1, ends: {} });
    await stage.clock.advance(MINUTE);
    expect({ lost, ends }).toMatchObject({ lost: 2, ends: { operator: IDLE } });
    await stage.expectNothingLeft(IDLE);
  });

  test("gives its place to another one", async () => {
    for (let number = 0; number < 10; number += 1) expect(await stage.begin()).toBeDefined();
    expect(await stage.begin()).toBeUndefined();
    await stage.clock.advance(IDLE_MS + MINUTE);
    expect(stage.node.commands.topics().wanted).toEqual([]);
    expect(await stage.begin()).toBeDefined();
  });
});

describe("a session in which something is sent", () => {
  test.each<[string, Api]>([
    ["operator", "Takes"],
    ["node", "Echoes"],
  ])("now and then by the %s goes on", async (side, api) => {
    stage.api = api;
    const { stream, ends, seen } = await stage.beginStream(EXEC);
    await stage.until("the API answers", () => seen.bytes > 0);
    for (let round = 0; round < 9; round += 1) {
      await stage.clock.advance(14 * MINUTE);
      const before = seen.bytes + stage.taken;
      if (side === "operator") void stream.write(PART.subarray(0, 1));
      else for (const socket of stage.open) socket.write("x");
      await stage.until("it arrives", () => seen.bytes + stage.taken > before);
    }
    expect({ ends, open: stage.open.size }).toEqual({ ends: {}, open: 1 });
  });

  test("ends after its longest time all the same", async () => {
    const { stream, ends, seen } = await stage.beginStream(EXEC);
    await stage.until("the API answers", () => seen.bytes > 0);
    for (let passed = 0; passed < TOTAL_MS - 10 * MINUTE; passed += 10 * MINUTE) {
      await stage.clock.advance(10 * MINUTE);
      void stream.write(PART.subarray(0, 1));
    }
    expect({ ends, open: stage.open.size }).toEqual({ ends: {}, open: 1 });
    await stage.clock.advance(11 * MINUTE);
    expect(ends).toMatchObject({ node: { code: 200, data: { reason: TOTAL } }, operator: TOTAL });
    expect(seen.isClosed).toBe(true);
    await stage.expectNothingLeft(TOTAL);
  });

  test("without a pause is told why it ends", async () => {
    const { tunnel, stream, ends } = await stage.beginStream(EXEC);
    for (let passed = 0; passed < TOTAL_MS - 10 * MINUTE; passed += 10 * MINUTE) {
      void stream.write(PART.subarray(0, 1));
      await stage.clock.advance(10 * MINUTE);
    }
    void stream.write(PART.subarray(0, 1));
    await stage.clock.advance(9.9 * MINUTE);
    stage.api = "Floods";
    const flooded = await tunnel.open();
    let bytes = 0;
    const data = ({ length }: Uint8Array): Promise<void> => {
      bytes += length;
      return Promise.resolve();
    };
    flooded.receive({ data, ended: noop, closed: noop });
    void flooded.write(new TextEncoder().encode(LOG));
    await stage.until("much has come", () => bytes > 1_000_000);
    expect(ends).toEqual({});
    while (ends.node === undefined) await stage.clock.advance(100);
    await stage.clock.advance(MINUTE / 4);
    expect(ends).toMatchObject({ node: { code: 200, data: { reason: TOTAL } }, operator: TOTAL });
    await stage.expectNothingLeft(TOTAL);
  });
});

describe("a session whose operator is gone", () => {
  test.each<[string, string, Api]>([
    ["with a command", EXEC, "Echoes"],
    ["with a log that is followed", LOG, "Floods"],
    ["with a command that reads nothing", EXEC, "NeverReads"],
  ])("%s leaves nothing on the node", async (_, request, api) => {
    stage.api = api;
    const { tunnel, stream, ends } = await stage.beginStream(request);
    if (api === "NeverReads") for (let part = 0; part < 40; part += 1) void stream.write(PART);
    await stage.clock.advance(1_000);
    stage.cut();
    await stage.clock.advance(2 * MINUTE);
    tunnel.close("gone");
    const reason = "the other side was not heard for 90 s";
    expect(ends.node).toMatchObject({ code: 200, data: { reason } });
    await stage.expectNothingLeft(reason);
  });
});

function noop(): void {
  // Nothing to do.
}
