// Performs: clears what this node has retained on its broker, with the node's own credentials, once its agent has ended.

import { readFileSync } from "node:fs";
import { join } from "node:path";
import { isJsonObject, parseJson } from "../../lib/json.ts";
import { messageOf } from "../../lib/errors.ts";
import type { ConnectOptions, MqttMessage } from "../../mqtt/mqtt-link.ts";
import { MqttjsLink } from "../../mqtt/mqttjs-link.ts";
import { withProtocolFallback } from "../../mqtt/protocol-fallback.ts";
import { parseTopic, topicFor } from "../../protocol/mqtt-topics.ts";
import { credentials } from "../../upstream/link/connect-options.ts";
import type { VerbCall } from "../define-verb.ts";
import { loadConfig } from "../load-config.ts";

const CONNECT_TIMEOUT_MS = 10_000;
const KEEP_ALIVE_S = 60;
/** For the retained messages that follow a SUBACK. */
const SETTLE_MS = 1_000;
const NOTHING = new Uint8Array();

/** A broker that is away keeps no device from being cleaned: the message names what stays there. */
export async function forgetOnBroker({ flags, terminal }: VerbCall): Promise<void> {
  const { mqtt, stateDir } = await loadConfig(flags(), terminal.environment);
  const node = nodeNameOf(stateDir);
  if (mqtt === undefined || node === undefined) return;
  const root = mqtt.topicRoot;
  const retained = new Set(
    (["NodeState", "NodeReported"] as const).map((type) => topicFor({ type, root, node })),
  );
  const onMessage = ({ topic, payload }: MqttMessage): void => {
    if (payload.length > 0 && parseTopic(root, topic)?.type === "PodReported") retained.add(topic);
  };
  try {
    const options: ConnectOptions = {
      url: mqtt.url,
      // That of the node: a list of rights may go by it, and a clean start ends the session that waits for the agent.
      clientId: node,
      clean: true,
      protocolVersion: mqtt.protocolVersion,
      keepAliveSeconds: KEEP_ALIVE_S,
      sessionExpirySeconds: 0,
      connectTimeoutMs: CONNECT_TIMEOUT_MS,
      ...credentials(mqtt, (path) => readFileSync(path, "utf8")),
    };
    const link = new MqttjsLink(terminal.clock);
    const signal = terminal.interrupted();
    const session = await withProtocolFallback(options, (one) =>
      link.connect(one, onMessage, signal),
    );
    // A node may not read what it reports, on some brokers: then the topics of its pods stay.
    await session.subscribe([`${root}/node/${node}/reported/pod/+/+`]);
    await terminal.clock.sleep(SETTLE_MS, signal);
    for (const topic of retained)
      await session.publish({ topic, payload: NOTHING, qos: 1, retain: true });
    await session.end();
    terminal.out(`cleared ${retained.size} topics of ${node} at the broker\n`);
  } catch (error) {
    terminal.err(
      `Note: the topics of ${node} stay at the broker ${mqtt.url}: ${messageOf(error)}; "agent fleet forget ${node}" clears them\n`,
    );
  }
}

function nodeNameOf(stateDir: string): string | undefined {
  try {
    const kept = parseJson(readFileSync(join(stateDir, "identity.json"), "utf8"));
    return isJsonObject(kept) && typeof kept["nodeName"] === "string"
      ? kept["nodeName"]
      : undefined;
  } catch {
    // The agent never ran.
    return undefined;
  }
}
