// Deliberate bugs in the shutdown of a node.

import type { Mutation } from "./mutations.ts";

const STATE = "src/node/shutdown/shutdown-state.ts";
const SHUTDOWN = "src/node/shutdown/node-shutdown.ts";

export const SHUTDOWN_MUTATIONS: readonly Mutation[] = [
  {
    name: "pods start while the node shuts down",
    file: STATE,
    search: "return this.isActive ? (this.stopped(uid) ?? NOT_ADMITTED) : undefined;",
    replacement: "return this.isActive ? (this.stopped(uid) ?? void NOT_ADMITTED) : undefined;",
  },
  {
    name: "a shutdown ends with the process",
    file: STATE,
    search: "this.#try(() => store.meta.set(KEY, JSON.stringify({ bootId, stopped })));",
    replacement: "void [store, bootId, stopped];",
  },
  {
    name: "a shutdown outlasts the boot",
    file: STATE,
    search: 'if (isJsonObject(stored) && stored["bootId"] === bootId)',
    replacement: 'if (isJsonObject(stored) && stored["bootId"] !== `${bootId}?`)',
  },
  {
    name: "critical pods end before all others",
    file: SHUTDOWN,
    search: "for (const [index, group] of this.#groups.entries()) {",
    replacement: "for (const [index, group] of [...this.#groups.entries()].toReversed()) {",
  },
  {
    name: "critical pods run on through a shutdown",
    file: SHUTDOWN,
    search: "if (all.length === 0) return;",
    replacement: "if (all.length === 0 || group.priority > 0) return;",
  },
  {
    name: "pods that a shutdown stopped do not return",
    file: SHUTDOWN,
    search: 'edges.log.info("ShutdownCancelled");',
    replacement: "return this.view();",
  },
];
