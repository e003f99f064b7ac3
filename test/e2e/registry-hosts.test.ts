// Mirrors, own CAs, client certificates and plain HTTP through containerd's `hosts.toml`, as docs/images.md shows them.

import { afterAll, beforeAll, expect } from "bun:test";
import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";

import type { AgentProcess } from "../harness/agent-process.ts";
import { CertificateAuthority, type KeyPair } from "../harness/certificates.ts";
import { Stage } from "./support-a-stage.ts";
import { containerOf, READY, untilPod } from "./support-c-views.ts";
import { MovingRegistry } from "./support-h-registry.ts";

const stage = await Stage.open({ hasRegistryHosts: true });
const { test: e2e } = stage;
let agent: AgentProcess;
let authority: CertificateAuthority;
let certificate: KeyPair;

beforeAll(async () => {
  if (!stage.available) return;
  authority = new CertificateAuthority(stage.temp.directory("authority"));
  certificate = authority.issue("registry", "registry", { altName: "IP:127.0.0.1" });
  agent = stage.agent();
  await agent.startReady();
}, 180_000);

afterAll(() => stage.close(), 180_000);

/** How containerd reaches the registry of this name. */
function hosts(registry: string, lines: readonly string[]): void {
  const directory = join(stage.containerd.registryHosts, registry);
  mkdirSync(directory, { recursive: true });
  writeFileSync(join(directory, "hosts.toml"), `${lines.join("\n")}\n`);
}

function put(name: string, image: string): void {
  const command = ["sh", "-c", "trap 'exit 0' TERM; sleep 3600 & wait"];
  agent.writeManifest(`${name}.yaml`, {
    apiVersion: "v1",
    kind: "Pod",
    metadata: { name },
    spec: { terminationGracePeriodSeconds: 1, containers: [{ name: "main", image, command }] },
  });
}

async function refusedWith(name: string, message: RegExp): Promise<void> {
  await untilPod(agent, name, {
    is: `waits because of ${message.source}`,
    when: (pod) => {
      const { waiting } = containerOf(pod, "main").state;
      const isRefusal = ["ErrImagePull", "ImagePullBackOff"].includes(waiting?.reason ?? "");
      return isRefusal && message.test(waiting?.message ?? "");
    },
  });
}

e2e(
  "a certificate of an unknown CA is refused and retried until hosts.toml names the CA",
  async () => {
    using registry = new MovingRegistry(certificate);
    registry.move("app:1", "own-ca");
    const server = `server = "https://127.0.0.1:${registry.port}"`;
    const host = `[host."https://127.0.0.1:${registry.port}"]`;
    hosts("ca.example.test", [server, host]);
    put("own-ca", "ca.example.test/app:1");
    await refusedWith("own-ca", /x509: certificate signed by unknown authority/);
    expect(registry.asked).toEqual([]);
    hosts("ca.example.test", [server, host, `  ca = "${authority.cert}"`]);
    await untilPod(agent, "own-ca", READY);
    expect(registry.timesAsked("app:1")).toBeGreaterThan(0);
  },
  120_000,
);

e2e(
  "skip_verify is the line that accepts any certificate",
  async () => {
    using registry = new MovingRegistry(certificate);
    registry.move("app:1", "unverified");
    const place = `https://127.0.0.1:${registry.port}`;
    hosts("unverified.example.test", [
      `server = "${place}"`,
      `[host."${place}"]`,
      "  skip_verify = true",
    ]);
    put("unverified", "unverified.example.test/app:1");
    await untilPod(agent, "unverified", READY);
  },
  120_000,
);

e2e(
  "a registry that asks for a client certificate gets the one of hosts.toml",
  async () => {
    using registry = new MovingRegistry({ ...certificate, clientCA: authority.cert });
    registry.move("app:1", "client");
    const node = authority.issue("node", "node");
    const place = `https://127.0.0.1:${registry.port}`;
    const lines = [`server = "${place}"`, `[host."${place}"]`, `  ca = "${authority.cert}"`];
    hosts("client.example.test", lines);
    put("client", "client.example.test/app:1");
    await refusedWith("client", /failed to do request|tls|EOF|reset/i);
    expect(registry.asked).toEqual([]);
    hosts("client.example.test", [...lines, `  client = [["${node.cert}", "${node.key}"]]`]);
    await untilPod(agent, "client", READY);
  },
  120_000,
);

e2e(
  "a mirror is asked first, and the registry itself when the mirror is away",
  async () => {
    using mirror = new MovingRegistry();
    using registry = new MovingRegistry();
    for (const one of [mirror, registry]) {
      one.move("app:1", "mirrored-1");
      one.move("app:2", "mirrored-2");
    }
    hosts("mirrored.example.test", [
      `server = "http://127.0.0.1:${registry.port}"`,
      `[host."http://127.0.0.1:${mirror.port}"]`,
      '  capabilities = ["pull", "resolve"]',
    ]);
    put("mirrored-1", "mirrored.example.test/app:1");
    await untilPod(agent, "mirrored-1", READY);
    expect([mirror.timesAsked("app:1") > 0, registry.asked]).toEqual([true, []]);
    await mirror.goAway();
    put("mirrored-2", "mirrored.example.test/app:2");
    await untilPod(agent, "mirrored-2", READY);
    expect(registry.timesAsked("app:2")).toBeGreaterThan(0);
  },
  120_000,
);
