// What a runtime that is not containerd can do for pulls: nothing.

import type { PullEdge } from "../../src/containerd/pull-edge.ts";

export const NO_PULL_EDGE: PullEdge = {
  measure: () => ({ read: () => Promise.resolve(undefined) }),
  keep: () => Promise.resolve({}),
  forget: () => Promise.resolve(),
};
