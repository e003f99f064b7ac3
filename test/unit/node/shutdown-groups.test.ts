import { expect, test } from "bun:test";
import type { ShutdownConfig } from "../../../src/config/shutdown-config.ts";
import { graceIn, groupOf, shutdownGroups } from "../../../src/node/shutdown/shutdown-groups.ts";

const CRITICAL = 2_000_000_000;

function groups(config: Partial<ShutdownConfig>) {
  return shutdownGroups({
    shutdownGracePeriod: 0,
    shutdownGracePeriodCriticalPods: 0,
    shutdownGracePeriodByPodPriority: [],
    ...config,
  });
}

test("critical pods get their part of the whole period, the others the rest before", () => {
  const both = { shutdownGracePeriod: 30_500, shutdownGracePeriodCriticalPods: 10_000 };
  expect(groups(both)).toEqual([
    { priority: 0, seconds: 20 },
    { priority: CRITICAL, seconds: 10 },
  ]);
  expect(groups({ shutdownGracePeriod: 30_000 })).toEqual([
    { priority: 0, seconds: 30 },
    { priority: CRITICAL, seconds: 0 },
  ]);
});

test("without a period each pod has its own grace period, and critical ones still end last", () => {
  expect(groups({}).map(({ priority, seconds }) => [priority, seconds])).toEqual([
    [0, undefined],
    [CRITICAL, undefined],
  ]);
});

test("groups by priority are sorted, the lowest first", () => {
  const shutdownGracePeriodByPodPriority = [
    { priority: 1000, shutdownGracePeriodSeconds: 5 },
    { priority: -10, shutdownGracePeriodSeconds: 60 },
  ];
  expect(groups({ shutdownGracePeriodByPodPriority })).toEqual([
    { priority: -10, seconds: 60 },
    { priority: 1000, seconds: 5 },
  ]);
});

// kubelet: Test_groupByPriority
test.each([
  [-100, 0],
  [0, 0],
  [1, 1],
  [2, 2],
  [3, 2],
  [4, 3],
  [CRITICAL, 3],
])("a pod of priority %d is in group %d", (priority, index) => {
  const all = [0, 1, 2, 4].map((one) => ({ priority: one, seconds: 10 }));
  expect(groupOf(all, priority)).toBe(index);
});

test.each([
  [10, 60, 10],
  [10, 5, 5],
  [0, 60, 0],
  [40, undefined, 40],
  [undefined, 60, 60],
  [undefined, undefined, undefined],
])("in a group of %p s a pod with %p s gets %p s", (seconds, own, most) => {
  expect(graceIn({ priority: 0, seconds }, own)).toBe(most);
});
