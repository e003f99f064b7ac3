// The configuration as the rules for documents: what their pods may ask for, and what trust starts with.

import { afterEach, describe, expect, test } from "bun:test";

import type { DocumentState } from "../../../src/protocol/desired-document.ts";
import { CONFIG_DEFAULTS, MQTT_DEFAULTS } from "../../fakes/config-defaults.ts";
import type { AgentConfig, MqttConfig } from "../../../src/config/config.ts";
import type { Edges } from "../../../src/edges.ts";
import { buildSources } from "../../../src/agent/build-sources.ts";
import { verifyEd25519 } from "../../../src/host/crypto/ed25519.ts";
import { createLogger } from "../../../src/lib/logger.ts";
import type { MqttSource } from "../../../src/source/document/mqtt-source.ts";
import { type Trust, resetTrust } from "../../../src/trust/trust.ts";
import { aSigner, signed } from "../../fakes/a-signer.ts";
import { VirtualClock } from "../../fakes/fake-clock.ts";
import { sha256 } from "../../unit/api/digest.ts";
import { aWrittenPod, bytes, written } from "../../unit/source/desired-arrival.ts";
import { openStore } from "../store/open-store.ts";
import { temporaryDirectories } from "../store/temporary-directories.ts";
import { ClockFloor } from "../../../src/lib/clock.ts";
import { UNGUARDED } from "../../../src/store/start-guard/start-guard.ts";
import type { RootKeys } from "../../../src/protocol/trust-bundle.ts";

const newDirectory = temporaryDirectories();
const open: Disposable[] = [];
afterEach(() => {
  for (const one of open.splice(0).toReversed()) one[Symbol.dispose]();
});

const root = aSigner();
const TOPIC = "agent/v1/node/pi-1/desired";

interface World {
  readonly trust: Trust;
  readonly documents: MqttSource;
  rootKeys: RootKeys;
  readonly answer: (document: string) => DocumentState | undefined;
}

function worldOf(mqtt: Partial<MqttConfig>, more: Partial<AgentConfig> = {}): World {
  const clock = new VirtualClock();
  const store = openStore(newDirectory());
  const edges = {
    clock,
    log: createLogger({ clock, level: "error", write: () => undefined }),
    store,
    sha256,
    machine: { architecture: "arm64" },
    clockSynchronised: () => true,
    clockFloor: new ClockFloor(0),
    verifySignature: verifyEd25519,
    rootKeys: () => world.rootKeys,
  };
  const config = {
    ...CONFIG_DEFAULTS,
    nodeLabels: {},
    ...more,
    mqtt: { ...MQTT_DEFAULTS, url: "mqtt://broker.example", ...mqtt },
  };
  const world: { rootKeys: RootKeys } = { rootKeys: { keys: [], problems: [] } };
  const { trust, documents } = buildSources({
    edges: edges as unknown as Edges,
    config: config as AgentConfig,
    version: "1.0.0",
    nodeName: "pi-1",
    groups: [],
    rollouts: { hasFailed: () => false },
    guard: { ...UNGUARDED, judged: () => undefined },
    emit: () => undefined,
    onState: () => undefined,
  });
  if (documents === undefined) throw new Error("no documents");
  open.push(store, documents, trust);
  documents.start();
  return Object.assign(world, {
    trust,
    documents,
    answer: (document: string) => {
      documents.receive(TOPIC, bytes(document));
      return documents.states()[0];
    },
  });
}

const mounting = (path: string): string => {
  const volumes = [{ name: "v", hostPath: { path } }];
  return written({ resources: [aWrittenPod("web", { volumes })] });
};
const running = (image: string): string =>
  written({ resources: [aWrittenPod("web", { containers: [{ name: "a", image }] })] });

describe("what no pod of a document may mount", () => {
  const paths = {
    staticPodPath: "/srv/manifests",
    stateDir: "/srv/state",
    trustPath: "/srv/keys",
    podLogsDir: "/srv/logs",
    socket: "/srv/door/agent.sock",
    containerRuntimeEndpoint: "unix:///srv/runtime/containerd.sock",
  };
  test.each([
    "/srv",
    "/srv/manifests/web.yaml",
    "/srv/state/volumes",
    "/srv/keys",
    "/srv/door",
    "/srv/runtime",
    "/run/agent",
    "/run/containerd/containerd.sock",
    "/var/lib/containerd",
    "/",
  ])("%s", (path) => {
    const { answer } = worldOf({ podPolicy: { profile: "privileged" } }, paths);
    expect(answer(mounting(path))).toMatchObject({
      document: undefined,
      lastRejected: {
        code: 403,
        message: expect.stringContaining("belongs to the node") as string,
      },
    });
  });

  test("everything beside it is free where all is allowed", () => {
    const { answer } = worldOf({ podPolicy: { profile: "privileged" } }, paths);
    expect(answer(mounting("/srv/data"))).toMatchObject({ document: { generation: 7 } });
    // A collector of logs may be a pod of a document.
    expect(answer(mounting("/srv/logs"))).toMatchObject({ document: { generation: 7 } });
  });

  test("a socket in /run does not close all of /run", () => {
    const { answer } = worldOf(
      { podPolicy: { profile: "privileged" } },
      { socket: "/run/agent.sock" },
    );
    expect(answer(mounting("/run/agent.sock"))).toMatchObject({ lastRejected: { code: 403 } });
    expect(answer(mounting("/run/udev"))).toMatchObject({ document: { generation: 7 } });
  });
});

describe("where images may come from", () => {
  const podPolicy = { profile: "baseline", registries: ["docker.io/library"] } as const;

  test("is asked of the full name: a short one has a registry too", () => {
    expect(worldOf({ podPolicy }).answer(running("busybox"))).toMatchObject({
      document: { generation: 7 },
    });
  });

  test.each(["team/app", "broker.example/library/app", "???"])("not %s", (image) => {
    expect(worldOf({ podPolicy }).answer(running(image))).toMatchObject({
      lastRejected: { code: 403 },
    });
  });

  test("and pinned, where that is asked for", () => {
    expect(worldOf({ requireDigest: true }).answer(running("busybox"))).toMatchObject({
      lastRejected: { code: 403 },
    });
  });
});

describe("trust", () => {
  test("starts with what the configuration asks for", () => {
    expect(worldOf({ requireSignature: true }).answer(written())).toMatchObject({
      lastRejected: { code: 401 },
    });
  });

  test("is reset with the version of the document", () => {
    const world = worldOf({});
    world.rootKeys = { keys: [root.pub], problems: [] };
    const by = (changes: object): string => signed("desired", written({ ...changes }), root);
    expect(world.answer(by({ epoch: "e1" }))).toMatchObject({ document: { epoch: "e1" } });
    expect(world.answer(by({ epoch: "e2" }))).toMatchObject({ lastRejected: { code: 409 } });
    resetTrust(world.trust, world.documents);
    expect(world.documents.states()[0]).toMatchObject({ document: { epoch: "e2", signed: true } });
  });
});
