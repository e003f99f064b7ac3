// Settings of a document on a node with two brokers in memory, on virtual time, with real files: what each way to fail leads
// to, and where a node is after a power cut at any step.

import { afterEach, describe, expect, test } from "bun:test";

import { DEFAULT_POLICY } from "../../../src/api/pod/update-policy.ts";
import { configWith, settingsError } from "../../../src/config/remote-settings.ts";
import { readConfigFields, type ConfigFields } from "../../../src/config/config.ts";
import { realFiles } from "../../../src/host/real-files.ts";
import { aborted } from "../../../src/lib/clock.ts";
import { AgentError } from "../../../src/lib/errors.ts";
import { createLogger } from "../../../src/lib/logger.ts";
import { sha256 } from "../../../src/lib/system-sha256.ts";
import type { MqttLink } from "../../../src/mqtt/mqtt-link.ts";
import type { DocumentState } from "../../../src/protocol/desired-document.ts";
import type { GroupMember } from "../../../src/protocol/groups.ts";
import type { RemoteSettings } from "../../../src/protocol/remote-settings.ts";
import { SettingsFile, settingsPath } from "../../../src/store/settings-file.ts";
import { UpstreamConnection } from "../../../src/upstream/link/connection.ts";
import { LinkInForce } from "../../../src/upstream/settings/link-in-force.ts";
import {
  RemoteSettingsKeeper,
  settingsAtStart,
} from "../../../src/upstream/settings/remote-settings.ts";
import type { Upstream } from "../../../src/upstream/upstream.ts";
import { VirtualClock } from "../../fakes/fake-clock.ts";
import { FakeBroker } from "../../fakes/fake-mqtt-broker.ts";
import { makeTempDirectory } from "../../harness/temp-directory.ts";
import { dice } from "../upstream/upstream-world.ts";

const MINUTE = 60_000;
const REPORTED = "agent/v1/node/pi-1/reported";
const DESIRED = "agent/v1/node/pi-1/desired";
const OLD = "mqtt://old.example";
const NEW = "mqtt://new.example";

function fieldsOf(mqtt: object): ConfigFields {
  const read = readConfigFields({ mqtt });
  if (!read.ok) throw new Error(JSON.stringify(read.errors));
  return read.value;
}

/** One process of the agent, as far as its connection goes; its state is in a directory. */
class Process {
  readonly stop = new AbortController();
  readonly keeper: RemoteSettingsKeeper;
  readonly link: LinkInForce;
  groups: readonly GroupMember[];
  hasAcknowledged = false;
  sessions = 0;

  constructor(world: World) {
    const { clock } = world;
    const device = {
      configWith: (settings: RemoteSettings) => configWith(world.fields, settings),
      settingsError: (settings: RemoteSettings) => settingsError(world.fields, settings),
    };
    const file = new SettingsFile(world.files(), settingsPath(world.temp.path));
    const atStart = settingsAtStart(file.read(), device);
    if (atStart.link === undefined) throw new Error("no broker");
    this.link = new LinkInForce(atStart.link);
    this.groups = atStart.groups;
    const log = createLogger({ clock, level: "error", write: () => undefined });
    const build = (): Upstream => this.#connection(world) as unknown as Upstream;
    const port = { attach: () => void (this.hasAcknowledged = false) };
    this.keeper = new RemoteSettingsKeeper({
      edges: {
        clock,
        log,
        files: realFiles(),
        mqtt: world.mqtt,
        sha256,
        store: { settings: file },
      },
      nodeName: "pi-1",
      device,
      link: this.link,
      port: {
        facts: () => ({
          isConnected: true,
          reachedAt: undefined,
          hasAcknowledged: this.hasAcknowledged,
        }),
        report: () => ({ topic: REPORTED, payload: new Uint8Array([1]), qos: 1, retain: true }),
      },
      documents: () => world.documents,
      groupsWith: (groups) => groups.map(({ name }) => name),
      onGroups: (groups) => void (this.groups = groups),
      record: ({ reason }) => void world.events.push(reason),
      onChange: () => undefined,
    });
    const first = this.link.attach({ build, port });
    void this.link.run(first, { build, port }, this.stop.signal);
    void this.keeper.run(this.stop.signal);
  }

