// Performs: the verbs of `agent fleet` that go into a container: those of the device, over a session with the node.

import { UsageError } from "../../cli/exit-codes.ts";
import type { Verb, VerbCall } from "../../cli/define-verb.ts";
import { STREAM_VERBS } from "../../cli/stream/stream-verbs.ts";
import { copyPlace } from "../../cli/stream/copy-places.ts";
import { podNameOf } from "../../cli/stream/pod-target.ts";
import { KEYS_FLAG, keyFlag } from "../flags.ts";
import { named } from "../fleet-topics.ts";
import type { FleetParts } from "../open-broker.ts";
import type { SessionFlags, SessionTarget } from "./open-session.ts";

/** `agent fleet exec <node> <pod> …` and so on, with the flags of the verb on the device. */
export function sessionVerbs(parts: FleetParts): readonly Verb[] {
  return STREAM_VERBS.map((verb) => sessionVerb(parts, verb));
}

function sessionVerb(parts: FleetParts, { usage, description, flags, run }: Verb): Verb {
  const [name = "", ...places] = usage.split(" ");
  return {
    usage: [name, "<node>", ...places].join(" "),
    description: `${description.replace(/: agent .*$/, "")}, over the broker`,
    flags: {
      ...flags,
      ...keyFlag("private key in PEM that signs the start of the session", { isRequired: true }),
      ...KEYS_FLAG,
    },
    run: async (call) => {
      const [node = "", ...args] = call.args;
      const flagsOf = call.flags<SessionFlags & { readonly namespace: string }>();
      const target = { node: named(node), ...podOf(name, args, flagsOf.namespace) };
      const { withSession } = await import("./open-session.ts");
      return withSession(parts, { flags: flagsOf, target }, async (client) => {
        const inside: VerbCall = { ...call, args, connect: () => Promise.resolve(client) };
        return (await run?.(inside)) ?? 0;
      });
    },
  };
}

/** The pod that the arguments name. Throws UsageError. */
function podOf(
  verb: string,
  args: readonly string[],
  namespace: string,
): Omit<SessionTarget, "node"> {
  if (verb !== "cp")
    return {
      namespace: named(namespace),
      pod: named(podNameOf(args[0], `agent fleet ${verb} NODE POD`)),
    };
  const place = args.map(copyPlace).find(({ pod }) => pod !== undefined)?.pod;
  if (place === undefined)
    throw new UsageError(
      "one of src or dest must be a local file specification: agent fleet cp NODE SOURCE DESTINATION, one of them as POD:PATH",
    );
  return { namespace: named(place.namespace ?? namespace), pod: named(place.name) };
}
