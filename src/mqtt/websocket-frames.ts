// Follows the framing of WebSocket bytes from a broker, behind the HTTP response that opens the connection. An empty
// fragment causes no event of the library: only its header shows it. RFC 6455, 5.2

const LENGTH_OF_16_BITS = 126;
const LENGTH_OF_64_BITS = 127;
const MASK_BYTES = 4;
const [CR, LF] = [0x0d, 0x0a];
/** Of "HTTP/1.1": no frame begins so, but several responses may come. */
const HTTP = 0x48;

export class FrameCounter {
  /** undefined = behind the response; else whether the line so far is empty. */
  #line: { isEmpty: boolean } | undefined = { isEmpty: false };
  /** Of the present frame, as far as it has come. */
  #header: number[] = [];
  /** Bytes of its payload still to come. */
  #payload = 0;

  /** How many frames begin in these bytes. */
  count(chunk: Uint8Array): number {
    let frames = 0;
    let at = 0;
    while (at < chunk.length) {
      if (this.#payload > 0) {
        const skipped = Math.min(this.#payload, chunk.length - at);
        this.#payload -= skipped;
        at += skipped;
        continue;
      }
      const byte = chunk[at] ?? 0;
      at += 1;
      if (this.#isOfResponse(byte)) continue;
      if (this.#header.length === 0) frames += 1;
      this.#headerByte(byte);
    }
    return frames;
  }

  #isOfResponse(byte: number): boolean {
    if (this.#line === undefined) {
      if (this.#header.length > 0 || byte !== HTTP) return false;
      this.#line = { isEmpty: false };
    } else if (byte === LF && this.#line.isEmpty) this.#line = undefined;
    else if (byte === LF) this.#line.isEmpty = true;
    else if (byte !== CR) this.#line.isEmpty = false;
    return true;
  }

  #headerByte(byte: number): void {
    this.#header.push(byte);
    if (this.#header.length < headerSize(this.#header)) return;
    this.#payload = payloadSize(this.#header);
    this.#header = [];
  }
}

/** Bytes; of a header that has come in part, at least one more than these. */
function headerSize([, second]: readonly number[]): number {
  if (second === undefined) return 2;
  return 2 + lengthBytes(second) + ((second & 0x80) === 0 ? 0 : MASK_BYTES);
}

function lengthBytes(second: number): number {
  const length = second & 0x7f;
  if (length === LENGTH_OF_64_BITS) return 8;
  return length === LENGTH_OF_16_BITS ? 2 : 0;
}

function payloadSize([, second = 0, ...more]: readonly number[]): number {
  const extended = more.slice(0, lengthBytes(second));
  if (extended.length === 0) return second & 0x7f;
  return extended.reduce((length, byte) => length * 256 + byte, 0);
}
