// Performs: logs in to the broker as the agent does, and out again. A client id of its own: that of the node would end the
// session of the agent.

import { readFileSync } from "node:fs";
import type { MqttConfig } from "../../config/config.ts";
import { messageOf } from "../../lib/errors.ts";
import { systemClock, systemRandom } from "../../lib/system-clock.ts";
import type { ConnectOptions } from "../../mqtt/mqtt-link.ts";
import { MqttjsLink } from "../../mqtt/mqttjs-link.ts";
import { withProtocolFallback } from "../../mqtt/protocol-fallback.ts";
import { credentials } from "../../upstream/link/connect-options.ts";

/** undefined = the broker accepts this node; else why not. */
export type LoginAnswer = { readonly message: string } | undefined;

const CONNECT_TIMEOUT_MS = 5000;
const KEEP_ALIVE_S = 60;

export async function logIn(mqtt: MqttConfig, signal: AbortSignal): Promise<LoginAnswer> {
  const link = new MqttjsLink(systemClock());
  const { url, protocolVersion } = mqtt;
  try {
    const options: ConnectOptions = {
      url,
      clientId: `check-${systemRandom.hex(8)}`,
      clean: true,
      protocolVersion,
      keepAliveSeconds: KEEP_ALIVE_S,
      sessionExpirySeconds: 0,
      connectTimeoutMs: CONNECT_TIMEOUT_MS,
      ...credentials(mqtt, (path) => readFileSync(path, "utf8")),
    };
    const session = await withProtocolFallback(options, (one) =>
      link.connect(one, () => undefined, signal),
    );
    await session.end();
    return undefined;
  } catch (error) {
    return { message: messageOf(error) };
  }
}
