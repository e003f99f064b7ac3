// A file system that never answers: its pods wait and say so, and everything else goes on.

import { afterAll, beforeAll, expect } from "bun:test";
import { join } from "node:path";

import type { AgentProcess } from "../harness/agent-process.ts";
import { HungFileSystem, whyNoFuse } from "../harness/hung-file-system.ts";
import { testWhenAvailable } from "../harness/skip-reasons.ts";
import { containerOf, READY, untilGone, untilPod } from "./support-c-views.ts";
import { World } from "./support-e-world.ts";

const world = await World.open();
const unavailable = whyNoFuse();
const e2e = unavailable === undefined ? world.e2e : testWhenAvailable({ unavailable });
let agent: AgentProcess;

beforeAll(async () => {
  if (!world.stage.available) return;
  agent = world.agent("hung");
  await agent.startReady();
}, 180_000);

afterAll(() => world.close(), 180_000);

function podWith(name: string, volume: object): string {
  const container = {
    name: "main",
    image: "local/busybox:1",
    command: ["sh", "-c", "trap exit TERM; sleep 1000000 & wait"],
    volumeMounts: [{ name: "v", mountPath: "/v" }],
  };
  const spec = {
    terminationGracePeriodSeconds: 1,
    containers: [container],
    volumes: [{ name: "v", ...volume }],
  };
  return JSON.stringify({ apiVersion: "v1", kind: "Pod", metadata: { name }, spec });
}

/** Whether the agent answers while `work` goes on: each call has a second. */
async function answersWhile<T>(work: Promise<T>): Promise<T> {
  let isDone = false;
  const done = work.finally(() => (isDone = true));
  const asking = async (): Promise<void> => {
    for (let calls = 0; calls < 2_000 && !isDone; calls += 1) {
      const answer = await Promise.race([agent.api("/healthz"), Bun.sleep(1_000)]);
      expect(answer?.status).toBe(200);
      await Bun.sleep(20);
    }
  };
  const [result] = await Promise.all([done, asking()]);
  return result;
}

e2e(
  "a hostPath on a file system that hangs keeps only its own pods waiting",
  async () => {
    const host = world.directory("host");
    const hung = await HungFileSystem.mount(join(host, "nas"));
    const kinds = ["", "Directory", "DirectoryOrCreate", "File", "", "Directory"];
    const waiting = kinds.map((type, index) => {
      const path = join(hung.path, index % 2 === 0 ? "" : "inside");
      agent.writeManifest(
        `waits-${index}.yaml`,
        podWith(`waits-${index}`, { hostPath: { path, type } }),
      );
      return `waits-${index}`;
    });
    agent.writeManifest("beside.yaml", podWith("beside", { hostPath: { path: host } }));
    await answersWhile(untilPod(agent, "beside", READY));
    for (const pod of waiting.slice(0, 2)) {
      const shown = await answersWhile(
        untilPod(agent, pod, {
          is: "waits",
          when: (found) => containerOf(found, "main").state.waiting?.reason === "FailedMount",
        }),
      );
      expect(containerOf(shown, "main").state.waiting?.message).toContain(
        `volume "v": ${hung.path} (fuse) does not answer (no answer within 10 s)`,
      );
    }
    agent.writeManifest("later.yaml", podWith("later", { emptyDir: {} }));
    await answersWhile(untilPod(agent, "later", READY));
    // They are removed, and the agent restarts, as any other.
    agent.removeManifest("waits-1.yaml");
    await answersWhile(untilGone(agent, "waits-1"));
    await agent.restart("SIGKILL");
    await answersWhile(untilPod(agent, "later", READY));

    hung[Symbol.dispose]();
    await answersWhile(untilPod(agent, "waits-0", READY));
  },
  180_000,
);
