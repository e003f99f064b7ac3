// Performs: connects with MQTT 3.1.1 where a broker does not speak MQTT 5.

import { reasonOf } from "../lib/errors.ts";
import type { ConnectOptions, MqttSession } from "./mqtt-link.ts";

/** Rejects with the AgentError of the last attempt. */
export async function withProtocolFallback(
  options: ConnectOptions,
  attempt: (options: ConnectOptions) => Promise<MqttSession>,
): Promise<MqttSession> {
  try {
    return await attempt(options);
  } catch (thrown) {
    if (reasonOf(thrown, "") !== "ProtocolUnsupported" || options.protocolVersion === 4)
      throw thrown;
    return attempt({ ...options, protocolVersion: 4 });
  }
}