  /** The connection in use: it counts a message as acknowledged where the broker takes one. */
  #connection(world: World) {
    const { clock } = world;
    const { mqtt: config } = this.link.get();
    return new UpstreamConnection({
      clock,
      random: dice(0.1),
      log: createLogger({ clock, level: "error", write: () => undefined }),
      files: realFiles(),
      mqtt: world.mqtt,
      bootId: "boot",
      clockSynchronised: () => true,
      config,
      nodeName: "pi-1",
      agentVersion: "1",
      incarnation: "incarnation",
      groups: () => ({ wanted: this.groups.map(({ name }) => name), left: [] }),
      nextSession: () => (this.sessions += 1),
      onMessage: () => undefined,
      onChange: () => undefined,
      publish: async (session, _number, signal) => {
        const message = {
          topic: REPORTED,
          payload: new Uint8Array([2]),
          qos: 1,
          retain: true,
        } as const;
        const code = await session.publish(message).catch(() => 0x80);
        if (code < 0x80) this.hasAcknowledged = true;
        await aborted(signal);
      },
    });
  }
}

class World {
  readonly clock = new VirtualClock();
  readonly temp = makeTempDirectory();
  readonly old = new FakeBroker(this.clock);
  readonly new = new FakeBroker(this.clock);
  readonly fields: ConfigFields;
  readonly events: string[] = [];
  documents: readonly DocumentState[] = [];
  /** Writes of the state until the disk takes nothing more; undefined = any number. */
  writesLeft: number | undefined;
  writes = 0;
  readonly mqtt: MqttLink;
  process: Process;

  constructor(mqtt: object = {}) {
    this.fields = fieldsOf({ url: OLD, ...mqtt });
    const [old, other] = [this.old.link(), this.new.link()];
    this.mqtt = {
      connect: (options, onMessage, signal) =>
        (options.url === OLD ? old : other).connect(options, onMessage, signal),
    };
    this.process = new Process(this);
  }

  files() {
    const files = realFiles();
    return Object.assign(Object.create(files) as typeof files, {
      writeAtomic: (path: string, data: Uint8Array | string, mode: number) => {
        if (this.writesLeft !== undefined) {
          if (this.writesLeft === 0) throw new AgentError({ reason: "DiskFull", message: "full" });
          this.writesLeft -= 1;
        }
        this.writes += 1;
        files.writeAtomic(path, data, mode);
      },
    });
  }

  /** A power cut, and a boot. */
  async restart(): Promise<void> {
    this.process.stop.abort();
    await this.clock.advance(5_000);
    this.process = new Process(this);
    await this.clock.advance(2_000);
  }

  async pass(ms: number): Promise<void> {
    await this.clock.advance(ms);
  }

  /** The node's document, accepted and signed. */
  wants(config: RemoteSettings | undefined, generation = 2, more: object = {}): void {
    const { signed = true, retryFailed = false } = more as {
      signed?: boolean;
      retryFailed?: boolean;
    };
    this.documents = [
      {
        source: "mqtt:node",
        observedGeneration: 0,
        acceptedAt: 0,
        lastRejected: undefined,
        document: {
          source: "mqtt:node",
          epoch: "",
          generation,
          digest: "",
          signed,
          policy: { ...DEFAULT_POLICY, retryFailed },
          pods: [],
          written: new Map(),
          objects: [],
          ...(config === undefined ? {} : { config }),
        },
      },
    ];
    this.process.keeper.look();
  }

  /** Where the node is now. */
  get at(): string {
    const is = (broker: FakeBroker): boolean => broker.isConnected("pi-1");
    return [...(is(this.old) ? ["old"] : []), ...(is(this.new) ? ["new"] : [])].join(" and ");
  }

  get phase(): string | undefined {
    return this.process.keeper.reported()?.phase;
  }

  [Symbol.dispose](): void {
    this.process.stop.abort();
    this.temp.remove();
  }
}

const MOVE: RemoteSettings = { mqtt: { url: NEW } };
let world: World | undefined;
afterEach(() => {
  world?.[Symbol.dispose]();
  world = undefined;
});

async function begin(mqtt: object = {}): Promise<World> {
  world = new World(mqtt);
  await world.pass(2_000);
  expect(world.at).toBe("old");
  return world;
}

