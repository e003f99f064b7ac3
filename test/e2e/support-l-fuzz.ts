// Random input for a whole agent: a broker that sends mutated packets, documents and commands, and servers that answer
// probes with mutated bytes. Everything follows from a seed.

import { createServer, type AddressInfo, type Server, type Socket } from "node:net";

import { fixturesIn } from "../unit/api/fixture-files.ts";
import { mutatedText, mutatedValue } from "../unit/api/hostile-values.ts";
import { readDocuments } from "../../src/api/yaml/yaml-documents.ts";
import type { Mulberry32 } from "../fakes/mulberry32.ts";

const TEXTS = fixturesIn("valid").map(({ text }) => text);
const VALUES = TEXTS.flatMap((text) => readDocuments(text).documents.map(({ value }) => value));

/** One document of a manifest. */
export function manifest(dice: Mulberry32): string {
  if (dice.chance(0.5)) return mutatedText(dice.pick(TEXTS), dice);
  return JSON.stringify(mutatedValue(dice.pick(VALUES), dice)) ?? "null";
}

function desiredState(node: string, dice: Mulberry32): Buffer {
  const generation = 1 + dice.below(1_000_000);
  const resources = Array.from({ length: dice.below(4) }, () => dice.pick(VALUES));
  const document = {
    apiVersion: "agent/v1",
    kind: "DesiredState",
    target: { node },
    generation,
    policy: { minReadySeconds: 0 },
    groups: [{ name: "kiosks", priority: 1 }],
    labels: { site: "berlin" },
    resources,
  };
  return payload(document, dice);
}

const VERBS = ["ping", "get", "describe", "explain", "logs", "restart", "hold", "release", "pull"];

function command(node: string, dice: Mulberry32): Buffer {
  const id = `01JD${String(dice.below(1e9)).padStart(22, "0")}`;
  const args = { pod: "probed-0", namespace: "default", container: "a", tail: 10, kind: "pods" };
  const verb = dice.pick(VERBS);
  return payload({ id, verb, target: { node }, session: dice.below(9), args, ttl: 60 }, dice);
}

/** As it is, with other values in it, or with another text. */
function payload(value: object, dice: Mulberry32): Buffer {
  const text = JSON.stringify(dice.chance(0.8) ? mutatedValue(value, dice) : value) ?? "null";
  return Buffer.from(dice.chance(0.3) ? mutatedText(text, dice) : text);
}

/** Some bytes other than they were, or more of them, or fewer. */
function mutatedBytes(bytes: Buffer, dice: Mulberry32): Buffer {
  const copy = Buffer.from(bytes);
  for (let times = 1 + dice.below(4); times > 0 && copy.length > 0; times -= 1)
    copy[dice.below(copy.length)] = dice.below(256);
  if (dice.chance(0.2)) return copy.subarray(0, dice.below(copy.length + 1));
  return dice.chance(0.2)
    ? Buffer.concat([copy, Buffer.from(dice.hex(dice.below(40)), "hex")])
    : copy;
}

function publish(topic: string, body: Buffer, retain: boolean): Buffer {
  const name = Buffer.from(topic);
  const head = Buffer.from([name.length >> 8, name.length & 0xff, ...name, 0]);
  return packet(0x30 | (retain ? 1 : 0), Buffer.concat([head, body]));
}

function packet(type: number, body: Buffer): Buffer {
  const length: number[] = [];
  for (let left = body.length; ; left >>= 7) {
    length.push(left < 128 ? left : (left & 0x7f) | 0x80);
    if (left < 128) break;
  }
  return Buffer.concat([Buffer.from([type, ...length]), body]);
}

/** Counts what was sent, by kind. */
export type Counts = Record<"manifests" | "documents" | "commands" | "packets" | "answers", number>;

export interface FuzzOptions {
  readonly dice: Mulberry32;
  readonly counts: Counts;
  /** Most inputs of each kind. */
  readonly most: Counts;
}

class FuzzServer implements Disposable {
  readonly port: number;
  protected readonly sockets = new Set<Socket>();
  readonly #server: Server;

  protected constructor(server: Server) {
    this.#server = server;
    this.port = (server.address() as AddressInfo).port;
  }

  protected static async listening(host: string, port = 0): Promise<Server> {
    const server = createServer();
    await new Promise<void>((resolve) => void server.listen(port, host, resolve));
    return server;
  }

  protected take(socket: Socket): void {
    this.sockets.add(socket);
    socket.on("error", () => undefined);
    socket.on("close", () => this.sockets.delete(socket));
  }

