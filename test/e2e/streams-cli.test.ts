// `agent exec`, `attach`, `port-forward` and `cp` on the real parts, in a terminal and in pipes.

import { beforeAll, expect } from "bun:test";
import { existsSync } from "node:fs";
import { connect } from "node:net";
import { join } from "node:path";

import { eventually } from "../harness/eventually.ts";
import {
  agentFor,
  expectAttached,
  expectHundredConnections,
  expectTenCommands,
  expectTerminal,
  expectWholeBytes,
  InTerminal,
  processes,
  shell,
  StreamsStage,
} from "./support-n-streams.ts";

const streams = await StreamsStage.open();
const { stage } = streams;
const e2e = stage.test;
let a: string;

beforeAll(() => {
  if (stage.available) a = agentFor(stage.temp, streams.agent);
});

e2e("exec has the output, the errors and the exit code of the command", async () => {
  expect(await shell(`${a} exec web -- sh -c 'echo out; echo err >&2; exit 3'`)).toEqual({
    code: 3,
    stdout: "out\n",
    stderr:
      'Defaulted container "main" out of: main, shell\nerr\ncommand terminated with exit code 3\n',
  });
  expect(await shell(`${a} exec pod/web -q -c shell -- true`)).toEqual({
    code: 0,
    stdout: "",
    stderr: "",
  });
});

e2e("input ends, from a pipe, a file and nowhere", async () => {
  const wc = `${a} exec -i web -c main -- wc -c`;
  expect((await shell(`printf abc | ${wc}`)).stdout).toBe("3\n");
  expect((await shell(`${wc} < /dev/null`)).stdout).toBe("0\n");
  expect((await shell(`${wc} < ${a}`)).stdout).toBe(`${Bun.file(a).size}\n`);
  expect((await shell(`printf abc | ${a} exec web -c main -- wc -c`)).stdout).toBe("0\n");
});

e2e(
  "100 MB arrive whole in each direction, with the exit code",
  () => expectWholeBytes(a, streams.file),
  120_000,
);

e2e("ten commands run at the same time", () => expectTenCommands(a));

e2e(
  "a shell in a terminal: size, Ctrl-C, escape sequences as they are, exit code",
  () => expectTerminal(a),
  60_000,
);

e2e("a terminal shows what comes as it is, and is afterwards as it was", async () => {
  const script = `${a} exec -it web -c main -- printf 'one\\ntwo\\n'; stty -a`;
  const terminal = new InTerminal(["sh", "-c", script]);
  expect(await terminal.child.exited).toBe(0);
  expect(terminal.screen).toStartWith("one\r\ntwo\r\n");
  for (const setting of [/\sopost\s/, /\sonlcr\s/, /\sicanon\s/, /\secho\s/])
    expect(terminal.screen).toMatch(setting);
});

e2e("-t without a terminal is a warning", async () => {
  const { code, stdout, stderr } = await shell(`echo hi | ${a} exec -it web -c main -- cat`);
  expect([code, stdout]).toEqual([0, "hi\n"]);
  expect(stderr).toContain("Unable to use a TTY - input is not a terminal");
});

e2e(
  "attach joins the shell that the container runs, and leaves it running",
  async () => {
    await expectAttached(a, streams);
    const again = new InTerminal([a, "attach", "-it", "web", "-c", "shell"]);
    await again.shows("If you don't see");
    again.type("echo ag''ain; exit\r");
    await again.shows("again");
    expect(await again.child.exited).toBe(0);
    expect(again.screen).toContain("Session ended, resume using 'agent attach web -c shell -i -t'");
  },
  60_000,
);

e2e("a client that is killed takes along what it has started", async () => {
  const inShell = "(trap '' HUP; exec sleep 4715) & sleep 4714; :";
  const clients = [
    ["-i", "web", "-c", "main", "--", "sh", "-c", "cat; : 4712"],
    ["web", "-c", "main", "--", "sleep", "4713"],
    ["web", "-c", "main", "--", "sleep", "4713"],
    ["web", "-c", "main", "--", "sh", "-c", inShell],
  ].map((args) => Bun.spawn([a, "exec", ...args], { stdin: "pipe", stdout: "ignore" }));
  const terminal = new InTerminal([a, "exec", "-it", "web", "-c", "main", "--", "sh"]);
  await terminal.shows("/ #");
  terminal.type("sleep 4716 &\rsleep 4717\r");
  const running = async (): Promise<readonly string[]> =>
    [...(await processes(a)).matchAll(/sleep 471\d$|: 4712$/gm)].map(([found]) => found).sort();
  const kept = ["sleep 4713", "sleep 4715"];
  const killed = [": 4712", "sleep 4713", "sleep 4714", "sleep 4716", "sleep 4717"];
  await eventually("all run", async () => same(await running(), [...kept, ...killed].sort()));
  for (const { child } of [
    terminal,
    ...clients.filter((_, at) => at !== 2).map((child) => ({ child })),
  ]) {
    child.kill("SIGKILL");
    await child.exited;
  }
  await eventually("the commands of the dead clients are gone", async () =>
    same(await running(), kept),
  );
  clients[2]?.kill("SIGKILL");
  await eventually("so is the last", async () => same(await running(), ["sleep 4715"]));
});

