// The verbs that change something, and those that need no agent, in a terminal: what they show, ask and end with.

import { expect } from "bun:test";
import { existsSync, readFileSync, statSync, writeFileSync } from "node:fs";
import { join } from "node:path";

import { parse } from "yaml";

import { agentBinary, type AgentProcess } from "../harness/agent-process.ts";
import { eventually } from "../harness/eventually.ts";
import { freePort } from "../harness/free-port.ts";
import { BUSYBOX_2, dockerArchive } from "../harness/images.ts";
import { getPod } from "./support-a-agent.ts";
import { runningPods } from "./support-b-stage.ts";
import { makeKey, trustKey } from "./support-f-signing.ts";
import { careful, openTerminal, SIZE_200, untilReady } from "./support-terminal.ts";

const stage = await openTerminal();
const { e2e, temp, start, window, ended } = stage;
const trustDirectory = temp.directory("trust.d");
const files = temp.directory("files");
const port = freePort();
let agent: AgentProcess;

function sleeper(name: string, more: object = {}): object {
  return {
    apiVersion: "v1",
    kind: "Pod",
    metadata: { name },
    spec: {
      terminationGracePeriodSeconds: 0,
      containers: [{ name: "main", image: "local/busybox:1", command: ["sleep", "100000"] }],
      ...more,
    },
  };
}

function file(name: string, content: string | Uint8Array | object): string {
  const path = join(files, name);
  const isText = typeof content === "string" || content instanceof Uint8Array;
  writeFileSync(path, isText ? content : JSON.stringify(content));
  return path;
}

async function ends(command: string, code: number, text: RegExp): Promise<void> {
  const end = await ended(command);
  expect([command, end.code]).toEqual([command, code]);
  expect(end.text).toMatch(text);
}

const CONFIG_MAP = `apiVersion: v1
kind: ConfigMap
metadata: {name: typed}
data: {colour: COLOUR}
`;

e2e("an agent with a signing key runs a pod", async () => {
  trustKey(trustDirectory, "root.pub", makeKey());
  agent = await start(
    { "web.yaml": sleeper("web") },
    { config: { trustPath: trustDirectory, listen: `127.0.0.1:${port}` } },
  );
  await untilReady(agent, "web");
});

e2e("apply reads what is typed until Ctrl-D; Ctrl-C before that applies nothing", async () => {
  const typed = await window(careful("agent apply -f -"));
  for (const line of CONFIG_MAP.replace("COLOUR", "blue").trimEnd().split("\n"))
    await typed.enter(line);
  await typed.key("C-d");
  expect((await typed.ended()).text).toEndWith(
    "configmap/typed serverside-applied\ncode=0\nas it was",
  );
  const stopped = await window(careful("echo ready; agent apply -f -"));
  await stopped.shows("ready");
  await stopped.enter("apiVersion: v1");
  // Before the agent runs, Ctrl-C would only reach the shell.
  await Bun.sleep(1_500);
  await stopped.key("C-c");
  expect((await stopped.ended()).text).toMatch(/\^C\n?code=130\nas it was$/);
});

e2e("diff shows what apply would change, with kubectl's exit codes", async () => {
  const green = file("green.yaml", CONFIG_MAP.replace("COLOUR", "green"));
  const blue = file("blue.yaml", CONFIG_MAP.replace("COLOUR", "blue"));
  const changed = await ended(`agent diff -f ${green}`);
  expect(changed.code).toBe(1);
  expect(changed.text).toMatch(/^- {2}colour: blue\n\+ {2}colour: green$/m);
  expect(await ended(`agent diff -f ${blue}`)).toEqual({ code: 0, text: "" });
  expect((await ended(`agent diff -f ${files}/none.yaml`)).code).toBeGreaterThan(1);
  const done = await ended(`agent apply -f ${green} && agent diff -f ${green}`);
  expect(done).toEqual({ code: 0, text: "configmap/typed serverside-applied" });
  const refused = await ended(
    `printf 'apiVersion: v1\\nkind: ConfigMap\\nmetadata: {name: A_B}\\n' | agent apply -f -`,
  );
  expect(refused.code).toBe(1);
  expect(refused.text).toContain("metadata.name");
});

e2e("delete takes names, files and standard input, waits, and ends with Ctrl-C", async () => {
  const short = file("short.yaml", sleeper("short"));
  const long = file("long.yaml", {
    ...sleeper("long", {
      terminationGracePeriodSeconds: 600,
      containers: [
        {
          name: "main",
          image: "local/busybox:1",
          command: ["sh", "-c", "trap : TERM; while :; do sleep 1; done"],
        },
      ],
    }),
  });
  expect((await ended(`agent apply -f ${short} -f ${long}`)).text).toBe(
    "pod/short serverside-applied\npod/long serverside-applied",
  );
  await untilReady(agent, "short", "long");
  expect(await ended(`cat ${short} | agent delete -f -`)).toEqual({
    code: 0,
    text: 'pod "short" deleted',
  });
  expect((await ended("agent get pod short")).code).toBe(1);
  const waiting = await window(careful("agent delete pod long"));
  await waiting.shows('pod "long" deleted');
  await waiting.key("C-c");
  expect((await waiting.ended()).text).toMatch(/\^C\n?code=130\nas it was$/);
  expect((await ended("agent get pod long")).text).toMatch(/^long .*Terminating/m);
  expect((await ended("agent delete pod long --now")).code).toBe(0);
  expect((await ended("agent delete configmap typed; agent get cm typed")).text).toBe(
    'configmap "typed" deleted\nError: configmaps "typed" not found in namespace "default"',
  );
  const unknown = await ended("agent delete pod none");
  expect(unknown).toEqual({
    code: 1,
    text: 'Error from server (NotFound): pods "none" not found',
  });
  expect(await ended("agent delete pod none --ignore-not-found")).toEqual({ code: 0, text: "" });
});

