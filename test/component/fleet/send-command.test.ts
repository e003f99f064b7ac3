import { afterEach, beforeEach, expect, test } from "bun:test";
import { containing, FleetStage, matching } from "./fleet-stage.ts";

let stage: FleetStage;

beforeEach(() => {
  stage = new FleetStage();
  stage.state("pi-1", "online", 42);
});

afterEach(() => stage[Symbol.dispose]());

const COMMAND = "agent/v1/node/pi-1/command";

/** The command as it was published. */
function asked(): Record<string, unknown> & { readonly id?: string } {
  return JSON.parse(stage.broker.texts(COMMAND)[0] ?? "null") as Record<string, unknown>;
}

function answer(fields: Readonly<Record<string, unknown>>): void {
  const { id } = asked();
  stage.broker.publish("agent/v1/node/pi-1/response", { id, ...fields }, false);
}

test("restart names node, session and pod, and waits for the answer", async () => {
  const { code, stdout, stderr } = await stage.fleet("restart pi-1 web -n shop", {
    3000: () => answer({ phase: "running", code: 202 }),
    4000: () => answer({ id: "01ARZ3NDEKTSV4RRFFQ69G5FAV", phase: "failed", code: 500 }),
    5000: () => answer({ phase: "done", code: 200 }),
  });
  expect(asked()).toEqual({
    id: matching(/^[0-7][0-9A-HJKMNP-TV-Z]{25}$/),
    verb: "restart",
    target: { node: "pi-1" },
    session: 42,
    args: { namespace: "shop", pod: "web" },
    issuedAt: "2026-11-21T08:00:00Z",
    ttl: 300,
  });
  expect(stage.broker.retained(COMMAND)).toBeUndefined();
  expect({ code, stdout, stderr }).toEqual({
    code: 0,
    stdout: "restart on pi-1: done\n",
    stderr: "running\n",
  });
});

test("a refusal is told with its reason and ends with 1", async () => {
  const { code, stderr } = await stage.fleet("hold pi-1 web", {
    3000: () =>
      answer({
        phase: "denied",
        code: 401,
        error: { category: "Unauthorized", message: "not \u001B[1msigned" },
      }),
  });
  expect({ code, stderr }).toEqual({
    code: 1,
    stderr: "Error: pi-1 answered denied 401: not \\u001b[1msigned\n",
  });
});

test.each([
  ["hold pi-1 web -n shop", "hold", { namespace: "shop", pod: "web" }],
  ["hold pi-1 --all", "hold", { all: true }],
  ["release pi-1 web", "release", { namespace: "default", pod: "web" }],
  ["release pi-1 --all", "release", { all: true }],
])("%s", async (command, verb, args) => {
  const { code, stdout } = await stage.fleet(command, {
    3000: () => answer({ phase: "done", code: 200 }),
  });
  expect(asked()).toMatchObject({ verb, args, session: 42 });
  expect({ code, stdout }).toEqual({ code: 0, stdout: `${verb} on pi-1: done\n` });
});

test.each(["hold pi-1", "release pi-1", "hold pi-1 web --all"])(
  "%s asks nobody: one pod, or all of them",
  async (command) => {
    const { code, stderr } = await stage.fleet(command);
    expect({ code, stderr }).toMatchObject({ code: 2, stderr: containing("name a pod, or all") });
    expect(stage.broker.texts(COMMAND)).toEqual([]);
  },
);

test("no answer is told", async () => {
  const { code, stderr } = await stage.fleet("release pi-1 web --timeout 20s");
  expect({ code, stderr }).toEqual({ code: 1, stderr: "Error: pi-1 did not answer within 20s\n" });
});

test.each([
  ["of which nothing is known", "restart pi-9 web", "nothing is known of node pi-9"],
  [
    "that is lost",
    "restart pi-2 web",
    "node pi-2 is lost; commands reach only nodes that are online",
  ],
])("nothing is asked of a node %s", async (_, command, sentence) => {
  stage.state("pi-2", "lost");
  const { code, stderr } = await stage.fleet(command);
  expect({ code, stderr }).toMatchObject({ code: 1, stderr: containing(sentence) });
});

