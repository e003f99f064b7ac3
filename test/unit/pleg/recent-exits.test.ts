import { describe, expect, test } from "bun:test";
import { RecentExits } from "../../../src/pleg/recent-exits.ts";
import { aSandbox, anInstance, anObservedPod } from "../../fakes/a-pod.ts";
import { VirtualClock } from "../../fakes/fake-clock.ts";

const pod = anObservedPod([aSandbox()], [anInstance("a"), anInstance("b")]);
const EXIT = { code: 3, at: 1_700_000_000_000 };

test("an announced exit stands in the look at once, the others run on", () => {
  const exits = new RecentExits(new VirtualClock());
  exits.add("a-0", EXIT);
  const [a, b] = exits.correct(pod).containers;
  expect(a).toMatchObject({ state: "Exited", exitCode: 3, reason: "Error", presumed: true });
  expect(b?.state).toBe("Running");
  expect(exits.awaits(exits.correct(pod))).toBe(true);
});

test("nothing announced: the very same look", () => {
  const exits = new RecentExits(new VirtualClock());
  expect(exits.correct(pod)).toBe(pod);
  expect(exits.awaits(pod)).toBe(false);
});

test("an exit without its code is waited for, not made up", () => {
  const exits = new RecentExits(new VirtualClock());
  exits.add("a-0", undefined);
  expect(exits.correct(pod)).toBe(pod);
  expect(exits.awaits(pod)).toBe(true);
});

test("the runtime's own record settles it", () => {
  const exits = new RecentExits(new VirtualClock());
  exits.add("a-0", EXIT);
  const recorded = anInstance("a", { state: "Exited", exitCode: 3, reason: "OOMKilled" });
  const look = anObservedPod([aSandbox()], [recorded]);
  expect(exits.correct(look)).toBe(look);
  expect(exits.awaits(look)).toBe(false);
});

test("is forgotten after half a minute: the relist is the truth", async () => {
  const clock = new VirtualClock();
  const exits = new RecentExits(clock);
  exits.add("a-0", EXIT);
  await clock.advance(31_000);
  expect(exits.correct(pod)).toBe(pod);
});

describe("the kernel killed for want of memory", () => {
  const reasonAfter = (exitCode: number, id = "a-0", reason = "Error"): string | undefined => {
    const exits = new RecentExits(new VirtualClock());
    exits.addOutOfMemory(id);
    const ended = anInstance("a", { state: "Exited", exitCode, reason });
    return exits.correct(anObservedPod([aSandbox()], [ended])).containers[0]?.reason;
  };

  test.each([
    ["SIGKILL that it explains is OOMKilled", 137, "a-0", "OOMKilled"],
    ["another container's does not convict this one", 137, "b-0", "Error"],
    ["a child's does not explain another exit code of its parent", 3, "a-0", "Error"],
  ])("%s", (_sentence, exitCode, id, reason) => {
    expect(reasonAfter(exitCode, id)).toBe(reason);
  });

  test("an announced out-of-memory kill is reported before the runtime reports it", () => {
    const exits = new RecentExits(new VirtualClock());
    exits.addOutOfMemory("a-0");
    exits.add("a-0", { ...EXIT, code: 137 });
    expect(exits.correct(pod).containers[0]).toMatchObject({ reason: "OOMKilled", exitCode: 137 });
  });
});
