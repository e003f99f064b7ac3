import { describe, expect, test } from "bun:test";
import fc from "fast-check";

import {
  afterResult,
  initialState,
  isGated,
  whileTerminating,
  type ProbeState,
} from "../../../src/prober/probe-thresholds.ts";
import type { ProbeKind, ProbeOutcome } from "../../../src/api/v1/probe.ts";

type Answer = "Success" | "Failure";

const kinds: readonly ProbeKind[] = ["liveness", "readiness", "startup"];

/** S = success, F = failure, T = the pod terminates. */
function outcomes(kind: ProbeKind, story: string, successes = 1, failures = 3): string {
  const thresholds = { successThreshold: successes, failureThreshold: failures };
  let state = initialState(kind);
  const said: string[] = [];
  for (const letter of story.split("")) {
    if (letter === "T") state = whileTerminating(state);
    else state = afterResult(state, letter === "S" ? "Success" : "Failure", thresholds);
    said.push(state.outcome.charAt(0) + (state.final ? "!" : ""));
  }
  return said.join(" ");
}

describe("a probe", () => {
  const cases: Readonly<Record<string, readonly [actual: string, expected: string]>> = {
    "of liveness fails at its threshold and then asks no more": [
      outcomes("liveness", "FFFS"),
      "S S F! F!",
    ],
    "of liveness begins to count anew after a success": [
      outcomes("liveness", "FFSFFSFFF"),
      "S S S S S S S S F!",
    ],
    "of liveness fails at once with a threshold of 1": [outcomes("liveness", "F", 1, 1), "F!"],
    "of readiness goes to and fro": [outcomes("readiness", "SFFFSFS"), "S S S F S S S"],
    "of readiness needs as many successes as its threshold": [
      outcomes("readiness", "SSFSSSFFFSS", 3),
      "F F F F F S S S F F F",
    ],
    "of startup ends with a success": [outcomes("startup", "FFSF"), "U U S! S!"],
    "of startup ends with a failure": [outcomes("startup", "FFFS"), "U U F! F!"],
    "of a pod that terminates is content, but for readiness": [
      kinds.map((kind) => outcomes(kind, "FTFFF")).join(" | "),
      "S S! S! S! S! | F F F F F | U S! S! S! S!",
    ],
    "that has failed is taken back when the pod terminates: it is stopped anyway": [
      outcomes("liveness", "FFFT"),
      "S S F! S!",
    ],
  };
  test.each(Object.entries(cases))("%s", (_sentence, [actual, expected]) => {
    expect(actual).toBe(expected);
  });

  test("stays the same object as long as nothing changes", () => {
    const thresholds = { successThreshold: 1, failureThreshold: 3 };
    const ready = afterResult(initialState("readiness"), "Success", thresholds);
    expect(afterResult(ready, "Success", thresholds)).toBe(ready);
    const done = whileTerminating(ready);
    expect(done).toBe(ready);
  });

  test("waits for the startup probe of its container, if there is one", () => {
    const table = kinds.map((kind) =>
      ([undefined, "Unknown", "Failure", "Success"] as const).map((startup) =>
        isGated(initialState(kind), startup),
      ),
    );
    expect(table).toEqual([
      [false, true, true, false],
      [false, true, true, false],
      [false, false, false, false],
    ]);
  });
});

/** What the kubelet's worker does, in a few lines: last result, run, on hold. */
class Model {
  #last: Answer | undefined;
  #run = 0;
  #done = false;
  readonly #kind: ProbeKind;
  readonly #needed: Readonly<Record<Answer, number>>;
  outcome: ProbeOutcome;

  constructor(kind: ProbeKind, needed: Readonly<Record<Answer, number>>) {
    this.#kind = kind;
    this.#needed = needed;
    this.outcome = ({ liveness: "Success", readiness: "Failure", startup: "Unknown" } as const)[
      kind
    ];
  }

  answer(result: Answer): void {
    if (this.#done) return;
    this.#run = this.#last === result ? this.#run + 1 : 1;
    this.#last = result;
    if (this.#run < this.#needed[result]) return;
    this.outcome = result;
    this.#done =
      (this.#kind !== "readiness" && result === "Failure") ||
      (this.#kind === "startup" && result === "Success");
  }

  terminate(): void {
    if (this.#kind === "readiness") return;
    this.outcome = "Success";
    this.#done = true;
  }
}

interface Real {
  state: ProbeState;
}

class Say implements fc.Command<Model, Real> {
  readonly #answer: Answer;
  readonly #needed: Readonly<Record<Answer, number>>;
  constructor(answer: Answer, needed: Readonly<Record<Answer, number>>) {
    this.#answer = answer;
    this.#needed = needed;
  }
  check = (): boolean => true;
  run(model: Model, real: Real): void {
    model.answer(this.#answer);
    real.state = afterResult(real.state, this.#answer, {
      successThreshold: this.#needed.Success,
      failureThreshold: this.#needed.Failure,
    });
    expect(real.state.outcome).toBe(model.outcome);
  }
  toString = (): string => this.#answer;
}

class Terminate implements fc.Command<Model, Real> {
  check = (): boolean => true;
  run(model: Model, real: Real): void {
    model.terminate();
    real.state = whileTerminating(real.state);
    expect(real.state.outcome).toBe(model.outcome);
  }
  toString = (): string => "terminate";
}

test("a probe agrees with the model of the kubelet's worker in every story", () => {
  const needed = fc.record({
    Success: fc.integer({ min: 1, max: 4 }),
    Failure: fc.integer({ min: 1, max: 4 }),
  });
  const story = needed.chain((numbers) =>
    fc.record({
      numbers: fc.constant(numbers),
      commands: fc.commands(
        [
          fc.constant(new Say("Success", numbers)),
          fc.constant(new Say("Failure", numbers)),
          fc.constant(new Terminate()),
        ],
        { maxCommands: 40, size: "max" },
      ),
    }),
  );
  fc.assert(
    fc.property(fc.constantFrom(...kinds), story, (kind, { numbers, commands }) => {
      fc.modelRun(
        () => ({ model: new Model(kind, numbers), real: { state: initialState(kind) } }),
        commands,
      );
    }),
    { numRuns: 500 },
  );
});
