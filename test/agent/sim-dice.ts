// The dice that throw the steps of a seed.

import type { CallName } from "../fakes/fake-cri-faults.ts";
import type { Mulberry32 } from "../fakes/mulberry32.ts";
import type { HowRemoved, HowWritten } from "./sim-directory.ts";
import { NAMES, VERSIONS } from "./sim-specs.ts";
import {
  throwName,
  throwVersion,
  type BrokerTrouble,
  type FaultKind,
  type SimAct,
  type SimStep,
} from "./sim-steps.ts";

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
  ["status", 1],
  ["imageStatus", 1],
  ["pullImage", 1],
  ["execSync", 3],
];

export function throwSteps(dice: Mulberry32): readonly SimStep[] {
  const steps: SimStep[] = [];
  const add = (act: SimAct): void => void steps.push({ ...act, pause: throwPause(dice) });
  add({ type: "Start" });
  for (const name of NAMES)
    if (dice.chance(0.7))
      add({ type: "Write", name, version: throwVersion(dice), how: throwHow(dice) });
  if (dice.chance(0.4)) for (const act of publish(dice)) add(act);
  const count = 5 + dice.below(20);
  while (steps.length < count) for (const act of throwActs(dice)) add(act);
  return steps;
}

export function throwPause(dice: Mulberry32): number {
  const ms = dice.weighted([
    [0, 25],
    [1, 8],
    [7, 8],
    [60, 8],
    [400, 10],
    [1_500, 12],
    [6_000, 12],
    [20_000, 10],
    [65_000, 6],
    [200_000, 3],
  ]);
  return ms <= 1 ? ms : ms + dice.below(ms);
}

type Throw = (dice: Mulberry32) => readonly SimAct[];

export const throwHow = (dice: Mulberry32): HowWritten =>
  dice.weighted([
    ["rename", 5],
    ["inPlace", 2],
    ["slow", 2],
  ]);
const throwRemoval = (dice: Mulberry32): HowRemoved =>
  dice.weighted([
    ["delete", 6],
    ["moveOut", 2],
  ]);
const index = (dice: Mulberry32): number => dice.below(4);
const write: Throw = (dice) => [
  { type: "Write", name: throwName(dice), version: throwVersion(dice), how: throwHow(dice) },
];
const remove: Throw = (dice) => [
  { type: "Delete", name: throwName(dice), how: throwRemoval(dice) },
];
const readd: Throw = (dice) => [{ type: "ReAdd", name: throwName(dice), atOnce: dice.chance(0.4) }];
const relabel: Throw = (dice) => [{ type: "Relabel", name: throwName(dice), how: throwHow(dice) }];
const breaks: Throw = (dice) => [
  { type: "Break", name: throwName(dice), how: dice.pick(["syntax", "field", "empty"] as const) },
];
const publish: Throw = (dice) => [
  {
    type: "Publish",
    versions: NAMES.map(() => (dice.chance(0.45) ? 0 : 1 + dice.below(VERSIONS))),
  },
];
const bad: Throw = (dice) => [
  {
    type: "BadDocument",
    how: dice.pick([
      "stale",
      "rival",
      "syntax",
      "target",
      "nothing",
      "noResources",
      "forbidden",
      "resource",
    ] as const),
  },
];
const exit: Throw = (dice) => [
  { type: "Exit", index: index(dice), exitCode: dice.pick([0, 1, 42, 137]) },
];
const wall: Throw = (dice) => [{ type: "Wall", to: dice.pick(["1970", "later", "earlier"]) }];

/** While the agent is down, or about to die. */
const meanwhile: Throw = (dice) =>
  Array.from({ length: dice.below(4) }, () => dice.weighted(QUIET)).flatMap((one) => one(dice));

/** What happens to the world without anybody looking at the agent. */
const QUIET: readonly (readonly [Throw, number])[] = [
  [write, 7],
  [remove, 5],
  [readd, 2],
  [publish, 4],
  [relabel, 2],
  [breaks, 1],
  [exit, 4],
  [(dice) => [{ type: "KillSandbox", index: index(dice) }], 2],
  [() => [{ type: "Wait" }], 4],
  [wall, 1],
  [bad, 1],
];