e2e(
  "restart waits until the container runs again; hold and release say what they did",
  async () => {
    const restarted = await ended(careful("agent restart web"));
    expect(restarted.text).toBe("pod/web restarted: main (restart 1)\ncode=0\nas it was");
    expect((await ended("agent restart none")).code).toBe(1);
    expect(await ended("agent hold --all")).toEqual({
      code: 0,
      text: "all pods held: updates wait until agent release --all",
    });
    expect(await ended("agent release --all")).toEqual({
      code: 0,
      text: "all pods released: updates go on",
    });
    await ends("agent hold web", 1, /edits of a file are not held/);
    await ends("agent hold", 2, /^Error: /);
  },
);

const RESET = 'Type "yes" to continue:';

e2e(
  "trust reset asks: no, nothing, the end of input and Ctrl-C change nothing, yes does",
  async () => {
    const shown = await ended("agent trust show", SIZE_200);
    expect(shown.text).toMatch(/^Documents must be signed: /);
    expect(shown.text).toMatch(/^KEY +ROLES +NODES +GROUPS +FROM\n\S+ +root,desired/m);
    const asks = async (): ReturnType<typeof window> => {
      const one = await window(careful("agent trust reset"));
      await one.shows(RESET);
      return one;
    };
    for (const answer of ["no", "", "Yes please"]) {
      const one = await asks();
      await one.enter(answer);
      expect((await one.ended()).text).toEndWith("nothing was reset\ncode=1\nas it was");
    }
    const atEnd = await asks();
    await atEnd.key("C-d");
    expect((await atEnd.ended()).text).toMatch(/nothing was reset\ncode=1\nas it was$/);
    const stopped = await asks();
    await stopped.key("C-c");
    expect((await stopped.ended()).text).toMatch(/\^C\n?code=130\nas it was$/);
    await ends("echo yes | agent trust reset", 2, /add --yes/);
    expect(agent.logLines().some(({ msg }) => msg === "trust was reset")).toBe(false);
    const one = await asks();
    await one.enter("yes");
    const { text } = await one.ended();
    expect(text).toContain("trust is reset; pods keep running\n");
    expect(text).toContain("Documents must still be signed: ");
    expect(text).toEndWith("code=0\nas it was");
    expect(agent.logLines().some(({ msg }) => msg === "trust was reset")).toBe(true);
  },
);

e2e("images: ls, import, export, pull, rm and prune", async () => {
  const archive = file("image.tar", dockerArchive(BUSYBOX_2));
  const config = `--config ${agent.paths.config}`;
  expect((await ended(`agent images import - ${config} < ${archive}`)).text).toMatch(
    /^imported docker\.io\/local\/busybox:2 \(sha256:\w+\)$/,
  );
  const listed = await ended(`agent images ls ${config}`, SIZE_200);
  expect(listed.text).toMatch(/^IMAGE +ID +SIZE +IN USE BY\n/);
  expect(listed.text).toMatch(/local\/busybox:1 .*default\/web/);
  const binary = await ended(`agent images export local/busybox:2 -o - ${config}`);
  expect([binary.code, binary.text]).toEqual([
    2,
    "Error: an archive is no text: write it to a file (-o FILE), or into a pipe",
  ]);
  const piped = await ended(
    `agent images export local/busybox:2 -o - ${config} | tar -t | head -1`,
  );
  expect(piped.code).toBe(0);
  expect(piped.text).toMatch(/\S/);
  const none = await ended(`agent images import ${files}/none.tar ${config}`);
  expect(none.code).toBe(2);
  const pull = await window(careful("agent images pull 127.0.0.1:1/none:1"));
  expect((await pull.ended()).text).toMatch(/^Error: [^]*code=1\nas it was$/);
  const asked = Promise.withResolvers<void>();
  // A registry that never answers.
  const registry = Bun.serve({
    port: 0,
    hostname: "127.0.0.1",
    fetch: () => {
      asked.resolve();
      return new Promise<Response>(() => undefined);
    },
  });
  // The kernel shows ^C only after it has sent the signal, so that it may come behind the words of the agent: it shows none.
  const slowPull = careful(`agent images pull 127.0.0.1:${registry.port}/slow:1`);
  const slow = await window(`stty -echoctl; ${slowPull}`);
  await asked.promise;
  await slow.key("C-c");
  expect((await slow.ended()).text).toMatch(
    /Error: the pull of 127\.0\.0\.1:\d+\/slow:1 was cancelled\ncode=1\nas it was$/,
  );
  await registry.stop(true);
  await ends("agent images rm local/busybox:1", 1, /default\/web/);
  await ends("agent images rm local/busybox:2 --force", 0, /^removed .*busybox:2/);
  expect((await ended("agent images prune --dry-run")).text).toMatch(/^\d+ images?, /m);
});

