// What people read with kubectl, Debian's and a present one: tables, watches, logs, events, and waiting.

import { afterAll, beforeAll, expect } from "bun:test";

import type { AgentProcess } from "../harness/agent-process.ts";
import { eventually } from "../harness/eventually.ts";
import {
  DEBIAN,
  KUBECTLS,
  PRESENT,
  SocketPort,
  testWith,
  type Kubectl,
} from "../harness/kubectl.ts";
import type { CommandResult } from "../harness/run-command.ts";
import { getPod } from "./support-a-agent.ts";
import { Stage } from "./support-a-stage.ts";

const stage = await Stage.open();
const home = stage.temp.directory("kubectl");
let agent: AgentProcess;
let port: SocketPort | undefined;

const pod = (name: string, script: string, more: object = {}): object => ({
  apiVersion: "v1",
  kind: "Pod",
  metadata: { name, labels: { app: name } },
  spec: {
    terminationGracePeriodSeconds: 0,
    containers: [{ name: "main", image: "local/busybox:1", command: ["sh", "-c", script] }],
    ...more,
  },
});

const OBJECTS: Readonly<Record<string, object>> = {
  web: pod("web", "echo hello; sleep 100000"),
  settings: {
    apiVersion: "v1",
    kind: "ConfigMap",
    metadata: { name: "settings" },
    data: { a: "1" },
  },
  token: { apiVersion: "v1", kind: "Secret", metadata: { name: "token" }, stringData: { a: "1" } },
  data: {
    apiVersion: "v1",
    kind: "PersistentVolumeClaim",
    metadata: { name: "data" },
    spec: { accessModes: ["ReadWriteOnce"], resources: { requests: { storage: "1Gi" } } },
  },
};

beforeAll(async () => {
  if (!stage.available) return;
  agent = stage.agent({ nodeName: "pi-1" });
  for (const [name, object] of Object.entries(OBJECTS)) agent.writeManifest(`${name}.yaml`, object);
  await agent.startReady();
  port = await SocketPort.open(agent.paths.socket);
  const isRunning = async (): Promise<boolean> =>
    (await getPod(agent, "web")).status.phase === "Running";
  await eventually("web runs", isRunning, { timeout: 60_000, explain: () => agent.logTail() });
}, 180_000);

afterAll(() => {
  port?.[Symbol.dispose]();
  stage.close();
}, 60_000);

function opened(): SocketPort {
  if (port === undefined) throw new Error("the agent was not started");
  return port;
}

async function out(result: Promise<CommandResult>): Promise<string> {
  const { code, stdout, stderr } = await result;
  expect(`${code} ${stderr}`).toBe("0 ");
  return stdout;
}

/** Rows in any order; ages, widths and how an empty cell is written left out. */
function cells(table: string): readonly string[] {
  const rows = table.trimEnd().split("\n");
  const still = (row: string): string =>
    row
      .replaceAll(/\b\d+[smhd]\d*[smh]?\b/g, "AGE")
      .replaceAll("<none>", "")
      .replaceAll(/ +/g, " ");
  return rows.map(still).toSorted();
}

/** What a command prints while it runs. */
class Following {
  readonly child: Bun.Subprocess<"ignore", "pipe", "inherit">;
  text = "";
  readonly #read: Promise<void>;

  constructor(client: Kubectl, args: readonly string[]) {
    this.child = Bun.spawn([...opened().command(client, home), ...args], {
      stdin: "ignore",
      stdout: "pipe",
      stderr: "inherit",
    });
    this.#read = this.#follow();
  }

  /** The whole text, once the command has ended by itself. */
  async ended(): Promise<string> {
    expect(await this.child.exited).toBe(0);
    await this.#read;
    return this.text;
  }

  async shows(text: RegExp): Promise<void> {
    const explain = (): string => `it shows ${JSON.stringify(this.text)}`;
    await eventually(`${text} is shown`, () => text.test(this.text), { timeout: 60_000, explain });
  }

  async stop(): Promise<void> {
    this.child.kill("SIGINT");
    await this.child.exited;
  }

  async #follow(): Promise<void> {
    const decoder = new TextDecoder();
    for await (const bytes of this.child.stdout)
      this.text += decoder.decode(bytes, { stream: true });
  }
}

