// Performs: the verb `agent fleet logs`: what it takes, and where its work is.

import type { Verb } from "../../cli/define-verb.ts";
import { LOG_FLAGS } from "../../cli/logs/log-flags.ts";
import { podNameOf } from "../../cli/stream/pod-target.ts";
import { keyFlag, KEYS_FLAG, timeoutFlag, wholeNumber } from "../flags.ts";
import { named } from "../fleet-topics.ts";
import type { FleetParts } from "../open-broker.ts";
import type { FleetLogsFlags } from "./logs.ts";

export function logsVerb(parts: FleetParts): Verb {
  return {
    usage: "logs <node> <pod> [container]",
    description:
      "print what the containers of a pod wrote, through a session if there is a key and the node allows it",
    flags: {
      ...LOG_FLAGS,
      ...keyFlag("private key in PEM that signs the start of the session, or the command"),
      ...KEYS_FLAG,
      ...timeoutFlag("30s", "how long to wait for the answer to a command"),
      "--seconds <seconds>": {
        description: "without a session, for so long at most",
        parse: wholeNumber,
      },
      "--bytes <bytes>": {
        description: "without a session, so many bytes at most",
        parse: wholeNumber,
      },
    },
    run: async (call) => {
      const [node = "", pod = "", container] = call.args;
      const flags = call.flags<FleetLogsFlags>();
      const target = {
        node: named(node),
        namespace: named(flags.namespace),
        pod: named(podNameOf(pod, "agent fleet logs NODE POD")),
      };
      const asked = flags.container ?? container;
      // It is a level of the log's topic.
      if (asked !== undefined) named(asked);
      const { fleetLogs } = await import("./logs.ts");
      return fleetLogs(parts, {
        call,
        target,
        flags: { ...flags, ...(asked === undefined ? {} : { container: asked }) },
      });
    },
  };
}