e2e("kubeconfig prints to the terminal or a file, and lists and revokes", async () => {
  const admin = join(files, "admin.yaml");
  await ends(`agent kubeconfig -o ${admin}`, 0, /^written to \/.*admin\.yaml/);
  expect(statSync(admin).mode & 0o777).toBe(0o600);
  const printed = await ended(`agent kubeconfig --user other > ${files}/other.yaml`);
  expect(printed.code).toBe(0);
  expect(parse(readFileSync(join(files, "other.yaml"), "utf8"))).toMatchObject({ kind: "Config" });
  const users = await ended("agent kubeconfig --list");
  expect(users.text).toMatch(/^other +Full +Certificate /m);
  expect(await ended("agent kubeconfig --revoke other")).toEqual({
    code: 0,
    text: "user other is revoked",
  });
});

e2e("validate, check, config print, schema and explain need no agent", async () => {
  const good = file("good.yaml", sleeper("good"));
  const bad = file("bad.yaml", { ...sleeper("bad"), spec: { containers: [] } });
  const alone = (verb: string): string => `env -u AGENT_SOCKET ${agentBinary()} ${verb}`;
  expect(await ended(alone(`validate ${good}`))).toEqual({ code: 0, text: "1 document valid" });
  const invalid = await ended(alone(`validate ${good} ${bad}`), SIZE_200);
  expect(invalid.code).toBe(2);
  expect(invalid.text).toMatch(/bad\.yaml:\d+:\d+: spec\.containers: /);
  const typed = await window(alone("validate -"));
  await typed.enter("kind: Pod");
  await typed.key("C-d");
  expect((await typed.ended()).code).toBe(2);
  const config = `--config ${agent.paths.config}`;
  const check = await ended(alone(`check ${config}`));
  expect(check.text).toMatch(/containerd/);
  expect((await ended(alone(`config print ${config}`))).text).toContain("nodeName: terminal");
  const schema = await ended(alone("schema configmap | head -n 1"));
  expect(schema).toEqual({ code: 0, text: "{" });
  await ends(alone("explain pod.spec.restartPolicy"), 0, /restartPolicy/);
  await ends(alone("explain pod.spec.nothing"), 2, /nothing/);
});

e2e(
  "shutdown shows what still stops; Ctrl-C leaves it to the agent, and --cancel takes it back",
  async () => {
    const stubborn = sleeper("stubborn", {
      terminationGracePeriodSeconds: 30,
      containers: [
        {
          name: "main",
          image: "local/busybox:1",
          command: ["sh", "-c", "trap : TERM; while :; do sleep 1; done"],
        },
      ],
    });
    agent.writeManifest("stubborn.yaml", stubborn);
    await untilReady(agent, "stubborn");
    const stopping = await window(careful("agent shutdown"));
    await stopping.shows(/^stopping 1 pod: default\/stubborn/m);
    await stopping.key("C-c");
    expect((await stopping.ended()).text).toMatch(
      /Error: interrupted: these pods still stop: default\/stubborn; they go on stopping, agent shutdown waits\s+again\ncode=1\nas it was$/,
    );
    expect(await ended("agent shutdown --cancel")).toEqual({
      code: 0,
      text: "the shutdown is cancelled: pods start again",
    });
    agent.removeManifest("stubborn.yaml");
  },
);

e2e("run in a terminal ends with Ctrl-C and leaves its pods running", async () => {
  const other = stage.agent("foreground");
  other.writeManifest("stays.yaml", sleeper("stays"));
  const command = `${agentBinary()} run --config ${other.paths.config}`;
  const running = await window(careful(command), SIZE_200);
  await running.shows(/"msg":"started"/);
  await untilReady(other, "stays");
  const before = (await getPod(other, "stays")).status.containerStatuses;
  await running.key("C-c");
  const { text } = await running.ended();
  expect(text).toMatch(/code=0\nas it was$/);
  expect(await runningPods(stage.containerd(), "foreground")).toEqual(["stays"]);
  expect(existsSync(other.paths.socket)).toBe(false);
  // The next one finds the same container.
  const again = await window(careful(command), SIZE_200);
  await eventually("the pod is the same", async () => {
    const { status } = await getPod(other, "stays");
    return status.containerStatuses?.[0]?.containerID === before?.[0]?.containerID;
  });
  await again.key("C-c");
  expect((await again.ended()).text).toMatch(/code=0\nas it was$/);
  const wrong = await ended(`${agentBinary()} run --config ${files}/none.yaml`);
  expect(wrong.code).not.toBe(0);
  expect(wrong.text).toContain("none.yaml");
});
