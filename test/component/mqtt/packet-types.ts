// MQTT's packet types by number.

export const PACKET_TYPES = [
  "RESERVED",
  "CONNECT",
  "CONNACK",
  "PUBLISH",
  "PUBACK",
  "PUBREC",
  "PUBREL",
  "PUBCOMP",
  "SUBSCRIBE",
  "SUBACK",
  "UNSUBSCRIBE",
  "UNSUBACK",
  "PINGREQ",
  "PINGRESP",
  "DISCONNECT",
  "AUTH",
] as const;

export type PacketType = (typeof PACKET_TYPES)[number];