function same(left: readonly string[], right: readonly string[]): boolean {
  return JSON.stringify(left) === JSON.stringify(right);
}

e2e(
  "port-forward serves a hundred connections, and says what fails",
  async () => {
    const child = Bun.spawn([a, "port-forward", "web", ":http", ":99", "--address", "127.0.0.1"], {
      stdout: "pipe",
      stderr: "pipe",
    });
    const reader = child.stdout.getReader();
    let text = "";
    while ((text.match(/Forwarding/g) ?? []).length < 2) {
      const { value, done } = await reader.read();
      if (done) throw new Error(`it ended after ${JSON.stringify(text)}`);
      text += new TextDecoder().decode(value);
    }
    void (async () => {
      while (!(await reader.read()).done);
    })();
    const [http, closed] = [...text.matchAll(/127\.0\.0\.1:(\d+) ->/g)].map(([, port]) =>
      Number(port),
    );
    await expectHundredConnections(http ?? 0);
    const refused = connect({ host: "127.0.0.1", port: closed ?? 0 });
    await new Promise((resolve) => refused.once("close", resolve));
    child.kill("SIGINT");
    expect(await child.exited).toBe(0);
    expect(await child.stderr.text()).toMatch(
      new RegExp(`an error occurred forwarding ${closed} -> 99: .*connection refused`),
    );
  },
  60_000,
);

e2e("port-forward refuses a port in use", async () => {
  const server = Bun.serve({ port: 0, hostname: "127.0.0.1", fetch: () => new Response() });
  const used = `${server.port}:8080`;
  const { code, stderr } = await shell(`${a} port-forward web ${used} --address 127.0.0.1`);
  await server.stop();
  expect(code).toBe(1);
  expect(stderr).toContain("address already in use");
});

e2e(
  "cp brings files and directories there and back",
  async () => {
    const directory = stage.temp.directory("cp");
    const long = "n".repeat(150);
    const script = [
      "set -e",
      `cd ${directory}`,
      `mkdir -p tree/sub/${long}`,
      `echo one > tree/a; echo two > tree/sub/${long}/b; chmod 755 tree/a`,
      `head -c 3000000 ${streams.file.path} > tree/big; touch tree/empty`,
      `${a} cp tree web:/work/ -c main`,
      `${a} exec web -c main -- sh -c 'cd /work/tree && ls -l a | cut -c 1-10; ln big sub/hard; ln -s a soft'`,
      `${a} cp web:/work/tree back -c main 2> warnings`,
      "cmp back/big back/sub/hard && rm back/sub/hard",
      "diff -r tree back && echo same",
      `mkdir here && ${a} cp -c main web:/work/tree/a here && cat here/a`,
      `${a} cp -c main here/a web:/work/renamed && ${a} exec web -c main -- cat /work/renamed`,
    ].join("\n");
    const { code, stdout, stderr } = await shell(script);
    expect({ code, stdout, stderr }).toMatchObject({
      code: 0,
      stdout: "-rwxr-xr-x\nsame\none\none\n",
    });
    expect(await Bun.file(join(directory, "warnings")).text()).toContain(
      'warning: skipping symlink: "work/tree/soft" -> "a"',
    );
  },
  60_000,
);

e2e("cp writes nothing outside of its destination", async () => {
  const directory = stage.temp.directory("evil");
  // A tar of the container's own choosing, as a hostile image may have.
  const evil = [
    "cd /work && mkdir -p x && echo evil > x/evil",
    "printf '#!/bin/sh\\nexec busybox tar cf - -C /work x/../x/evil ../work/x/evil x/evil\\n' > /bin/tar.new",
    "cp -a /bin/tar /bin/tar.old; rm /bin/tar; mv /bin/tar.new /bin/tar; chmod 755 /bin/tar",
  ].join(" && ");
  await shell(`${a} exec web -c main -- sh -c "${evil}"`);
  const { stderr } = await shell(`cd ${directory} && ${a} cp -c main web:/work/y out`);
  await shell(`${a} exec web -c main -- sh -c 'rm /bin/tar; mv /bin/tar.old /bin/tar'`);
  expect(stderr).toContain("is outside target destination, skipping");
  expect(existsSync(join(directory, "out"))).toBe(false);
  expect(existsSync(join(directory, "x"))).toBe(false);
});

e2e("what cannot be done is refused", async () => {
  const refused = async (args: string): Promise<unknown> => {
    const { code, stderr } = await shell(`${a} ${args}`);
    return [code, stderr.trim()];
  };
  expect(await refused("exec nothing -- id")).toEqual([1, 'Error: pods "nothing" not found']);
  expect(await refused("exec web -c nothing -- id")).toEqual([
    1,
    "Error: container nothing not found in pod web",
  ]);
  expect(await refused("exec web")).toEqual([
    2,
    "Error: you must specify at least one command for the container",
  ]);
  expect(await refused("port-forward web 80:x")).toEqual([2, expect.any(String)]);
  expect(await refused("cp a b")).toEqual([2, expect.any(String)]);
  expect(await refused("cp /nonexistent web:/work")).toEqual([
    1,
    "Error: /nonexistent doesn't exist in local filesystem",
  ]);
  const missing = await shell(`${a} exec web -c main -- nothing`);
  expect(missing.code).not.toBe(0);
  expect(missing.stderr).toContain("nothing");
});
