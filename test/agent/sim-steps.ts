// What a seed does to a simulated world, as plain data: it can be printed, replayed and thinned out.

import type { SourceName } from "../../src/api/desired-pod.ts";
import type { CallName } from "../fakes/fake-cri-faults.ts";
import type { Mulberry32 } from "../fakes/mulberry32.ts";
import { NAMES, SOURCES, VERSIONS, type SimName } from "./sim-specs.ts";

export type FaultKind =
  | "fail"
  | "failHappened"
  | "unavailable"
  | "hang"
  | "hangHappened"
  | "delay"
  | "reserved"
  | "leaked";

/** Not a word; that it is not ready; that it is not ready, and a part of its pods. */
export type Silence = "mute" | "empty" | "half";

export type SimAct =
  | {
      readonly type: "Edit";
      readonly source: SourceName;
      readonly name: SimName;
      readonly version: number;
    }
  | { readonly type: "Drop"; readonly source: SourceName; readonly name: SimName }
  /** Dropped and there again: within one turn of the loop, or a turn later. */
  | {
      readonly type: "ReAdd";
      readonly source: SourceName;
      readonly name: SimName;
      readonly atOnce: boolean;
    }
  | { readonly type: "Relabel"; readonly source: SourceName; readonly name: SimName }
  /** From one source to the other, the same spec. */
  | { readonly type: "Move"; readonly name: SimName }
  | { readonly type: "Speak"; readonly source: SourceName }
  | { readonly type: "Exit"; readonly index: number; readonly exitCode: number }
  | { readonly type: "KillSandbox"; readonly index: number }
  | { readonly type: "Lose"; readonly index: number }
  | {
      readonly type: "Fault";
      readonly call: CallName;
      readonly kind: FaultKind;
      readonly times: number;
      readonly ms: number;
    }
  | { readonly type: "ClearFaults" }
  | { readonly type: "Mute"; readonly muted: boolean }
  | { readonly type: "EndStream"; readonly broken: boolean }
  | { readonly type: "Network"; readonly ready: boolean }
  | { readonly type: "Images"; readonly there: boolean }
  | { readonly type: "Daemon"; readonly up: boolean }
  | { readonly type: "Disk"; readonly failures: number }
  | { readonly type: "Wall"; readonly to: "1970" | "later" | "earlier" }
  | { readonly type: "Reboot" }
  /** kill -9, at once or before the n-th thing the agent asks of the world from now on. */
  | { readonly type: "Kill"; readonly ops: number }
  /** SIGTERM. */
  | { readonly type: "Stop" }
  /** A new process, unless one lives; `silent` sources have not spoken yet, `how` tells what they say instead. */
  | {
      readonly type: "Start";
      readonly silent: readonly SourceName[];
      readonly how: Silence;
    }
  | { readonly type: "Wait" };

export type SimStep = SimAct & {
  /** Virtual ms that pass afterwards. */
  readonly pause: number;
};

const FAULTY: readonly (readonly [CallName, number])[] = [
  ["runPodSandbox", 4],
  ["createContainer", 4],
  ["startContainer", 4],
  ["stopContainer", 4],
  ["stopPodSandbox", 4],
  ["removePodSandbox", 3],
  ["removeContainer", 2],
  ["listPodSandbox", 2],
  ["listContainers", 2],
  ["containerStatus", 2],
  ["podSandboxStatus", 1],
  ["version", 1],
];

export function throwSteps(dice: Mulberry32): readonly SimStep[] {
  const steps: SimStep[] = [];
  const add = (act: SimAct): void => void steps.push({ ...act, pause: throwPause(dice) });
  add({ type: "Start", silent: [], how: "mute" });
  for (const name of NAMES)
    if (dice.chance(0.8))
      add({ type: "Edit", source: "file", name, version: 1 + dice.below(VERSIONS) });
  const count = 5 + dice.below(20);
  while (steps.length < count) for (const act of throwActs(dice)) add(act);
  return steps;
}

function throwPause(dice: Mulberry32): number {
  const ms = dice.weighted([
    [0, 25],
    [1, 8],
    [7, 8],
    [60, 8],
    [400, 8],
    [1_500, 12],
    [6_000, 12],
    [20_000, 10],
    [65_000, 6],
    [200_000, 3],
  ]);
  return ms <= 1 ? ms : ms + dice.below(ms);
}

type Throw = (dice: Mulberry32) => readonly SimAct[];

const source = (dice: Mulberry32): SourceName =>
  dice.weighted([
    ["file", 4],
    ["mqtt:node", 1],
  ]);
const name = (dice: Mulberry32): SimName => dice.pick(NAMES);
const index = (dice: Mulberry32): number => dice.below(4);
const edit: Throw = (dice) => [
  { type: "Edit", source: source(dice), name: name(dice), version: 1 + dice.below(VERSIONS) },
];
const start: Throw = (dice) => {
  const silent = SOURCES.filter(() => dice.chance(0.3));
  return [{ type: "Start", silent, how: dice.pick(["mute", "empty", "half"] as const) }];
};
/** While the agent is down, or about to die. */
const meanwhile: Throw = (dice) =>
  Array.from({ length: dice.below(4) }, () => dice.weighted(QUIET)).flatMap((one) => one(dice));

