// Frames of SPDY/3.1 as a client writes and reads them. SPDY Protocol, draft 3.1
//
// Header blocks are one zlib stream. Ours has stored blocks only, which need neither a compressor nor its memory and
// which every reader accepts. Those of the peer are never opened: nothing in them matters to a client.

export const FRAME = {
  synStream: 1,
  synReply: 2,
  rstStream: 3,
  settings: 4,
  ping: 6,
  goAway: 7,
  headers: 8,
  windowUpdate: 9,
} as const;

const FLAG_FIN = 1;
const CONTROL = 0x80;
const VERSION = 3;
const HEADER_BYTES = 8;
/** RST_STREAM: the stream is no longer wanted. */
export const CANCEL = 5;
/** Control frames that a peer sends are small; of data frames nothing is kept. */
const MAX_CONTROL = 16 * 1024;
/** Compressed, without a dictionary. */
const ZLIB_HEADER = [0x78, 0x01];

/** `isFirst`: of this connection. */
export function synStream(
  stream: number,
  headers: Readonly<Record<string, string>>,
  isFirst: boolean,
): Uint8Array {
  const block = storedBlock(headerPairs(headers), isFirst);
  const payload = new Uint8Array(10 + block.length);
  new DataView(payload.buffer).setUint32(0, stream);
  payload.set(block, 10);
  return control(FRAME.synStream, payload);
}

export function rstStream(stream: number, status: number): Uint8Array {
  const payload = new Uint8Array(8);
  new DataView(payload.buffer).setUint32(0, stream);
  new DataView(payload.buffer).setUint32(4, status);
  return control(FRAME.rstStream, payload);
}

/** The answer to a ping is the same frame. */
export function ping(payload: Uint8Array): Uint8Array {
  return control(FRAME.ping, payload);
}

/** `data` has at most 2²⁴ - 1 bytes. */
export function dataFrame(stream: number, data: Uint8Array, isLast: boolean): Uint8Array {
  const frame = Buffer.allocUnsafe(HEADER_BYTES + data.length);
  frame.writeUInt32BE(stream, 0);
  frame.writeUInt32BE(((isLast ? FLAG_FIN : 0) << 24) | data.length, 4);
  frame.set(data, HEADER_BYTES);
  return frame;
}

function control(type: number, payload: Uint8Array): Uint8Array {
  const frame = new Uint8Array(HEADER_BYTES + payload.length);
  const view = new DataView(frame.buffer);
  view.setUint16(0, (CONTROL << 8) | VERSION);
  view.setUint16(2, type);
  view.setUint32(4, payload.length);
  frame.set(payload, HEADER_BYTES);
  return frame;
}

/** Names in lower case. */
function headerPairs(headers: Readonly<Record<string, string>>): Uint8Array {
  const encoder = new TextEncoder();
  const texts = Object.entries(headers)
    .flatMap(([name, value]) => [name.toLowerCase(), value])
    .map((text) => encoder.encode(text));
  const bytes = new Uint8Array(texts.reduce((sum, text) => sum + 4 + text.length, 4));
  const view = new DataView(bytes.buffer);
  view.setUint32(0, texts.length / 2);
  let at = 4;
  for (const text of texts) {
    view.setUint32(at, text.length);
    bytes.set(text, at + 4);
    at += 4 + text.length;
  }
  return bytes;
}

/** An empty block, with which compressors flush: readers hand out what is before it. */
const FLUSH = [0, 0, 0, 0xff, 0xff];

/** RFC 1951, 3.2.4. One block has at most 65535 bytes, and our headers are far from that. */
function storedBlock(content: Uint8Array, isFirst: boolean): Uint8Array {
  const { length } = content;
  const head = [0, length & 0xff, length >> 8, ~length & 0xff, (~length >> 8) & 0xff];
  return new Uint8Array([...(isFirst ? ZLIB_HEADER : []), ...head, ...content, ...FLUSH]);
}

/** `Data`: a view of the chunk, perhaps a part of a frame. `Fin`: the peer sends no more on the stream. */
export type FrameEvent =
  | { readonly type: "Data"; readonly stream: number; readonly data: Uint8Array }
  | { readonly type: "Fin"; readonly stream: number }
  | { readonly type: "Reply"; readonly stream: number }
  | { readonly type: "Opened"; readonly stream: number }
  | { readonly type: "Reset"; readonly stream: number; readonly status: number }
  | { readonly type: "Ping"; readonly payload: Uint8Array }
  | { readonly type: "GoAway" }
  /** It is no SPDY/3.1. Nothing follows. */
  | { readonly type: "Invalid"; readonly message: string };

