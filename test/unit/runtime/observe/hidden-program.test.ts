import { describe, expect, test } from "bun:test";
import { withoutProgram } from "../../../../src/runtime/observe/termination-message.ts";
import { containerStatuses } from "../../../../src/status/container-statuses.ts";
import { aContainer, aPod, aSandbox, anInstance, anObservedPod } from "../../../fakes/a-pod.ts";

const secret = { command: ["$(TOKEN)"], args: [] };
const shown = (message: string, container: { command: string[]; args: string[] } = secret) =>
  withoutProgram({ reason: "StartError", message }, container);

describe("the runtime's message about a command with a variable", () => {
  test.each([
    [
      'runc create failed: exec: "hunter2": executable file not found in $PATH: unknown',
      'runc create failed: exec: "<hidden>": executable file not found in $PATH: unknown',
    ],
    [
      'exec: "/a/../hunter2": stat /a/../hunter2: no such file or directory',
      'exec: "<hidden>": stat <hidden>: no such file or directory',
    ],
    ['exec: "a\\"b": not found', 'exec: "<hidden>": not found'],
    ['caused: "exec: \\"pin\\": stat pin: no such file"', 'caused: "<hidden>"'],
    ["executable file `hunter2` not found", "executable file `<hidden>` not found"],
    ["executable file 'pin' not found", "executable file '<hidden>' not found"],
    ['exec: "hunter2 that is cut', 'exec: "<hidden>"'],
    ['exec: "hunter2 that is cut\\', 'exec: "<hidden>"'],
  ])("%s", (message, expected) => expect(shown(message)).toBe(expected));

  test("is not shown at all if nothing in it is quoted", () => {
    expect(shown("hunter2: not found")).toBe(
      "the runtime cannot start the command; its message is not shown, because the command contains values of variables",
    );
  });

  test("is hidden for the first word, of the command or else of the arguments", () => {
    const message = 'exec: "hunter2": not found';
    expect(shown(message, { command: [], args: ["a/$(B)"] })).not.toContain("hunter2");
    expect(shown(message, { command: ["hunter2"], args: ["$(A)"] })).toBe(message);
    expect(shown(message, { command: [], args: [] })).toBe(message);
  });

  test("takes time in proportion to its length", () => {
    const message = Array.from({ length: 100_000 }, (_, index) => `"value-${index}"`).join(" ");
    expect(shown(message)).not.toContain("value-99999");
    expect(shown(`"${"\\".repeat(1_000_000)}`)).toBe('"<hidden>"');
  });
});

test("what a container has written itself is shown", () => {
  const message = 'cannot open "data"';
  expect(withoutProgram({ reason: "Error", message }, secret)).toBe(message);
});

test("the status of a container that cannot start shows no value, whatever the agent knows of Secrets", () => {
  const ended = anInstance("a", {
    state: "Exited",
    exitCode: 128,
    reason: "StartError",
    message: 'exec: "pin": executable file not found in $PATH',
  });
  const { containerStatuses: statuses } = containerStatuses({
    pod: aPod({ containers: [aContainer("a", secret)] }),
    observed: anObservedPod([aSandbox()], [ended]),
    facts: { waiting: {} },
    previous: undefined,
  });
  expect(statuses[0]?.state.terminated?.message).toBe(
    'exec: "<hidden>": executable file not found in $PATH',
  );
});
