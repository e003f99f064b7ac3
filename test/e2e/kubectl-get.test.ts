// `agent get` beside kubectl's, of the same objects of the same agent, character by character; and their errors.

import { expect } from "bun:test";
import { join } from "node:path";

import { parse } from "yaml";

import { compareText } from "../../src/lib/compare.ts";
import { agentBinary, type AgentProcess } from "../harness/agent-process.ts";
import { eventually } from "../harness/eventually.ts";
import { freePort } from "../harness/free-port.ts";
import { KUBECTLS, pathOf, testWith, type Kubectl } from "../harness/kubectl.ts";
import { run, type CommandResult } from "../harness/run-command.ts";
import { getPod } from "./support-a-agent.ts";
import { openStage } from "./support-b-stage.ts";
import { POD } from "./support-n-streams.ts";

const { e2e, temp, agent: makeAgent } = await openStage();
const port = freePort();
const admin = join(temp.directory("kubeconfig"), "admin.yaml");
let agent: AgentProcess;

const LABELS = { zone: "b", app: "web", "example.com/tier": "front" };

interface PodRecipe {
  readonly name: string;
  readonly namespace?: string;
  readonly labels?: object;
  readonly spec: object;
}

function pod({ name, namespace = "default", labels = {}, spec }: PodRecipe): object {
  return {
    apiVersion: "v1",
    kind: "Pod",
    metadata: { name, namespace, labels },
    spec: { terminationGracePeriodSeconds: 0, ...spec },
  };
}

function main(...command: readonly string[]): object {
  return { name: "main", image: "local/busybox:1", command };
}

const OBJECTS: readonly object[] = [
  { ...POD, metadata: { name: "web", labels: LABELS } },
  pod({
    name: "done",
    labels: { zone: "a" },
    spec: { restartPolicy: "Never", containers: [main("true")] },
  }),
  pod({
    name: "crash",
    namespace: "other",
    labels: { zone: "b" },
    spec: { containers: [main("sh", "-c", "exit 3")] },
  }),
  pod({
    name: "waits",
    spec: {
      initContainers: [{ ...main("sleep", "100000"), name: "first" }],
      containers: [main("sleep", "100000")],
    },
  }),
  {
    apiVersion: "v1",
    kind: "ConfigMap",
    metadata: { name: "settings", labels: LABELS },
    data: { colour: "blue\n", size: "1" },
    binaryData: { "logo.png": "AAECAw==" },
  },
  { apiVersion: "v1", kind: "ConfigMap", metadata: { name: "empty", namespace: "other" } },
  { apiVersion: "v1", kind: "Secret", metadata: { name: "token" }, stringData: { token: "x" } },
  {
    apiVersion: "v1",
    kind: "Secret",
    type: "kubernetes.io/dockerconfigjson",
    metadata: { name: "pull" },
    data: { ".dockerconfigjson": "eyJhdXRocyI6e319" },
  },
  {
    apiVersion: "v1",
    kind: "PersistentVolumeClaim",
    metadata: { name: "data" },
    spec: { accessModes: ["ReadWriteOnce"], resources: { requests: { storage: "1Gi" } } },
  },
];

async function kubectl(one: Kubectl, words: readonly string[]): Promise<CommandResult> {
  const cache = join(temp.directory("cache"), one.name.replaceAll(/\W/g, "-"));
  const client = ["--kubeconfig", admin, "--cache-dir", cache];
  return run([pathOf(one), ...client, ...words], { env: { HOME: temp.path } });
}

interface Both {
  readonly ours: CommandResult;
  readonly theirs: CommandResult;
}

/** Both at the same moment: an age may tick, and a pod may change, between the two. */
async function atOnce(
  one: Kubectl,
  words: readonly string[],
  are: (both: Both) => boolean,
): Promise<Both> {
  let both: Both | undefined;
  const look = async (): Promise<boolean> => {
    const [ours, theirs] = [await agent.cli(...words), await kubectl(one, words)];
    both = { ours, theirs };
    return are(both);
  };
  await eventually("both are the same", look, { timeout: 15_000 }).catch(() => undefined);
  if (both === undefined) throw new Error(`${words.join(" ")} has not ended`);
  return both;
}

function areSame({ ours, theirs }: Both): boolean {
  return ours.stdout === theirs.stdout && ours.stderr === theirs.stderr;
}

e2e("an agent with pods in every state and one of each object is open for kubectl", async () => {
  agent = makeAgent("beside", { config: { listen: `127.0.0.1:${port}` } });
  OBJECTS.forEach((object, index) => agent.writeManifest(`${index}.yaml`, object));
  await agent.startReady();
  expect((await agent.cli("kubeconfig", "-o", admin)).code).toBe(0);
  await eventually(
    "all are in their state",
    async () => {
      const { items } = JSON.parse((await agent.cli("get", "pods", "-A", "-o", "json")).stdout) as {
        readonly items: readonly { readonly status: { readonly phase?: string } }[];
      };
      const web = (await getPod(agent, "web")).status.containerStatuses ?? [];
      const phases = items.map(({ status }) => status.phase ?? "?").toSorted(compareText);
      expect(phases).toEqual(["Pending", "Running", "Running", "Succeeded"]);
      return web.length === 2 && web.every(({ ready }) => ready);
    },
    { timeout: 90_000, explain: () => agent.logTail() },
  );
});