for (const [index, client] of KUBECTLS.entries()) {
  const e2e = testWith(client, stage.test);
  const kubectl = (...args: readonly string[]): Promise<CommandResult> =>
    opened().kubectl(client, args, { home });

  e2e(`${client.name}: get shows the cells of agent get, of each kind`, async () => {
    for (const kind of ["pods", "configmaps", "secrets", "pvc", "nodes", "namespaces", "images"])
      for (const form of [[], ["-o", "wide"]]) {
        const theirs = await out(kubectl("get", kind, ...form));
        expect(cells(theirs)).toEqual(cells(await out(agent.cli("get", kind, ...form))));
        expect(cells(theirs).length).toBeGreaterThan(1);
      }
    expect(await out(kubectl("get", "po", "-l", "app=web", "-o", "name"))).toBe("pod/web\n");
    expect(await out(kubectl("get", "nodes", "-o", "jsonpath={.items[*].metadata.name}"))).toBe(
      "pi-1",
    );
    const none = await kubectl("get", "pod", "none");
    expect([none.code, none.stderr]).toEqual([
      1,
      'Error from server (NotFound): pods "none" not found\n',
    ]);
  });

  e2e(
    `${client.name}: get -w follows a pod from its beginning to its end`,
    async () => {
      const name = `watched${index}`;
      const watch = new Following(client, [
        "get",
        "pods",
        "-w",
        "--output-watch-events",
        "-l",
        `app=${name}`,
      ]);
      agent.writeManifest(`${name}.yaml`, pod(name, "sleep 100000"));
      await watch.shows(/^ADDED +watched\d +0\/1/m);
      await watch.shows(/^MODIFIED +watched\d +1\/1 +Running/m);
      agent.removeManifest(`${name}.yaml`);
      await watch.shows(/^DELETED +watched\d /m);
      await watch.stop();
    },
    120_000,
  );

  e2e(
    `${client.name}: logs -f follows a log to the end of its pod, and logs reads it again`,
    async () => {
      const name = `count${index}`;
      const script = "for n in 1 2 3 4; do echo line $n; sleep 0.5; done";
      agent.writeManifest(`${name}.yaml`, pod(name, script, { restartPolicy: "Never" }));
      await eventually("the pod has a log", async () => (await kubectl("logs", name)).code === 0);
      const followed = await new Following(client, ["logs", "-f", name]).ended();
      expect(followed).toBe("line 1\nline 2\nline 3\nline 4\n");
      expect(await out(kubectl("logs", name, "--tail=1"))).toBe("line 4\n");
      expect(
        await out(kubectl("logs", name, "-c", "main", "--timestamps", "--limit-bytes=40")),
      ).toMatch(/^\d{4}-\d\d-\d\dT[\d:.]+(?:Z|\+00:00) lin/);
      const missing = await kubectl("logs", name, "--previous");
      expect(missing.code).toBe(1);
      expect(missing.stderr).toContain(
        `previous terminated container "main" in pod "${name}" not found`,
      );
    },
    120_000,
  );

  e2e(
    `${client.name}: wait ends with a condition, with a deletion, and with its timeout`,
    async () => {
      const name = `awaited${index}`;
      agent.writeManifest(`${name}.yaml`, pod(name, "sleep 100000"));
      await eventually("it is there", async () => (await kubectl("get", "pod", name)).code === 0);
      expect(
        await out(kubectl("wait", "--for=condition=Ready", `pod/${name}`, "--timeout=50s")),
      ).toBe(`pod/${name} condition met\n`);
      const early = await kubectl("wait", "--for=delete", `pod/${name}`, "--timeout=1s");
      expect(early.code).toBe(1);
      expect(early.stderr).toContain("timed out waiting for the condition");
      const gone = kubectl("wait", "--for=delete", `pod/${name}`, "--timeout=50s");
      agent.removeManifest(`${name}.yaml`);
      expect(await out(gone)).toContain(client === DEBIAN ? "" : "condition met");
      if (client === PRESENT)
        expect(
          await out(kubectl("wait", "--for=jsonpath={.status.phase}=Running", "pod/web")),
        ).toBe("pod/web condition met\n");
    },
    120_000,
  );

  e2e(`${client.name}: get events shows what happened to a pod, once each`, async () => {
    const about = "--field-selector=involvedObject.kind=Pod,involvedObject.name=web,reason=Started";
    const shown = await out(kubectl("get", "events", about));
    expect(shown).toMatch(
      /^LAST SEEN +TYPE +REASON +OBJECT +MESSAGE\n\S+ +Normal +Started +pod\/web +.*main.*\n$/,
    );
  });
}

testWith(PRESENT, stage.test)(
  "a present kubectl: events --for shows those of one pod",
  async () => {
    const shown = await out(opened().kubectl(PRESENT, ["events", "--for", "pod/web"], { home }));
    expect(shown).toMatch(/^LAST SEEN +TYPE +REASON +OBJECT +MESSAGE\n/);
    expect(shown.match(/ Normal +Started +Pod\/web /g)).toHaveLength(1);
    const types = await out(
      opened().kubectl(PRESENT, ["events", "--for", "pod/web", "--types=Warning"], { home }),
    ).catch(String);
    expect(types).toContain("No events found");
  },
);
