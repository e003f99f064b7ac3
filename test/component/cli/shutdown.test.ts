import { expect, test } from "bun:test";
import { eachOnCliStage, type CliStage } from "./cli-stage.ts";

let run: CliStage["run"];
let terminal: CliStage["terminal"];
/** What the agent was asked for. */
let asked: string[];
/** The pods that are left at each answer; the last one stays. */
let left: (readonly string[])[];
let active: boolean;
/** Answers at which the agent does not know its pods yet. */
let unknown: number;

eachOnCliStage((stage) => {
  ({ run, terminal } = stage);
  [asked, left, active, unknown] = [[], [[]], true, 0];
  stage.agent.answers.set("/shutdown", ({ method }) => {
    asked.push(method);
    if (unknown > 0) {
      unknown -= 1;
      return Response.json({ active, known: false, pods: [], seconds: 0 });
    }
    const [pods = []] = left.length > 1 ? left.splice(0, 1) : left;
    return Response.json({ active, known: true, pods, seconds: 40 });
  });
});

/** The exit code after so many looks. */
async function endOf(exit: Promise<number>, looks: number): Promise<number> {
  for (let look = 0; look < looks; look += 1) await terminal.pass(500);
  return exit;
}

test("waits until the pods are gone, and shows those that are left", async () => {
  left = [["default/a", "default/b"], ["default/a", "default/b"], ["default/b"], []];
  expect(await endOf(run("shutdown"), 3)).toBe(0);
  expect(asked).toEqual(["POST", "GET", "GET", "GET"]);
  expect(terminal.stdout).toBe(
    "stopping 2 pods: default/a, default/b\n" +
      "stopping 1 pod: default/b\n" +
      "all pods are stopped; none starts until the next boot, or agent shutdown --cancel\n",
  );
});

test("writes one line again and again on a terminal, and leaves none behind", async () => {
  terminal.isErrTerminal = true;
  terminal.columns = 30;
  left = [["default/a", "default/b"], ["default/b"], []];
  expect(await endOf(run("shutdown"), 2)).toBe(0);
  expect(terminal.stderr).toBe(
    "\r\u001b[Kstopping 2 pods: default/a, d\r\u001b[Kstopping 1 pod: default/b (1 \r\u001b[K",
  );
  expect(terminal.stdout).toBe(
    "all pods are stopped; none starts until the next boot, or agent shutdown --cancel\n",
  );
});

test("pods that are left at the end of the time are exit code 1", async () => {
  left = [["default/a"]];
  expect(await endOf(run("shutdown --timeout 2s"), 4)).toBe(1);
  expect(terminal.stderr).toBe(
    "Error: after 2s these pods still stop: default/a; they go on stopping, agent shutdown waits again\n",
  );
});

test("waits for an agent that does not know its pods yet", async () => {
  unknown = 2;
  left = [["default/b"], []];
  expect(await endOf(run("shutdown"), 3)).toBe(0);
  expect(terminal.stdout).toBe(
    "waiting for the container runtime\n" +
      "stopping 1 pod: default/b\n" +
      "all pods are stopped; none starts until the next boot, or agent shutdown --cancel\n",
  );
});

test("an agent that does not come to know them is exit code 1", async () => {
  unknown = 100;
  expect(await endOf(run("shutdown --timeout 1s"), 2)).toBe(1);
  expect(terminal.stderr).toBe(
    "Error: after 1s the agent still waits for the container runtime, so pods may run; see agent get node\n",
  );
});

test("that is cancelled meanwhile is exit code 1", async () => {
  active = false;
  expect(await run("shutdown")).toBe(1);
  expect(terminal.stderr).toBe("Error: the shutdown was cancelled: pods start again\n");
});

test("--cancel", async () => {
  expect(await run("shutdown --cancel")).toBe(0);
  expect(asked).toEqual(["DELETE"]);
  expect(terminal.stdout).toBe("the shutdown is cancelled: pods start again\n");
});

test.each([
  ["shutdown --cancel --timeout 5s", "--cancel and --timeout cannot be specified together"],
  ["shutdown --timeout soon", "option '--timeout <duration>' argument 'soon' is invalid"],
  ["shutdown now", "too many arguments"],
])("%s is exit code 2 and asks for nothing", async (command, sentence) => {
  expect(await run(command)).toBe(2);
  expect(terminal.stderr).toContain(sentence);
  expect(asked).toEqual([]);
});
