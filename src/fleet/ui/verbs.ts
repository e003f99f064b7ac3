// Performs: the verb `agent fleet ui`; it loads its work when it runs.

import { InvalidArgumentError } from "commander";
import type { Verb } from "../../cli/define-verb.ts";
import type { FleetParts } from "../open-broker.ts";

const LAST_PORT = 65_535;

export function uiVerb(parts: FleetParts): Verb {
  return {
    usage: "ui",
    description: "show the nodes of the fleet in a browser, on this machine, until Ctrl-C",
    flags: {
      "--port <port>": {
        description: "port on 127.0.0.1",
        default: 0,
        defaultText: "any free one",
        parse: portOf,
      },
    },
    run: async ({ flags }) => (await import("./ui.ts")).fleetUi(parts, flags()),
  };
}

function portOf(written: string): number {
  if (/^\d{1,5}$/.test(written) && Number(written) <= LAST_PORT) return Number(written);
  throw new InvalidArgumentError(`It must be a port, from 0 to ${LAST_PORT}.`);
}
