// Sessions with pods through the broker: the compiled program on both sides, a real broker, a real containerd.

import { expect } from "bun:test";
import { randomBytes } from "node:crypto";
import { readFileSync } from "node:fs";
import { join } from "node:path";

import { eventually } from "../harness/eventually.ts";
import { freePort } from "../harness/free-port.ts";
import { openStage } from "./support-b-stage.ts";
import {
  expectHundredConnections,
  expectTerminal,
  expectTenCommands,
  processes,
  randomFile,
  shell,
} from "./support-n-streams.ts";
import { BadLine, openWorld, type SessionWorld } from "./support-q-session.ts";

const stage = await openStage();
const { e2e } = stage;
const TEN_MB = 10 * 1024 * 1024;
let opened: Promise<SessionWorld> | undefined;

/** One node for all tests. */
function world(): Promise<SessionWorld> {
  return (opened ??= openWorld(stage, "deep-1"));
}

/** Reads from its input until it ends, and says what it was; then the same back. */
async function expectBothWays(client: string, file: { path: string; sum: string }): Promise<void> {
  const up = await shell(
    `${client} exec -i web -c main -- sh -c 'cat > /work/big; sha256sum < /work/big; exit 5' < ${file.path}`,
  );
  const stderr = "command terminated with exit code 5\n";
  expect(up).toEqual({ code: 5, stdout: `${file.sum}  -\n`, stderr });
  const down = await shell(`${client} exec web -c main -- cat /work/big | sha256sum`);
  expect(down.stdout).toBe(`${file.sum}  -\n`);
}

e2e(
  "a command has its output, its errors, its input and its exit code, and the node an event of it",
  async () => {
    const { client, agent } = await world();
    const a = client();
    const command = `${a} exec web -c main -- sh -c 'echo out; echo err >&2; exit 3'`;
    expect(await shell(command)).toEqual({
      code: 3,
      stdout: "out\n",
      stderr: "err\ncommand terminated with exit code 3\n",
    });
    expect((await shell(`printf abc | ${a} exec -i web -c main -- wc -c`)).stdout).toBe("3\n");
    const { stdout } = await agent.cli("get", "events");
    expect(stdout).toMatch(/SessionStarted +pod\/web +.*signed by key [0-9a-f]{16}/);
    expect(stdout).toMatch(/SessionEnded +pod\/web +.*the operator has left/);
  },
  240_000,
);

e2e(
  "10 MB arrive whole each way, ten commands run at once, and files are copied",
  async () => {
    const { client, desk } = await world();
    const a = client();
    const path = join(desk, "big");
    const file = { path, sum: randomFile(path, TEN_MB) };
    await expectBothWays(a, file);
    await expectTenCommands(a, (script) => shell(script));
    expect((await shell(`${a} cp -c main web:/work/big ${desk}/back`)).code).toBe(0);
    expect(readFileSync(join(desk, "back")).equals(readFileSync(path))).toBe(true);
    expect((await shell(`${a} cp -c main ${path} web:/work/copy`)).code).toBe(0);
    const sum = await shell(`${a} exec web -c main -- sha256sum /work/copy`);
    expect(sum.stdout).toBe(`${file.sum}  /work/copy\n`);
  },
  240_000,
);

e2e(
  "a terminal has its size, its keys and its exit code",
  async () => expectTerminal((await world()).client()),
  240_000,
);

e2e(
  "a port of the pod is reached by many at once",
  async () => {
    const { client } = await world();
    const port = freePort();
    const child = Bun.spawn([client(), "port-forward", "web", `${port}:8080`], {
      stdout: "pipe",
      stderr: "pipe",
    });
    try {
      await eventually("it listens", async () => {
        const response = await fetch(`http://127.0.0.1:${port}/`).catch(() => undefined);
        return response?.ok;
      });
      await expectHundredConnections(port);
    } finally {
      child.kill("SIGINT");
      await child.exited;
    }
  },
  240_000,
);

e2e(
  "10 MB arrive whole over a line of 300 ms that is cut, and while the broker restarts",
  async () => {
    const { client, broker, desk } = await world();
    const path = join(desk, "rough");
    const file = { path, sum: randomFile(path, TEN_MB) };
    using line = new BadLine(broker.port, { seed: 7, cutsPerSecond: 0.05 });
    await expectBothWays(client(line.url), file);
    expect(line.cuts).toBeGreaterThan(0);
    const slow = `${client()} exec -i web -c main -- sh -c 'sha256sum; exit 5'`;
    const under = shell(`(head -c 5000000 ${path}; sleep 6; tail -c +5000001 ${path}) | ${slow}`);
    await Bun.sleep(3_000);
    await broker.restart();
    expect(await under).toMatchObject({ code: 5, stdout: `${file.sum}  -\n` });
  },
  300_000,
);

e2e(
  "a reader of the broker sees nothing of what is said",
  async () => {
    const { client, broker } = await world();
    await using reader = await broker.client();
    const heard = await reader.collect("#");
    const [typed, said] = [randomBytes(12).toString("hex"), randomBytes(12).toString("hex")];
    const back = said.split("").toReversed().join("");
    const command = `printf ${typed} | ${client()} exec -i web -c main -- sh -c 'cat; echo; echo ${back} | rev'`;
    expect((await shell(command)).stdout).toBe(`${typed}\n${said}\n`);
    const topics = heard.messages.map(({ topic }) => topic);
    expect(topics.some((topic) => topic.includes("/session/"))).toBe(true);
    const texts = heard.messages.flatMap(({ payload }) => [
      payload,
      Buffer.from(/"payload":"([^"]+)"/.exec(payload)?.[1] ?? "", "base64").toString("latin1"),
    ]);
    for (const text of texts)
      for (const needle of [typed, said, back]) expect(text).not.toContain(needle);
  },
  240_000,
);

e2e(
  "nothing is left on the node after an operator that was killed",
  async () => {
    const { client, agent } = await world();
    const a = client();
    const child = Bun.spawn([a, "exec", "web", "-c", "main", "--", "sleep", "4712"]);
    await eventually("sleep runs", async () => (await processes(a)).includes("sleep 4712"));
    child.kill("SIGKILL");
    await child.exited;
    await eventually(
      "the command has ended",
      async () => !(await processes(a)).includes("sleep 4712"),
      { timeout: 240_000, interval: 5_000, explain: () => agent.logTail(20) },
    );
    const ends = agent.logLines().filter(({ msg }) => msg === "a session has ended");
    expect(JSON.stringify(ends)).toContain("the other side was not heard for 90 s");
  },
  300_000,
);
