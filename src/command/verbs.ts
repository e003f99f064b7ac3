// The table of commands: the verbs that a node carries out, their arguments, and whether they change the node. The
// `…-commands.ts` files implement them; the compiler requires an implementation of each verb.

import { boolean, fieldOf, objectType, oneOf, type Decoded } from "../api/schema/codec.ts";
import { atLeast, base64, between, filledText } from "../api/schema/values.ts";
import { TUNNEL_KEY_BYTES } from "../protocol/tunnel/handshake.ts";
import type { Node } from "../api/decode/field-reader.ts";
import type { Type } from "../api/schema/type.ts";

export interface Verb<A> {
  readonly about: string;
  readonly arguments: Type<A>;
  /** Changes something on the node. */
  readonly changes: boolean;
  /** Done at once without changing anything: answered without a preceding `accepted`, and not stored. */
  readonly quick: boolean;
  /** Obeyed without a signature even where signatures are required. */
  readonly open: boolean;
  /** Offered as `agent fleet <verb> <node> [pod]`, with a flag for each further argument. */
  readonly fleet: boolean;
}

const MAX_TAIL = 1_000;

const filled = fieldOf(filledText(), "");
const namespace = filled({ about: "Namespace of the pod.", default: "default" });
const pod = filled({ about: "Name of the pod.", required: "the name of the pod" });
const somePod = filled({ about: "Name of the pod." });
const sessionKey = fieldOf(base64, new Uint8Array());
const container = filled({ about: "Name of the container." });
const POD = { namespace, pod };

/** Either a pod, or all of the node. */
const HOLD = objectType(
  "HoldArguments",
  {
    namespace,
    pod: somePod,
    all: boolean({ about: "All pods of the node.", default: false }),
  },
  {
    check({ pod: name, all }, node) {
      if ((name === undefined) !== all) refuse(node, "name a pod, or all, but not both");
    },
  },
);

export const VERBS = {
  ping: verb({
    about: "name, agent version and time of the node",
    arguments: objectType("PingArguments", {}),
    ...reads({ open: true, quick: true }),
  }),
  get: verb({
    about: "pods, the node, events, or objects that were refused",
    arguments: objectType("GetArguments", {
      kind: oneOf(["pods", "pod", "node", "events", "event", "rejected"], {
        about: "What to get.",
        default: "pods",
      }),
      namespace: filled({ about: "Only objects of this namespace." }),
      name: filled({ about: "Only objects of this name." }),
    }),
    ...reads({ open: true, quick: true }),
  }),
  describe: verb({
    about: "a pod with its events and refusals",
    arguments: objectType("DescribeArguments", POD),
    ...reads({ open: false, quick: true }),
  }),
  explain: verb({
    about: "why a pod does not run as it should",
    arguments: objectType("ExplainArguments", POD),
    ...reads({ open: false, quick: true }),
  }),
  logs: verb({
    about: "the last lines of a container's log, or new lines as they are written",
    arguments: objectType("LogsArguments", {
      ...POD,
      container,
      tail: fieldOf(between(0, MAX_TAIL))({
        about: `Number of lines, at most ${MAX_TAIL}.`,
        default: 100,
      }),
      previous: boolean({ about: "The log of the previous instance.", default: false }),
      follow: boolean({
        about: "Publish new lines to the log topic until the lease ends.",
        default: false,
      }),
      seconds: fieldOf(atLeast(0))({ about: "Longest duration of the lease, in seconds." }),
      bytes: fieldOf(atLeast(0))({ about: "Most bytes of the lease." }),
    }),
    ...reads({ open: false, quick: false }),
  }),
  restart: verb({
    about: "stop the containers of a pod gracefully and start them again",
    arguments: objectType("RestartArguments", { ...POD, container }),
    ...changes({ fleet: true }),
  }),
  hold: verb({
    about: "keep a pod, or all of a node, from being updated until it is released",
    arguments: HOLD,
    ...changes({ fleet: true }),
  }),
  release: verb({
    about: "end a hold, and let a failed revision be tried again",
    arguments: HOLD,
    ...changes({ fleet: true }),
  }),
  pull: verb({
    about: "pull the images of a pod, or one image that a pod uses",
    arguments: objectType(
      "PullArguments",
      { namespace, pod: somePod, image: filled({ about: "Image reference, as in the pod." }) },
      {
        check({ pod: name, image }, node) {
          if ((name === undefined) === (image === undefined))
            refuse(node, "name a pod, or an image that a pod uses, but not both");
        },
      },
    ),
    ...changes({ fleet: false }),
  }),
  exec: verb({
    about:
      "a session with a pod for exec, attach, port-forward, cp and logs, encrypted from end to end",
    arguments: objectType("ExecArguments", {
      ...POD,
      key: sessionKey({
        about: "X25519 public key of the operator, used once, in base64.",
        required: `a public key of ${TUNNEL_KEY_BYTES} bytes in base64`,
        check: ({ length }) =>
          length === TUNNEL_KEY_BYTES ? undefined : `must be ${TUNNEL_KEY_BYTES} bytes in base64`,
      }),
    }),
    ...changes({ fleet: false }),
  }),
};

export type CommandVerb = keyof typeof VERBS;
/** What the arguments of a verb decode to. */
export type ArgumentsOf<V extends CommandVerb> = Decoded<(typeof VERBS)[V]["arguments"]>;

/** Defined in docs/mqtt-api.md and not implemented yet: answered with 501. */
export const LATER_VERBS = ["reboot", "support-bundle", "agent-update"] as const;

export const COMMAND_VERBS: readonly CommandVerb[] = verbsWhere(() => true);

export function isCommandVerb(verb: string): verb is CommandVerb {
  return Object.hasOwn(VERBS, verb);
}

export function verbsWhere(test: (verb: Verb<unknown>) => boolean): readonly CommandVerb[] {
  return Object.keys(VERBS)
    .filter((name) => isCommandVerb(name))
    .filter((name) => test(VERBS[name]));
}

function verb<A>(row: Verb<A>): Verb<A> {
  return row;
}

function reads(
  row: Pick<Verb<unknown>, "open" | "quick">,
): Omit<Verb<unknown>, "about" | "arguments"> {
  return { fleet: false, ...row, changes: false };
}

function changes(row: Pick<Verb<unknown>, "fleet">): Omit<Verb<unknown>, "about" | "arguments"> {
  return { ...row, changes: true, quick: false, open: false };
}

function refuse({ findings, path }: Node, message: string): void {
  findings.fail(path, "Invalid", message);
}
