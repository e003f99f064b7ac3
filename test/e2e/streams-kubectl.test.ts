// exec, attach, port-forward and cp of the real kubectl: a present one over WebSocket as it does by default and over SPDY as
// it did, Debian's over SPDY, which is all it knows.

import { afterAll, beforeAll, expect } from "bun:test";

import { DEBIAN, KUBECTLS, PRESENT, SocketPort, testWith } from "../harness/kubectl.ts";
import {
  expectAttached,
  expectHundredConnections,
  expectTenCommands,
  expectTerminal,
  expectWholeBytes,
  shell,
  StreamsStage,
} from "./support-n-streams.ts";

const streams = await StreamsStage.open();
const { stage } = streams;
const programs = new Map<string, string>();
let socketPort: SocketPort | undefined;

beforeAll(async () => {
  if (!stage.available) return;
  socketPort = await SocketPort.open(streams.agent.paths.socket);
  for (const client of KUBECTLS) {
    if (typeof client.path !== "string") continue;
    programs.set(client.name, socketPort.program(client, stage.temp.directory("kubectl")));
  }
});
afterAll(() => socketPort?.[Symbol.dispose]());

/** kubectl has not made its streams yet when the empty first message comes, which an API server sends as well. */
const TOO_EARLY = /^E\d+ .* websocket\.go:\d+\] Unknown stream id \d+, discarding message\n/m;

function overTransport(isWebSocket: string): Readonly<Record<string, string>> {
  return {
    KUBECTL_REMOTE_COMMAND_WEBSOCKETS: isWebSocket,
    KUBECTL_PORT_FORWARD_WEBSOCKETS: isWebSocket,
  };
}

const TRANSPORTS = [
  { over: `${PRESENT.name} over WebSocket`, client: PRESENT, env: overTransport("true") },
  { over: `${PRESENT.name} over SPDY`, client: PRESENT, env: overTransport("false") },
  { over: DEBIAN.name, client: DEBIAN, env: {} },
];

for (const { over, client, env } of TRANSPORTS) {
  const e2e = testWith(client, stage.test);
  const k = (): string => programs.get(client.name) ?? "";
  const run = async (script: string) => {
    const result = await shell(script, { env });
    return { ...result, stderr: result.stderr.replace(TOO_EARLY, "") };
  };

  e2e(`${over}: a command has its output, its errors and its exit code`, async () => {
    const command = "sh -c 'echo out; echo err >&2; exit 3'";
    expect(await run(`${k()} exec web -c main -- ${command}`)).toEqual({
      code: 3,
      stdout: "out\n",
      stderr: "err\ncommand terminated with exit code 3\n",
    });
  });

  e2e(`${over}: the end of the input reaches the command`, async () => {
    const counted = await run(`printf 'a b c' | ${k()} exec -i web -c main -- wc -w`);
    expect(counted).toMatchObject({ code: 0, stdout: "3\n" });
  });

  e2e(
    `${over}: 100 MB arrive whole in each direction, with the exit code`,
    () => expectWholeBytes(k(), streams.file, run),
    120_000,
  );

  e2e(`${over}: ten commands run at the same time`, () => expectTenCommands(k(), run));

  e2e(`${over}: a hundred connections are forwarded`, async () => {
    const child = Bun.spawn([k(), "port-forward", "web", ":8080"], {
      stdout: "pipe",
      stderr: "inherit",
      env: { ...process.env, ...env },
    });
    const reader = child.stdout.getReader();
    const { value } = await reader.read();
    const port = Number(/:(\d+) ->/.exec(new TextDecoder().decode(value))?.[1]);
    void (async () => {
      while (!(await reader.read()).done);
    })();
    await expectHundredConnections(port);
    child.kill("SIGINT");
    await child.exited;
  });
}

for (const client of KUBECTLS) {
  const e2e = testWith(client, stage.test);
  const k = (): string => programs.get(client.name) ?? "";

  e2e(
    `${client.name}: a shell in a terminal follows its size, and Ctrl-C reaches the command`,
    () => expectTerminal(k()),
    60_000,
  );

  e2e(
    `${client.name}: attach joins the shell that the container runs`,
    () => expectAttached(k(), streams),
    60_000,
  );

  e2e(
    `${client.name}: cp brings a directory there and back`,
    async () => {
      const script = [
        "set -e",
        `cd ${stage.temp.directory(`cp-${KUBECTLS.indexOf(client)}`)}`,
        "mkdir -p tree/sub",
        "echo one > tree/a; echo two > tree/sub/b",
        `head -c 3000000 ${streams.file.path} > tree/big`,
        `${k()} exec web -c main -- rm -rf /work/tree`,
        `${k()} cp tree web:/work/tree -c main`,
        `${k()} cp web:/work/tree back -c main`,
        "diff -r tree back && echo same",
      ].join("\n");
      expect(await shell(script)).toMatchObject({
        code: 0,
        stdout: expect.stringMatching(/same\n$/) as string,
      });
    },
    60_000,
  );

  e2e(`${client.name}: what cannot be done is refused with an API server's words`, async () => {
    expect((await shell(`${k()} exec nothing -- id`)).stderr).toContain('pods "nothing" not found');
    expect((await shell(`${k()} exec web -c nothing -- id`)).stderr).toContain(
      "container nothing is not valid for pod web",
    );
    const missing = await shell(`${k()} exec web -c main -- nothing`);
    expect(missing.code).not.toBe(0);
    expect(missing.stderr).toContain("nothing");
  });
}
