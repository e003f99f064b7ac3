// Every example of manifests/ is valid and does what its first lines promise.

import { afterAll, beforeAll, expect } from "bun:test";
import { existsSync, readdirSync, readFileSync } from "node:fs";
import { join, resolve } from "node:path";

import type { AgentProcess } from "../harness/agent-process.ts";
import { eventually } from "../harness/eventually.ts";
import { Stage } from "./support-a-stage.ts";
import {
  containerOf,
  idOf,
  inPhase,
  podOf,
  READY,
  untilGone,
  untilPod,
} from "./support-c-views.ts";
import { logOf, waitOf } from "./support-d-linux.ts";

const EXAMPLES = resolve(import.meta.dir, "../../manifests");
/** What the gateway waits for; whoever runs this where there is one sees it run. */
const SERIAL = "/dev/ttyUSB0";

interface Promised {
  readonly phase: "Running" | "Succeeded" | "Pending";
  /** What a container prints: its name, and a line that comes sooner or later. */
  readonly says?: readonly [container: string, line: RegExp];
}

/** By the name of the file, which is also the pod's. */
const PROMISES: Readonly<Record<string, Promised>> = {
  hello: { phase: "Running", says: ["hello", /^hello, world, it is /] },
  "two-containers": { phase: "Running" },
  "web-with-probes": { phase: "Running" },
  "init-and-sidecar": { phase: "Running" },
  job: { phase: "Succeeded", says: ["count", /^there are \d+ users$/] },
  "config-and-secret": {
    phase: "Running",
    says: ["greeter", /^welcome, the password has 14 characters$/],
  },
  claim: { phase: "Running", says: ["count", /^start number 1$/] },
  hardened: { phase: "Running", says: ["web", /^I am 10001:10001$/] },
  "about-itself": {
    phase: "Running",
    says: [
      "tell",
      /^default\/about-itself has \d+\.\d+\.\d+\.\d+ on e2e \((amd64|arm64)\), \d+ processors, 2 labels$/,
    ],
  },
  "serial-gateway": { phase: existsSync(SERIAL) ? "Running" : "Pending" },
};

const stage = await Stage.open();
const e2e = stage.test;
let agent: AgentProcess;

beforeAll(async () => {
  if (!stage.available) return;
  agent = stage.agent();
  await agent.startReady();
  for (const file of exampleFiles()) agent.writeManifest(file, textOf(file));
}, 180_000);

afterAll(() => stage.close(), 180_000);

function exampleFiles(): readonly string[] {
  return readdirSync(EXAMPLES).filter((name) => name.endsWith(".yaml"));
}

function textOf(file: string): string {
  return readFileSync(join(EXAMPLES, file), "utf8");
}

e2e("every example is valid", async () => {
  expect(
    exampleFiles()
      .map((name) => name.replace(".yaml", ""))
      .toSorted(),
  ).toEqual(Object.keys(PROMISES).toSorted());
  const validated = await agent.cli("validate", "-f", EXAMPLES);
  expect([validated.code, validated.stderr]).toEqual([0, ""]);
});

e2e.concurrent.each(Object.entries(PROMISES))(
  "the example %s does what it promises",
  async (name, { phase, says }) => {
    const pod = await untilPod(agent, name, inPhase(phase));
    if (phase === "Running") await untilPod(agent, name, READY);
    for (const { restartCount } of pod.status.containerStatuses ?? []) expect(restartCount).toBe(0);
    if (says === undefined) return;
    const [container, line] = says;
    await eventually(
      `${name} says ${line}`,
      async () => logOf(agent, await podOf(agent, name), container).some((one) => line.test(one)),
      { timeout: 60_000, interval: 100, explain: () => agent.logTail() },
    );
  },
);

e2e("the gateway says what it waits for", async () => {
  if (existsSync(SERIAL)) return;
  const reason = "CreateContainerConfigError";
  expect(await waitOf(agent, "serial-gateway", { container: "read", reason })).toBe(
    `container "read" needs the device ${SERIAL}, which is not there; it starts when the device is plugged in`,
  );
});

e2e("an edit of the configuration restarts the reader of variables alone, once", async () => {
  const name = "config-and-secret";
  const before = await untilPod(agent, name, READY);
  agent.writeManifest(`${name}.yaml`, textOf(`${name}.yaml`).replaceAll("welcome", "farewell"));
  const now = await untilPod(agent, name, {
    is: "has restarted its greeter",
    when: (pod) =>
      containerOf(pod, "greeter").restartCount === 1 &&
      containerOf(pod, "greeter").state.running !== undefined,
  });
  expect(idOf(containerOf(now, "page"))).toBe(idOf(containerOf(before, "page")));
  await eventually("the greeter says the new word", async () =>
    logOf(agent, await podOf(agent, name), "greeter").some((one) => one.startsWith("farewell, ")),
  );
});

e2e("deleted, the examples leave nothing but the data of the claim", async () => {
  for (const file of exampleFiles()) agent.removeManifest(file);
  for (const name of Object.keys(PROMISES)) await untilGone(agent, name);
  await eventually(
    "containerd has nothing left",
    async () => (await stage.containerd.ctr("containers", "list", "--quiet")).trim() === "",
    { timeout: 60_000, interval: 100, explain: () => agent.logTail() },
  );
  const starts = join(agent.paths.state, "claims/default/counted/starts");
  expect(readFileSync(starts, "utf8")).toBe("1\n");
  const removed = await agent.cli("delete", "pvc", "counted", "--data");
  expect([removed.code, removed.stderr]).toEqual([0, ""]);
  expect(existsSync(starts)).toBe(false);
});
