// Checks the harness itself: what the other tests stand on.

import { afterAll, expect, test } from "bun:test";
import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";

import { grpcCriClient, type GrpcCriClient } from "../../src/cri/cri-client.ts";
import { systemClock } from "../../src/lib/system-clock.ts";
import { removeBarePod, runBarePod } from "../harness/bare-pod.ts";
import { startBroker } from "../harness/broker.ts";
import { eventually } from "../harness/eventually.ts";
import { freePort } from "../harness/free-port.ts";
import { BUSYBOX_1, BUSYBOX_2, importImages, PAUSE } from "../harness/images.ts";
import { isUnavailable, startPrivateContainerd } from "../harness/private-containerd.ts";
import { identify, isAlive } from "../harness/processes.ts";
import { output, runSync } from "../harness/run-command.ts";
import { testWhenAvailable } from "../harness/skip-reasons.ts";
import { makeTempDirectory } from "../harness/temp-directory.ts";
import { listTasks } from "../harness/containerd-lists.ts";
import { ContainerdWatch, runningContainers } from "../harness/watch-containerd.ts";

const temp = makeTempDirectory();
const started = await startPrivateContainerd(temp, { sandboxImage: `docker.io/${PAUSE.name}` });
const e2e = testWhenAvailable(started);

afterAll(() => temp.remove(), 180_000);

function containerd() {
  if (isUnavailable(started)) throw new Error(started.unavailable);
  return started;
}

function connect(): GrpcCriClient {
  return grpcCriClient({ endpoint: containerd().endpoint, clock: systemClock() });
}

e2e("imports images that it made itself", async () => {
  await importImages(containerd(), temp.directory("images"), [PAUSE, BUSYBOX_1, BUSYBOX_2]);
  using cri = connect();
  const tags = (await cri.listImages()).flatMap((image) => image.repoTags);
  expect(tags.toSorted()).toEqual([
    "docker.io/local/busybox:1",
    "docker.io/local/busybox:2",
    "docker.io/local/pause:1",
  ]);
});

e2e(
  "runs a pod with an address and a host port, and sees it in containerd's own events",
  async () => {
    using cri = connect();
    using watch = await ContainerdWatch.start(containerd(), temp);
    const port = freePort();
    const pod = await runBarePod(cri, {
      name: "web",
      image: "local/busybox:2",
      command: ["sh", "-c", "echo started >>/data/starts; exec httpd -f -p 80 -h /etc"],
      logDirectory: temp.directory("logs"),
      cgroupParent: containerd().cgroupRoot,
      hostPort: { host: port, container: 80 },
      mounts: { [temp.directory("data")]: "/data" },
    });

    for (const address of [`${pod.ip}:80`, `127.0.0.1:${port}`]) {
      const get = async (): Promise<string> =>
        (await fetch(`http://${address}/image-version`)).text();
      expect(await eventually(`${address} answers`, get)).toBe("2\n");
    }
    expect(readFileSync(join(temp.path, "data/starts"), "utf8")).toBe("started\n");
    const tasks = await listTasks(containerd());
    expect(tasks.map(({ id }) => id).toSorted()).toEqual(
      [pod.containerId, pod.sandboxId].toSorted(),
    );
    expect(watch.starts().map(({ containerId }) => containerId)).toEqual([
      pod.sandboxId,
      pod.containerId,
    ]);

    await removeBarePod(cri, pod);
    await eventually("both exits are told", () => watch.exits().length === 2);
    expect(await listTasks(containerd())).toEqual([]);
  },
);

e2e("keeps containers over a kill of containerd", async () => {
  using cri = connect();
  await runBarePod(cri, {
    name: "sleeper",
    image: "local/busybox:1",
    command: ["sleep", "1000"],
    logDirectory: temp.directory("logs"),
    labels: {
      "io.kubernetes.pod.namespace": "bare",
      "io.kubernetes.pod.name": "sleeper",
      "io.kubernetes.container.name": "main",
    },
  });
  const before = await listTasks(containerd());
  await containerd().restart("SIGKILL");
  expect((await listTasks(containerd())).toSorted(byPid)).toEqual(before.toSorted(byPid));
  expect(await runningContainers(containerd())).toEqual(["bare/sleeper/main"]);
});

e2e(
  "leaves nothing behind when it is stopped",
  async () => {
    const processes = (await listTasks(containerd())).flatMap(({ pid }) => identify(pid) ?? []);
    expect(processes.length).toBe(2);
    await containerd().stop();

    const { facts } = containerd();
    expect(processes.filter(isAlive)).toEqual([]);
    expect(readFileSync("/proc/self/mountinfo", "utf8")).not.toContain(facts.directory);
    expect(existsSync(`/sys/class/net/${facts.bridge}`)).toBe(false);
    expect(runSync(["iptables", "-w", "-t", "nat", "-S"]).stdout).not.toContain(facts.network);
    // Cgroups of others come and go meanwhile.
    const cgroups = await output([
      "find",
      "/sys/fs/cgroup",
      "-ignore_readdir_race",
      "-type",
      "d",
      "-name",
      `*${facts.network}`,
    ]);
    expect(cgroups).toBe("");
  },
  180_000,
);

const haveBroker = Bun.which("mosquitto") !== null;
if (!haveBroker) process.stderr.write("skipped: mosquitto is not installed\n");

test.skipIf(!haveBroker)("a private broker keeps what is retained over a restart", async () => {
  const broker = await startBroker(temp);
  {
    await using client = await broker.client();
    expect(await client.retained("harness/a")).toBeUndefined();
    const collector = await client.collect("harness/+");
    await client.publish("harness/a", { generation: 1 }, { retain: true });
    await client.publish("harness/b", "not retained");
    await collector.next(({ payload }) => payload === "not retained");
    expect(await client.retainedJSON("harness/a")).toEqual({ generation: 1 });
    expect(await client.retained("harness/b")).toBeUndefined();
  }
  await broker.restart();
  await using client = await broker.client();
  expect(await client.retainedJSON("harness/a")).toEqual({ generation: 1 });
  await broker.stop();
});

function byPid(a: { readonly pid: number }, b: { readonly pid: number }): number {
  return a.pid - b.pid;
}
