import { expect, test } from "bun:test";
import type { ExecProcesses, SessionLeader } from "../../../src/host/process/exec-processes.ts";
import { ExecHangUp, runs } from "../../../src/server/stream/exec-hang-up.ts";
import { VirtualClock } from "../../fakes/fake-clock.ts";

class FakeProcesses implements ExecProcesses {
  readonly running = new Map<number, readonly string[]>([[1, ["sleep", "9"]]]);
  readonly hungUp: number[] = [];

  pids(): readonly number[] {
    return [...this.running.keys()];
  }

  leader(pid: number): SessionLeader | undefined {
    const command = this.running.get(pid);
    return command && { pid, startTicks: String(pid), command };
  }

  hangUp({ pid }: SessionLeader): void {
    this.hungUp.push(pid);
  }
}

/** A stream that its caller ends. */
class Stream {
  readonly #end = Promise.withResolvers<void>();
  isOpen = false;

  readonly serve = async (): Promise<void> => {
    this.isOpen = true;
    await this.#end.promise;
  };

  end(): void {
    this.#end.resolve();
  }
}

const EXEC = { containerId: "c", command: ["sleep", "9"] };

function stage() {
  const clock = new VirtualClock();
  const processes = new FakeProcesses();
  return { clock, processes, hangUp: new ExecHangUp(processes, clock) };
}

test("hangs up the new process with that command, and no other", async () => {
  const { clock, processes, hangUp } = stage();
  const stream = new Stream();
  const during = hangUp.during(EXEC, stream.serve);
  processes.running.set(2, ["cat"]);
  await clock.advance(100);
  processes.running.set(3, ["sleep", "9"]);
  await clock.advance(1000);
  expect(processes.hungUp).toEqual([]);
  stream.end();
  await during;
  await clock.advance(0);
  expect(processes.hungUp).toEqual([3]);
});

test("finds a process that appears when its client is gone already, but not much later", async () => {
  for (const [after, hungUp] of [
    [300, [2]],
    [3000, []],
  ] as const) {
    const { clock, processes, hangUp } = stage();
    await hangUp.during(EXEC, () => Promise.resolve());
    await clock.advance(after);
    processes.running.set(2, ["sleep", "9"]);
    await clock.advance(5000);
    expect([after, processes.hungUp]).toEqual([after, [...hungUp]]);
  }
});

test("tells two clients with the same command in one container apart", async () => {
  const { clock, processes, hangUp } = stage();
  const [first, second] = [new Stream(), new Stream()];
  void hangUp.during(EXEC, first.serve);
  const during = hangUp.during(EXEC, second.serve);
  await clock.advance(10);
  expect([first.isOpen, second.isOpen]).toEqual([true, false]);
  processes.running.set(2, ["sleep", "9"]);
  await clock.advance(50);
  expect(second.isOpen).toBe(true);
  processes.running.set(3, ["sleep", "9"]);
  await clock.advance(50);
  second.end();
  await during;
  await clock.advance(0);
  expect(processes.hungUp).toEqual([3]);
});

test("an error of the stream is that of the call", async () => {
  const { hangUp } = stage();
  const during = hangUp.during(EXEC, () => Promise.reject(new Error("refused")));
  expect(await during.catch(String)).toBe("Error: refused");
});

test.each([
  [["sleep", "9"], ["sleep", "9"], true],
  [["/bin/sh", "/opt/job", "-x"], ["/opt/job", "-x"], true],
  [["/bin/sh", "/opt/job", "-x"], ["job", "-x"], true],
  [["sleep", "99"], ["sleep", "9"], false],
  [["9"], ["sleep", "9"], false],
  [["mysleep", "9"], ["sleep", "9"], false],
  [["runc", "init"], ["sleep", "9"], false],
])("%p is the command %p: %p", (shown, command, expected) => {
  expect(runs(shown, command)).toBe(expected);
});
