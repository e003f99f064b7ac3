// `agent fleet logs` on one side, what serves sessions on the other, a broker in memory between them and an API behind.

import { afterEach, beforeEach, describe, expect, test } from "bun:test";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";

import type { Terminal } from "../../../src/cli/process-io.ts";
import { runCli } from "../../../src/cli/program.ts";
import { PLAIN } from "../../../src/cli/terminal/palette.ts";
import type { CommandOutcome } from "../../../src/command/response.ts";
import { fleetVerbsOf } from "../../../src/fleet/fleet-verbs.ts";
import { makeKeyPair } from "../../../src/fleet/trust/signing-keys.ts";
import { systemClock, systemRandom } from "../../../src/lib/system-clock.ts";
import type { MqttMessage, MqttSession } from "../../../src/mqtt/mqtt-link.ts";
import { keysMessage, writeKeys } from "../../../src/protocol/node-keys.ts";
import { FakeBroker } from "../../fakes/fake-mqtt-broker.ts";
import { SESSION_NODE_KEY, SessionNode } from "../../fakes/session-node.ts";
import { eventually } from "../../harness/eventually.ts";

const NODE = "agent/v1/node/pi-1";
const POD = "/api/v1/namespaces/default/pods/web";
const VIEW = {
  kind: "Pod",
  metadata: { name: "web", namespace: "default" },
  spec: { containers: [{ name: "main" }, { name: "side" }] },
  status: { phase: "Running" },
};

interface Command {
  readonly id: string;
  readonly verb: string;
  readonly args: Readonly<Record<string, unknown>>;
}

interface Ended {
  readonly code: number;
  readonly stdout: string;
  readonly stderr: string;
}

const clock = systemClock();
let scene: Scene;

beforeEach(async () => {
  scene = new Scene();
  await scene.start();
});

afterEach(() => scene[Symbol.dispose]());

