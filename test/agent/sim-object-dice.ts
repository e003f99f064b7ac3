// The dice that throw what happens to objects, between the steps of a seed: whoever adds to them moves no other step.

import type { Mulberry32 } from "../fakes/mulberry32.ts";
import { throwHow, throwPause } from "./sim-dice.ts";
import { OBJECTS, READABLE, type EditedKeys, type ObjectName } from "./sim-objects.ts";
import type { SimAct, SimStep } from "./sim-steps.ts";

/** Steps that go together. */
type Throw = (dice: Mulberry32) => readonly SimAct[];

export function withObjects(steps: readonly SimStep[], dice: Mulberry32): readonly SimStep[] {
  const woven = steps.map((step) => withDocumentObjects(step, dice));
  const weave = (acts: readonly SimAct[], at: number): void => {
    woven.splice(at, 0, ...acts.map((act) => ({ ...act, pause: throwPause(dice) })));
  };
  for (const { name } of OBJECTS)
    if (dice.chance(0.75)) weave([editOf(name, "both", dice)], dice.below(4));
  for (let left = dice.below(9); left > 0; left -= 1)
    weave(dice.weighted(ALL)(dice), 1 + dice.below(woven.length));
  return woven;
}

function withDocumentObjects(step: SimStep, dice: Mulberry32): SimStep {
  if (step.type === "BadDocument" && dice.chance(0.2)) return { ...step, how: "object" };
  if (step.type !== "Publish") return step;
  const objects = OBJECTS.map(({ name }) => name).filter(() => dice.chance(0.5));
  return { ...step, objects };
}

function editOf(object: ObjectName, keys: EditedKeys, dice: Mulberry32): SimAct {
  const immutable = dice.chance(0.05);
  return { type: "EditObject", object, keys, how: throwHow(dice), immutable };
}

const throwKeys = (dice: Mulberry32): EditedKeys => dice.pick(["a", "b", "both", "both", "c"]);
const throwObject = (dice: Mulberry32): ObjectName => dice.pick(OBJECTS).name;
const edit: Throw = (dice) => [editOf(dice.pick(READABLE), throwKeys(dice), dice)];
const drop: Throw = (dice) => [{ type: "DropObject", object: throwObject(dice) }];
const spoil: Throw = (dice) => [
  { type: "SpoilObject", object: throwObject(dice), how: dice.pick(["field", "value"] as const) },
];

const ALL: readonly (readonly [Throw, number])[] = [
  [edit, 10],
  [(dice) => [...edit(dice), ...edit(dice)], 4],
  [drop, 3],
  [
    (dice) => {
      const object = throwObject(dice);
      return [{ type: "DropObject", object }, editOf(object, "both", dice)];
    },
    3,
  ],
  [spoil, 4],
  [
    (dice) => {
      const to = dice.pick(["web", "db", "objects"] as const);
      return [{ type: "MoveObject", object: throwObject(dice), to }];
    },
    2,
  ],
  [
    (dice) => [
      {
        type: "PublishObject",
        object: throwObject(dice),
        keys: dice.chance(0.2) ? "none" : throwKeys(dice),
      },
    ],
    4,
  ],
  [
    (dice) => [
      { type: "Kill", acts: 1 + dice.below(30) },
      ...edit(dice),
      ...(dice.chance(0.5) ? edit(dice) : spoil(dice)),
      { type: "Start" },
    ],
    3,
  ],
  [
    (dice) => [
      ...(dice.chance(0.5) ? spoil(dice) : []),
      ...(dice.chance(0.2) ? [{ type: "Broker", how: "down" } as const] : []),
      { type: "Kill", acts: 0 },
      { type: "Database", how: dice.pick(["key", "key", "keyless", "lost"] as const) },
      ...(dice.chance(0.3) ? edit(dice) : []),
      { type: "Start" },
    ],
    3,
  ],
  [(dice) => [{ type: "ClaimDisk", there: dice.chance(0.4) }], 2],
  [(dice) => [...edit(dice), { type: "Kill", acts: 1 + dice.below(40) }, { type: "Start" }], 3],
];
