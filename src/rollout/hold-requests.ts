// Performs: where people hold updates and let them go on: the local API, and commands from the broker.

import type { DesiredPod } from "../api/pod/desired-pod.ts";
import type { Rollouts } from "./rollouts.ts";
import type { UpdateHolds } from "./update-holds.ts";
import type { NamedPod } from "../api/v1/pod.ts";

export interface UpdateDoorOptions {
  readonly holds: Pick<UpdateHolds, "hold" | "release" | "isOrdered">;
  readonly rollouts: Pick<Rollouts, "release" | "names">;
  /** As the sources want it, under this `namespace/name`. */
  readonly wanted: (name: string) => DesiredPod | undefined;
  readonly onChange: () => void;
}

export class UpdateDoor {
  readonly #options: UpdateDoorOptions;

  constructor(options: UpdateDoorOptions) {
    this.#options = options;
  }

  /** `pod` undefined = the whole node. A release also gives what has failed another chance. Throws what the checkpoint throws. */
  change(verb: HoldVerb, pod: NamedPod | undefined): HoldOutcome {
    const { holds, rollouts, wanted, onChange } = this.#options;
    const name = pod === undefined ? undefined : `${pod.namespace}/${pod.name}`;
    const desired = name === undefined ? undefined : wanted(name);
    const isOrdered = name !== undefined && verb === "release" && holds.isOrdered(name);
    if (name !== undefined && desired === undefined && !isOrdered) return { type: "NotFound" };
    if (desired !== undefined && !desired.source.startsWith("mqtt:"))
      return { type: "OfFile", file: desired.sourceRef.replace(/#\d+$/, "") };
    if (verb === "hold") holds.hold(name);
    else {
      holds.release(name, desired);
      for (const one of name === undefined ? rollouts.names() : [name]) rollouts.release(one);
    }
    onChange();
    return { type: "Done" };
  }
}

export type HoldVerb = "hold" | "release";

/** What became of it. */
export type HoldOutcome =
  | { readonly type: "Done" }
  | { readonly type: "NotFound" }
  /** A file's edits are its author's own: they are not held. */
  | { readonly type: "OfFile"; readonly file: string };

/** One sentence for every door. */
export function holdRefusal(
  outcome: Exclude<HoldOutcome, { type: "Done" }>,
  pod: NamedPod | undefined,
): string {
  const { namespace, name } = pod ?? { namespace: "", name: "" };
  if (outcome.type === "NotFound") return `pods "${name}" not found in namespace "${namespace}"`;
  return `pod ${namespace}/${name} is declared by ${outcome.file}: edits of a file are not held, and files never roll back`;
}