/** What happens to the world without anybody looking at the agent. */
const QUIET: readonly (readonly [Throw, number])[] = [
  [edit, 8],
  [(dice) => [{ type: "Drop", source: source(dice), name: name(dice) }], 6],
  [(dice) => [{ type: "Relabel", source: source(dice), name: name(dice) }], 2],
  [(dice) => [{ type: "Move", name: name(dice) }], 2],
  [(dice) => [{ type: "Exit", index: index(dice), exitCode: dice.pick([0, 1, 137]) }], 4],
  [(dice) => [{ type: "KillSandbox", index: index(dice) }], 2],
  [() => [{ type: "Wait" }], 4],
  [(dice) => [{ type: "Wall", to: dice.pick(["1970", "later", "earlier"]) }], 1],
];

const ALL: readonly (readonly [Throw, number])[] = [
  [edit, 16],
  [(dice) => [{ type: "Drop", source: source(dice), name: name(dice) }], 10],
  [
    (dice) => [{ type: "ReAdd", source: source(dice), name: name(dice), atOnce: dice.chance(0.2) }],
    10,
  ],
  [(dice) => [{ type: "Relabel", source: source(dice), name: name(dice) }], 4],
  [(dice) => [{ type: "Move", name: name(dice) }], 3],
  [(dice) => [{ type: "Speak", source: dice.pick(SOURCES) }], 4],
  [(dice) => [{ type: "Exit", index: index(dice), exitCode: dice.pick([0, 1, 137]) }], 12],
  [(dice) => [{ type: "KillSandbox", index: index(dice) }], 5],
  [(dice) => [{ type: "Lose", index: index(dice) }], 2],
  [(dice) => throwFault(dice), 24],
  [() => [{ type: "ClearFaults" }], 3],
  [(dice) => throwSlowList(dice), 6],
  [(dice) => [{ type: "Mute", muted: dice.chance(0.6) }], 4],
  [(dice) => [{ type: "EndStream", broken: dice.chance(0.5) }], 4],
  [(dice) => [{ type: "Network", ready: dice.chance(0.5) }], 4],
  [(dice) => [{ type: "Images", there: dice.chance(0.5) }], 4],
  [(dice) => [{ type: "Daemon", up: false }, ...meanwhile(dice), { type: "Daemon", up: true }], 4],
  [(dice) => [{ type: "Disk", failures: 1 + dice.below(3) }], 3],
  [(dice) => [{ type: "Wall", to: dice.pick(["1970", "later", "earlier"]) }], 3],
  [(dice) => [{ type: "Reboot" }, ...meanwhile(dice), ...start(dice)], 5],
  [
    (dice) => [
      { type: "Kill", ops: dice.chance(0.3) ? 0 : 1 + dice.below(25) },
      ...meanwhile(dice),
      ...start(dice),
    ],
    14,
  ],
  [(dice) => [{ type: "Stop" }, ...meanwhile(dice), ...start(dice)], 4],
  [() => [{ type: "Wait" }], 8],
];

const throwActs: Throw = (dice) => dice.weighted(ALL)(dice);

function throwFault(dice: Mulberry32): readonly SimAct[] {
  const call = dice.weighted(FAULTY);
  const names = call === "runPodSandbox" || call === "createContainer";
  const kind = dice.weighted<FaultKind>([
    ["fail", 4],
    ["failHappened", 4],
    ["unavailable", 2],
    ["hang", 3],
    ["hangHappened", 3],
    ["delay", 5],
    ["reserved", names ? 4 : 0],
    ["leaked", names ? 3 : 0],
  ]);
  const ms = dice.pick([20, 300, 3_000, 30_000, 130_000, 250_000]);
  return [{ type: "Fault", call, kind, times: dice.pick([1, 1, 1, 2, 5]), ms }];
}

/** A list that is old when it comes, and something that happens meanwhile. */
function throwSlowList(dice: Mulberry32): readonly SimAct[] {
  const call = dice.pick(["listPodSandbox", "listContainers"] as const);
  const ms = dice.pick([300, 1_500, 3_000]);
  const slow: SimAct = { type: "Fault", call, kind: "delay", times: 1 + dice.below(2), ms };
  return [{ type: "EndStream", broken: false }, slow, ...dice.weighted(QUIET)(dice)];
}

/** One line of the history. */
export function sayStep({ pause, ...act }: SimStep): string {
  const { type, ...facts } = act;
  const words = Object.entries(facts).map(([key, value]) => `${key}=${JSON.stringify(value)}`);
  return `${[type, ...words].join(" ")}; ${pause} ms`;
}
