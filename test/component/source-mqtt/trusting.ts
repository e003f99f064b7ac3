// What a source of documents has to know of trust where nobody has ever seen a key.

import type { MqttSourceOptions } from "../../../src/source/mqtt-source.ts";
import { NO_KEYRING, POD_RULES } from "../../unit/source/desired-arrival.ts";

export const withoutKeys: Pick<MqttSourceOptions, "trust" | "podRules"> = {
  trust: { look: () => NO_KEYRING, receive: () => undefined, verify: () => false },
  podRules: POD_RULES,
};
