// Performs: keeps the newest Rollout of each group of the node: verifies it like a document, and remembers over restarts
// when it was issued, so that a broker cannot bring back an older one.

import type { Meta } from "../../store/meta.ts";
import { groupSource } from "../../protocol/desired-document.ts";
import { digestOf, readSignedMessage } from "../../protocol/dsse.ts";
import {
  decodeRollout,
  MAX_ROLLOUT_BYTES,
  type RolloutOrder,
} from "../../protocol/rollout-order.ts";
import { rfc3339, type Clock } from "../../lib/clock.ts";
import { messageOf } from "../../lib/errors.ts";
import { RefusalLog } from "../../lib/refusal-log.ts";
import { failed, ok, type Result } from "../../lib/result.ts";
import type { Logger } from "../../lib/logger.ts";
import type { Rejection } from "../../api/pod/desired-pod.ts";
import type { Sha256 } from "../../lib/system-sha256.ts";
import { noTrustedKey } from "../../trust/keyring.ts";
import { judgeSignature } from "../../trust/verify-signature.ts";
import type { Trust } from "../../trust/trust.ts";

export interface RolloutOrdersOptions {
  readonly clock: Clock;
  readonly log: Logger;
  readonly sha256: Sha256;
  readonly trust: Pick<Trust, "look" | "verify">;
  /** Where the times of issue are kept. */
  readonly meta: Pick<Meta, "get" | "set">;
}

/** A message on the topic of the rollouts of a group. */
export interface RolloutArrival {
  readonly group: string;
  readonly topic: string;
  readonly payload: Uint8Array;
}

interface Known {
  readonly order: RolloutOrder;
  /** undefined = it is not signed. */
  readonly issue: Issue | undefined;
}

/** Of a signed Rollout. */
interface Issue {
  /** Wall ms. */
  readonly at: number;
  /** Of its payload: two of the same second are told apart. */
  readonly digest: string;
}

const NEVER: Issue = { at: 0, digest: "" };

const KEY = "rollout.issued.";

export class RolloutOrders {
  readonly #options: RolloutOrdersOptions;
  readonly #known = new Map<string, Known>();
  /** By group: with other keys it may count. */
  readonly #refused = new Map<string, RolloutArrival>();
  readonly #refusals: RefusalLog;

  constructor(options: RolloutOrdersOptions) {
    this.#options = options;
    this.#refusals = new RefusalLog(options.clock, options.log);
  }

  /** The newest of the group; undefined = none has arrived since the start. */
  of(group: string): RolloutOrder | undefined {
    return this.#known.get(group)?.order;
  }

  /** What is wrong with the message; [] = nothing. Never throws. */
  receive(arrival: RolloutArrival): readonly Rejection[] {
    const { group, topic, payload } = arrival;
    this.#refused.delete(group);
    // Cleared: documents that wait go on waiting.
    if (payload.length === 0) {
      this.#known.delete(group);
      return [];
    }
    const read = this.#judge(arrival);
    if (read.ok) {
      this.#known.set(group, read.value);
      this.#remember(group, read.value);
      return [];
    }
    this.#refused.set(group, arrival);
    const digest = digestOf(payload, this.#options.sha256);
    const reason = read.errors.map(({ path, message }) => `${path} ${message}`.trim()).join("; ");
    this.#refusals.warn("refused a Rollout", { group, digest, reason });
    const source = groupSource(group);
    return read.errors.map((error) => ({ source, ref: topic, kind: "Rollout", ...error }));
  }

  /** The newest message of the group, if it was refused: with other keys it may count. */
  refused(group: string): RolloutArrival | undefined {
    return this.#refused.get(group);
  }

  /** The node has left the group. */
  forget(group: string): void {
    this.#known.delete(group);
    this.#refused.delete(group);
  }

  #judge({ group, payload: message }: RolloutArrival): Result<Known> {
    if (message.length > MAX_ROLLOUT_BYTES)
      return wrong(
        "TooLarge",
        `has ${message.length} bytes, at most ${MAX_ROLLOUT_BYTES} are accepted; make it smaller`,
      );
    const opened = this.#open(group, message);
    if (!opened.ok) return opened;
    const { payload, isSigned } = opened.value;
    const read = decodeRollout(payload);
    if (!read.ok) return read;
    const order = read.value;
    if (order.group !== group)
      return wrong("Forbidden", `must be ${group}, as in the topic`, "group");
    if (!isSigned) return ok({ order, issue: undefined });
    const { issuedAt } = order;
    if (issuedAt === undefined)
      return wrong(
        "Invalid",
        "is required in a signed Rollout; write the present time",
        "issuedAt",
      );
    const before = this.#lastIssue(group);
    const { notBefore = 0 } = this.#options.trust.look();
    const issue = { at: issuedAt, digest: digestOf(payload, this.#options.sha256) };
    const isSame = issue.at === before.at && issue.digest === before.digest;
    if (issuedAt < notBefore || (issuedAt <= before.at && !isSame)) {
      const than = before.at >= notBefore ? "the last one" : "notBefore of the TrustBundle";
      const least = rfc3339(Math.max(before.at, notBefore));
      return wrong("Outdated", `is not after ${than}, ${least}; sign it again`, "issuedAt");
    }
    return ok({ order, issue });
  }

  #open(
    group: string,
    message: Uint8Array,
  ): Result<{ readonly payload: Uint8Array; readonly isSigned: boolean }> {
    const { trust } = this.#options;
    const keyring = trust.look();
    const read = readSignedMessage(message);
    if (read.type === "Broken") return failed(read.errors);
    if (read.type === "Plain") {
      if (!keyring.required) return ok({ payload: message, isSigned: false });
      return wrong(
        "Unauthorized",
        "is not signed, and this node accepts signed messages only; sign it",
      );
    }
    if (keyring.unusable !== undefined)
      return wrong("Unauthorized", noTrustedKey(keyring.unusable));
    const { envelope } = read;
    const signed = { envelope, role: "rollout", to: { group } } as const;
    const verdict = judgeSignature(signed, keyring, trust.verify);
    if (verdict.type === "Refused") return wrong("Unauthorized", verdict.message);
    return ok({ payload: envelope.payload, isSigned: true });
  }

  #lastIssue(group: string): Issue {
    const known = this.#known.get(group)?.issue;
    if (known !== undefined) return known;
    const [at = "", digest = ""] = (this.#options.meta.get(KEY + group) ?? "").split(" ");
    return digest === "" ? NEVER : { at: Number(at), digest };
  }

  #remember(group: string, { issue }: Known): void {
    if (issue === undefined) return;
    const { meta, log } = this.#options;
    try {
      meta.set(KEY + group, `${issue.at} ${issue.digest}`);
    } catch (thrown) {
      const error = messageOf(thrown);
      log.warn("cannot write down when a Rollout was issued", { group, error });
    }
  }
}

function wrong(code: string, message: string, path = ""): Result<never> {
  return failed([{ path, code, message }]);
}