class Scene implements Disposable {
  readonly broker = new FakeBroker(clock);
  readonly directory = mkdtempSync(join(tmpdir(), "agent-logs-"));
  readonly interrupt = new AbortController();
  /** Aborts when the agent of the node ends. */
  readonly agent = new AbortController();
  /** The commands that the node got. */
  readonly commands: Command[] = [];
  /** Queries for the log. */
  readonly asked: string[] = [];
  isAllowed = true;
  /** What the container wrote. */
  log: () => Response = () => new Response("hello\n");
  /** What an answer to `exec` is instead of a session. */
  refusal: object | undefined;
  stdout = "";
  stderr = "";
  /** Whoever reads standard output takes more. */
  drained: () => Promise<void> = () => Promise.resolve();
  node: SessionNode | undefined;
  #session: MqttSession | undefined;
  readonly #api = Bun.serve({
    unix: join(this.directory, "api.sock"),
    fetch: ({ url }) => this.#answer(new URL(url)),
  });

  async start(): Promise<void> {
    const { privatePem } = makeKeyPair();
    writeFileSync(join(this.directory, "key.pem"), privatePem);
    this.accept(SESSION_NODE_KEY.publicKey);
    const [sign, seal] = [SESSION_NODE_KEY.publicKey, new Uint8Array(32).fill(9)];
    const sig = SESSION_NODE_KEY.sign(keysMessage("pi-1", { sign, seal }));
    const keys = writeKeys({ sign, seal, sig });
    const birth = { state: "online", incarnation: "i1", session: 7, agent: "1.2.3", protocol: 1 };
    this.broker.publish(`${NODE}/state`, { ...birth, keys });
    const connect = {
      url: "mqtt://broker.test",
      clientId: "pi-1",
      clean: true,
      protocolVersion: 5,
      keepAliveSeconds: 60,
      sessionExpirySeconds: 0,
      connectTimeoutMs: 10_000,
    } as const;
    const { signal } = new AbortController();
    const link = this.broker.link();
    const session = await link.connect(connect, (message) => this.#take(message), signal);
    this.#session = session;
    await session.subscribe([`${NODE}/command`], 1);
  }

  [Symbol.dispose](): void {
    this.interrupt.abort();
    void this.#api.stop(true);
    rmSync(this.directory, { recursive: true });
  }

  /** The operator has accepted this key of the node. */
  accept(key: Uint8Array): void {
    writeFileSync(join(this.directory, "fleet-keys"), `pi-1 ${key.toBase64()}\n`);
  }

  /** With the key of the operator. */
  signed(command: string): Promise<Ended> {
    const place = (name: string): string => join(this.directory, name);
    return this.run(`${command} --key ${place("key.pem")} --keys ${place("fleet-keys")}`);
  }

  async run(command: string): Promise<Ended> {
    const terminal: Terminal = {
      out: (text) => void (this.stdout += text),
      err: (text) => void (this.stderr += text),
      outBytes: (bytes) => void (this.stdout += new TextDecoder().decode(bytes)),
      drained: () => this.drained(),
      isTerminal: false,
      palette: PLAIN,
      isErrTerminal: false,
      columns: undefined,
      isInteractive: false,
      environment: {},
      clock,
      interrupted: () => this.interrupt.signal,
      readInput: () => Promise.resolve(new Uint8Array()),
      readLine: () => Promise.resolve(""),
    };
    const parts = { terminal, link: this.broker.link(), random: systemRandom };
    const code = await runCli({
      argv: ["fleet", ...command.split(" "), "--url", "mqtt://broker.test"],
      version: "1.2.3",
      terminal,
      loadAgent: () => Promise.reject(new Error("the agent was loaded")),
      loadFleet: () => Promise.resolve({ fleetVerbs: () => fleetVerbsOf(parts) }),
    });
    return { code, stdout: this.stdout, stderr: this.stderr };
  }

  /** The verbs of the commands that the node got. */
  get verbs(): readonly string[] {
    return this.commands.map(({ verb }) => verb);
  }

  answer(fields: object): void {
    const id = this.commands.at(-1)?.id;
    this.broker.publish(`${NODE}/response`, { id, ...fields }, false);
  }

  #take(message: MqttMessage): void {
    if (message.topic !== `${NODE}/command`) return void this.node?.commands.receive(message);
    const text = new TextDecoder().decode(message.payload);
    const { payload } = JSON.parse(text) as { readonly payload?: string };
    const inside = payload === undefined ? text : Buffer.from(payload, "base64").toString();
    const command = JSON.parse(inside) as Command;
    this.commands.push(command);
    if (command.verb === "exec") void this.#exec(command);
    else this.#logs(command);
  }

  async #exec({ id, args }: Command): Promise<void> {
    if (this.refusal !== undefined) return this.answer(this.refusal);
    const session = this.#session;
    const node = new SessionNode({
      clock,
      api: join(this.directory, "api.sock"),
      isAllowed: this.isAllowed,
      publish: (topic, payload) => void session?.publish({ topic, payload, qos: 0, retain: false }),
      onTopics: () => void session?.subscribe(node.commands.topics().wanted, 0),
    });
    this.node = node;
    const outcome: CommandOutcome = await node.commands.runs.exec({
      command: { id, verb: "exec", target: {}, args, ttl: 60 },
      signed: true,
      by: ["0123456789abcdef"],
      statusOnly: false,
      signal: this.agent.signal,
      progress: (data) => this.answer({ phase: "running", code: 202, data }),
      release: () => undefined,
    });
    const { code, error } = { error: undefined, ...outcome };
    this.answer({ phase: code < 300 ? "done" : "failed", code, error });
  }

  /** As a node does without a session. */
  #logs({ id, args }: Command): void {
    const lines = [{ time: "", stream: "stdout", text: "from the command" }];
    if (args["follow"] !== true)
      return this.answer({ phase: "done", code: 200, data: { container: "main", lines } });
    this.answer({ phase: "running", code: 202, data: { container: "main", seconds: 600 } });
    this.broker.publish(`${NODE}/log/default/web/main`, { id, seq: 0, lines }, false);
    this.answer({ phase: "done", code: 200, data: { why: "Expired", lines: 1, dropped: 0 } });
  }

  #answer({ pathname, searchParams }: URL): Response {
    if (pathname === POD) return Response.json(VIEW);
    if (pathname !== `${POD}/log`) return new Response("no", { status: 404 });
    this.asked.push(searchParams.toString());
    return this.log();
  }
}

/** What a container writes until its reader is gone. */
class Writing {
  isLeft = false;
  /** Bytes that were taken of it. */
  taken = 0;
  #controller: ReadableStreamDefaultController<Uint8Array> | undefined;