const NAMES = "jsonpath={.items[*].metadata.name}";
const LINES = "jsonpath={range .items[*]}{.metadata.name}{'\\t'}{.status.phase}{'\\n'}{end}{.kind}";
const COLUMNS =
  "custom-columns=NAME:.metadata.name,IP:.status.podIP,ZONE:.metadata.labels.zone,C:.spec.containers[*].name";

const SAME: readonly (readonly string[])[] = [
  ["get", "pods"],
  ["get", "pods", "-o", "wide"],
  ["get", "pods", "-A"],
  ["get", "pods", "-A", "-o", "wide"],
  ["get", "pods", "--show-labels"],
  ["get", "pods", "-A", "--show-labels", "--no-headers"],
  ["get", "pods", "-L", "zone,example.com/tier", "-L", "app"],
  ["get", "pods", "--no-headers"],
  ["get", "pods", "-l", "zone in (a,b)", "-A"],
  ["get", "pods", "-l", "zone=none"],
  ["get", "pods", "--field-selector", "status.phase=Running"],
  ["get", "pods", "--sort-by=.metadata.name"],
  ["get", "pods", "-A", "--sort-by={.status.phase}"],
  ["get", "pod", "web", "done"],
  ["get", "pod", "web", "--show-kind"],
  ["get", "nodes"],
  ["get", "nodes", "-o", "wide"],
  ["get", "nodes", "--show-labels"],
  ["get", "cm"],
  ["get", "cm", "-A"],
  ["get", "cm", "settings", "-o", "wide", "--show-labels"],
  ["get", "secrets"],
  ["get", "secrets", "-A", "-o", "wide"],
  ["get", "pvc"],
  ["get", "pvc", "-A", "-o", "wide"],
  ["get", "ns"],
  ["get", "all"],
  ["get", "pods,cm,secrets,pvc"],
  ["get", "pod/web", "cm/settings"],
  ["get", "pods", "-A", "-o", "name"],
  ["get", "pods,cm,secrets", "-o", "name"],
  ["get", "pods", "-o", NAMES],
  ["get", "pods", "-o", LINES],
  ["get", "pod", "web", "-o", "jsonpath={.metadata.labels}"],
  ["get", "pod", "web", "-o", "jsonpath={.metadata.labels.example\\.com/tier}{.nothing}"],
  ["get", "pod", "web", "-o", "jsonpath={.spec.containers[?(@.name=='main')].ports[0]}"],
  ...[
    "{.items[-1:].metadata.name}",
    "{.items[0:2].metadata.name}",
    "{.items[?(@.status.phase=='Running')].metadata.name}",
    "{.items[*].spec.containers[*].image}",
    "{.items[*]['kind','apiVersion']}",
    "{..containerPort}",
    "{.items[*].status.containerStatuses[*].restartCount}",
    "{.items[0].spec.containers[0].command}",
    '{"quoted\t"}{.kind} and text',
  ].map((path) => ["get", "pods", "-o", `jsonpath=${path}`]),
  ["get", "pods", "-o", "jsonpath-as-json={.items[*].metadata.name}"],
  ["get", "pods", "-A", "-o", COLUMNS],
  ["get", "pods", "-A", "-o", COLUMNS, "--no-headers", "--sort-by=.metadata.labels.zone"],
  ["get", "pod", "none", "--ignore-not-found"],
  ["get", "pods", "-n", "nowhere", "--ignore-not-found"],
  // A pod that a file declares is not deleted by a client.
  ["delete", "pod", "done"],
  ["delete", "pod", "none"],
];

for (const one of KUBECTLS)
  testWith(one, e2e)(`${one.name} prints what agent prints`, async () => {
    const different: unknown[] = [];
    for (const words of SAME) {
      const { ours, theirs } = await atOnce(one, words, areSame);
      if (ours.code !== theirs.code || !areSame({ ours, theirs }))
        different.push({ words: words.join(" "), ours, theirs });
    }
    expect(different).toEqual([]);
  });

/** kubectl prints events in any order; here the newest is the last. */
const EVENTS: readonly (readonly string[])[] = [
  ["get", "events", "-A"],
  ["get", "events", "-A", "-o", "wide"],
  ["get", "events", "--field-selector", "involvedObject.name=web", "--no-headers"],
];

