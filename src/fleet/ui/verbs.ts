// Performs: the verb `agent fleet ui`; it loads its work when it runs.

import { InvalidArgumentError } from "commander";
import type { Verb } from "../../cli/define-verb.ts";
import { keyFlag } from "../flags.ts";
import type { FleetParts } from "../open-broker.ts";
import { PROCEDURE_FLAGS } from "../rollout/verbs.ts";

const LAST_PORT = 65_535;

export function uiVerb(parts: FleetParts): Verb {
  return {
    usage: "ui",
    description:
      "show nodes and rollouts in a browser until Ctrl-C, and with --key change rollouts",
    flags: {
      "--port <port>": { description: "port on 127.0.0.1 (default any free one)", parse: portOf },
      "--listen <address>": "another address and port; it needs --tls-cert, or --token-file",
      "--token-file <file>": "file with the token of the page (default a new one, in the address)",
      "--tls-cert <file>": "certificate in PEM of the page, with those that vouch for it",
      "--tls-key <file>": "private key of --tls-cert",
      ...keyFlag(
        "private key in PEM that signs what is ordered on the page; without it it only reads",
      ),
      ...PROCEDURE_FLAGS,
    },
    run: async ({ flags }) => (await import("./ui.ts")).fleetUi(parts, flags()),
  };
}

function portOf(written: string): number {
  if (/^\d{1,5}$/.test(written) && Number(written) <= LAST_PORT) return Number(written);
  throw new InvalidArgumentError(`It must be a port, from 0 to ${LAST_PORT}.`);
}
