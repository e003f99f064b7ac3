// Which lines `agent logs` and `agent fleet logs` print of the containers of a pod, as flags. kubectl: logs

import { countOf, durationOf, namespaceFlag, tailOf, type Flags } from "../flags.ts";

export const LOG_FLAGS: Flags = {
  ...namespaceFlag(),
  "-c, --container <name>": {
    description: "of this container; default: the pod's first, or its default one",
    completes: "containers",
  },
  "--all-containers": "of all containers of the pod",
  "-f, --follow": "also what is written from now on, over rotations and restarts, until Ctrl-C",
  "-p, --previous": "of the instance before the newest",
  "--tail <lines>": { description: "only the last lines; -1 is all", parse: tailOf },
  "--limit-bytes <bytes>": { description: "at most so many bytes", parse: countOf },
  "--since <duration>": { description: "only what is newer, such as 90s", parse: durationOf },
  "--since-time <time>": "only what is newer, such as 2026-11-21T08:00:00Z",
  "--timestamps": "with the time of each line",
  "--prefix": "with pod and container before each line",
  "--max-log-requests <count>": {
    description: "most containers that are followed at once",
    default: 5,
    parse: countOf,
  },
  "--ignore-errors": "go on with the next container when one has no log",
};