for (const one of KUBECTLS)
  testWith(one, e2e)(`${one.name} prints the same rows of events`, async () => {
    const lines = ({ stdout }: CommandResult): string => stdout.split("\n").toSorted().join("\n");
    for (const words of EVENTS) {
      const { ours, theirs } = await atOnce(
        one,
        words,
        (both) => lines(both.ours) === lines(both.theirs),
      );
      expect(ours.stdout).toContain("Started container");
      expect(lines(ours)).toBe(lines(theirs));
    }
  });

for (const one of KUBECTLS)
  testWith(one, e2e)(`${one.name} prints the same objects as JSON and YAML`, async () => {
    for (const words of [
      ["get", "pod", "web", "-o", "json"],
      ["get", "pod", "web", "-o", "yaml"],
      ["get", "cm", "settings", "-o", "yaml"],
      ["get", "pvc", "data", "-o", "json"],
    ]) {
      // JSON is YAML.
      const object = ({ stdout }: CommandResult): unknown => parse(stdout);
      const { ours, theirs } = await atOnce(one, words, (both) =>
        Bun.deepEquals(object(both.ours), object(both.theirs)),
      );
      expect(object(ours)).toEqual(object(theirs));
    }
    const words = ["get", "pods", "-o", "json"];
    const { ours, theirs } = await atOnce(one, words, ({ ours: a, theirs: b }) =>
      Bun.deepEquals(itemsOf(a), itemsOf(b)),
    );
    expect(itemsOf(ours)).toEqual(itemsOf(theirs));
  });

function itemsOf({ stdout }: CommandResult): unknown {
  return (JSON.parse(stdout) as { readonly items?: unknown }).items;
}

/** The same exit code, and this in both errors, whatever stands around it. */
const FAILURES: Readonly<Record<string, string>> = {
  "get pod none": 'pods "none" not found',
  "get pod none web": 'pods "none" not found',
  "get pod/none cm/none": 'configmaps "none" not found',
  "get pod none -o json": 'pods "none" not found',
  "describe pod none": 'pods "none" not found',
  "describe cm none": 'configmaps "none" not found',
  "logs none": 'pods "none" not found',
  "logs waits -c main": 'container "main" in pod "waits" is waiting to start: PodInitializing',
  "exec none -- true": 'pods "none" not found',
  "exec done -- true":
    "cannot exec into a container in a completed pod; current phase is Succeeded",
  "exec web -c main -- sh -c 'exit 4'": "command terminated with exit code 4",
  "top pod none": "none",
  "get pods -o 'jsonpath={.items[9].metadata.name}'":
    "array index out of bounds: index 9, length 3",
  "get pods -o 'jsonpath={.items[0:9].kind}'": "array index out of bounds: index 8, length 3",
  "get pods -l zone=none -o 'jsonpath={.items[0].kind}'":
    "array index out of bounds: index 0, length 0",
};

for (const one of KUBECTLS)
  testWith(one, e2e)(`${one.name} fails where agent fails, with the same exit code`, async () => {
    for (const [command, message] of Object.entries(FAILURES)) {
      const words = wordsOf(command);
      const socket = ["--socket", agent.paths.socket];
      const [verb = "", ...rest] = words;
      const [ours, theirs] = [
        await run([agentBinary(), verb, ...socket, ...rest]),
        await kubectl(one, words),
      ];
      expect([command, ours.code]).toEqual([command, theirs.code]);
      expect(ours.code).not.toBe(0);
      const [shown, expected] = [ours, theirs].map(({ stdout }) =>
        stdout.replaceAll(/\d+s\b/g, "AGE"),
      );
      expect(shown).toBe(expected);
      expect(ours.stderr).toContain(message);
      expect(theirs.stderr).toContain(message);
    }
  });

/** What is written wrongly: 2, where kubectl has no exit code of its own. */
const USAGE: readonly string[] = [
  "get nix",
  "get",
  "get pods -o nix",
  "get pods -o jsonpath={.items[}",
  "get pods -o custom-columns=A",
  "get pods web -A",
  "get pods --nix",
  "describe nix",
  "logs",
  "delete nix x",
  "exec web",
];

for (const one of KUBECTLS)
  testWith(one, e2e)(`${one.name} refuses what agent refuses: 1 there, 2 here`, async () => {
    for (const command of USAGE) {
      const [ours, theirs] = [
        await agent.cli(...wordsOf(command)),
        await kubectl(one, wordsOf(command)),
      ];
      expect([command, ours.code, theirs.code]).toEqual([command, 2, 1]);
      expect(ours.stderr).toStartWith("Error: ");
      expect([ours.stdout, theirs.stdout]).toEqual(["", ""]);
    }
  });

/** Words of a command line; single quotes hold one together. */
function wordsOf(command: string): readonly string[] {
  return [...command.matchAll(/'([^']*)'|(\S+)/g)].map(([, quoted, bare]) => quoted ?? bare ?? "");
}
