import { afterEach, beforeEach, describe, expect, test } from "bun:test";
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import type { Edges } from "../../../src/edges.ts";
import { isDevice } from "../../../src/podworkers/awaited-devices.ts";
import { podConfigs, type PodConfigs } from "../../../src/runtime/pod-configs.ts";
import { CONFIG_DEFAULTS } from "../../fakes/config-defaults.ts";
import type { AgentConfig } from "../../../src/config/config.ts";
import type { PodSpec } from "../../../src/api/v1/pod-spec.ts";
import {
  SecurityProfile_ProfileType as ProfileType,
  type IDMapping,
} from "../../../src/cri/gen/runtime/v1/api_pb.ts";
import type { Files } from "../../../src/host/files.ts";
import { realFiles } from "../../../src/host/real-files.ts";
import type { ContainerFacts } from "../../../src/runtime/decide/action-input.ts";
import { NO_FEATURES, type RuntimeFeatures } from "../../../src/runtime/cri-config/features.ts";
import { aContainer, aDesiredPod, aPod } from "../../fakes/a-pod.ts";
import { ALL_FEATURES } from "../../fakes/config-facts.ts";
import { refusalOf } from "../../fakes/refusal.ts";
import type { Container } from "../../../src/api/v1/container.ts";

let directory: string;
beforeEach(() => {
  directory = mkdtempSync("/tmp/agent-configs-");
});
afterEach(() => rmSync(directory, { recursive: true, force: true }));

/** Without files of its own a node has no name servers. */
function configsOf(
  more: Partial<AgentConfig> = {},
  features: RuntimeFeatures = NO_FEATURES,
  files?: Files,
): PodConfigs {
  const cgroups = {
    facts: { version: 2, controllers: ["memory"], mountPoint: "/", hasSwap: false },
  };
  const machine = { memoryBytes: 1024 ** 3, hugePages: {} };
  const edges = { files: files ?? realFiles(), machine, cgroups, bootId: "boot" };
  const paths = { stateDir: directory, nodeLabels: {} };
  const dns = files === undefined ? { resolvConf: join(directory, "none") } : {};
  const config = { ...CONFIG_DEFAULTS, ...paths, ...dns, ...more };
  return podConfigs({
    edges: edges as unknown as Edges,
    config: config as AgentConfig,
    record: () => undefined,
    runtime: { cgroupDriver: "cgroupfs", features },
    observed: () => [],
    devices: { has: (path) => isDevice(realFiles(), path) },
    nodeCgroups: { write: () => undefined, report: () => undefined },
  });
}

const facts: ContainerFacts = {
  attempt: 0,
  image: { ref: "sha256:1", username: "" },
  volumes: new Map(),
  terminationLog: "/state/log",
  env: [],
  imageVolumes: new Map(),
  subPaths: new Map(),
};

function containerOf(configs: PodConfigs, more: Partial<Container>, spec: Partial<PodSpec> = {}) {
  const container = aContainer("a", more);
  const desired = aDesiredPod(aPod({ containers: [container], ...spec }));
  return configs.container(desired, container, facts);
}

describe("a seccomp profile of the node", () => {
  const localhostProfile = "profiles/audit.json";
  const wanting = { securityContext: { seccompProfile: { type: "Localhost", localhostProfile } } };

  test("is looked for below the agent's own directory", () => {
    const path = join(directory, "seccomp", localhostProfile);
    expect(refusalOf(() => containerOf(configsOf(), wanting as Partial<Container>))).toEqual({
      reason: "CreateContainerConfigError",
      message: `container "a" needs the seccomp profile ${path}, which does not exist; create it`,
    });
    mkdirSync(join(path, ".."), { recursive: true });
    writeFileSync(path, "{}");
    const config = containerOf(configsOf(), wanting as Partial<Container>);
    expect(config.linux?.securityContext?.seccomp).toEqual({
      profileType: ProfileType.Localhost,
      localhostRef: path,
    });
  });

  test("is the runtime's own without another, if the node is configured so", () => {
    const config = containerOf(configsOf({ seccompDefault: true }), {});
    const expected = { profileType: ProfileType.RuntimeDefault };
    expect(config.linux?.securityContext?.seccomp).toEqual(expected);
  });
});

