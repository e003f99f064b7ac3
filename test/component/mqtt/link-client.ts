// One client of MqttjsLink and what became of its attempt to connect.

import { AgentError } from "../../../src/lib/errors.ts";
import type { ConnectOptions, MqttMessage, MqttSession } from "../../../src/mqtt/mqtt-link.ts";
import { MqttjsLink } from "../../../src/mqtt/mqttjs-link.ts";
import { systemClock } from "../../../src/lib/system-clock.ts";

const link = new MqttjsLink(systemClock());

export function optionsFor(url: string, more: Partial<ConnectOptions> = {}): ConnectOptions {
  return {
    url,
    clientId: "pi-1",
    protocolVersion: 5,
    keepAliveSeconds: 60,
    sessionExpirySeconds: 60,
    connectTimeoutMs: 2_000,
    will: { topic: "will", payload: new Uint8Array([1]), qos: 1, retain: true, delaySeconds: 0 },
    ...more,
  };
}

export function connectTo(
  url: string,
  more: Partial<ConnectOptions> = {},
  onMessage: (message: MqttMessage) => void = () => undefined,
  by: MqttjsLink = link,
): Promise<MqttSession> {
  return by.connect(optionsFor(url, more), onMessage, new AbortController().signal);
}

/** `connected`, or the reason and the sentence of the refusal. */
export async function outcome(connecting: Promise<MqttSession>): Promise<string> {
  try {
    const session = await connecting;
    await session.end();
    return "connected";
  } catch (error) {
    if (error instanceof AgentError) return `${error.reason}: ${error.message}`;
    throw error;
  }
}
