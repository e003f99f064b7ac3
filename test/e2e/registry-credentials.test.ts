// Real programs give the credentials of a registry that asks for a password: a plugin of the kubelet, and a helper of Docker.

import { afterAll, beforeAll, expect } from "bun:test";
import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";

import type { AgentProcess } from "../harness/agent-process.ts";
import { DockerRegistry } from "../harness/docker-registry.ts";
import { containerOf, READY, untilEvent, untilPod } from "./support-c-views.ts";
import { World } from "./support-e-world.ts";

const USER = { username: "fleet", password: "correct-horse-battery-staple" };

const world = await World.open();
const { e2e } = world;
let agent: AgentProcess;
let registry: DockerRegistry;
let programs = "";

beforeAll(async () => {
  if (!world.stage.available) return;
  const { temp } = world.stage;
  registry = await DockerRegistry.start(temp, { name: "guarded", user: USER });
  programs = temp.directory("programs");
  const plugins = join(programs, "providers.json");
  const registryAuthFile = join(programs, "config.json");
  const { port } = registry;
  writeFileSync(
    plugins,
    JSON.stringify({
      apiVersion: "kubelet.config.k8s.io/v1",
      kind: "CredentialProviderConfig",
      providers: [
        {
          name: "e2e-plugin",
          matchImages: [`127.0.0.1:${port}`],
          defaultCacheDuration: "1h",
          apiVersion: "credentialprovider.kubelet.k8s.io/v1",
        },
      ],
    }),
  );
  // Another name of the same registry.
  writeFileSync(
    registryAuthFile,
    JSON.stringify({ credHelpers: { [`localhost:${port}`]: "e2e" } }),
  );
  agent = world.agent("registry-credentials", {
    config: {
      registryAuthFile,
      imageCredentialProviderConfigFile: plugins,
      imageCredentialProviderBinDir: programs,
    },
  });
  await agent.startReady();
}, 180_000);

afterAll(() => world.close(), 180_000);

/** It notes what it is asked, and gives the same answer each time. */
function program(name: string, answer: object): void {
  const script = `#!/bin/sh\n{ cat; echo; } >>${join(programs, `${name}.asked`)}\ncat ${join(programs, `${name}.answer`)}\n`;
  writeFileSync(join(programs, `${name}.answer`), JSON.stringify(answer));
  writeFileSync(join(programs, name), script, { mode: 0o755 });
}

function asked(name: string): readonly string[] {
  return readFileSync(join(programs, `${name}.asked`), "utf8")
    .trim()
    .split("\n");
}

function pluginAnswer(password: string): object {
  return {
    apiVersion: "credentialprovider.kubelet.k8s.io/v1",
    kind: "CredentialProviderResponse",
    cacheKeyType: "Registry",
    auth: { [`127.0.0.1:${registry.port}`]: { ...USER, password } },
  };
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

e2e(
  "an answer of a plugin that the registry refuses is asked for again, one that it accepts is kept",
  async () => {
    for (const name of ["a", "b"]) await registry.push(`team/${name}:1`, { version: name });
    program("e2e-plugin", pluginAnswer("expired"));
    put("plugged-a", `127.0.0.1:${registry.port}/team/a:1`);
    const refused = await untilPod(agent, "plugged-a", {
      is: "may not pull",
      when: (pod) =>
        /^(ErrImagePull|ImagePullBackOff)$/.test(
          containerOf(pod, "main").state.waiting?.reason ?? "",
        ),
    });
    expect(containerOf(refused, "main").state.waiting?.message).toMatch(
      /401 Unauthorized|authorization failed/,
    );
    await untilEvent(agent, "plugged-a", { reason: "BackOff" });
    program("e2e-plugin", pluginAnswer(USER.password));
    await untilPod(agent, "plugged-a", READY);
    const requests = asked("e2e-plugin").map((line) => JSON.parse(line) as { image: string });
    expect(requests.length).toBeGreaterThan(1);
    expect(requests[0]?.image).toBe(`127.0.0.1:${registry.port}/team/a`);
    put("plugged-b", `127.0.0.1:${registry.port}/team/b:1`);
    await untilPod(agent, "plugged-b", READY);
    expect(asked("e2e-plugin")).toHaveLength(requests.length);
  },
  120_000,
);

e2e(
  "a helper of registryAuthFile is asked for its registry",
  async () => {
    await registry.push("team/helped:1", { version: "helped" });
    program("docker-credential-e2e", { Username: USER.username, Secret: USER.password });
    put("helped", `localhost:${registry.port}/team/helped:1`);
    await untilPod(agent, "helped", READY);
    expect(asked("docker-credential-e2e")).toEqual([`localhost:${registry.port}`]);
    expect(agent.logTail(10_000)).not.toContain(USER.password);
  },
  120_000,
);
