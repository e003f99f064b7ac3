// What the reading verbs of `agent` show in a terminal: whole tables at any width, changes until Ctrl-C, pipes that end early,
// and no text of a pod that commands the terminal.

import { expect } from "bun:test";
import { readFileSync } from "node:fs";
import { join } from "node:path";

import type { AgentProcess } from "../harness/agent-process.ts";
import { eventually } from "../harness/eventually.ts";
import { getPod } from "./support-a-agent.ts";
import { POD } from "./support-n-streams.ts";
import { careful, openTerminal, SIZE_200, untilReady } from "./support-terminal.ts";

const { e2e, temp, start, window, ended, clipboard } = await openTerminal();
let agent: AgentProcess;

/** Writes the clipboard, colours, and goes back to the start of the line. */
const HOSTILE = "\u001b]52;c;aGFja2Vk\u0007\u001b[31mred\rover";
const PRINTF = String.raw`printf '\033]52;c;aGFja2Vk\007\033[31mred\rover\n'`;

function plainPod(name: string, command: string, more: object = {}): object {
  return {
    apiVersion: "v1",
    kind: "Pod",
    metadata: { name, labels: { app: name }, annotations: { note: HOSTILE } },
    spec: {
      terminationGracePeriodSeconds: 0,
      containers: [{ name: "main", image: "local/busybox:1", command: ["sh", "-c", command] }],
      ...more,
    },
  };
}

e2e("an agent runs a few pods", async () => {
  agent = await start({
    "web.yaml": POD,
    "rude.yaml": plainPod("rude", `${PRINTF} | tee /dev/termination-log; exit 3`, {
      restartPolicy: "Never",
    }),
    "spam.yaml": plainPod("spam", "yes 0123456789 | head -n 60000; exec sleep 100000"),
  });
  await untilReady(agent, "web", "spam");
  await eventually("rude has failed", async () => {
    const { status } = await getPod(agent, "rude");
    return status.phase === "Failed";
  });
});

/** Where the words of a line begin. */
function starts(line: string): readonly number[] {
  return [...line.matchAll(/(?<=^| {2})\S/g)].map(({ index }) => index);
}

e2e(
  "a table keeps its columns in a window of 200 columns, and its lines in one of 80",
  async () => {
    const wide = await ended("agent get pods -A -o wide", SIZE_200);
    expect(wide.code).toBe(0);
    const [titles = "", ...rows] = wide.text.split("\n");
    expect(titles).toMatch(/^NAMESPACE +NAME +READY +STATUS +RESTARTS +AGE +IP +NODE /);
    expect(rows).toHaveLength(3);
    for (const row of rows) expect(starts(row)).toEqual(starts(titles));
    const narrow = await window("agent get pods -A -o wide");
    const whole = (await narrow.ended()).text.split("\n");
    expect(whole.map((line) => line.split(/ {3,}/)[1])).toEqual(["NAME", "rude", "spam", "web"]);
    // Nothing is cut off: the terminal wraps.
    expect((await narrow.lines()).filter((line) => line !== "").length).toBeGreaterThan(4);
    const plain = await window("agent get pods", { columns: 80, rows: 24 });
    await plain.ended();
    for (const line of await plain.lines()) expect(line.length).toBeLessThan(80);
  },
);

e2e(
  "get -w begins with the table, adds each change in its columns, and ends with Ctrl-C",
  async () => {
    const watch = await window(careful("agent get pods -w -o wide"), SIZE_200);
    const before = await watch.shows(/^web .*$/m);
    const [titles = "", ...rows] = before.split("\n");
    expect(rows).toHaveLength(3);
    for (const row of rows) expect(starts(row)).toEqual(starts(titles));
    agent.writeManifest("late.yaml", plainPod("late", "exec sleep 100000"));
    await watch.shows(/^late +1\/1 +Running/m);
    agent.removeManifest("late.yaml");
    await watch.shows(/^late +\S+ +Gone/m);
    await watch.key("C-c");
    expect((await watch.ended()).text).toMatch(/\^Ccode=0\nas it was$/);
  },
);

const FORMATS = [
  "json",
  "yaml",
  "name",
  "wide",
  "jsonpath='{.items[*].spec}'",
  "jsonpath-as-json='{.items[*]}'",
  "custom-columns=NAME:.metadata.name",
];
const LONG_OUTPUTS = [
  ...FORMATS.map((format) => `agent get pods -o ${format}`),
  "agent describe pods",
  "agent logs spam",
  "agent logs spam --prefix",
  "agent schema pod",
  "agent explain fields",
  "agent get events -o json",
  "agent --help",
];

e2e(
  "a reader that has had enough is no error: one line each, no message, exit code 0",
  async () => {
    const each = LONG_OUTPUTS.map(
      (command) => `${command} | head -n 1 | cut -c 1-8; echo "\${PIPESTATUS[0]}"`,
    );
    const script = join(temp.directory("scripts"), "pipes");
    await Bun.write(script, each.join("\n"));
    const { code, text } = await ended(`bash ${script}`, { columns: 80, rows: 60 });
    expect(code).toBe(0);
    const lines = text.split("\n");
    expect(lines.filter((_, index) => index % 2 === 1)).toEqual(LONG_OUTPUTS.map(() => "0"));
    expect(lines).toHaveLength(LONG_OUTPUTS.length * 2);
  },
);

