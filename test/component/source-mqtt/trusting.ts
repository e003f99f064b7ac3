// What a source of documents has to know of its node where nothing of that matters.

import type { MqttSourceOptions } from "../../../src/source/document/mqtt-source.ts";
import { NO_KEYRING, POD_RULES } from "../../unit/source/desired-arrival.ts";

/** Nobody has ever seen a key, nothing ever fails, and nobody wants to know the time. */
export const withoutKeys: Pick<
  MqttSourceOptions,
  "trust" | "podRules" | "onIssued" | "hasFailed" | "meta"
> = {
  meta: { get: () => undefined, set: () => undefined },
  onIssued: () => undefined,
  hasFailed: () => false,
  trust: { look: () => NO_KEYRING, receive: () => undefined, verify: () => false },
  podRules: POD_RULES,
};
