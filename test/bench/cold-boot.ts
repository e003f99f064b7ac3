// Cold boot without a network: from a containerd that is ready and empty to all pods running, images from an archive. The
// agent, beside the bare calls: `ctr images import`, then RunPodSandbox, CreateContainer, StartContainer.
//
// bun test/bench/cold-boot.ts [PAIRS]

import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { stringify } from "yaml";

import { grpcCriClient } from "../../src/cri/cri-client.ts";
import { systemClock } from "../../src/lib/system-clock.ts";
import { AgentProcess } from "../harness/agent-process.ts";
import { eventually } from "../harness/eventually.ts";
import { BUSYBOX_1, dockerArchive, importImages, PAUSE } from "../harness/images.ts";
import {
  isUnavailable,
  startPrivateContainerd,
  type PrivateContainerd,
} from "../harness/private-containerd.ts";
import { makeTempDirectory, type TempDirectory } from "../harness/temp-directory.ts";
import { listTasks } from "../harness/containerd-lists.ts";
import { podNames } from "./agent-side.ts";
import { atMost, BareCalls, COMMAND } from "./bare-calls.ts";
import { spread } from "./statistics.ts";

const PODS = 10;
const AT_ONCE = 4;
const POLL_MS = 20;

/** Milliseconds. */
async function onFreshContainerd(
  work: (containerd: PrivateContainerd, temp: TempDirectory) => Promise<number>,
): Promise<number> {
  using temp = makeTempDirectory();
  const containerd = await startPrivateContainerd(temp, { sandboxImage: PAUSE.name });
  if (isUnavailable(containerd)) throw new Error(containerd.unavailable);
  // Both have it beforehand: the agent's own is smaller.
  await importImages(containerd, temp.directory("pause"), [PAUSE]);
  try {
    return await work(containerd, temp);
  } finally {
    await containerd.stop();
  }
}

async function untilRunning(containerd: PrivateContainerd, tasks: number): Promise<void> {
  await eventually(
    `${tasks} tasks run`,
    async () => (await listTasks(containerd)).length >= tasks,
    { timeout: 120_000, interval: POLL_MS },
  );
}

async function bare(containerd: PrivateContainerd, temp: TempDirectory): Promise<number> {
  const archive = join(temp.directory("images"), "busybox.tar");
  writeFileSync(archive, dockerArchive(BUSYBOX_1));
  using cri = grpcCriClient({ endpoint: containerd.endpoint, clock: systemClock() });
  const calls = new BareCalls(cri, {
    image: BUSYBOX_1.name,
    logDirectory: temp.directory("logs"),
    cgroupParent: containerd.cgroupRoot,
  });
  const configs = calls.prepare(PODS);
  const begin = performance.now();
  await containerd.ctr("images", "import", "--snapshotter", containerd.snapshotter, archive);
  await eventually(
    "CRI knows the image",
    async () => (await cri.imageStatus({ image: BUSYBOX_1.name })) !== undefined,
    { interval: 5 },
  );
  await atMost(AT_ONCE, configs, (config) => calls.run(config));
  await untilRunning(containerd, 2 * PODS);
  return performance.now() - begin;
}

async function agent(containerd: PrivateContainerd, temp: TempDirectory): Promise<number> {
  const { endpoint, cgroupRoot } = containerd;
  const process = new AgentProcess(temp, { endpoint, cgroupRoot });
  mkdirSync(process.paths.images);
  writeFileSync(join(process.paths.images, "busybox.tar"), dockerArchive(BUSYBOX_1));
  for (const name of podNames(PODS)) {
    const containers = [{ name: "main", image: BUSYBOX_1.name, command: COMMAND }];
    const metadata = { name, namespace: "default" };
    const pod = { apiVersion: "v1", kind: "Pod", metadata, spec: { containers } };
    process.writeManifest(`${name}.yaml`, stringify(pod));
  }
  const begin = performance.now();
  process.start();
  await untilRunning(containerd, 2 * PODS);
  const elapsed = performance.now() - begin;
  await process.kill();
  return elapsed;
}

const pairs = Number(process.argv[2] ?? 5);
const [ofAgent, ofBare]: [number[], number[]] = [[], []];
for (let pair = 0; pair < pairs; pair += 1) {
  ofBare.push(await onFreshContainerd(bare));
  ofAgent.push(await onFreshContainerd(agent));
}
const ratio = spread(ofAgent.map((own, index) => own / (ofBare[index] ?? 1)));
process.stdout.write(
  `${PODS} pods from an empty containerd: agent ${JSON.stringify(spread(ofAgent))} ms, bare ${JSON.stringify(spread(ofBare))} ms, ratio ${JSON.stringify(ratio)}\n`,
);
process.exit(0);
