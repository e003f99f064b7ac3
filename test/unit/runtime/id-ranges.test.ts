import { expect, test } from "bun:test";
import type { ObservedPod } from "../../../src/api/pod/observed-pod.ts";
import { anObservedPod, aSandbox } from "../../fakes/a-pod.ts";
import { IdRanges } from "../../../src/runtime/pod-configs.ts";

const range = (unit: number) => ({ hostId: unit * 65_536, length: 65_536 });

function seen(uid: string, unit?: number): ObservedPod {
  const sandbox = aSandbox(unit === undefined ? {} : { userNamespace: range(unit) });
  return anObservedPod([sandbox], [], { uid });
}

test("pods that are made at the same time get different ids, each the same again", () => {
  const ranges = new IdRanges(() => []);
  expect([ranges.of("a"), ranges.of("b"), ranges.of("a")]).toEqual([range(1), range(2), range(1)]);
});

test("running pods keep their ids over a restart of the agent, and no other pod gets them", () => {
  const ranges = new IdRanges(() => [seen("old", 1), seen("b", 3), seen("host")]);
  expect([ranges.of("a"), ranges.of("b"), ranges.of("c")]).toEqual([range(2), range(3), range(4)]);
});

test("ids are free when nothing is left of their pod", () => {
  const ranges = new IdRanges(() => []);
  ranges.of("a");
  ranges.of("b");
  ranges.forget("a");
  expect(ranges.of("c")).toEqual(range(1));
});