const ALL: readonly (readonly [Throw, number])[] = [
  [write, 14],
  [remove, 8],
  [readd, 9],
  [relabel, 3],
  [breaks, 4],
  [publish, 9],
  [bad, 3],
  [
    (dice) => [
      { type: "Directory", there: false, how: dice.pick(["remove", "rename"] as const) },
      ...meanwhile(dice),
      { type: "Directory", there: true, how: "rename" },
    ],
    3,
  ],
  [
    (dice) => [
      {
        type: "Hints",
        mode: dice.weighted([
          ["precise", 3],
          ["vague", 2],
          ["lost", 2],
        ] as const),
        lagMs: dice.pick([0, 0, 3, 60]),
      },
    ],
    4,
  ],
  [(dice) => [{ type: "Broker", how: throwTrouble(dice) }], 10],
  [
    (dice) => [
      { type: "Broker", how: throwTrouble(dice) },
      ...publish(dice),
      { type: "Broker", how: "well" },
    ],
    5,
  ],
  [() => [{ type: "LateWill" }], 1],
  [exit, 12],
  [(dice) => [{ type: "KillSandbox", index: index(dice) }], 5],
  [(dice) => [{ type: "Lose", index: index(dice) }], 2],
  [(dice) => [{ type: "Health", name: throwName(dice), healthy: dice.chance(0.5) }], 8],
  [(dice) => throwFault(dice), 22],
  [() => [{ type: "ClearFaults" }], 3],
  [(dice) => throwSlowList(dice), 6],
  [(dice) => [{ type: "Mute", muted: dice.chance(0.6) }], 4],
  [(dice) => [{ type: "EndStream", broken: dice.chance(0.5) }], 4],
  [(dice) => [{ type: "Network", ready: dice.chance(0.5) }], 4],
  [(dice) => [{ type: "Images", there: dice.chance(0.5) }], 4],
  [(dice) => [{ type: "Daemon", up: false }, ...meanwhile(dice), { type: "Daemon", up: true }], 4],
  [(dice) => [{ type: "Disk", failures: 1 + dice.below(4) }], 4],
  [throwFullDiskAndNoBroker, 2],
  [wall, 3],
  [(dice) => [{ type: "Reboot" }, ...meanwhile(dice), { type: "Start" }], 5],
  [
    (dice) => [
      { type: "Kill", acts: dice.chance(0.3) ? 0 : 1 + dice.below(60) },
      ...meanwhile(dice),
      { type: "Start" },
    ],
    14,
  ],
  [
    (dice) => [
      { type: "Kill", acts: 0 },
      { type: "Database", how: dice.pick(["lost", "lost", "corrupt", "everything"] as const) },
      ...meanwhile(dice),
      { type: "Start" },
    ],
    3,
  ],
  [throwAmnesia, 3],
  [(dice) => [{ type: "Stop" }, ...meanwhile(dice), { type: "Start" }], 4],
  [() => [{ type: "Wait" }], 8],
];

/** What the broker has and what it has not, nobody can write down. */
function throwFullDiskAndNoBroker(dice: Mulberry32): readonly SimAct[] {
  return [
    { type: "Broker", how: "losesPubacks" },
    ...dice.weighted(QUIET)(dice),
    ...dice.weighted(QUIET)(dice),
    { type: "Disk", failures: 5 + dice.below(30) },
    { type: "Broker", how: dice.pick(["cut", "kick"]) },
    { type: "Broker", how: "well" },
  ];
}

/** Everything is forgotten, and nobody is there to ask. */
function throwAmnesia(dice: Mulberry32): readonly SimAct[] {
  return [
    ...publish(dice),
    { type: "Wait" },
    { type: "Broker", how: dice.pick(["down", "silent", "wiped"]) },
    { type: "Kill", acts: 0 },
    { type: "Database", how: "everything" },
    { type: "Start" },
    { type: "Wait" },
    { type: "Broker", how: "well" },
  ];
}

const throwActs: Throw = (dice) => dice.weighted(ALL)(dice);

function throwTrouble(dice: Mulberry32): BrokerTrouble {
  return dice.weighted<BrokerTrouble>([
    ["down", 4],
    ["silent", 2],
    ["refuses", 1],
    ["wiped", 1],
    ["kick", 4],
    ["cut", 4],
    ["losesSubacks", 3],
    ["losesPubacks", 3],
    ["slow", 2],
    ["closesOnDesired", 1],
    ["well", 3],
  ]);
}

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