e2e("a pipe gets the same lines as the terminal, without escape sequences", async () => {
  // Times go on between the two.
  const still = (text: string): string =>
    text.replaceAll(/\b\d+[smh](?:\d+[sm])?\b/g, "AGE").replaceAll(/ {2,}/g, "  ");
  for (const verb of ["get pods -o wide", "get pods -A --show-labels", "describe pod web"]) {
    const shown = await ended(`agent ${verb}`, SIZE_200);
    const piped = await ended(`agent ${verb} | cat -v`, SIZE_200);
    expect([verb, still(piped.text)]).toEqual([verb, still(shown.text)]);
    expect(piped.text).not.toContain("^[");
  }
});

const SHOW_HOSTILE = [
  "logs rude",
  "logs rude --prefix",
  "logs -f rude",
  "describe pod rude",
  "explain pod/rude",
  "get pod rude -o json",
  "get pod rude -o yaml",
  "get pods -o custom-columns=NOTE:.metadata.annotations.note",
  "get pods -o jsonpath='{.items[*].metadata.annotations.note}'",
];

e2e("no text of a pod commands the terminal: it is shown as escapes", async () => {
  for (const verb of SHOW_HOSTILE) {
    // Any colour is then the pod's.
    const shown = await window(`NO_COLOR=1 agent ${verb}`, SIZE_200);
    const { text } = await shown.ended();
    const colours = await shown.escapes();
    expect({
      verb,
      isShown: text.includes("]52;c;aGFja2Vk") || text.includes("[31mred"),
      isOverwritten: /^over/m.test(text),
      isRed: colours.includes("\u001b[31"),
      clipboard: await clipboard(),
    }).toEqual({
      verb,
      isShown: true,
      isOverwritten: false,
      isRed: false,
      clipboard: undefined,
    });
  }
});

e2e("a pipe gets the text of a pod as it is where kubectl does so too", async () => {
  const directory = temp.directory("raw");
  const { code } = await ended(
    [
      `agent logs rude > ${directory}/logs`,
      `agent get pod rude -o jsonpath='{.metadata.annotations.note}' > ${directory}/jsonpath`,
      `agent get pod rude -o json > ${directory}/json`,
    ].join(" && "),
  );
  expect(code).toBe(0);
  expect(readFileSync(join(directory, "logs"), "utf8")).toBe(`${HOSTILE}\n`);
  expect(readFileSync(join(directory, "jsonpath"), "utf8")).toBe(HOSTILE);
  expect(JSON.parse(readFileSync(join(directory, "json"), "utf8"))).toMatchObject({
    metadata: { annotations: { note: HOSTILE } },
  });
});

e2e("describe, explain, top, version and get of other kinds end with 0 in 80 columns", async () => {
  const shows: Readonly<Record<string, RegExp>> = {
    "describe pod web": /^Name: +web$/m,
    "describe node": /^Name: +terminal$/m,
    "explain pod/rude": /Error/,
    "explain pod.spec.containers.livenessProbe": /livenessProbe/,
    "top pod --containers": /^POD +NAME +CPU\(cores\) +MEMORY\(bytes\)$/m,
    "top node": /^NAME +CPU\(cores\) /m,
    "get node": /^terminal +Ready/m,
    "get all": /^web /m,
    "get images": /local\/busybox:1/,
    version: /^agent \d/,
    "fleet --help": /^Usage: agent fleet /m,
  };
  for (const [verb, pattern] of Object.entries(shows)) {
    const { code, text } = await ended(`agent ${verb}`);
    expect([verb, code]).toEqual([verb, 0]);
    expect(text).toMatch(pattern);
  }
});

e2e("every verb has a help, and a wrong word ends with 2 and the way to the help", async () => {
  const help = await ended("agent --help", SIZE_200);
  const listed = [...help.text.matchAll(/^ {2}([a-z][a-z-]+)/gm)].map(([, verb = ""]) => verb);
  const verbs = listed.filter((verb) => verb !== "help");
  expect(verbs.length).toBeGreaterThan(24);
  const script = verbs.map((verb) => `agent ${verb} --help | head -n 1; agent ${verb} --nix`);
  const { text } = await ended(`${script.join("; echo $?\n")}; echo $?`, SIZE_200);
  const blocks = text.split(/^Usage: agent /m).slice(1);
  expect(blocks).toHaveLength(verbs.length);
  blocks.forEach((block, index) => {
    expect(block).toStartWith(verbs[index] ?? "?");
    expect(block).toContain("Error: unknown option '--nix'\n");
    expect(block).toContain("Run 'agent help' for the verbs and flags.\n2");
  });
  expect(await ended("agent nix")).toEqual({
    code: 2,
    text: "Error: unknown command 'nix'\nRun 'agent help' for the verbs and flags.",
  });
  const near = await ended("agent get podss");
  expect(near.code).toBe(2);
  expect(near.text).toContain('this node has no resource type "podss" (did you mean pods?)');
});

e2e("without an agent the error says what to do, and the exit code is 1", async () => {
  const { code, text } = await ended("agent get pods --socket /nonexistent/agent.sock");
  expect(code).toBe(1);
  expect(text).toMatch(/^Error: .*\/nonexistent\/agent\.sock/);
});
