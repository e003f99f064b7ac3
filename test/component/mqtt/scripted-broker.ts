// A TCP server that answers MQTT packets with given bytes: for what mosquitto never says.

import { PACKET_TYPES, type PacketType } from "./packet-types.ts";

export class ScriptedBroker implements Disposable {
  /** Types of the packets received, in order. */
  readonly packets: PacketType[] = [];
  /** Their bytes. */
  readonly raw: Uint8Array[] = [];
  readonly #listener: Bun.TCPSocketListener;

  /** `answer` gets each packet's type and bytes; empty = no answer. */
  constructor(answer: (packet: PacketType, bytes: Uint8Array) => readonly number[]) {
    this.#listener = Bun.listen({
      hostname: "127.0.0.1",
      port: 0,
      socket: {
        data: (socket, chunk) => {
          for (const packet of split(new Uint8Array(chunk))) {
            const type = PACKET_TYPES[(packet[0] ?? 0) >> 4] ?? "RESERVED";
            this.packets.push(type);
            this.raw.push(packet);
            const bytes = answer(type, packet);
            if (bytes.length > 0) socket.write(new Uint8Array(bytes));
          }
        },
      },
    });
  }

  get url(): string {
    return `mqtt://127.0.0.1:${this.#listener.port}`;
  }

  [Symbol.dispose](): void {
    this.#listener.stop(true);
  }
}

/** Whole packets of less than 16 kB; small writes of a client arrive whole. */
function split(bytes: Uint8Array): readonly Uint8Array[] {
  const packets: Uint8Array[] = [];
  for (let at = 0; at < bytes.length;) {
    const low = bytes[at + 1] ?? 0;
    const long = low >= 0x80;
    const length = long ? (low & 0x7f) + 128 * (bytes[at + 2] ?? 0) : low;
    const end = at + (long ? 3 : 2) + length;
    packets.push(bytes.subarray(at, end));
    at = end;
  }
  return packets;
}