test("logs come in parts, each once, and command no terminal", async () => {
  const part = (number: number, text: string, last: boolean): void =>
    answer({
      phase: "done",
      code: 200,
      part: number,
      ...(last ? { last } : {}),
      data: { container: "main", lines: [{ time: "", stream: "stdout", text }] },
    });
  const { code, stdout } = await stage.fleet("logs pi-1 web -c main --tail 5", {
    3000: () => part(0, "one", false),
    3100: () => part(0, "one", false),
    3200: () => part(1, "\u001B[31mtwo", true),
  });
  expect(asked()).toMatchObject({
    verb: "logs",
    args: { namespace: "default", pod: "web", container: "main", tail: 5 },
  });
  expect({ code, stdout }).toEqual({ code: 0, stdout: "one\n\\u001b[31mtwo\n" });
});

test("logs -f shows its own lease only, and says what is missing", async () => {
  const lines = (id: string | undefined, text: string, dropped = 0): void =>
    stage.broker.publish(
      "agent/v1/node/pi-1/log/default/web/main",
      {
        id,
        seq: 0,
        lines: [{ time: "", stream: "stdout", text }],
        ...(dropped > 0 ? { dropped } : {}),
      },
      false,
    );
  const { code, stdout, stderr } = await stage.fleet("logs pi-1 web -f", {
    3000: () => answer({ phase: "running", code: 202, data: { container: "main", seconds: 600 } }),
    60_000: () => lines(asked().id, "mine"),
    61_000: () => lines("01ARZ3NDEKTSV4RRFFQ69G5FAV", "somebody else's"),
    62_000: () => lines(asked().id, "later", 3),
    63_000: () =>
      answer({ phase: "done", code: 200, data: { why: "Expired", lines: 2, dropped: 3 } }),
  });
  expect({ code, stdout, stderr }).toEqual({
    code: 0,
    stderr: "the node has stopped sending: Expired; repeat the command to continue\n",
    stdout: "mine\n[3 lines are missing here]\nlater\n",
  });
});

test("logs -f waits for a node that says nothing no longer than --timeout", async () => {
  const { code, stderr } = await stage.fleet("logs pi-1 web -f --timeout 20s");
  expect({ code, stderr }).toEqual({ code: 1, stderr: "Error: pi-1 did not answer within 20s\n" });
});

test("logs -f ends when a node says nothing after its lease", async () => {
  const { code, stderr } = await stage.fleet("logs pi-1 web -f", {
    3000: () => answer({ phase: "running", code: 202, data: { container: "main", seconds: 60 } }),
  });
  expect({ code, stderr }).toMatchObject({
    code: 1,
    stderr: containing("has not reported the end of its lease within 1m30s"),
  });
});

test("a line feed of a node stays in its line", async () => {
  const { code, stderr } = await stage.fleet("hold pi-1 web", {
    3000: () =>
      answer({ phase: "denied", code: 401, error: { message: "no\nError: all is lost" } }),
  });
  expect({ code, stderr }).toEqual({
    code: 1,
    stderr: "Error: pi-1 answered denied 401: no\\u000aError: all is lost\n",
  });
});

test("logs -f ends well at Ctrl-C", async () => {
  const { code, stderr } = await stage.fleet("logs pi-1 web -f", {
    3000: () => answer({ phase: "running", code: 202, data: { container: "main", seconds: 600 } }),
    60_000: () => stage.interrupt.abort(),
  });
  expect({ code, stderr }).toEqual({ code: 0, stderr: "" });
});

test("logs -f and --tail exclude each other", async () => {
  expect(await stage.fleet("logs pi-1 web -f --tail 3")).toMatchObject({ code: 2 });
});

test("logs -c that no container can have is not put into a topic", async () => {
  for (const name of ["#", "a/b", "+"])
    expect(await stage.fleet(`logs pi-1 web -f -c ${name}`)).toMatchObject({
      code: 2,
      stderr: `Error: "${name}" cannot be a name\n`,
    });
});
