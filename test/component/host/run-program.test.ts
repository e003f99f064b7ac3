import { describe, expect, test } from "bun:test";
import { runPrograms, type ProgramCall } from "../../../src/host/run-program.ts";
import { AgentError } from "../../../src/lib/errors.ts";
import { systemClock } from "../../../src/lib/system-clock.ts";
import { sinceBoot } from "../../../src/host/libc.ts";
import { VirtualClock } from "../../fakes/fake-clock.ts";

const clock = systemClock(sinceBoot);

function call(script: string, more: Partial<ProgramCall> = {}): ProgramCall {
  const limits = { timeoutMs: 60_000, maxBytes: 1000 };
  return { path: "/bin/sh", args: ["-c", script], env: {}, stdin: "", ...limits, ...more };
}

function run(wanted: ProgramCall, signal = new AbortController().signal) {
  return runPrograms(clock)(wanted, signal);
}

async function refusal(wanted: ProgramCall, signal?: AbortSignal): Promise<unknown> {
  return run(wanted, signal).then(
    () => undefined,
    (error: unknown) => (error instanceof AgentError ? `${error.reason}: ${error.message}` : error),
  );
}

describe("a program", () => {
  test("gets its input and gives its answer and exit code", async () => {
    const end = await run(call("cat; echo on-stderr >&2; exit 3", { stdin: "asked" }));
    expect(end).toEqual({ exitCode: 3, stdout: "asked" });
  });

  test("has the environment that is given, and nothing of the agent's", async () => {
    const { stdout } = await run(call("/usr/bin/env", { env: { HOME: "/root" } }));
    const names = stdout.split("\n").map((line) => line.split("=")[0]);
    expect(
      names.filter((name) => !["PWD", "SHLVL", "_", "OLDPWD", ""].includes(name ?? "")),
    ).toEqual(["HOME"]);
  });

  test("that does not exist is named", async () => {
    expect(await refusal({ ...call(""), path: "/nowhere/plugin" })).toBe(
      "NoProgram: cannot run /nowhere/plugin: there is no such program",
    );
  });

  test("that writes without an end is ended, and what it wrote is in no error", async () => {
    expect(await refusal(call("while :; do echo secret; done"))).toBe(
      "NoAnswer: /bin/sh was ended: it has written more than 1000 bytes",
    );
  });

  test("that takes too long is ended with its children", async () => {
    const virtual = new VirtualClock();
    const { promise, resolve } = Promise.withResolvers<string>();
    const pidFile = `/tmp/pulls-run-program-${process.pid}`;
    const ended = runPrograms(virtual)(
      call(`sleep 1000 & echo $! > ${pidFile}; wait`),
      new AbortController().signal,
    ).catch((error: Error) => resolve(error.message));
    const written = () =>
      Bun.file(pidFile)
        .text()
        .catch(() => "");
    while (!(await written()).endsWith("\n")) await Bun.sleep(1);
    await virtual.advance(60_000);
    expect(await promise).toBe("/bin/sh was ended: no answer within 60 s");
    await ended;
    const child = (await Bun.file(pidFile).text()).trim();
    await Bun.file(pidFile).delete();
    for (;;) {
      const stat = await Bun.file(`/proc/${child}/stat`)
        .text()
        .catch(() => " Z ");
      if (/ Z /.test(stat)) break;
      await Bun.sleep(1);
    }
  });

  test("whose caller leaves is ended", async () => {
    const caller = new AbortController();
    const ended = refusal(call("sleep 1000"), caller.signal);
    caller.abort(new Error("gone"));
    expect(await ended).toEqual(new Error("gone"));
  });
});