describe("a device of the node", () => {
  const asking = (path: string): Partial<Container> => ({
    resources: { limits: { [`podman.io/device=${path}`]: "1" }, requests: {} },
  });

  test("is a device, or a directory of some", () => {
    for (const path of ["/dev/null"])
      expect(() => containerOf(configsOf(), asking(path))).not.toThrow();
    expect(containerOf(configsOf(), asking("/dev/pts")).devices).toHaveLength(1);
  });

  test("that is not there keeps only its container from starting", () => {
    const refusal = refusalOf(() => containerOf(configsOf(), asking("/dev/no-such-device")));
    expect(refusal?.reason).toBe("CreateContainerConfigError");
    expect(refusal?.message).toContain("/dev/no-such-device");
  });
});

test("pods with users of their own get different ids, the same in sandbox and containers", () => {
  const configs = configsOf({}, ALL_FEATURES);
  const hostIds = (uid: string): readonly number[] => {
    const desired = aDesiredPod(aPod({ hostUsers: false }, { uid }));
    const sandbox = configs.sandbox(desired, { attempt: 0, activeSince: 0 });
    const container = configs.container(desired, aContainer("a"), facts);
    const options = [sandbox, container].map(
      ({ linux }) => linux?.securityContext?.namespaceOptions?.usernsOptions?.uids ?? [],
    );
    const all = [...options.flat(), ...(container.mounts?.[0]?.uidMappings ?? [])];
    return all.map((mapping: Partial<IDMapping>) => mapping.hostId ?? 0);
  };
  expect([hostIds("u1"), hostIds("u2"), hostIds("u1")]).toEqual([
    [65_536, 65_536, 65_536],
    [131_072, 131_072, 131_072],
    [65_536, 65_536, 65_536],
  ]);
});

test("the handler is the one that the configuration says for the class", () => {
  const configs = configsOf({ runtimeClasses: { gvisor: "runsc" } });
  const of = (runtimeClassName: string): string =>
    configs.runtimeHandler(aDesiredPod(aPod({ runtimeClassName })));
  expect(of("gvisor")).toBe("runsc");
  expect(refusalOf(() => of("kata"))?.reason).toBe("CreatePodSandboxError");
});

describe("the name servers of the node", () => {
  const ETC = "/etc/resolv.conf";
  const RESOLVED = "/run/systemd/resolve/resolv.conf";
  const STUB = "nameserver 127.0.0.53\noptions edns0\n";

  /** Files of which only these exist. */
  function filesWith(texts: ReadonlyMap<string, string>): Files {
    const files = realFiles();
    return {
      ...files,
      target: (path) => (texts.has(path) ? files.target("/") : undefined),
      readFollowing: (path) => new TextEncoder().encode(texts.get(path)),
    };
  }
  const serversOf = (configs: PodConfigs): readonly string[] | undefined =>
    configs.sandbox(aDesiredPod(aPod()), { attempt: 0, activeSince: 0 }).dnsConfig?.servers;

  test("are looked up for each sandbox: a resolver may start after the agent", () => {
    const texts = new Map<string, string>();
    const configs = configsOf({}, NO_FEATURES, filesWith(texts));
    expect(serversOf(configs)).toEqual([]);
    texts.set(ETC, STUB).set(RESOLVED, "nameserver 192.0.2.1\n");
    expect(serversOf(configs)).toEqual(["192.0.2.1"]);
    texts.set(ETC, "nameserver 192.0.2.2\n");
    expect(serversOf(configs)).toEqual(["192.0.2.2"]);
  });

  test("are those of the configured file, whatever it says", () => {
    const texts = new Map([
      [ETC, STUB],
      [RESOLVED, "nameserver 192.0.2.1\n"],
    ]);
    const configs = configsOf({ resolvConf: ETC }, NO_FEATURES, filesWith(texts));
    expect(serversOf(configs)).toEqual(["127.0.0.53"]);
  });
});
