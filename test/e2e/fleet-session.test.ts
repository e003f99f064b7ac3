// Sessions with pods through the broker: the compiled program on both sides, a real broker, a real containerd.

import { expect } from "bun:test";
import { randomBytes } from "node:crypto";
import { readFileSync, writeFileSync } from "node:fs";
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
import { makeKey, readKey, signed } from "./support-f-signing.ts";
import { BadLine, openWorld, type SessionWorld } from "./support-q-session.ts";

interface Answer {
  readonly id: string;
  readonly phase: string;
  readonly code: number;
}

interface Sent {
  readonly id: string;
  readonly session: number;
  readonly args: object;
  readonly issuedAt?: string;
}

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
  "a log is that of agent logs on the device, and is followed past the limits of a lease",
  async () => {
    const { client, agent } = await world();
    const a = client();
    const wrote = await shell(`${a} exec web -c main -- sh -c 'seq 1 9 > /proc/1/fd/1'`);
    expect(wrote.code).toBe(0);
    for (const flags of [
      ["--tail", "5"],
      ["--tail", "3", "--timestamps"],
      ["--since", "1h"],
      ["--limit-bytes", "7", "--prefix"],
      ["--previous"],
    ]) {
      const far = await shell(`${a} logs web -c main ${flags.join(" ")}`);
      const near = await agent.cli("logs", "web", "-c", "main", ...flags);
      expect([flags, far.code, far.stdout]).toEqual([flags, near.code, near.stdout]);
    }
    const sessions = (): number =>
      agent.logLines().filter(({ msg }) => msg === "a session has ended").length;
    const child = Bun.spawn([a, "logs", "web", "-c", "main", "-f", "--tail", "1"], {
      stdout: "pipe",
      stderr: "pipe",
    });
    let text = "";
    const reading = (async () => {
      for await (const part of child.stdout) text += new TextDecoder().decode(part);
    })();
    await eventually("the log is followed", () => text === "9\n");
    const before = sessions();
    const many = await shell(`${a} exec web -c main -- sh -c 'seq 100000 499999 > /proc/1/fd/1'`);
    expect(many.code).toBe(0);
    await eventually("2.8 MB have come", () => text.endsWith("499999\n"));
    expect(text.length).toBe(2 + 7 * 400_000);
    child.kill("SIGINT");
    await reading;
    const stderr = await new Response(child.stderr).text();
    expect({ code: await child.exited, stderr }).toEqual({ code: 0, stderr: "" });
    await eventually("both sessions have ended", () => sessions() === before + 2);
  },
  240_000,
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
  "what is replayed, unsigned, for another session, too old or signed by a stranger begins no session",
  async () => {
    const { client, broker, agent, keys } = await world();
    await using reader = await broker.client();
    const commands = await reader.collect("agent/v1/node/deep-1/command");
    const answers = await reader.collect("agent/v1/node/deep-1/response");
    const state = await reader.collect("agent/v1/node/deep-1/state");
    expect((await shell(`${client()} exec web -c main -- true`)).code).toBe(0);
    const begun = (): number =>
      agent.logLines().filter(({ msg }) => msg === "a session has begun").length;
    const before = begun();
    const copy = commands.messages.at(-1)?.payload ?? "";
    const said = async (
      command: object | string,
      id: string,
    ): Promise<readonly [string, number]> => {
      const from = answers.messages.length;
      await reader.publish("agent/v1/node/deep-1/command", command);
      const answer = await eventually("it is answered", () =>
        answers.messages
          .slice(from)
          .map(({ payload }) => JSON.parse(payload) as Answer)
          .find((one) => one.id === id && !["accepted", "running"].includes(one.phase)),
      );
      return [answer.phase, answer.code];
    };
    const envelope = JSON.parse(copy) as { readonly payload: string };
    const sent = JSON.parse(Buffer.from(envelope.payload, "base64").toString()) as Sent;
    await eventually("the session is over", () =>
      answers.messages.some(({ payload }) => {
        const { id, phase } = JSON.parse(payload) as Answer;
        return id === sent.id && phase === "done";
      }),
    );
    expect((await said(copy, sent.id))[0]).toBe("duplicate");
    const key = readKey(join(keys, "signing.pem"));
    const { session } = JSON.parse(state.messages.at(-1)?.payload ?? "{}") as Sent;
    let number = 0;
    const like = (change: object): Sent => {
      number += 1;
      const id = `${sent.id.slice(0, -2)}${String(10 + number)}`;
      return { ...sent, session, id, issuedAt: new Date().toISOString(), ...change };
    };
    const plain = like({});
    expect(await said(plain, plain.id)).toEqual(["denied", 401]);
    const other = like({ session: session - 1 });
    expect(await said(signed(other, [key], "command"), other.id)).toEqual(["expired", 408]);
    const foreign = like({ target: { node: "deep-2" } });
    expect(await said(signed(foreign, [key], "command"), foreign.id)).toEqual(["denied", 403]);
    const stranger = like({});
    expect(await said(signed(stranger, [makeKey()], "command"), stranger.id)).toEqual([
      "denied",
      401,
    ]);
    const unusable = like({ args: { ...sent.args, key: Buffer.alloc(32).toString("base64") } });
    expect(await said(signed(unusable, [key], "command"), unusable.id)).toEqual(["failed", 400]);
    expect(begun()).toBe(before);
    // And it still begins one that is right.
    expect((await shell(`${client()} exec web -c main -- true`)).code).toBe(0);
  },
  240_000,
);

