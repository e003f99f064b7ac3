// The life of a manifest: renamed into place, edited, commented, deleted, put back.

import { afterAll, afterEach, beforeAll, expect } from "bun:test";
import { copyFileSync, existsSync, readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";

import { stringify } from "yaml";

import type { AgentProcess } from "../harness/agent-process.ts";
import { eventually } from "../harness/eventually.ts";
import { freePort } from "../harness/free-port.ts";
import { output } from "../harness/run-command.ts";
import { listTasks } from "../harness/containerd-lists.ts";
import { getContainer, getPod } from "./support-a-agent.ts";
import { exitStatus, Stage } from "./support-a-stage.ts";

const stage = await Stage.open();
const e2e = stage.test;
let agent: AgentProcess;

beforeAll(async () => {
  if (!stage.available) return;
  agent = stage.agent();
  await agent.startReady();
}, 180_000);

afterEach(async () => {
  if (stage.available) await stage.clear(agent);
}, 180_000);

afterAll(() => stage.close(), 180_000);

e2e("a manifest renamed into place runs, once", async () => {
  const mark = stage.mark();
  agent.writeManifest("web.yaml", stage.manifest({ name: "web" }));
  await stage.journalIs("web", ["start a"]);
  const id = await stage.running("web");
  const pod = await eventually("the agent calls it Running", async () => {
    const seen = await getPod(agent, "web");
    return seen.status.phase === "Running" ? seen : undefined;
  });
  expect(pod.status.containerStatuses?.[0]?.containerID).toBe(`containerd://${id}`);
  expect(pod.metadata.annotations?.["kubernetes.io/config.source"]).toBe("file");
  expect(pod.metadata.annotations?.["agent/source-ref"]).toBe(
    `${join(agent.paths.manifests, "web.yaml")}#0`,
  );
  await stage.countsStay(mark, { starts: 1, exits: 0 }, 500);
  expect(stage.starts(mark).map(({ containerId }) => containerId)).toEqual([id]);
});

e2e("an edit stops the old pod gracefully, then starts the new one, never both", async () => {
  const recipe = { name: "edited", onTerm: "slowly", graceSeconds: 10 } as const;
  const mark = stage.mark();
  agent.writeManifest("edited.yaml", stage.manifest(recipe));
  await stage.journalIs("edited", ["start a"]);
  const old = await stage.running("edited");

  const editedAt = Date.now();
  agent.writeManifest("edited.yaml", stage.manifest({ ...recipe, tag: "b" }));
  await stage.journalIs("edited", ["start a", "stopping a", "stop a", "start b"]);
  const fresh = await stage.running("edited");
  await stage.counts(mark, { starts: 2, exits: 1 });
  expect(stage.starts(mark).map(({ containerId }) => containerId)).toEqual([old, fresh]);
  const [exit] = stage.exits(mark);
  expect(exit?.containerId).toBe(old);
  expect(exitStatus(exit)).toBe(0);
  expect((exit?.at ?? 0) - editedAt).toBeLessThan(30_000);
  expect(stage.maxRunning(mark)).toBe(1);
});

e2e("an edit kills an old pod that does not end when its grace period is over", async () => {
  const recipe = { name: "stubborn", onTerm: "ignore", graceSeconds: 2 } as const;
  const mark = stage.mark();
  agent.writeManifest("stubborn.yaml", stage.manifest(recipe));
  await stage.journalIs("stubborn", ["start a"]);

  const editedAt = Date.now();
  agent.writeManifest("stubborn.yaml", stage.manifest({ ...recipe, tag: "b" }));
  await stage.journalIs("stubborn", ["start a", "start b"]);
  await stage.counts(mark, { starts: 2, exits: 1 });
  const [exit] = stage.exits(mark);
  expect(exitStatus(exit)).toBe(137);
  const took = (exit?.at ?? 0) - editedAt;
  expect(took).toBeGreaterThanOrEqual(1_900);
  expect(took).toBeLessThan(20_000);
  expect(stage.maxRunning(mark)).toBe(1);
});

e2e(
  "comments, the order of keys, labels and annotations are edited without a restart",
  async () => {
    const recipe = { name: "relabelled", labels: { app: "a" } };
    const before = stage.mark();
    agent.writeManifest("relabelled.yaml", stage.manifest(recipe));
    await stage.journalIs("relabelled", ["start a"]);
    const id = await stage.running("relabelled");
    await stage.counts(before, { starts: 1, exits: 0 });
    const mark = stage.mark();

    const reordered = Object.fromEntries(Object.entries(stage.manifest(recipe)).toReversed());
    agent.writeManifest("relabelled.yaml", `# why it runs\n${stringify(reordered)}`);
    agent.writeManifest(
      "relabelled.yaml",
      stage.manifest({ ...recipe, labels: { app: "b" }, annotations: { note: "edited" } }),
    );
    await eventually("the new label and annotation are seen", async () => {
      const { metadata } = await getPod(agent, "relabelled");
      return metadata.labels?.["app"] === "b" && metadata.annotations?.["note"] === "edited";
    });
    agent.writeManifest("relabelled.yaml", `# why it runs\n${stringify(reordered)}`);
    await eventually("the first label is back", async () => {
      const { metadata } = await getPod(agent, "relabelled");
      return metadata.labels?.["app"] === "a" && metadata.annotations?.["note"] === undefined;
    });
    await stage.staysQuiet(mark, 500);
    expect(await stage.running("relabelled")).toBe(id);
    expect(stage.journal("relabelled")).toEqual(["start a"]);
  },
);

e2e("a deleted manifest leaves no sandbox, network, volumes, logs or cgroups", async () => {
  const mark = stage.mark();
  agent.writeManifest("gone.yaml", stage.manifest({ name: "gone", onTerm: "slowly" }));
  await stage.journalIs("gone", ["start a"]);
  const id = await stage.running("gone");
  const [sandbox = ""] = await stage.containersOf("gone", "sandbox");
  const { Labels: labels, Spec: spec } = await stage.info(sandbox);
  const uid = labels["io.kubernetes.pod.uid"] ?? "no uid";
  const netns = spec.linux.namespaces.find(({ type }) => type === "network")?.path ?? "";
  const volumes = join(agent.paths.state, "pods", uid);
  const logs = join(agent.paths.podLogs, `default_gone_${uid}`);
  expect([netns, volumes, logs].map((path) => existsSync(path))).toEqual([true, true, true]);
  expect(addressesOf(sandbox)).toHaveLength(1);
  expect(await cgroupsOf(uid)).not.toEqual([]);

  await stage.counts(mark, { starts: 1, exits: 0 });
  agent.removeManifest("gone.yaml");
  await stage.journalIs("gone", ["start a", "stopping a", "stop a"]);
  await eventually(
    "nothing of the pod is left",
    async () => {
      expect(await stage.containersOf("gone")).toEqual([]);
      expect(await stage.containersOf("gone", "sandbox")).toEqual([]);
      expect([netns, volumes, logs].filter((path) => existsSync(path))).toEqual([]);
      expect(addressesOf(sandbox)).toEqual([]);
      expect(await cgroupsOf(uid)).toEqual([]);
      return true;
    },
    { timeout: 60_000, interval: 100, explain: () => agent.logTail() },
  );
  await stage.counts(mark, { starts: 1, exits: 1 });
  const [exit] = stage.exits(mark);
  expect(exit?.containerId).toBe(id);
  expect(exitStatus(exit)).toBe(0);
  const tasks = (await listTasks(stage.containerd)).map((task) => task.id);
  expect(tasks).not.toContain(sandbox);
  expect((await agent.cli("get", "pods", "gone")).code).toBe(1);
});

e2e("removed and added again while it stops, a pod begins a new life from nothing", async () => {
  const life = [
    "echo life >>/scratch/starts",
    `say "file $(wc -l </scratch/starts)"`,
    `echo printed`,
    "[ $(wc -l </scratch/starts) -gt 1 ] || exit 1",
  ];
  const manifest = stage.manifest({ name: "again", script: life, onTerm: "slowly" });
  const first = ["start a", "file 1 a", "start a", "file 2 a"];
  const mark = stage.mark();
  agent.writeManifest("again.yaml", manifest);
  await stage.journalIs("again", first);

  agent.removeManifest("again.yaml");
  await stage.journalIs("again", [...first, "stopping a"]);
  agent.writeManifest("again.yaml", manifest);
  // An emptyDir with the old file would say 3; a back-off of the first life would last 10 s.
  const ended = [...first, "stopping a", "stop a"];
  await eventually("it fails once again", () => stage.journal("again").length >= ended.length + 2);
  await stage.journalIs("again", [...ended, ...first], 8_000);
  await eventually("its restart count began from 0", async () => {
    const { restartCount, state } = await getContainer(agent, "again");
    return restartCount === 1 && state.running !== undefined;
  });
  await stage.counts(mark, { starts: 4, exits: 3 });
  expect(stage.maxRunning(mark)).toBe(1);
  const logs = readdirSync(agent.paths.podLogs).filter((name) => name.startsWith("default_again_"));
  expect(logs).toHaveLength(1);
  const directory = join(agent.paths.podLogs, logs[0] ?? "", "main");
  expect(readdirSync(directory).toSorted()).toEqual(["0.log", "1.log"]);
  for (const name of ["0.log", "1.log"])
    expect(readFileSync(join(directory, name), "utf8").match(/printed/g)).toHaveLength(1);
});

const AGAIN = [
  ["copied", "cp", "once-copied"],
  ["renamed into place", "mv", "once-moved"],
] as const;
e2e.each(AGAIN)(
  "removed and %s at once, a finished Never pod runs exactly once more",
  async (_how, tool, name) => {
    const once = stage.manifest({ name, restartPolicy: "Never", script: ["exit 0"] });
    const file = `${name}.yaml`;
    const mark = stage.mark();
    agent.writeManifest(file, once);
    await eventually("it has succeeded", async () => {
      return (await getPod(agent, name)).status.phase === "Succeeded";
    });
    const path = join(agent.paths.manifests, file);
    const same = join(agent.paths.directory, file);
    copyFileSync(path, same);
    await output(["sh", "-c", `rm "$1" && ${tool} "$2" "$1"`, "sh", path, same]);
    await stage.journalIs(name, ["start a", "start a"]);
    await eventually("it has succeeded again", async () => {
      const { status } = await getPod(agent, name);
      return status.phase === "Succeeded" && status.containerStatuses?.[0]?.restartCount === 0;
    });
    await stage.countsStay(mark, { starts: 2, exits: 2 }, 500);
  },
);

e2e("a second edit during the stop converges to the newest", async () => {
  const recipe = { name: "twice", onTerm: "slowly" } as const;
  const mark = stage.mark();
  agent.writeManifest("twice.yaml", stage.manifest(recipe));
  await stage.journalIs("twice", ["start a"]);
  agent.writeManifest("twice.yaml", stage.manifest({ ...recipe, tag: "b" }));
  await stage.journalIs("twice", ["start a", "stopping a"]);
  agent.writeManifest("twice.yaml", stage.manifest({ ...recipe, tag: "c" }));
  const lines = ["start a", "stopping a", "stop a", "start c"];
  await stage.journalIs("twice", lines);
  await stage.countsStay(mark, { starts: 2, exits: 1 }, 1_000);
  expect(stage.journal("twice")).toEqual(lines);
  expect(stage.maxRunning(mark)).toBe(1);
  const { Labels: labels } = await stage.info(await stage.running("twice"));
  const uid = labels["io.kubernetes.pod.uid"];
  expect((await getPod(agent, "twice")).metadata).toMatchObject({ uid });
});

e2e("edited and edited back during the stop, the first spec starts anew", async () => {
  const recipe = { name: "back", onTerm: "slowly" } as const;
  const mark = stage.mark();
  agent.writeManifest("back.yaml", stage.manifest(recipe));
  await stage.journalIs("back", ["start a"]);
  agent.writeManifest("back.yaml", stage.manifest({ ...recipe, tag: "b" }));
  await stage.journalIs("back", ["start a", "stopping a"]);
  agent.writeManifest("back.yaml", stage.manifest(recipe));
  await stage.journalIs("back", ["start a", "stopping a", "stop a", "start a"]);
  await stage.countsStay(mark, { starts: 2, exits: 1 }, 1_000);
  expect(stage.maxRunning(mark)).toBe(1);
});

e2e("while the image of a replacement cannot be pulled, the old pod keeps running", async () => {
  const recipe = { name: "kept" };
  const before = stage.mark();
  agent.writeManifest("kept.yaml", stage.manifest(recipe));
  await stage.journalIs("kept", ["start a"]);
  const id = await stage.running("kept");
  await stage.counts(before, { starts: 1, exits: 0 });
  const mark = stage.mark();

  const image = `127.0.0.1:${freePort()}/nobody/nothing:1`;
  agent.writeManifest("kept.yaml", stage.manifest({ ...recipe, tag: "b", image }));
  const pending = await eventually("the update is told to be pending", async () => {
    const { status } = await getPod(agent, "kept");
    const found = status.conditions?.find(({ type }) => type === "agent/UpdatePending");
    const failed = /^(ErrImagePull|ImagePullBackOff)$/.test(found?.reason ?? "");
    return found?.status === "True" && failed ? found : undefined;
  });
  expect(pending.message).toContain("nobody/nothing:1");
  const shown = await getContainer(agent, "kept");
  expect(shown.containerID).toBe(`containerd://${id}`);
  expect(shown.state.running).toBeDefined();
  expect((await agent.cli("get", "pods")).stdout).toMatch(
    /^kept +1\/1 +Running \(update pending\)/m,
  );
  await stage.staysQuiet(mark, 1_500);

  agent.writeManifest("kept.yaml", stage.manifest(recipe));
  await eventually("going back clears the condition", async () => {
    const { status } = await getPod(agent, "kept");
    return status.conditions?.every(
      ({ type, status: is }) => type !== "agent/UpdatePending" || is !== "True",
    );
  });
  await stage.staysQuiet(mark, 500);

  const good = {
    ...recipe,
    tag: "c",
    image: "local/busybox:2",
    script: ["say $(cat /etc/image-version)"],
  };
  agent.writeManifest("kept.yaml", stage.manifest(good));
  await stage.journalIs("kept", ["start a", "stop a", "start c", "2 c"]);
  await stage.counts(before, { starts: 2, exits: 1 });
  expect(stage.maxRunning(before)).toBe(1);
});

/** Files of the address allocator that name a sandbox. */
function addressesOf(sandbox: string): readonly string[] {
  const { directory, network } = stage.containerd.facts;
  const allocated = join(directory, "ipam", network);
  return readdirSync(allocated).filter((name) =>
    readFileSync(join(allocated, name), "utf8").includes(sandbox),
  );
}

async function cgroupsOf(uid: string): Promise<readonly string[]> {
  const below = `*${stage.containerd.cgroupRoot}/*${uid}*`;
  const found = await output([
    "find",
    "/sys/fs/cgroup",
    "-ignore_readdir_race",
    "-type",
    "d",
    "-path",
    below,
  ]);
  return found.split("\n").filter((line) => line !== "");
}