/** Splits what arrives into events, in chunks of any size. */
export class FrameParser {
  readonly #held = new Uint8Array(HEADER_BYTES + MAX_CONTROL);
  /** Bytes of a header, or of a control frame with its header, that have arrived. */
  #length = 0;
  #data: { readonly stream: number; left: number; readonly isLast: boolean } | undefined;

  push(chunk: Uint8Array): readonly FrameEvent[] {
    const events: FrameEvent[] = [];
    let rest = chunk;
    while (rest.length > 0) {
      rest = this.#data === undefined ? this.#control(rest, events) : this.#content(rest, events);
      if (events.at(-1)?.type === "Invalid") break;
    }
    return events;
  }

  #content(bytes: Uint8Array, events: FrameEvent[]): Uint8Array {
    const frame = this.#data;
    if (frame === undefined) return bytes;
    const data = bytes.subarray(0, frame.left);
    frame.left -= data.length;
    if (data.length > 0) events.push({ type: "Data", stream: frame.stream, data });
    if (frame.left === 0) this.#end(frame, events);
    return bytes.subarray(data.length);
  }

  #end({ stream, isLast }: { stream: number; isLast: boolean }, events: FrameEvent[]): void {
    this.#data = undefined;
    if (isLast) events.push({ type: "Fin", stream });
  }

  #control(bytes: Uint8Array, events: FrameEvent[]): Uint8Array {
    const view = new DataView(this.#held.buffer);
    const wanted = this.#length < HEADER_BYTES ? HEADER_BYTES : HEADER_BYTES + sizeOf(view);
    const part = bytes.subarray(0, wanted - this.#length);
    this.#held.set(part, this.#length);
    this.#length += part.length;
    if (this.#length === HEADER_BYTES && wanted === HEADER_BYTES) this.#header(view, events);
    else if (this.#length === wanted) this.#whole(view, events);
    return bytes.subarray(part.length);
  }

  /** Of a data frame the content is handed on; a control frame is collected. */
  #header(view: DataView, events: FrameEvent[]): void {
    const size = sizeOf(view);
    if ((view.getUint8(0) & CONTROL) === 0) {
      const isLast = (view.getUint8(4) & FLAG_FIN) !== 0;
      const frame = { stream: view.getUint32(0), left: size, isLast };
      this.#length = 0;
      this.#data = frame;
      if (size === 0) this.#end(frame, events);
      return;
    }
    const version = view.getUint16(0) & 0x7fff;
    if (version !== VERSION)
      events.push({ type: "Invalid", message: `SPDY version ${version}, not ${VERSION}` });
    else if (size > MAX_CONTROL)
      events.push({ type: "Invalid", message: `a control frame of ${size} bytes` });
    else if (size === 0) this.#whole(view, events);
  }

  #whole(view: DataView, events: FrameEvent[]): void {
    const payload = this.#held.slice(HEADER_BYTES, this.#length);
    this.#length = 0;
    events.push(...controlEvents(view, payload));
  }
}

function sizeOf(view: DataView): number {
  return view.getUint32(4) & 0xff_ffff;
}

/** What a client needs not know has no event: SETTINGS, WINDOW_UPDATE, more headers. */
function controlEvents(view: DataView, payload: Uint8Array): readonly FrameEvent[] {
  const isLast = (view.getUint8(4) & FLAG_FIN) !== 0;
  const values = new DataView(payload.buffer, payload.byteOffset, payload.byteLength);
  const stream = payload.length < 4 ? 0 : values.getUint32(0) & 0x7fff_ffff;
  const fin: readonly FrameEvent[] = isLast ? [{ type: "Fin", stream }] : [];
  switch (view.getUint16(2)) {
    case FRAME.synStream:
      return [{ type: "Opened", stream }];
    case FRAME.synReply:
      return [{ type: "Reply", stream }, ...fin];
    case FRAME.headers:
      return fin;
    case FRAME.rstStream:
      return [{ type: "Reset", stream, status: payload.length < 8 ? 0 : values.getUint32(4) }];
    case FRAME.ping:
      return [{ type: "Ping", payload }];
    case FRAME.goAway:
      return [{ type: "GoAway" }];
  }
  return [];
}
