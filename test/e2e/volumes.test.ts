// Volumes as containers see them: file systems, modes, owners, content, and what is refused.

import { afterAll, beforeAll, expect } from "bun:test";
import {
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import { join } from "node:path";

import type { AgentProcess } from "../harness/agent-process.ts";
import { runSync } from "../harness/run-command.ts";
import { testWhenAvailable } from "../harness/skip-reasons.ts";
import { UnixServer } from "./support-e-unix-server.ts";
import { containerOf, idOf, podOf, READY, untilEvent, untilPod } from "./support-c-views.ts";
import { World } from "./support-e-world.ts";

const world = await World.open();
const { e2e } = world;
let agent: AgentProcess;

beforeAll(async () => {
  if (!world.stage.available) return;
  agent = world.agent("volumes");
  await agent.startReady();
}, 180_000);

afterAll(() => world.close(), 180_000);

/** Why `main` of the pod waits. */
async function untilRefused(pod: string, reason: string): Promise<string> {
  const waiting = await untilPod(agent, pod, {
    is: `waits: ${reason}`,
    when: (found) => containerOf(found, "main").state.waiting?.reason === reason,
  });
  return containerOf(waiting, "main").state.waiting?.message ?? "";
}

e2e.concurrent("an emptyDir is shared, limited in memory, and empty in the next life", async () => {
  world.put(agent, "empty-dirs");
  await untilPod(agent, "empty-dirs", READY);
  const uid = await world.uid("empty-dirs");
  const main = { agent, pod: "empty-dirs" };
  const other = { agent, pod: "empty-dirs", container: "other" };
  const mounts = await world.inside(main, "grep -E ' /(disk|memory|free) ' /proc/mounts");
  expect(mounts).toMatch(/^tmpfs \/memory tmpfs rw,.*\bsize=1024k\b/m);
  // What all containers together may take.
  expect(mounts).toMatch(/^tmpfs \/free tmpfs rw,.*\bsize=65536k\b/m);
  expect(mounts).not.toMatch(/^tmpfs \/disk/m);
  expect(await world.inside(main, "stat -c '%a %u:%g' /disk /memory")).toBe("777 0:0\n777 0:0\n");

  await world.inside(other, "echo shared >/seen/file");
  expect(await world.inside(main, "cat /disk/file")).toBe("shared\n");
  const fill = "dd if=/dev/zero of=/memory/full bs=64k count=32 2>&1; stat -c %s /memory/full";
  const filled = await world.inside(main, fill);
  expect(filled).toContain("No space left on device");
  expect(filled.trim().split("\n").at(-1)).toBe(String(1024 * 1024));
  expect(await world.inside(other, "touch /read-only/x 2>&1 || true")).toContain("Read-only");

  // A container that ends keeps it; a pod that is removed and added again does not.
  const before = idOf(containerOf(await podOf(agent, "empty-dirs"), "main"));
  await world.stage.containerd.ctr("tasks", "kill", "--signal", "SIGKILL", before);
  await untilPod(agent, "empty-dirs", {
    is: "has restarted",
    when: (pod) => containerOf(pod, "main").restartCount === 1 && READY.when(pod),
  });
  expect(await world.inside(main, "ls /disk /memory")).toMatch(/file[^]*full/);
  agent.removeManifest("empty-dirs.yaml");
  world.put(agent, "empty-dirs");
  await untilPod(agent, "empty-dirs", {
    is: "lives again",
    when: (pod) => containerOf(pod, "main").restartCount === 0 && READY.when(pod),
  });
  expect(await world.uid("empty-dirs")).toBe(uid);
  expect(await world.inside(main, "ls /disk /memory /free | grep -v :$ | tr -d '\\n'; true")).toBe(
    "",
  );
});

/** One of everything that a hostPath may be. */
function hostThings(root: string): void {
  mkdirSync(join(root, "directory"));
  writeFileSync(join(root, "directory/inside"), "inside");
  writeFileSync(join(root, "file"), "a file");
  symlinkSync("directory", join(root, "link-to-directory"));
  symlinkSync("nowhere", join(root, "dangling"));
  runSync(["mknod", join(root, "character"), "c", "1", "3"]);
  runSync(["mknod", join(root, "block"), "b", "7", "99"]);
}

e2e.concurrent("a hostPath of each of the eight types", async () => {
  const root = world.directory("host-paths");
  hostThings(root);
  using _listens = new UnixServer(join(root, "socket"));
  world.put(agent, "host-paths", { ROOT: root });
  await untilPod(agent, "host-paths", READY);
  const place = { agent, pod: "host-paths" };
  const paths = "/any /directory /new/directory /file /new/file /socket /character /block";
  const found = await world.inside(place, `stat -c '%n: %F' ${paths}; stat -c %a /new/*`);
  expect(found.trim().split("\n")).toEqual([
    ...["/any", "/directory", "/new/directory"].map((path) => `${path}: directory`),
    "/file: regular file",
    "/new/file: regular empty file",
    "/socket: socket",
    "/character: character special file",
    "/block: block special file",
    "755",
    "644",
  ]);
  expect(await world.inside(place, "cat /any/inside /directory/inside /file")).toBe(
    "insideinsidea file",
  );
  const refusal = await world.inside(place, "touch /looked-at/x 2>&1 || true");
  expect(refusal).toContain("Read-only file system");
  await world.inside(place, "echo from inside >/new/file; echo from inside >/new/directory/x");
  expect(readFileSync(join(root, "new-file"), "utf8")).toBe("from inside\n");
  expect(readFileSync(join(root, "new/directory/x"), "utf8")).toBe("from inside\n");
});

e2e.concurrent("a hostPath that is not what its type says is refused, each of them", async () => {
  const root = world.directory("host-paths-refused");
  hostThings(root);
  world.put(agent, "host-paths-refused", { ROOT: root });
  const message = await untilRefused("host-paths-refused", "FailedMount");
  const says = (volume: string, path: string, wanted: string): string =>
    `volume "${volume}": hostPath type check failed: ${join(root, path)} is not ${wanted}`;
  expect(message.split("; ")).toEqual([
    says("directory", "file", "a directory: it is a file"),
    says("nothing", "nothing", "a directory: it does not exist"),
    says("directory-or-create", "file", "a directory: it is a file"),
    says("file", "directory", "a file: it is a directory"),
    says("no-file", "nothing", "a file: it does not exist"),
    says("file-or-create", "directory", "a file: it is a directory"),
    says("dangling", "dangling", "a file: it is a broken symbolic link"),
    says("socket", "file", "a socket: it is a file"),
    says("character", "block", "a character device: it is a block device"),
    says("block", "character", "a block device: it is a character device"),
  ]);
  await untilEvent(agent, "host-paths-refused", { reason: "FailedMount", type: "Warning" });
});

e2e.concurrent("files of ConfigMaps, Secrets and the pod's own fields", async () => {
  world.put(agent, "content", { EDITION: "first", GROUP: 2345 });
  const before = await untilPod(agent, "content", READY);
  const place = { agent, pod: "content" };
  const shown = "cd /; find -L all items absent fields mixed -type f ! -path '*/..*'";
  const files = await world.inside(place, `${shown} -exec stat -L -c '%n %a %u:%g' {} + | sort`);
  expect(files.trim().split("\n")).toEqual([
    ...["bytes", "one", "three.txt", "two"].map((name) => `all/${name} 644 0:2345`),
    ...["annotations", "cpu"].map((name) => `fields/${name} 644 0:2345`),
    "fields/edition 440 0:2345",
    ...["labels", "memory", "uid"].map((name) => `fields/${name} 644 0:2345`),
    // The group may read what its owner may.
    "items/deep/er/first 440 0:2345",
    "items/second 740 0:2345",
    "mixed/config/one 444 0:2345",
    "mixed/pod/edition 444 0:2345",
    "mixed/pod/name 444 0:2345",
    "mixed/secret/one 440 0:2345",
  ]);
  const text = async (path: string): Promise<string> => world.inside(place, `cat ${path}`);
  expect(await world.inside(place, "od -An -tx1 /all/bytes")).toMatch(/^ *ff 00 fe\s*$/);
  expect(await text("/all/one /items/deep/er/first /items/second")).toBe("112");
  expect(await text("/fields/labels")).toBe('app="shop"\nedition="first"');
  expect(await text("/fields/annotations")).toBe('note="in \\"quotes\\""');
  expect(await text("/fields/uid")).toBe(await world.uid("content"));
  expect(await text("/fields/cpu /fields/memory")).toBe("30064");
  expect(await text("/mixed/config/one /mixed/secret/one /mixed/pod/name")).toBe("1s1content");
  const mounts = await world.inside(place, "grep -E ' /(all|fields|mixed) ' /proc/mounts");
  expect(
    mounts
      .trim()
      .split("\n")
      .map((line) => line.split(" ")[3]?.slice(0, 3)),
  ).toEqual(["ro,", "ro,", "ro,"]);
  // A mount below a read-only one, and the pod's group in both.
  await world.inside(place, "echo x >/all/below/new");
  expect(await world.inside(place, "stat -c '%a %g' /scratch /scratch/new")).toBe(
    "2777 2345\n644 2345\n",
  );

  // What was missing, and need not have been there, comes later.
  agent.writeManifest("nowhere.yaml", {
    apiVersion: "v1",
    kind: "ConfigMap",
    metadata: { name: "nowhere" },
    data: { late: "here" },
  });
  await world.untilInside(place, "cat /absent/late", "here");

  // Labels may be edited: files follow, nothing restarts.
  const start = performance.now();
  world.put(agent, "content", { EDITION: "second", GROUP: 2345 });
  await world.untilInside(place, "cat /mixed/pod/edition", "second");
  console.log(
    `an edited label was seen from inside after ${Math.round(performance.now() - start)} ms`,
  );
  expect(await text("/fields/labels /fields/edition")).toBe('app="shop"\nedition="second"second');
  const now = await podOf(agent, "content");
  expect(idOf(containerOf(now, "main"))).toBe(idOf(containerOf(before, "main")));
});

function mountOnHost(path: string): void {
  mkdirSync(path, { recursive: true });
  const { code, stderr } = runSync(["mount", "-t", "tmpfs", "tmpfs", path]);
  if (code !== 0) throw new Error(stderr);
}

e2e.concurrent("mounts are seen on the other side as far as they are shared", async () => {
  const root = world.directory("shared");
  mountOnHost(root);
  runSync(["mount", "--make-rshared", root]);
  world.put(agent, "propagation", { ROOT: root });
  await untilPod(agent, "propagation", READY);
  const place = { agent, pod: "propagation" };
  mountOnHost(join(root, "by-host"));
  writeFileSync(join(root, "by-host/file"), "by the host");
  expect(await world.inside(place, "cat /from-host/by-host/file /both/by-host/file")).toBe(
    "by the hostby the host",
  );
  expect(await world.inside(place, "ls /none/by-host")).toBe("");

  const mount = (path: string): string =>
    `mkdir ${path} && mount -t tmpfs tmpfs ${path} && echo by the pod >${path}/file`;
  await world.inside(place, mount("/both/by-pod"));
  await world.inside(place, mount("/from-host/kept"));
  await world.inside(place, mount("/none/kept-too"));
  expect(readFileSync(join(root, "by-pod/file"), "utf8")).toBe("by the pod\n");
  expect(readdirSync(join(root, "kept"))).toEqual([]);
  expect(readdirSync(join(root, "kept-too"))).toEqual([]);
});

const huge = hasHugePages()
  ? e2e
  : testWhenAvailable({
      unavailable: "needs free huge pages of 2 MiB and the hugetlb cgroup controller",
    });

huge.concurrent("an emptyDir in huge pages", async () => {
  world.put(agent, "huge-pages");
  await untilPod(agent, "huge-pages", READY);
  const place = { agent, pod: "huge-pages" };
  const mounts = await world.inside(place, "grep ' /huge ' /proc/mounts");
  expect(mounts).toMatch(/^\S+ \/huge hugetlbfs rw,.*\bpagesize=2M\b/);
});

function hasHugePages(): boolean {
  const read = (path: string): string => (existsSync(path) ? readFileSync(path, "utf8") : "");
  const controllers = read("/proc/cgroups") + read("/sys/fs/cgroup/cgroup.controllers");
  const free = read("/sys/kernel/mm/hugepages/hugepages-2048kB/free_hugepages");
  return Number(free) > 0 && controllers.includes("hugetlb");
}