  /** Resolves when the port is free. */
  async close(): Promise<void> {
    for (const socket of this.sockets) socket.destroy();
    await new Promise((resolve) => this.#server.close(resolve));
  }

  [Symbol.dispose](): void {
    for (const socket of this.sockets) socket.destroy();
    this.#server.close();
  }
}

/** Packets at once, and how long the agent takes to allow as many again: 200 a second. */
const BATCH = 20;
const PAUSE_MS = 105;
/** Of the packets on a rough connection. A broken one mostly ends the connection. */
const BROKEN = 0.005;
/** Ends the session like a close. */
const DISCONNECT = 14;

/** Answers CONNECT and SUBSCRIBE, and then sends mutated input until the agent ends the connection. */
export class FuzzBroker extends FuzzServer {
  readonly #node: string;
  readonly #options: FuzzOptions;

  private constructor(server: Server, node: string, options: FuzzOptions) {
    super(server);
    this.#node = node;
    this.#options = options;
    server.on("connection", (socket) => this.#serve(socket));
  }

  static async start(node: string, options: FuzzOptions): Promise<FuzzBroker> {
    return new FuzzBroker(await FuzzServer.listening("127.0.0.1"), node, options);
  }

  #serve(socket: Socket): void {
    this.take(socket);
    socket.on("data", (bytes: Buffer) => {
      const type = (bytes[0] ?? 0) >> 4;
      if (type === 1) socket.write(Buffer.from([0x20, 3, 0, 0, 0]));
      if (type !== 8) return;
      // Packet id, no properties, more codes than any SUBSCRIBE has filters is an error: one filter in each.
      socket.write(packet(0x90, Buffer.from([bytes[2] ?? 0, bytes[3] ?? 0, 0, ...suback(bytes)])));
      void this.#flood(socket);
    });
  }

  async #flood(socket: Socket): Promise<void> {
    const { dice, counts, most } = this.#options;
    const isRough = counts.packets < most.packets && dice.chance(0.7);
    while (!socket.destroyed) {
      const chunk = Array.from({ length: BATCH }, () => this.#next(isRough));
      if (chunk.every((one) => one.length === 0)) break;
      socket.write(Buffer.concat(chunk));
      await Bun.sleep(PAUSE_MS);
    }
    // Not a close: after those the agent connects twice a minute only, as another device may have its name.
    socket.write(Buffer.from([0, 0]));
  }

  #next(isRough: boolean): Buffer {
    const { dice, counts, most } = this.#options;
    const isDocument = dice.chance(0.5);
    const kind = isRough ? "packets" : isDocument ? "documents" : "commands";
    if (counts[kind] >= most[kind]) return Buffer.alloc(0);
    counts[kind] += 1;
    const leaf = isDocument ? dice.pick(["desired", "desired", "../../trust"]) : "command";
    const topic = leaf.endsWith("trust") ? "agent/v1/trust" : `agent/v1/node/${this.#node}/${leaf}`;
    const body = isDocument ? desiredState(this.#node, dice) : command(this.#node, dice);
    const whole = publish(topic, body, isDocument);
    if (!isRough || !dice.chance(BROKEN)) return whole;
    const broken = mutatedBytes(whole, dice);
    return (broken[0] ?? 0) >> 4 === DISCONNECT ? whole : broken;
  }
}

/** One code for each filter of a SUBSCRIBE of MQTT 5. */
function suback(bytes: Buffer): readonly number[] {
  let at = 1;
  while (((bytes[at] ?? 0) & 0x80) !== 0) at += 1;
  const end =
    at + 1 + bytes.subarray(1, at + 1).reduce((sum, byte, n) => sum + (byte & 0x7f) * 128 ** n, 0);
  at += 3;
  at += 1 + (bytes[at] ?? 0);
  let filters = 0;
  for (; at + 2 < end; filters += 1) at += 3 + bytes.readUInt16BE(at);
  return Array.from({ length: filters }, () => 1);
}

const HTTP = Buffer.from(
  "HTTP/1.1 200 OK\r\nContent-Type: text/plain\r\nContent-Length: 12\r\nLocation: /again\r\n\r\nhello, world",
);
/** SETTINGS, HEADERS with ":status: 200", and DATA with SERVING. */
const GRPC = Buffer.from(
  "000000040000000000" + "00000101040000000188" + "00000700010000000100000000020801",
  "hex",
);

/** Answers whatever asks with a mutated HTTP or gRPC answer. */
export class FuzzAnswers extends FuzzServer {
  private constructor(server: Server, { dice, counts }: FuzzOptions) {
    super(server);
    server.on("connection", (socket) => {
      this.take(socket);
      socket.once("data", (asked: Buffer) => {
        counts.answers += 1;
        const answer = asked.toString("latin1").startsWith("PRI") ? GRPC : HTTP;
        const huge = dice.chance(0.02) ? "x".repeat(dice.below(1_000_000)) : "";
        const bytes = Buffer.concat([mutatedBytes(answer, dice), Buffer.from(huge)]);
        if (dice.chance(0.8)) socket.end(bytes);
        else socket.write(bytes);
      });
    });
  }

  static async listen(host: string, options: FuzzOptions): Promise<FuzzAnswers> {
    return new FuzzAnswers(await FuzzServer.listening(host), options);
  }
}
