// Deliberate bugs in what a node does that runs short.

import type { Mutation } from "./mutations.ts";

export const PRESSURE_MUTATIONS: readonly Mutation[] = [
  {
    name: "a threshold is met although much more is available",
    file: "src/eviction/thresholds.ts",
    search: "return room.available < amountOf(value, room) + beyond;",
    replacement: "return room.available < 40 * amountOf(value, room) + beyond;",
  },
  {
    name: "an evicted pod starts again at once",
    file: "src/source/admission/admission.ts",
    search: "const message = options.evicted?.(desired.uid);",
    replacement: "const message = options.evicted?.call(undefined, `${desired.uid}?`);",
  },
  {
    name: "evicted pods do not return",
    file: "src/eviction/eviction-manager.ts",
    search: "evicted.release(uid);",
    replacement: "if (!wanted) evicted.release(uid);",
  },
  {
    name: "new pods start under pressure",
    file: "src/source/admission/admit-pod.ts",
    search: "pressureError(pod, node.pressure) ??",
    replacement: "pressureError(pod, undefined) ??",
  },
  {
    name: "pods are evicted before images are removed",
    file: "src/eviction/eviction-manager.ts",
    search: 'await this.#try("images", () => reclaim.images(signal));',
    replacement: "void reclaim.images;",
  },
  {
    name: "a full disk of images evicts no pod",
    file: "src/eviction/observe-node.ts",
    search: "imagefs === undefined ? undefined : this.#fileSystem(this.#imagefs);",
    replacement: "imagefs === undefined ? undefined : this.#fileSystem(config.stateDir);",
  },
  {
    name: "a pod that was refused during its first call begins with the next",
    file: "src/podworkers/pod-replacement.ts",
    search: "if (this.#isRefused(own)) {",
    replacement: "if (this.#isRefused(own) && own.isGone) {",
  },
  {
    name: "a pod that was refused before its source had synced never begins",
    file: "src/podworkers/pod-replacement.ts",
    search: "else this.#passedOver.add(own);",
    replacement: "",
  },
  {
    name: "an evicted pod is not stopped",
    file: "src/eviction/eviction-manager.ts",
    search: "stop(row);",
    replacement: "void stop;",
  },
  {
    name: "an eviction ends with the process that began it",
    file: "src/eviction/eviction-manager.ts",
    search: "for (const leftover of leftovers) stop(leftover);",
    replacement: "void stop;",
  },
];
