// A cluster's workloads in a file: one pod of each runs here, an edit replaces it, and nothing else is disturbed.

import { ContainerState } from "../../src/cri/gen/runtime/v1/api_pb.ts";
import { grpcCriClient } from "../../src/cri/cri-client.ts";
import { systemClock } from "../../src/lib/system-clock.ts";
import { afterAll, beforeAll, expect } from "bun:test";

import type { AgentProcess } from "../harness/agent-process.ts";
import { eventually } from "../harness/eventually.ts";
import { getPod, getPods, getRejected } from "./support-a-agent.ts";
import type { PodRecipe } from "./support-a-pods.ts";
import { Stage } from "./support-a-stage.ts";

const stage = await Stage.open();
const e2e = stage.test;
let agent: AgentProcess;

type Written = { readonly metadata: object; readonly spec: object };

/** The recipe as the template of a workload of the same name. */
function workload(kind: string, recipe: PodRecipe, more: object = {}): object {
  const { spec } = stage.manifest(recipe) as Written;
  const labels = { app: recipe.name };
  return {
    apiVersion: "apps/v1",
    kind,
    metadata: { name: recipe.name },
    spec: { selector: { matchLabels: labels }, template: { metadata: { labels }, spec }, ...more },
  };
}

const SERVICE = { apiVersion: "v1", kind: "Service", metadata: { name: "web" }, spec: {} };

function write(name: string, ...objects: readonly object[]): void {
  agent.writeManifest(`${name}.yaml`, { apiVersion: "v1", kind: "List", items: objects });
}

beforeAll(async () => {
  if (!stage.available) return;
  agent = stage.agent();
  write("web", SERVICE, workload("Deployment", { name: "web" }, { replicas: 3 }));
  write("everywhere", workload("DaemonSet", { name: "everywhere" }));
  await agent.startReady();
}, 120_000);

afterAll(() => stage.close(), 120_000);

e2e("a Deployment and a DaemonSet run one pod each, whatever stands beside them", async () => {
  await stage.journalIs("web", ["start a"]);
  await stage.journalIs("everywhere", ["start a"]);
  const names = (await getPods(agent)).map(({ metadata }) => metadata.name);
  expect(names.toSorted()).toEqual(["everywhere-0", "web-0"]);
  const { metadata } = await getPod(agent, "web-0");
  expect(metadata.annotations).toMatchObject({ "agent/owner": "apps/v1 Deployment web" });
  const rejected = (await getRejected(agent)).map(({ kind, name, path }) => [kind, name, path]);
  expect(rejected).toEqual([
    ["Service", "web", "kind"],
    ["Deployment", "web", "spec.replicas"],
  ]);
});

e2e("a mistake in the template stops nothing, an edit replaces the pod", async () => {
  const mark = stage.mark();
  const broken = { name: "web", tag: "b", restartPolicy: "Never" } as const;
  write("web", workload("Deployment", broken), workload("Deployment", { name: "new" }));
  await stage.journalIs("new", ["start a"]);
  const [mistake] = await getRejected(agent);
  expect(mistake).toMatchObject({ kind: "Deployment", path: "spec.template.spec.restartPolicy" });
  expect(stage.journal("web")).toEqual(["start a"]);
  write("web", workload("Deployment", { name: "web", tag: "b" }));
  await stage.journalIs("web", ["start a", "stop a", "start b"]);
  await stage.journalIs("new", ["start a", "stop a"]);
  await stage.counts(mark, { starts: 2, exits: 2 });
  expect(stage.journal("everywhere")).toEqual(["start a"]);
});

e2e("a restart of the agent restarts none of them", async () => {
  const mark = stage.mark();
  await agent.kill();
  await agent.startReady();
  await stage.staysQuiet(mark, 2000);
});

e2e("no replicas and a deleted file stop their pods", async () => {
  write("web", workload("Deployment", { name: "web", tag: "b" }, { replicas: 0 }));
  agent.removeManifest("everywhere.yaml");
  await stage.journalIs("web", ["start a", "stop a", "start b", "stop b"]);
  await stage.journalIs("everywhere", ["start a", "stop a"]);
  await eventually("no pod is left", async () => (await getPods(agent)).length === 0);
});

function job(recipe: PodRecipe, more: object = {}): object {
  const { spec } = stage.manifest({ restartPolicy: "Never", ...recipe }) as Written;
  const metadata = { name: recipe.name };
  return { apiVersion: "batch/v1", kind: "Job", metadata, spec: { ...more, template: { spec } } };
}

async function phases(): Promise<readonly string[]> {
  const pods = await getPods(agent);
  return pods.map(({ metadata, status }) => `${metadata.name} ${status.phase}`).toSorted();
}

/** Everything in the runtime that does not run. */
async function loseEnded(): Promise<void> {
  const { endpoint } = stage.containerd;
  using cri = grpcCriClient({ endpoint, clock: systemClock() });
  const running = ContainerState.CONTAINER_RUNNING;
  const live = new Set(
    (await cri.listContainers())
      .filter(({ state }) => state === running)
      .map((one) => one.podSandboxId),
  );
  for (const { id } of await cri.listPodSandbox())
    if (!live.has(id)) {
      await cri.stopPodSandbox(id);
      await cri.removePodSandbox(id);
    }
}

e2e(
  "a Job runs to its end once, over a kill, a lost container and its file written again",
  async () => {
    const migrate = job({ name: "migrate", script: ["exit 0"] }, { completions: 2 });
    write("migrate", migrate);
    await stage.journalIs("migrate", ["start a", "start a"]);
    const areShown = async (): Promise<boolean> =>
      (await phases()).join() === "migrate-0 Succeeded,migrate-1 Succeeded";
    await eventually("both pods are shown", areShown);
    const mark = stage.mark();
    await agent.kill("SIGKILL");
    await agent.startReady();
    // It is ready before it has looked at the runtime.
    await eventually("both pods are shown again", areShown);
    await agent.kill("SIGKILL");
    await loseEnded();
    await agent.startReady();
    write("migrate", migrate);
    await stage.staysQuiet(mark, 3000);
    expect(await phases()).toEqual([]);
  },
);

e2e("a Job that is changed is another Job; a failed pod is followed by another one", async () => {
  write("migrate", job({ name: "migrate", tag: "b", script: ["exit 3"] }, { backoffLimit: 0 }));
  await stage.journalIs("migrate", ["start a", "start a", "start b"]);
  const events = async (): Promise<string> => (await agent.cli("get", "events")).stdout;
  await eventually("the Job has failed", async () =>
    (await events()).includes("BackoffLimitExceeded"),
  );
  agent.removeManifest("migrate.yaml");
  await eventually("no pod is left", async () => (await getPods(agent)).length === 0);
});

e2e("the binary knows time zones, and a CronJob that is not due runs nothing", async () => {
  const { spec } = stage.manifest({ name: "cron", restartPolicy: "Never" }) as Written;
  const cron = (timeZone: string): object => ({
    apiVersion: "batch/v1",
    kind: "CronJob",
    metadata: { name: "cron" },
    spec: { schedule: "0 0 29 2 *", timeZone, jobTemplate: { spec: { template: { spec } } } },
  });
  write("cron", cron("Europe/Nowhere"));
  await eventually("the time zone is refused", async () =>
    (await getRejected(agent)).some(({ message }) => message.includes("unknown time zone")),
  );
  write("cron", cron("America/Argentina/Buenos_Aires"));
  await eventually("it is accepted", async () =>
    (await getRejected(agent)).every(({ code }) => code === "NotStarted"),
  );
  expect(await phases()).toEqual([]);
});
