// A typo, junk or a half-written file in the directory of manifests stops nothing, and is told everywhere.

import { afterAll, beforeAll, expect } from "bun:test";
import { appendFileSync, mkdirSync, rmSync, truncateSync, writeFileSync } from "node:fs";
import { join } from "node:path";

import { stringify } from "yaml";

import type { RejectedLine, ReportedState } from "../../src/protocol/reported-state.ts";
import type { AgentProcess } from "../harness/agent-process.ts";
import { startBroker, type Broker } from "../harness/broker.ts";
import type { BrokerClient } from "../harness/broker-client.ts";
import { eventually } from "../harness/eventually.ts";
import { getPods, getRejected } from "./support-a-agent.ts";
import { BAD_FILES } from "./support-a-bad-files.ts";
import { Stage } from "./support-a-stage.ts";

const NODE = "bad-manifests";
const stage = await Stage.open();
const e2e = stage.test;
const names = BAD_FILES.map(({ name }) => name);
let agent: AgentProcess;
let broker: Broker;

/** One good pod for each bad file to come. */
beforeAll(async () => {
  if (!stage.available) return;
  broker = await startBroker(stage.temp);
  agent = stage.agent({ nodeName: NODE, mqttUrl: broker.url });
  for (const name of names) agent.writeManifest(`${name}.yaml`, stage.manifest({ name }));
  await agent.startReady();
  for (const name of names) await stage.journalIs(name, ["start a"], 30_000);
  await stage.counts(0, { starts: names.length, exits: 0 });
}, 180_000);

afterAll(() => stage.close(), 180_000);

function pathOf(name: string): string {
  return join(agent.paths.manifests, `${name}.yaml`);
}

/** Nothing about any of the good pods has changed. */
function expectUntouched(): void {
  for (const name of names) expect([name, stage.journal(name)]).toEqual([name, ["start a"]]);
}

e2e("bad content in the place of good stops no pod, and is told at three doors", async () => {
  const mark = stage.mark();
  for (const { name, put } of BAD_FILES) put(pathOf(name), stage.manifest({ name, tag: "never" }));
  writeFileSync(`${pathOf("web")}.bak`, stringify(stage.manifest({ name: "empty", tag: "never" })));

  await eventually(
    "every bad file is in /rejected",
    async () => {
      const rejected = await getRejected(agent);
      for (const { name, field } of BAD_FILES) {
        const found = rejected.find(({ ref }) => ref === pathOf(name));
        expect([name, found?.source]).toEqual([name, "file"]);
        if (field !== undefined) expect(found?.path).toBe(field);
      }
      return true;
    },
    { timeout: 60_000, explain: () => agent.logTail() },
  );
  const { code, stderr } = await agent.cli("get", "pods");
  expect(code).toBe(0);
  for (const { name, says, field = "" } of BAD_FILES) {
    const line = stderr.split("\n").find((each) => each.includes(pathOf(name)));
    expect(line ?? `nothing about ${name}`).toMatch(says);
    expect(line).toContain(field);
    // Where the text of a file is to blame, the line as well.
    if (["syntax-error", "unknown-field", "bomb", "empty", "binary"].includes(name))
      expect(line?.slice(pathOf(name).length)).toMatch(/^:\d+: /);
  }
  expect(stderr).not.toContain(".bak");

  await using client = await broker.client();
  await eventually(
    "every bad file is in the retained report",
    async () => {
      const rejected = (await retainedRejected(client)).filter(({ source }) => source === "static");
      for (const { name, says, field } of BAD_FILES) {
        const found = rejected.find(({ message }) => message.includes(`${name}.yaml`));
        expect(found?.message ?? `nothing about ${name}`).toMatch(says);
        if (field !== undefined) expect(found?.path).toBe(field);
      }
      return true;
    },
    { timeout: 60_000, interval: 250 },
  );
  await stage.staysQuiet(mark, 1_000);
  expectUntouched();
  const running = (await getPods(agent)).filter(({ status }) => status.phase === "Running");
  expect(running.map(({ metadata }) => metadata.name).toSorted()).toEqual(names.toSorted());
});

e2e("an agent that restarts among broken manifests keeps the last good pods", async () => {
  for (const signal of ["SIGTERM", "SIGKILL"] as const) {
    const mark = stage.mark();
    await agent.restart(signal);
    await eventually("every bad file is refused again", async () => {
      const refs = (await getRejected(agent)).map(({ ref }) => ref);
      return names.every((name) => refs.includes(pathOf(name)));
    });
    await stage.staysQuiet(mark, 1_500);
  }
  expectUntouched();
});

