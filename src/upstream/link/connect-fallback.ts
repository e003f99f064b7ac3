// Decides what CONNECT may ask for after a broker has refused an earlier one: MQTT 3.1.1 instead of 5, a will that is
// not retained, QoS 0.

import type { ConnectAck, MqttMessage } from "../../mqtt/mqtt-link.ts";

export interface ConnectLimits {
  readonly protocolVersion: 4 | 5;
  /** Whether the will may be retained. */
  readonly willRetain: boolean;
  readonly willQos: 0 | 1;
}

/** The limits to try after a refusal for `reason`; undefined = no other CONNECT would help. */
export function lowered(limits: ConnectLimits, reason: string): ConnectLimits | undefined {
  if (reason === "ProtocolUnsupported" && limits.protocolVersion === 5)
    return { ...limits, protocolVersion: 4 };
  if (reason === "RetainUnsupported" && limits.willRetain) return { ...limits, willRetain: false };
  if (reason === "QosUnsupported" && limits.willQos === 1) return { ...limits, willQos: 0 };
  return undefined;
}

/** What the next CONNECT may ask for, by the broker's CONNACK. */
export function allowedBy(limits: ConnectLimits, ack: ConnectAck): ConnectLimits {
  return {
    ...limits,
    willRetain: limits.willRetain || ack.retainAvailable,
    willQos: ack.maximumQos === 0 ? limits.willQos : 1,
  };
}

/** The will, reduced to what the broker accepts. */
export function willWithin(will: MqttMessage, { willRetain, willQos }: ConnectLimits): MqttMessage {
  return { ...will, retain: will.retain && willRetain, qos: willQos === 0 ? 0 : will.qos };
}