describe("settings that work", () => {
  test("are tried beside the old connection, then used, and kept over restarts", async () => {
    const one = await begin();
    one.wants(MOVE);
    await one.pass(0);
    // Tried: the old connection is there, the new one has answered and is gone.
    expect(one.new.connects).toHaveLength(1);
    expect(one.new.texts(REPORTED)).toHaveLength(1);
    await one.pass(15_000);
    expect([one.at, one.phase]).toEqual(["new", "InForce"]);
    expect(one.events).toEqual(["SettingsTried", "SettingsInForce"]);
    await one.restart();
    expect([one.at, one.phase]).toEqual(["new", "InForce"]);
    // A document without settings changes nothing.
    one.wants(undefined, 3);
    await one.pass(MINUTE);
    expect(one.at).toBe("new");
    one.wants({ mqtt: {} }, 4);
    await one.pass(MINUTE);
    expect([one.at, one.phase]).toEqual(["old", "InForce"]);
  });

  test("of one broker are tried with another client id, so that they end no session", async () => {
    const one = await begin();
    one.wants({ mqtt: { keepAliveSeconds: 33 } });
    await one.pass(0);
    expect(one.old.connects.map(({ clientId }) => clientId)).toEqual(["pi-1", "pi-1-settings"]);
    await one.pass(15_000);
    expect(one.old.connectOptions.get("pi-1")?.keepAliveSeconds).toBe(33);
    expect(one.old.connectOptions.get("pi-1-settings")).toMatchObject({ clean: true });
    expect(one.old.connectOptions.get("pi-1-settings")?.will).toBeUndefined();
  });

  test("leave groups only once they have proved themselves", async () => {
    const one = await begin({ groups: [{ name: "a" }] });
    one.wants({ mqtt: { url: NEW, groups: [{ name: "b", priority: 1 }] } });
    await one.pass(0);
    expect(one.new.subscribes.flat()).toContain("agent/v1/group/b/desired");
    expect(one.process.groups.map(({ name }) => name)).toEqual(["a"]);
    await one.pass(2 * MINUTE);
    expect(one.phase).toBe("InForce");
    expect(one.process.groups.map(({ name }) => name)).toEqual(["b"]);
  });

  test("that have not proved themselves at a boot leave no group either", async () => {
    const one = await begin({ groups: [{ name: "a" }] });
    one.wants({ mqtt: { url: NEW, groups: [{ name: "b", priority: 1 }] } });
    await one.pass(0);
    one.new.faults.refuse = "unreachable";
    await one.restart();
    expect(one.phase).toBe("Proving");
    expect(one.process.groups.map(({ name }) => name)).toEqual(["a"]);
    await one.pass(10 * MINUTE);
    expect([one.at, one.phase]).toEqual(["old", "Undone"]);
    expect(one.process.groups.map(({ name }) => name)).toEqual(["a"]);
  });

  test("of an unsigned document are nothing", async () => {
    const one = await begin();
    one.wants(MOVE, 2, { signed: false });
    await one.pass(MINUTE);
    expect([one.at, one.phase, one.new.connects]).toEqual(["old", undefined, []]);
  });
});

describe("settings that do not work are undone within ten minutes, and not tried again", () => {
  const FAULTS: Readonly<Record<string, (broker: FakeBroker) => void>> = {
    "nobody listens": ({ faults }) => void (faults.refuse = "unreachable"),
    "a broker that does not answer CONNECT": ({ faults }) => void (faults.refuse = "silent"),
    "a broker that refuses CONNECT": ({ faults }) => void (faults.refuse = 0x87),
    "a broker that refuses a subscription": ({ faults }) =>
      void faults.subackCodes.set(DESIRED, 0x87),
    "a broker that hangs after CONNACK": ({ faults }) => void (faults.loseSubacks = true),
    "a broker that refuses the report": ({ faults }) => void faults.pubackCodes.set(REPORTED, 0x87),
    "a broker that does not acknowledge the report": ({ faults }) =>
      void faults.losesPubacksOn.add(REPORTED),
  };
  test.each(Object.entries(FAULTS))("%s", async (_name, spoil) => {
    const one = await begin();
    spoil(one.new);
    one.wants(MOVE);
    await one.pass(10 * MINUTE);
    expect([one.at, one.phase]).toEqual(["old", "Undone"]);
    expect(one.process.keeper.reported()).toMatchObject({
      code: 424,
      wanted: { generation: 2 },
      message: expect.any(String) as string,
    });
    expect(one.old.connects).toHaveLength(1);
    const tried = one.new.connects.length;
    await one.restart();
    one.wants(MOVE, 3);
    await one.pass(10 * MINUTE);
    expect([one.at, one.new.connects.length]).toEqual(["old", tried]);
  });

  test("but with retryFailed, or with other content, they are", async () => {
    const one = await begin();
    one.new.faults.refuse = 0x87;
    one.wants(MOVE);
    await one.pass(MINUTE);
    expect(one.phase).toBe("Undone");
    delete one.new.faults.refuse;
    one.wants(MOVE, 3, { retryFailed: true });
    await one.pass(MINUTE);
    expect([one.at, one.phase]).toEqual(["new", "InForce"]);
  });

  test("a broker that answers the trial and nothing afterwards", async () => {
    const one = await begin();
    one.wants(MOVE);
    await one.pass(0);
    one.new.faults.refuse = "unreachable";
    await one.pass(MINUTE);
    expect(one.phase).toBe("Proving");
    await one.pass(9 * MINUTE);
    expect([one.at, one.phase]).toEqual(["old", "Undone"]);
  });

  test("settings whose document goes away meanwhile end without a verdict", async () => {
    const one = await begin();
    one.new.faults.refuse = "unreachable";
    one.wants(MOVE);
    await one.pass(MINUTE);
    expect(one.phase).toBe("Trying");
    one.wants(undefined, 3);
    await one.pass(MINUTE);
    expect([one.at, one.phase]).toEqual(["old", undefined]);
  });
});

