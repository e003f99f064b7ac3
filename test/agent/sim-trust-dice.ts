// The dice that decide in which worlds signatures count and orders are given, and what happens there because of it: a
// stream of its own, so that no other world moves.

import { Mulberry32 } from "../fakes/mulberry32.ts";
import { throwPause } from "./sim-dice.ts";
import type { SimName, SimTrust } from "./sim-specs.ts";
import {
  throwName,
  type CommandHow,
  type Forgery,
  type SimAct,
  type SimStep,
  type TrustHow,
} from "./sim-steps.ts";

const NOTHING: SimTrust = { signed: false, commands: false };

/** Chosen so that the worlds of `simulation-seeds.ts` stay what they are. */
const STREAM = 0x7af9a;

export function throwTrust(seed: number): SimTrust {
  return new Mulberry32(seed ^ STREAM).weighted([
    [NOTHING, 62],
    // An unsigned order reaches no pod of a file: most worlds with orders need signatures.
    [{ signed: true, commands: true }, 10],
    [{ signed: true, commands: true }, 12],
    [{ signed: true, commands: false }, 7],
    [{ signed: false, commands: true }, 9],
  ] as const);
}

/** Steps that go together; a pause that is not written is thrown. */
type Throw = (dice: Mulberry32) => readonly (SimAct | SimStep)[];

const throwForgery = (dice: Mulberry32): Forgery =>
  dice.pick([
    "unsigned",
    "unsigned",
    "stranger",
    "removed",
    "removed",
    "root",
    "herald",
    "elsewhere",
    "tampered",
    "replay",
    "replay",
    "otherNode",
    "otherFleet",
  ]);
const trust = (how: TrustHow): SimAct => ({ type: "Trust", how });
const forge: Throw = (dice) => [{ type: "Forge", how: throwForgery(dice) }];
const restart: Throw = (dice) => [
  dice.chance(0.5) ? { type: "Kill", acts: dice.below(30) } : { type: "Stop" },
  { type: "Start" },
];

const TRUST: readonly (readonly [Throw, number])[] = [
  [forge, 10],
  [(dice) => [...forge(dice), ...restart(dice)], 4],
  [(dice) => [...forge(dice), { type: "Kill", acts: 0 }, lost(dice), { type: "Start" }], 2],
  [() => [trust("handOver")], 6],
  [() => [trust("newRoots")], 2],
  [(dice) => [trust("handOver"), ...restart(dice), ...forge(dice)], 3],
  [() => [trust("forgedBundle")], 3],
  [(dice) => [trust("oldBundle"), ...forge(dice)], 3],
  [
    (dice) => [
      trust(dice.pick(["emptied", "unreadable", "mistyped"])),
      ...(dice.chance(0.7) ? restart(dice) : []),
      ...(dice.chance(0.7) ? forge(dice) : []),
      ...(dice.chance(0.7) ? [trust("mended")] : []),
    ],
    5,
  ],
];

function lost(dice: Mulberry32): SimAct {
  return { type: "Database", how: dice.pick(["lost", "corrupt", "everything"] as const) };
}

const images = (there: boolean): SimAct => ({ type: "Images", there });
/** An image is gone, and its pull takes longer than an order to restart may: it is withdrawn. */
const SLOW_PULL: readonly SimAct[] = [
  images(false),
  images(true),
  { type: "Fault", call: "pullImage", kind: "delay", times: 2, ms: 130_000 },
];
const restartOf = (pod: SimName): SimAct => ({ type: "Command", how: "restart", pod });
const OUTLASTS: SimStep = { type: "Wait", pause: 130_000 };

function commands(signed: boolean): Throw {
  const ways: readonly (readonly [CommandHow, number])[] = [
    ["restart", 8],
    ["again", 4],
    ["otherSession", 1],
    ["retained", 1],
    ["otherNode", 1],
    ["stranger", 1],
    ["ping", 1],
    ["get", 1],
    ["unsigned", signed ? 2 : 0],
    ["desk", signed ? 1 : 0],
  ];
  const one: Throw = (dice) => {
    const container = dice.chance(0.4) ? dice.pick(["a", "a", "b", "s0"] as const) : undefined;
    const part = container === undefined ? {} : { container };
    return [{ type: "Command", how: dice.weighted(ways), pod: throwName(dice), ...part }];
  };
  return (dice) =>
    dice.weighted<Throw>([
      [one, 6],
      [(own) => [...one(own), ...restart(own), ...one(own)], 2],
      [(own) => [...one(own), ...one(own)], 1],
      [() => [...SLOW_PULL, restartOf("web"), restartOf("db"), OUTLASTS], 2],
    ])(dice);
}

export function withTrust(
  steps: readonly SimStep[],
  { signed, commands: hasCommands }: SimTrust,
  dice: Mulberry32,
): readonly SimStep[] {
  const woven = [...steps];
  const weave = (acts: ReturnType<Throw>, at: number): void => {
    woven.splice(at, 0, ...acts.map((act) => ({ pause: throwPause(dice), ...act })));
  };
  const place = (): number => 1 + dice.below(woven.length);
  if (signed)
    for (let left = 2 + dice.below(6); left > 0; left -= 1)
      weave(dice.weighted(TRUST)(dice), place());
  if (hasCommands)
    for (let left = 2 + dice.below(6); left > 0; left -= 1) weave(commands(signed)(dice), place());
  return woven;
}