e2e(
  "a node that does not allow it begins none, and an operator takes no key that was not accepted",
  async () => {
    const { client, desk } = await openWorld(stage, "shy-1", { allow: [] });
    const refused = await shell(`${client()} exec web -c main -- true`);
    expect(refused.code).toBe(1);
    expect(refused.stderr).toContain("403: this node allows no sessions; write mqtt.allowCommands");
    const log = await shell(`${client()} logs web -c main --tail 3`);
    expect(log).toMatchObject({ code: 0 });
    expect(log.stderr).toMatch(
      /^shy-1 answered .*403: .*; the log is read without a session: not encrypted\n$/,
    );
    writeFileSync(join(desk, "fleet-keys"), `shy-1 ${Buffer.alloc(32, 7).toString("base64")}\n`);
    const changed = await shell(`${client()} exec web -c main -- true`);
    expect(changed.stderr).toContain("the key of shy-1 is not the one that was accepted");
  },
  240_000,
);

e2e(
  "Ctrl-C ends the command on the node at once",
  async () => {
    const { client } = await world();
    const a = client();
    const child = Bun.spawn([a, "exec", "web", "-c", "main", "--", "sleep", "4713"], {
      stdout: "ignore",
      stderr: "ignore",
    });
    await eventually("sleep runs", async () => (await processes(a)).includes("sleep 4713"));
    child.kill("SIGINT");
    expect(await child.exited).toBe(1);
    await eventually("it has ended", async () => !(await processes(a)).includes("sleep 4713"));
  },
  240_000,
);

e2e(
  "nothing is left on the node after an operator that was killed",
  async () => {
    const { client, agent } = await world();
    const a = client();
    const connections = (): number => {
      const lines = readFileSync("/proc/net/unix", "utf8").split("\n");
      return lines.filter((line) => line.endsWith(agent.paths.socket)).length;
    };
    /** With the reason of each, if there is one. */
    const sessions = (msg: string): ReadonlyMap<unknown, unknown> => {
      const lines = agent.logLines().filter((line) => line.msg === msg);
      return new Map(lines.map(({ session, reason }) => [session, reason]));
    };
    const wrote = await shell(`${a} exec web -c main -- sh -c 'echo hello > /proc/1/fd/1'`);
    expect(wrote.code).toBe(0);
    // Connections of sessions that have just ended may still be closing.
    const looks: number[] = [];
    for (let look = 0; look < 10; look += 1) {
      looks.push(connections());
      await Bun.sleep(200);
    }
    const idle = Math.min(...looks);
    const child = Bun.spawn([a, "exec", "web", "-c", "main", "--", "sleep", "4712"]);
    const reader = Bun.spawn([a, "logs", "web", "-c", "main", "-f", "--tail", "1"], {
      stdout: "pipe",
    });
    await eventually("sleep runs", async () => (await processes(a)).includes("sleep 4712"));
    await reader.stdout.getReader().read();
    expect(connections()).toBeGreaterThan(idle + 1);
    const ended = sessions("a session has ended");
    const open = [...sessions("a session has begun").keys()].filter((one) => !ended.has(one));
    child.kill("SIGKILL");
    reader.kill("SIGKILL");
    await Promise.all([child.exited, reader.exited]);
    await eventually(
      "the command has ended",
      async () => !(await processes(a)).includes("sleep 4712"),
      { timeout: 240_000, interval: 5_000, explain: () => agent.logTail(20) },
    );
    await eventually("no connection to the API is left", () => connections() <= idle);
    const reasons = await eventually("all their sessions have ended", () => {
      const ends = sessions("a session has ended");
      return open.every((one) => ends.has(one)) && open.map((one) => ends.get(one));
    });
    const lost = reasons.filter((reason) => reason === "the other side was not heard for 90 s");
    expect(lost.length).toBeGreaterThan(1);
  },
  300_000,
);
