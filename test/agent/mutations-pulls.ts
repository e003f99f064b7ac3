// Deliberate bugs in pulls.

import type { Mutation } from "./mutations.ts";

export const PULL_MUTATIONS: readonly Mutation[] = [
  {
    name: "a failed pull has no back-off",
    file: "src/image/pull-backoff.ts",
    search: "const retryAt = now + jitter(this.#options.random, backoff.delay, BACKOFF_SPREAD);",
    replacement: "const retryAt = now + jitter(this.#options.random, 1, BACKOFF_SPREAD);",
  },
  {
    name: "a pull goes on when no pod wants its image",
    file: "src/image/shared-calls.ts",
    search: "if (call.waiters === 0) {",
    replacement: "if (call.waiters < 0) {",
  },
  {
    name: "an image that failed is never pulled again",
    file: "src/image/image-puller.ts",
    search: "if (before !== undefined && start < before.retryAt) {",
    replacement: "if (before !== undefined) {",
  },
];
