// Follows the framing of an MQTT byte stream: a packet over the limit is detected by its length field, before its body.

/** Largest packet in bytes that is accepted from a broker. */
export const MAXIMUM_PACKET_SIZE = 256 * 1024;
/** Bytes of a length field; a fifth one is malformed. */
const MAX_LENGTH_BYTES = 4;

export class PacketSizeGuard {
  readonly #limit: number;
  /** Bytes of the present packet's body still to come. */
  #body = 0;
  #length = 0;
  /** Bytes of the length field read so far; -1 = the next byte starts a packet. */
  #lengthBytes = -1;

  /** `limit` = bytes of a whole packet. */
  constructor(limit: number) {
    this.#limit = limit;
  }

  /** Bytes of the first packet over the limit whose length field ends in this chunk; undefined = none. */
  feed(chunk: Uint8Array): number | undefined {
    let at = 0;
    while (at < chunk.length) {
      if (this.#body > 0) {
        const skipped = Math.min(this.#body, chunk.length - at);
        this.#body -= skipped;
        at += skipped;
        continue;
      }
      const size = this.#header(chunk[at] ?? 0);
      if (size !== undefined) return size;
      at += 1;
    }
    return undefined;
  }

  #header(byte: number): number | undefined {
    if (this.#lengthBytes < 0) {
      this.#lengthBytes = 0;
      this.#length = 0;
      return undefined;
    }
    this.#length += (byte & 0x7f) * 128 ** this.#lengthBytes;
    this.#lengthBytes += 1;
    const more = byte >= 0x80;
    if (more && this.#lengthBytes < MAX_LENGTH_BYTES) return undefined;
    const size = 1 + this.#lengthBytes + this.#length;
    if (more || size > this.#limit) return size;
    this.#body = this.#length;
    this.#lengthBytes = -1;
    return undefined;
  }
}
