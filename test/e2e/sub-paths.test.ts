// Parts of volumes: what they show, and that nothing a pod plants in its volume leads out of it.

import { afterAll, beforeAll, expect } from "bun:test";
import { mkdirSync, readdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";

import type { AgentProcess } from "../harness/agent-process.ts";
import { eventually } from "../harness/eventually.ts";
import { containerOf, eventsOf, READY, untilPod } from "./support-c-views.ts";
import { World } from "./support-e-world.ts";

const world = await World.open();
const { e2e, life } = world;
let agent: AgentProcess;

beforeAll(async () => {
  if (!world.stage.available) return;
  agent = world.agent("parts");
  await agent.startReady();
}, 180_000);

afterAll(() => world.close(), 180_000);

e2e.concurrent("a part of every kind of volume", async () => {
  const root = world.directory("sub-paths");
  mkdirSync(join(root, "directory"));
  writeFileSync(join(root, "directory/inside"), "inside");
  world.put(agent, "sub-paths", { ROOT: root });
  await untilPod(agent, "parts", READY);
  const place = { agent, pod: "parts" };
  expect(await world.inside(place, "ls /config; cat /config/key")).toBe("key\nfrom the key");
  expect(await world.inside(place, "cat /below/file /below-file /by-link")).toBe("one\none\none\n");
  expect(await world.inside(place, "cat /host/inside /host-file")).toBe("insideinside");
  const refused = await world.inside(place, "echo x 2>&1 >/below-file || true");
  expect(refused).toContain("Read-only");
  await world.inside(place, "echo a >/made/file; echo b >/claim/file; echo c >/host/new");
  expect(await world.inside(place, "cat /again/file")).toBe("b\n");
  const claims = join(agent.paths.state, "claims/default/parts");
  expect(readFileSync(join(claims, "front/parts/file"), "utf8")).toBe("b\n");
  expect(readFileSync(join(root, "directory/new"), "utf8")).toBe("c\n");
  expect(await world.inside(place, "ls -A /made /claim")).toMatch(/file[^]*file/);
});

interface Link {
  readonly target: string;
  /** Of the subPath, behind the link. */
  readonly below?: string;
}

/** `ROOT` = a directory of the host. */
const LINKS: Readonly<Record<string, Link>> = {
  root: { target: "/" },
  up: { target: "../../../../../../../../../../.." },
  absolute: { target: "ROOT" },
  through: { target: "ROOT", below: "/canary" },
  creates: { target: "ROOT", below: "/made" },
  "up-from-below": { target: "../..", below: "/etc" },
  loop: { target: "part" },
  proc: { target: "/proc/1/root", below: "ROOT" },
};

e2e.concurrent("a link out of the volume is refused, and told", async () => {
  const root = world.directory("links");
  writeFileSync(join(root, "canary"), "canary");
  for (const [name, { target, below = "" }] of Object.entries(LINKS)) {
    const [TARGET = "", BELOW = ""] = [target, below].map((text) => text.replace("ROOT", root));
    const text = world.fixture("sub-path-links", { NAME: name, TARGET, BELOW });
    agent.writeManifest(`links-${name}.yaml`, text);
  }
  for (const [name, { below = "" }] of Object.entries(LINKS)) {
    const pod = await untilPod(agent, `links-${name}`, {
      is: "is refused",
      when: (found) =>
        containerOf(found, "main").state.waiting?.reason === "CreateContainerConfigError",
    });
    const leads =
      name === "loop" ? "leads through too many symbolic links" : "leads out of the volume";
    expect(containerOf(pod, "main").state.waiting).toEqual({
      reason: "CreateContainerConfigError",
      message: `failed to prepare subPath for volumeMount "shared" of container "main": "part${below.replace("ROOT", root)}" ${leads}`,
    });
    expect(containerOf(pod, "main").containerID).toBe("");
  }
  expect(readdirSync(root)).toEqual(["canary"]);
});

e2e.concurrent("nobody gets out by changing links all the time", async () => {
  const root = world.directory("attacked");
  writeFileSync(join(root, "canary"), "canary");
  world.put(agent, "sub-path-attack", { ROOT: root });
  const looks = (): number =>
    life.said("attack").filter((line) => line.startsWith("looked")).length;
  const refusals = async (): Promise<number> =>
    (await eventsOf(agent, "attack"))
      .filter(
        ({ reason, message }) => reason === "Failed" && message.includes("leads out of the volume"),
      )
      .reduce((sum, { count }) => sum + count, 0);
  // Each refusal makes the pod wait longer for its next sync.
  await eventually("it was tried often", async () => looks() >= 6 && (await refusals()) >= 2, {
    timeout: 150_000,
    explain: () => `${life.said("attack").join("\n")}\n${agent.logTail()}`,
  });
  agent.removeManifest("sub-path-attack.yaml");
  expect([...new Set(life.said("attack"))]).toEqual(["looked fine"]);
  console.log(
    `an attacked subPath was mounted ${looks()} times and refused ${await refusals()} times`,
  );
});
