import { describe, expect, test } from "bun:test";

import type { NewEvent } from "../../../src/api/v1/events.ts";
import type { CommandOutcome } from "../../../src/command/response.ts";
import type { CommandOrder } from "../../../src/command/run-verb.ts";
import {
  TunnelCommands,
  type TunnelCommandsOptions,
} from "../../../src/command/tunnel-commands.ts";
import { ed25519Key, verifyEd25519 } from "../../../src/host/crypto/ed25519.ts";
import { tunnelKey } from "../../../src/host/tunnel/tunnel-cipher.ts";
import { systemRandom } from "../../../src/lib/system-clock.ts";
import type { Logger } from "../../../src/lib/logger.ts";
import { handshakeMessage } from "../../../src/protocol/tunnel/handshake.ts";
import { aDesiredPod, aPod } from "../../fakes/a-pod.ts";
import { VirtualClock } from "../../fakes/fake-clock.ts";
import { ulid } from "../../unit/upstream/a-command.ts";

const NODE_KEY = ed25519Key(new Uint8Array(32).fill(7));
const OPERATOR = tunnelKey(systemRandom);
const KEY = OPERATOR.publicKey.toBase64();

class World {
  readonly events: NewEvent[] = [];
  readonly answers: Readonly<Record<string, unknown>>[] = [];
  /** Of the sessions that run: ends one with this reason. */
  readonly ends: ((reason: string) => void)[] = [];
  readonly commands: TunnelCommands;
  topicChanges = 0;
  #count = 0;

  constructor(options: Partial<TunnelCommandsOptions> = {}) {
    const log: Logger = { debug: noop, info: noop, warn: noop, error: noop, with: () => log };
    this.commands = new TunnelCommands({
      clock: new VirtualClock(),
      log,
      random: systemRandom,
      serve: () => {
        const { promise, resolve } = Promise.withResolvers<{
          reason: string;
          received: number;
          sent: number;
        }>();
        const end = (reason: string): void => resolve({ reason, received: 1, sent: 2 });
        this.ends.push(end);
        return { ended: promise, receive: noop, resumed: noop, close: end };
      },
      keys: NODE_KEY,
      node: "pi-1",
      topicRoot: "agent/v1",
      isAllowed: true,
      podOf: (namespace, name) =>
        `${namespace}/${name}` === "default/web" ? aDesiredPod(aPod()) : undefined,
      publish: noop,
      onTopics: () => (this.topicChanges += 1),
      record: (event) => void this.events.push(event),
      ...options,
    });
  }

  run(args: Readonly<Record<string, unknown>>, by = ["0123456789abcdef"]): Promise<CommandOutcome> {
    this.#count += 1;
    const order: CommandOrder = {
      command: { id: ulid(this.#count), verb: "exec", target: {}, args, ttl: 60 },
      signed: by.length > 0,
      by,
      statusOnly: false,
      signal: new AbortController().signal,
      progress: (data) => void this.answers.push(data),
      release: noop,
    };
    return Promise.resolve(this.commands.runs.exec(order));
  }
}

function noop(): void {
  // Nothing to see.
}

describe("a session", () => {
  test.each<[string, Partial<TunnelCommandsOptions>, object, readonly string[], number]>([
    ["on a node that does not allow it", { isAllowed: false }, {}, ["k"], 403],
    ["without a signature", {}, {}, [], 401],
    ["of an agent that serves none", { serve: undefined }, {}, ["k"], 501],
    ["of an agent without a key", { keys: undefined }, {}, ["k"], 501],
    ["with a pod that is not there", {}, { pod: "other" }, ["k"], 404],
    ["with a key of zeros", {}, { key: Buffer.alloc(32).toString("base64") }, ["k"], 400],
    ["with a short key", {}, { key: "YWJj" }, ["k"], 400],
    ["with a word too many", {}, { more: 1 }, ["k"], 400],
  ])("%s is refused", async (_, options, args, by, code) => {
    const world = new World(options);
    const outcome = await world.run({ pod: "web", key: KEY, ...args }, [...by]);
    expect(outcome.code).toBe(code);
    expect(world.answers).toEqual([]);
    expect(world.events).toEqual([]);
  });

  test("is answered with keys that the node has signed, and is two events with who signed it", async () => {
    const world = new World();
    const outcome = world.run({ pod: "web", key: KEY });
    await Promise.resolve();
    const [answer] = world.answers;
    const nodeKey = Uint8Array.fromBase64(String(answer?.["key"]));
    const sig = Uint8Array.fromBase64(String(answer?.["sig"]));
    const facts = { node: "pi-1", id: ulid(1), operatorKey: OPERATOR.publicKey, nodeKey };
    expect(verifyEd25519(NODE_KEY.publicKey, handshakeMessage(facts), sig)).toBe(true);
    const topic = `agent/v1/node/pi-1/session/${ulid(1).toLowerCase()}`;
    expect(world.commands.topics()).toEqual({ wanted: [topic], left: [] });
    world.ends[0]?.("the operator has left");
    expect(await outcome).toEqual({
      code: 200,
      data: { reason: "the operator has left", received: 1, sent: 2 },
    });
    expect(world.commands.topics()).toEqual({ wanted: [], left: [topic] });
    expect(world.topicChanges).toBe(2);
    expect(world.events.map(({ reason, message }) => [reason, message])).toEqual([
      ["SessionStarted", "a session over the broker, signed by key 0123456789abcdef"],
      ["SessionEnded", "the session of key 0123456789abcdef has ended: the operator has left"],
    ]);
  });

  test("is one of ten at most", async () => {
    const world = new World();
    const running = Array.from({ length: 10 }, () => world.run({ pod: "web", key: KEY }));
    expect((await world.run({ pod: "web", key: KEY })).code).toBe(429);
    world.ends[3]?.("it is over");
    await running[3];
    void world.run({ pod: "web", key: KEY });
    expect(world.answers).toHaveLength(11);
  });
});
