// What a node answers to a command (docs/mqtt-api.md, Commands): an accepted command does what it asks for, a refused one
// changes nothing.

import { describe, expect, test } from "bun:test";
import { type AnswerStage, running, trusting } from "./answer-stage.ts";
import {
  answersTo,
  COMMAND_TOPIC,
  commandText,
  presentSession,
  ulidOf,
  type WrittenCommand,
} from "./sim-commands.ts";

async function ask(stage: AnswerStage, text: string, id: string, retain = false): Promise<string> {
  const { broker } = stage.world.machine;
  const before = answersTo(broker, id).length;
  broker.publish(COMMAND_TOPIC, text, retain);
  await stage.world.machine.clock.settle();
  await stage.pass(15_000);
  const said = answersTo(broker, id).slice(before);
  return said.map(({ phase, code }) => `${phase} ${code}`).join(", ");
}

function restartOf(stage: AnswerStage, n: number, more: Partial<WrittenCommand> = {}): string {
  const session = presentSession(stage.world.machine.broker);
  return commandText({ id: ulidOf(n), verb: "restart", session, args: { pod: "web" }, ...more });
}

describe("restart", () => {
  test("signed for the present session gives the pod another instance, once", async () => {
    using stage = await trusting();
    const [before] = stage.running();
    const text = restartOf(stage, 1, { by: ["herald"] });
    stage.world.judge.orders.expect({ id: ulidOf(1), signed: true, pod: "web" });
    expect(await ask(stage, text, ulidOf(1))).toBe("accepted 202, running 202, done 200");
    const [after] = stage.running();
    expect([after === before, stage.running().length]).toEqual([false, 1]);
    expect(await ask(stage, text, ulidOf(1))).toBe("duplicate 200");
    expect(stage.running()).toEqual([after ?? ""]);
  });

  test("that was recorded and is sent again after the agent has restarted is expired", async () => {
    using stage = await trusting();
    const text = restartOf(stage, 1, { by: ["herald"] });
    stage.world.judge.orders.expect({ id: ulidOf(1), signed: true, pod: "web" });
    await ask(stage, text, ulidOf(1));
    await stage.restart();
    const before = stage.running();
    expect(await ask(stage, text, ulidOf(1))).toBe("expired 408");
    await stage.act({ type: "Kill", acts: 0 }, 0);
    await stage.act({ type: "Database", how: "lost" }, 0);
    await stage.act({ type: "Start" });
    expect(await ask(stage, text, ulidOf(1))).toBe("expired 408");
    expect(stage.running()).toEqual(before);
  });

  test("that was cut off by a kill is told so, and is not done by the next process", async () => {
    using stage = await trusting();
    stage.world.judge.orders.expect({ id: ulidOf(1), signed: true, pod: "web" });
    const { broker } = stage.world.machine;
    stage.world.machine.runtime.faults.order("stopContainer", { type: "hang" });
    broker.publish(COMMAND_TOPIC, restartOf(stage, 1, { by: ["herald"] }), false);
    await stage.pass(1_000);
    await stage.restart();
    const before = stage.running();
    const said = answersTo(broker, ulidOf(1)).map(({ phase, error }) => error?.category ?? phase);
    expect(said).toEqual(["accepted", "running", "Interrupted"]);
    await stage.pass(600_000);
    expect(stage.running()).toEqual(before);
  });

  test.each([
    ["nobody has signed", {}, "denied 401"],
    ["somebody has signed whom nobody knows", { by: ["stranger"] }, "denied 401"],
    ["a key of documents has signed", { by: ["desk"] }, "denied 401"],
    ["a root key has signed, which signs bundles only", { by: ["root"] }, "denied 401"],
    ["is for another node", { by: ["herald"], node: "sim-2" }, "denied 403"],
    ["names another session", { by: ["herald"], session: 1 }, "expired 408"],
    ["names no session", { by: ["herald"], session: undefined }, "expired 408"],
  ] as const)("that %s is refused and restarts nothing", async (_, more, answer) => {
    using stage = await trusting();
    const before = stage.running();
    expect(await ask(stage, restartOf(stage, 1, more), ulidOf(1))).toBe(answer);
    expect(stage.running()).toEqual(before);
  });

  test("that is retained is passed over, by the next process too", async () => {
    using stage = await running();
    const before = stage.running();
    expect(await ask(stage, restartOf(stage, 1), ulidOf(1), true)).toBe("");
    await stage.restart();
    expect(stage.running()).toEqual(before);
    expect(answersTo(stage.world.machine.broker, ulidOf(1))).toEqual([]);
  });

  test("unsigned counts where nobody has ever seen a key", async () => {
    using stage = await running();
    const [before] = stage.running();
    stage.world.judge.orders.expect({ id: ulidOf(1), signed: true, pod: "web" });
    expect(await ask(stage, restartOf(stage, 1), ulidOf(1))).toBe(
      "accepted 202, running 202, done 200",
    );
    expect(stage.running()).not.toEqual([before ?? ""]);
  });
});

test.each(["ping", "get"] as const)(
  "%s is answered unsigned too, on a node with keys",
  async (verb) => {
    using stage = await trusting();
    const before = stage.running();
    expect(await ask(stage, commandText({ id: ulidOf(1), verb }), ulidOf(1))).toBe("done 200");
    expect(stage.running()).toEqual(before);
  },
);