  readonly #part: Uint8Array | undefined;

  /** `part`: writes it again and again. */
  constructor(part?: Uint8Array) {
    this.#part = part;
  }

  write(text: string): void {
    this.#controller?.enqueue(new TextEncoder().encode(text));
  }

  response(): Response {
    return new Response(
      new ReadableStream<Uint8Array>({
        start: (controller) => void (this.#controller = controller),
        pull: (controller) => {
          if (this.#part === undefined) return;
          this.taken += this.#part.length;
          controller.enqueue(this.#part);
        },
        cancel: () => void (this.isLeft = true),
      }),
    );
  }
}

describe("the log of a node that allows sessions", () => {
  test("is read from its API, with the flags of agent logs", async () => {
    const flags = "-c side -p --tail 5 --since 90s --timestamps --limit-bytes 9";
    const ended = await scene.signed(`logs pi-1 web ${flags}`);
    expect(ended).toEqual({ code: 0, stdout: "hello\n", stderr: "" });
    expect(scene.asked).toEqual([
      "previous=true&timestamps=true&tailLines=5&limitBytes=9&sinceSeconds=90&container=side",
    ]);
    expect(scene.verbs).toEqual(["exec"]);
  });

  test("is followed past the limits of a lease, until Ctrl-C, and nothing stays on the node", async () => {
    const writing = new Writing();
    scene.log = () => writing.response();
    const ended = scene.signed("logs pi-1 web side -f --tail 3");
    await eventually("the log is asked for", () => scene.asked.length > 0);
    expect(scene.asked).toEqual(["follow=true&tailLines=3&container=side"]);
    const line = `${"x".repeat(99)}\n`;
    for (let part = 0; part < 30; part += 1) writing.write(line.repeat(1_000));
    await eventually("3 MB have come", () => scene.stdout.length === 3_000_000);
    writing.write("and more\n");
    await eventually("a line comes at once", () => scene.stdout.endsWith("and more\n"));
    scene.interrupt.abort();
    expect(await ended).toMatchObject({ code: 0, stderr: "" });
    await eventually("the API is left", () => writing.isLeft);
    await eventually("its topic is left", () => scene.node?.commands.topics().wanted.length === 0);
  });

  test("is written no faster than it is read", async () => {
    const writing = new Writing(new Uint8Array(64 * 1024).fill(120));
    scene.log = () => writing.response();
    const reader = Promise.withResolvers<void>();
    scene.drained = () => reader.promise;
    const ended = scene.signed("logs pi-1 web -f");
    await eventually("something has come", () => scene.stdout.length > 0);
    let before = -1;
    const standsStill = (): boolean => {
      const isStill = writing.taken === before;
      before = writing.taken;
      return isStill;
    };
    await eventually("it stands still", standsStill, { interval: 1_000 });
    // What the sockets, the stream and the client hold.
    expect(writing.taken).toBeLessThan(6_000_000);
    reader.resolve();
    await eventually("it goes on", () => writing.taken > before + 3_000_000);
    scene.interrupt.abort();
    await ended;
  }, 60_000);

  test("ends with 1 and the reason when the node ends the session", async () => {
    const writing = new Writing();
    scene.log = () => writing.response();
    const ended = scene.signed("logs pi-1 web main -f");
    await eventually("the log is asked for", () => scene.asked.length > 0);
    writing.write("one\n");
    await eventually("a line has come", () => scene.stdout !== "");
    scene.agent.abort();
    const { code, stdout, stderr } = await ended;
    expect({ code, stdout }).toEqual({ code: 1, stdout: "one\n" });
    expect(stderr).toBe(
      "the session has ended: the agent ends\nError: the command was cut off with its session; repeat it\n",
    );
  });

  test("of a pod that is not there is asked for once", async () => {
    const { code, stderr } = await scene.signed("logs pi-1 other");
    expect({ code, verbs: scene.verbs }).toEqual({ code: 1, verbs: ["exec"] });
    expect(stderr).toContain("404");
  });
});

const OLD = {
  phase: "failed",
  code: 400,
  error: { category: "Invalid", element: "verb", message: "must be one of ping, get" },
};

describe("the log of a node without sessions", () => {
  test("is read by a command, and one line tells that", async () => {
    scene.isAllowed = false;
    const { code, stdout, stderr } = await scene.signed("logs pi-1 web --tail 3");
    expect({ code, stdout }).toEqual({ code: 0, stdout: "from the command\n" });
    expect(stderr).toMatch(
      /^pi-1 answered failed 403: this node allows no sessions; .*; the log is read without a session: not encrypted\n$/,
    );
    expect(scene.commands.at(-1)).toMatchObject({ verb: "logs", args: { pod: "web", tail: 3 } });
  });

  test("is followed as long as a lease lasts", async () => {
    scene.isAllowed = false;
    const { code, stdout, stderr } = await scene.signed("logs pi-1 web main -f");
    expect({ code, stdout }).toEqual({ code: 0, stdout: "from the command\n" });
    expect(stderr).toContain("not encrypted, for 10 minutes and 1 MiB at most\n");
  });

  test.each<[string, object]>([
    ["that does not know the command", OLD],
    ["without keys", { phase: "failed", code: 401, error: { category: "Unauthorized" } }],
    [
      "whose agent serves none",
      { phase: "failed", code: 501, error: { category: "NotImplemented" } },
    ],
  ])("%s is read by a command too", async (_, refusal) => {
    scene.refusal = refusal;
    const { code, stdout, stderr } = await scene.signed("logs pi-1 web");
    expect({ code, stdout }).toEqual({ code: 0, stdout: "from the command\n" });
    expect(stderr.split("\n")).toHaveLength(2);
  });

  test.each<[string, object]>([
    ["a refused signature", { phase: "denied", code: 401, error: { category: "Unauthorized" } }],
    ["too many sessions", { phase: "failed", code: 429, error: { category: "TooManyRequests" } }],
  ])("is not asked for again after %s", async (_, refusal) => {
    scene.refusal = refusal;
    expect(await scene.signed("logs pi-1 web")).toMatchObject({ code: 1, stdout: "" });
    expect(scene.verbs).toEqual(["exec"]);
  });

  test.each(["--since 5m", "--timestamps", "-f --tail 3", "--all-containers", "--tail -1"])(
    "cannot be read with %s",
    async (flags) => {
      scene.isAllowed = false;
      const { code, stderr } = await scene.signed(`logs pi-1 web ${flags}`);
      expect({ code, verbs: scene.verbs }).toEqual({ code: 1, verbs: ["exec"] });
      expect(stderr).toContain("needs a session\n");
    },
  );
});

describe("the log of a node whose key was", () => {
  test("never accepted is read by a command", async () => {
    writeFileSync(join(scene.directory, "fleet-keys"), "");
    const { code, stdout, stderr } = await scene.signed("logs pi-1 web");
    expect({ code, stdout, verbs: scene.verbs }).toEqual({
      code: 0,
      stdout: "from the command\n",
      verbs: ["logs"],
    });
    expect(stderr).toContain("the key of pi-1 is not accepted yet");
  });

  test("another one is not read", async () => {
    scene.accept(new Uint8Array(32).fill(3));
    const { code, stderr } = await scene.signed("logs pi-1 web");
    expect({ code, verbs: scene.verbs }).toEqual({ code: 1, verbs: [] });
    expect(stderr).toContain("is not the one that was accepted");
  });
});

describe("without a key of the operator", () => {
  test("no session is tried", async () => {
    expect(await scene.run("logs pi-1 web")).toEqual({
      code: 0,
      stdout: "from the command\n",
      stderr: "",
    });
    expect(scene.verbs).toEqual(["logs"]);
  });

  test("what needs a session is refused", async () => {
    const { code, stderr } = await scene.run("logs pi-1 web --since 5m");
    expect({ code, verbs: scene.verbs }).toEqual({ code: 2, verbs: [] });
    expect(stderr).toContain("--since needs a session: sign its start with --key");
  });
});

test("limits of a lease are no limits of a session", async () => {
  expect((await scene.signed("logs pi-1 web -f --seconds 5")).code).toBe(0);
  expect(scene.verbs).toEqual(["logs"]);
  const { code } = await scene.signed("logs pi-1 web -f --seconds 5 --since 5m");
  expect(code).toBe(2);
});
