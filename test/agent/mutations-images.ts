// Deliberate bugs in the collection of images.

import type { Mutation } from "./mutations.ts";

export const IMAGE_MUTATIONS: readonly Mutation[] = [
  {
    name: "images of containers and pods are collected",
    file: "src/image/gc/image-holds.ts",
    search: "if (found.length > 0) return { why, by: namesOf(found) };",
    replacement: 'if (found.length > 0 && why === "Sandbox") return { why, by: namesOf(found) };',
  },
  {
    name: "images of rollbacks and waiting pods are collected",
    file: "src/agent/build-image-gc.ts",
    search: "...wanted.flatMap(usersOfPod),",
    replacement: "...wanted.slice(0, 0).flatMap(usersOfPod),",
  },
  {
    name: "images are collected before the sources have synced",
    file: "src/agent/build-image-gc.ts",
    search: "loop.hasApplied && written.haveSpoken(edges.store.documents.synced()),",
    replacement: "loop.hasApplied,",
  },
  {
    name: "the most recently used images are collected first",
    file: "src/image/gc/plan-image-gc.ts",
    search: "b.idleMs - a.idleMs ||",
    replacement: "a.idleMs - b.idleMs ||",
  },
  {
    name: "a full disk of images is not seen",
    file: "src/image/gc/plan-image-gc.ts",
    search: "return bytesToLowMark(space, policy);\n}\n\nexport",
    replacement: "return Math.min(0, bytesToLowMark(space, policy));\n}\n\nexport",
  },
];