e2e("one bad document does not spoil the others of its file", async () => {
  const mark = stage.mark();
  const good = stage.manifest({ name: "second" });
  const service = { apiVersion: "v1", kind: "Service", metadata: { name: "web" }, spec: {} };
  const misspelt = { ...stage.manifest({ name: "third" }), sepc: {} };
  const documents = [service, good, misspelt].map((each) => stringify(each));
  agent.writeManifest("several.yaml", documents.join("---\n"));
  await stage.journalIs("second", ["start a"]);
  const { stderr } = await agent.cli("get", "pods");
  expect(stderr).toMatch(/several\.yaml:\d+: warning: kind: .*"Service".*hostPort/);
  expect(stderr).toMatch(/several\.yaml:\d+: sepc: unknown field/);
  expect(stage.journal("third")).toEqual([]);
  agent.removeManifest("several.yaml");
  await stage.journalIs("second", ["start a", "stop a"]);
  await stage.counts(mark, { starts: 1, exits: 1 });
});

e2e("of a file written in ten slow pieces, each a valid pod, only the whole runs", async () => {
  const mark = stage.mark();
  const path = pathOf("pieces");
  writeFileSync(path, "");
  await writeSlowly(path, "new");
  await stage.journalIs("pieces", ["start new 9"]);

  truncateSync(path);
  await writeSlowly(path, "rewritten");
  await stage.journalIs("pieces", ["start new 9", "stop new 9", "start rewritten 9"]);
  await stage.countsStay(mark, { starts: 2, exits: 1 }, 1_000);
  agent.removeManifest("pieces.yaml");
  await stage.counts(mark, { starts: 2, exits: 2 });
  expectUntouched();
});

e2e("the directory removed and made again: nothing stops, new files are seen", async () => {
  for (const name of names) agent.writeManifest(`${name}.yaml`, stage.manifest({ name }));
  await eventually("every manifest is good again", async () => {
    return (await getRejected(agent)).every(({ ref }) => !names.some((n) => ref === pathOf(n)));
  });
  await eventually(
    "only the good pods are left",
    async () => (await getPods(agent)).length === names.length,
  );
  const mark = stage.mark();
  rmSync(agent.paths.manifests, { recursive: true });
  await eventually("the missing directory is told", async () => {
    const { stderr } = await agent.cli("get", "pods");
    return stderr.includes(`${agent.paths.manifests}: `) && stderr.includes("does not exist");
  });
  await stage.staysQuiet(mark, 1_000);

  mkdirSync(agent.paths.manifests);
  agent.writeManifest("newcomer.yaml", stage.manifest({ name: "newcomer" }));
  await stage.journalIs("newcomer", ["start a"]);
  await stage.countsStay(mark, { starts: 1, exits: 0 }, 1_500);
  expectUntouched();

  for (const name of names) agent.writeManifest(`${name}.yaml`, stage.manifest({ name }));
  await eventually("nothing is refused", async () => (await getRejected(agent)).length === 0);
  agent.removeManifest("newcomer.yaml");
  await stage.journalIs("newcomer", ["start a", "stop a"]);
  await stage.countsStay(mark, { starts: 1, exits: 1 }, 500);
  expectUntouched();
});

/** Appends a pod in ten pieces; the number of its variables tells how much of it was read. */
async function writeSlowly(path: string, tag: string): Promise<void> {
  const [head, ...variables] = piecesOf(tag);
  appendFileSync(path, head ?? "");
  for (const variable of variables) {
    // The stimulus: slower than a scan, faster than the rest a file must have.
    await Bun.sleep(120);
    appendFileSync(path, variable);
  }
}

function piecesOf(tag: string): readonly string[] {
  const text = stringify({
    apiVersion: "v1",
    kind: "Pod",
    metadata: { name: "pieces" },
    spec: {
      terminationGracePeriodSeconds: 5,
      volumes: [{ name: "journal", hostPath: { path: stage.journals } }],
      containers: [
        {
          name: "main",
          image: "local/busybox:1",
          volumeMounts: [{ name: "journal", mountPath: "/journal" }],
          command: [
            "sh",
            "-c",
            [
              `say() { echo "$1 ${tag} $(env | grep -c ^PIECE)" >>/journal/pieces; }`,
              "trap 'say stop; exit 0' TERM",
              "say start",
              "while true; do sleep 1000 & wait $!; done",
            ].join("\n"),
          ],
          env: [{ name: "OTHER", value: "1" }],
        },
      ],
    },
  });
  const variables = Array.from({ length: 9 }, (_, index) => index + 1);
  return [text, ...variables.map((n) => `        - name: PIECE${n}\n          value: "${n}"\n`)];
}

async function retainedRejected(client: BrokerClient): Promise<readonly RejectedLine[]> {
  const report = await client.retainedJSON(`agent/v1/node/${NODE}/reported`);
  return (report as ReportedState).rejected;
}