describe("a power cut", () => {
  test.each([0, 1, 2, 3, 4, 5])(
    "after %i writes of the change leads to the old or the new broker, and in the end to the new one",
    async (writes) => {
      const one = await begin();
      one.writesLeft = writes;
      one.wants(MOVE);
      await one.pass(20_000);
      one.writesLeft = undefined;
      await one.restart();
      expect(["old", "new"]).toContain(one.at);
      await one.pass(MINUTE);
      expect([one.at, one.phase]).toEqual(["new", "InForce"]);
    },
  );

  test("again and again during the proof leads back to the old broker", async () => {
    const one = await begin();
    one.wants(MOVE);
    await one.pass(0);
    one.new.faults.refuse = "unreachable";
    for (let boot = 0; boot < 4; boot += 1) {
      await one.restart();
      await one.pass(MINUTE);
    }
    expect([one.at, one.phase]).toEqual(["old", "Undone"]);
  });

  test("again and again during the trial ends the trial", async () => {
    const one = await begin();
    one.new.faults.refuse = "silent";
    one.wants(MOVE);
    for (let boot = 0; boot < 5; boot += 1) {
      await one.pass(20_000);
      await one.restart();
    }
    expect([one.at, one.phase]).toEqual(["old", "Undone"]);
    expect(one.process.keeper.reported()?.message).toContain("was started");
  });

  test("while the disk takes nothing lets nothing begin", async () => {
    const one = await begin();
    one.writesLeft = 0;
    one.wants(MOVE);
    await one.pass(MINUTE);
    expect([one.at, one.new.connects]).toEqual(["old", []]);
    one.writesLeft = undefined;
    await one.pass(MINUTE);
    expect(one.at).toBe("new");
  });
});

describe("a broker that has gone after settings were in force for long", () => {
  async function moved(): Promise<World> {
    const one = await begin();
    one.wants(MOVE);
    await one.pass(MINUTE);
    expect([one.at, one.phase]).toEqual(["new", "InForce"]);
    one.new.stop();
    return one;
  }

  test("at a boot leads back to the one before, if that answers", async () => {
    const one = await moved();
    await one.restart();
    await one.pass(29 * MINUTE);
    expect(one.at).toBe("");
    await one.pass(3 * MINUTE);
    expect([one.at, one.phase]).toEqual(["old", "Undone"]);
    expect(one.events.at(-1)).toBe("SettingsUndone");
  });

  test("leads nowhere while the one before is away too, as with a lost line", async () => {
    const one = await moved();
    one.old.faults.refuse = "unreachable";
    await one.restart();
    await one.pass(120 * MINUTE);
    expect([one.at, one.phase]).toEqual(["", "InForce"]);
    delete one.new.faults.refuse;
    await one.pass(10 * MINUTE);
    expect([one.at, one.phase]).toEqual(["new", "InForce"]);
  });
});

test("a damaged record leaves the configuration of the device in force", async () => {
  const one = await begin();
  one.wants(MOVE);
  await one.pass(MINUTE);
  one.process.stop.abort();
  realFiles().writeAtomic(settingsPath(one.temp.path), "torn", 0o600);
  const file = new SettingsFile(realFiles(), settingsPath(one.temp.path));
  expect(file.trouble).toContain("the configuration of the device is in force");
  expect(file.read().inForce).toBeUndefined();
});
