// Deliberate bugs in the rotation of logs.

import type { Mutation } from "./mutations.ts";

export const LOG_MUTATIONS: readonly Mutation[] = [
  {
    name: "a log may have one file more than it may",
    file: "src/runtime/logs/rotated-logs.ts",
    search: "rotated.length - (maxFiles - 2)",
    replacement: "rotated.length - (maxFiles - 1)",
  },
  {
    name: "an interrupted rotation is never finished",
    file: "src/runtime/logs/log-manager.ts",
    search: "if (at >= retryAt(before?.failure))\n        this.#begin(",
    replacement: "if (at < 0)\n        this.#begin(",
  },
  {
    name: "a reopen without an answer is taken back over the new log",
    file: "src/runtime/logs/rotate-log.ts",
    search: 'if (!(error instanceof CriError) || error.outcome === "refused") this.restore(place);',
    replacement:
      "const newest = logDirectory(place.log, files.list(place.directory)).rotated.at(-1); " +
      "if (newest !== undefined) files.rename(`${place.directory}/${newest.name}`, path);",
  },
  {
    name: "the log of the next instance goes with a dead one",
    file: "src/podworkers/garbage-collector.ts",
    search: "file.name.startsWith(`${attempt}.log`)",
    replacement: "file.name.startsWith(`${attempt + 2}.log`)",
  },
  {
    name: "a log that was rotated just now is cut",
    file: "src/runtime/logs/count-logs.ts",
    search: "isInHand(instance.id) ? 2 : 1",
    replacement: "isInHand(instance.id) ? 1 : 1",
  },
];
