// Follows the framing of an MQTT byte stream and ends it at what a broker must not send: a packet over the limit (by its
// length field, before its body), anything of QoS 2, and more packets, tiny pieces of packets or WebSocket frames than
// the connection allows.

import { takeToken, type TokenBucket, type TokenBucketPolicy } from "../lib/token-bucket.ts";
import type { SessionEnd } from "./mqtt-link.ts";

/** Largest packet in bytes that is accepted from a broker. */
export const MAXIMUM_PACKET_SIZE = 256 * 1024;
/** Bytes of a length field; a fifth one is malformed. */
const MAX_LENGTH_BYTES = 4;
/** A chunk below this many bytes in which no packet starts costs a token: no network cuts packets so small. */
const TINY_CHUNK = 64;

const PACKET_TOO_LARGE = 0x95;
const MESSAGE_RATE_TOO_HIGH = 0x96;
const QOS_NOT_SUPPORTED = 0x9b;

const PUBLISH = 3;
/** PUBREC, PUBREL, PUBCOMP. */
const OF_QOS_2: readonly number[] = [5, 6, 7];

export interface PacketLimits {
  /** Bytes of a whole packet. */
  readonly size: number;
  /** Of packets, and of WebSocket frames; absent = any number. */
  readonly rate?: TokenBucketPolicy | undefined;
}

export class PacketGuard {
  readonly #limits: PacketLimits;
  #packets: TokenBucket | undefined;
  /** Apart from the packets, as a broker may send each packet in a frame of its own. */
  #frames: TokenBucket | undefined;
  /** Bytes of the present packet's body still to come. */
  #body = 0;
  #length = 0;
  /** Bytes of the length field read so far; -1 = the next byte starts a packet. */
  #lengthBytes = -1;

  constructor(limits: PacketLimits) {
    this.#limits = limits;
  }

  /** Why the connection must end with this chunk; undefined = it may go on. `now`: monotonic milliseconds. */
  feed(chunk: Uint8Array, now: number): SessionEnd | undefined {
    let at = 0;
    let starts = false;
    while (at < chunk.length) {
      if (this.#body > 0) {
        const skipped = Math.min(this.#body, chunk.length - at);
        this.#body -= skipped;
        at += skipped;
        continue;
      }
      const byte = chunk[at] ?? 0;
      starts ||= this.#lengthBytes < 0;
      const fault = this.#lengthBytes < 0 ? this.#start(byte, now) : this.#lengthByte(byte);
      if (fault !== undefined) return fault;
      at += 1;
    }
    return starts || chunk.length >= TINY_CHUNK ? undefined : this.#piece(now, "pieces of packets");
  }

  /** The same for so many WebSocket frames, which may have no byte for `feed`. */
  frames(count: number, now: number): SessionEnd | undefined {
    const { rate } = this.#limits;
    if (rate === undefined) return undefined;
    for (let frame = 0; frame < count; frame += 1) {
      this.#frames = takeToken(this.#frames, now, rate);
      if (this.#frames === undefined) return tooMany("WebSocket frames", rate);
    }
    return undefined;
  }

  /** The first byte of a packet: its type and flags. */
  #start(byte: number, now: number): SessionEnd | undefined {
    this.#lengthBytes = 0;
    this.#length = 0;
    const type = byte >> 4;
    // Nothing is subscribed with QoS 2: the library would keep each such message until its PUBREL.
    if (OF_QOS_2.includes(type) || (type === PUBLISH && (byte & 0b100) !== 0))
      return fault(QOS_NOT_SUPPORTED, "the broker sent a packet of QoS 2");
    return this.#piece(now, "packets");
  }

  #piece(now: number, what: string): SessionEnd | undefined {
    const { rate } = this.#limits;
    if (rate === undefined) return undefined;
    this.#packets = takeToken(this.#packets, now, rate);
    return this.#packets === undefined ? tooMany(what, rate) : undefined;
  }

  #lengthByte(byte: number): SessionEnd | undefined {
    this.#length += (byte & 0x7f) * 128 ** this.#lengthBytes;
    this.#lengthBytes += 1;
    const more = byte >= 0x80;
    if (more && this.#lengthBytes < MAX_LENGTH_BYTES) return undefined;
    const size = 1 + this.#lengthBytes + this.#length;
    if (more || size > this.#limits.size)
      return fault(PACKET_TOO_LARGE, `a packet of ${size} bytes is over ${this.#limits.size}`);
    this.#body = this.#length;
    this.#lengthBytes = -1;
    return undefined;
  }
}

function tooMany(what: string, { burst, perSecond }: TokenBucketPolicy): SessionEnd {
  const most = `${burst} ${what} at once and ${perSecond} a second`;
  return fault(MESSAGE_RATE_TOO_HIGH, `the broker sent more than ${most}`);
}

function fault(code: number, message: string): SessionEnd {
  return { by: "us", code, message };
}
