// Performs: the retained Rollout of a group: read, published, and watched for other operators.

import { CliError } from "../../cli/exit-codes.ts";
import { printable } from "../../cli/terminal-text.ts";
import { rfc3339, type Clock } from "../../lib/clock.ts";
import { readSignedMessage } from "../../protocol/dsse.ts";
import { topicFor } from "../../protocol/mqtt-topics.ts";
import { decodeRollout, ROLLOUT, type RolloutOrder } from "../../protocol/rollout-order.ts";
import { jsonBytes } from "../../protocol/wire-text.ts";
import type { Fleet } from "../open-broker.ts";
import { isSignedBy, signMessage, type Signer } from "../trust/signing-keys.ts";

interface RolloutTopicOptions {
  readonly fleet: Fleet;
  readonly clock: Clock;
  readonly group: string;
  readonly signers: readonly Signer[];
  /** Tells this program apart from those of other operators. */
  readonly operator: string;
}

/** Two clocks that people have set do not differ by more. */
const FUTURE_MS = 24 * 60 * 60_000;
/** Times are written in whole seconds. */
const SECOND_MS = 1_000;

/** Lasts as long as the session. */
export class RolloutTopic {
  readonly topic: string;
  readonly #options: RolloutTopicOptions;
  /** What this program has published. */
  readonly #own = new Set<string>();
  #isHeard = false;
  #rival: RolloutOrder | undefined;

  private constructor(options: RolloutTopicOptions) {
    this.#options = options;
    const { fleet, group } = options;
    this.topic = topicFor({ type: "GroupRollout", root: fleet.root, group });
  }

  /** Throws CliError when the broker refuses the topic. */
  static async open(options: RolloutTopicOptions): Promise<RolloutTopic> {
    const opened = new RolloutTopic(options);
    await options.fleet.session.subscribe([opened.topic]);
    options.fleet.session.listen(({ topic, payload }) => opened.#heard(topic, payload));
    return opened;
  }

  /** As the broker retains it; undefined = nothing that a node could read, or that the given keys have not signed: what
   * follows from it is signed with them. */
  get order(): RolloutOrder | undefined {
    const { fleet, signers } = this.#options;
    return orderIn(fleet.session.latest.get(this.topic), signers);
  }

  /** Throws CliError when another operator has published after this one. */
  refuseRival(): void {
    const rival = this.#rival;
    if (rival === undefined) return;
    const { plan, percent, paused, issuedAt } = rival;
    const who = plan?.operator === undefined ? "another operator" : `operator ${plan.operator}`;
    const when = issuedAt === undefined ? "" : ` at ${rfc3339(issuedAt)}`;
    const what = paused ? "paused" : `set to ${percent} %`;
    throw new CliError(
      `${printable(who)} has taken over: the rollout was ${what}${when}; agent fleet rollout status shows it`,
    );
  }

  /** Throws CliError when the broker refuses it. */
  async publish(
    order: Omit<RolloutOrder, "issuedAt" | "apiVersion" | "kind">,
  ): Promise<RolloutOrder> {
    const { fleet, clock, signers, operator } = this.#options;
    const plan = order.plan === undefined ? {} : { plan: { ...order.plan, operator } };
    // Nodes refuse another one of the same second, and one of a clock that is behind that of the operator before.
    const before = this.order?.issuedAt ?? 0;
    const issuedAt = Math.max(clock.now(), before + SECOND_MS);
    if (before > clock.now() + FUTURE_MS)
      throw new CliError(
        `the Rollout on the broker was issued at ${rfc3339(before)}, far ahead of this clock; set the clock of the machine that is wrong, nodes accept none that is older`,
      );
    const whole: RolloutOrder = {
      ...order,
      apiVersion: "agent/v1",
      kind: "Rollout",
      ...plan,
      issuedAt,
    };
    const payload = jsonBytes(ROLLOUT.write(whole));
    const message = signers.length === 0 ? payload : signMessage("rollout", payload, signers);
    this.#own.add(keyOf(message));
    await fleet.session.publish(this.topic, message, true);
    return whole;
  }

  #heard(topic: string, payload: Uint8Array): void {
    if (topic !== this.topic) return;
    if (this.#own.has(keyOf(payload))) this.#isHeard = true;
    // What came before is overwritten by what this program has published.
    else if (this.#isHeard) this.#rival = readOrder(payload) ?? this.#rival;
  }
}

/** undefined = nothing that a node could read, or that one of the signers, if there are any, has not signed. */
export function orderIn(
  message: Uint8Array | undefined,
  signers: readonly Signer[],
): RolloutOrder | undefined {
  if (message === undefined || (signers.length > 0 && !isSignedBy(signers, message)))
    return undefined;
  return readOrder(message);
}

function readOrder(message: Uint8Array): RolloutOrder | undefined {
  if (message.length === 0) return undefined;
  const read = readSignedMessage(message);
  if (read.type === "Broken") return undefined;
  const order = decodeRollout(read.type === "Signed" ? read.envelope.payload : message);
  return order.ok ? order.value : undefined;
}

function keyOf(message: Uint8Array): string {
  return new TextDecoder().decode(message);
}
