// A disk with a volatile cache, as flash cards and SSDs have one: what was written and not flushed is lost when the power
// goes, in any order, block by block. The emulator reaches it by the protocol of network block devices on a unix socket.

import { closeSync, fstatSync, openSync, rmSync, readSync, writeSync } from "node:fs";

import type { Mulberry32 } from "../fakes/mulberry32.ts";
import { SocketWriter } from "./socket-writer.ts";

const BLOCK = 4096;
const REQUEST_MAGIC = 0x25609513;
const REPLY_MAGIC = 0x67446698;
const OPTION_MAGIC = Buffer.from("IHAVEOPT");
const OPTION_REPLY_MAGIC = 0x3e889045565a9n;
const REQUEST_BYTES = 28;
const OPTION_BYTES = 16;
/** Knows flags, flush, force-unit-access, write-zeroes. */
const TRANSMISSION_FLAGS = 1 | 4 | 8 | 64;
const FORCE_UNIT_ACCESS = 1;
const OPTION_GO = 7;
const OPTION_INFO = 6;
const OPTION_ABORT = 2;
const REPLY_ACK = 1;
const REPLY_INFO = 3;
const REPLY_UNSUPPORTED = 0x80000001;

type Phase = "flags" | "options" | "requests";

/** What became of the blocks that were in the cache when the power went. */
export interface Lost {
  readonly lost: number;
  readonly kept: number;
}

export class LossyDisk {
  readonly #file: number;
  readonly #size: number;
  readonly #random: Mulberry32;
  /** Block number to the bytes that the file does not have yet. */
  readonly #cache = new Map<number, Buffer>();
  #server: Bun.UnixSocketListener<undefined> | undefined;
  #phase: Phase = "flags";
  #received: Buffer = Buffer.alloc(0);
  #writer: SocketWriter | undefined;
  #death: { flushes: number; readonly resolve: () => void } | undefined;
  #isDead = false;

  /** `path`: a raw image. */
  constructor(path: string, random: Mulberry32) {
    this.#file = openSync(path, "r+");
    this.#size = fstatSync(this.#file).size;
    this.#random = random;
  }

  /** One client at a time: the emulator of this start. */
  listen(socket: string): void {
    this.#server?.stop(true);
    rmSync(socket, { force: true });
    this.#server = Bun.listen({
      unix: socket,
      socket: {
        open: (client) => {
          this.#phase = "flags";
          this.#received = Buffer.alloc(0);
          this.#writer = new SocketWriter(client);
          const greeting = Buffer.concat([Buffer.from("NBDMAGIC"), OPTION_MAGIC, u16(3)]);
          this.#writer.write(greeting);
        },
        data: (_client, data) => this.#receive(data),
        drain: () => this.#writer?.drain(),
        error: () => undefined, // The emulator was killed.
      },
    });
  }

  /** The power goes when the guest asks for its `flushes`-th flush from now: that one is not done. Resolves at that moment. */
  async dieAtFlush(flushes: number): Promise<void> {
    return new Promise((resolve) => {
      this.#death = { flushes, resolve };
    });
  }

  /** Each block of the cache is lost or kept by chance. The client has to be gone. */
  cutPower(): Lost {
    this.#isDead = false;
    this.#death = undefined;
    let lost = 0;
    let kept = 0;
    for (const [block, bytes] of this.#cache) {
      if (this.#random.chance(0.5)) lost += 1;
      else {
        kept += 1;
        writeSync(this.#file, bytes, 0, BLOCK, block * BLOCK);
      }
    }
    this.#cache.clear();
    return { lost, kept };
  }

  /** As an orderly end does. */
  flush(): void {
    for (const [block, bytes] of this.#cache) writeSync(this.#file, bytes, 0, BLOCK, block * BLOCK);
    this.#cache.clear();
  }

  close(): void {
    this.#server?.stop(true);
    closeSync(this.#file);
  }

  #receive(data: Buffer): void {
    this.#received = Buffer.concat([this.#received, data]);
    while (this.#step());
  }

  /** Takes one whole message from what was received; false when there is none. */
  #step(): boolean {
    switch (this.#phase) {
      case "flags":
        if (this.#take(4) === undefined) return false;
        this.#phase = "options";
        return true;
      case "options":
        return this.#option();
      case "requests":
        return this.#request();
    }
  }

  #option(): boolean {
    if (this.#received.length < OPTION_BYTES) return false;
    const option = this.#received.readUInt32BE(8);
    const length = this.#received.readUInt32BE(12);
    if (this.#take(OPTION_BYTES + length) === undefined) return false;
    if (option === OPTION_GO || option === OPTION_INFO) {
      const about = Buffer.concat([u16(0), u64(BigInt(this.#size)), u16(TRANSMISSION_FLAGS)]);
      this.#reply(option, REPLY_INFO, about);
      this.#reply(
        option,
        REPLY_INFO,
        Buffer.concat([u16(3), u32(BLOCK), u32(BLOCK), u32(1 << 25)]),
      );
      this.#reply(option, REPLY_ACK);
      if (option === OPTION_GO) this.#phase = "requests";
    } else this.#reply(option, option === OPTION_ABORT ? REPLY_ACK : REPLY_UNSUPPORTED);
    return true;
  }

  #reply(option: number, type: number, data: Buffer = Buffer.alloc(0)): void {
    const head = [u64(OPTION_REPLY_MAGIC), u32(option), u32(type), u32(data.length)];
    this.#writer?.write(Buffer.concat([...head, data]));
  }

  #request(): boolean {
    if (this.#received.length < REQUEST_BYTES) return false;
    const head = this.#received.subarray(0, REQUEST_BYTES);
    if (head.readUInt32BE(0) !== REQUEST_MAGIC) throw new Error("the emulator sent no request");
    const flags = head.readUInt16BE(4);
    const type = head.readUInt16BE(6);
    const handle = Buffer.from(head.subarray(8, 16));
    const offset = Number(head.readBigUInt64BE(16));
    const length = head.readUInt32BE(24);
    const isWrite = type === 1;
    const message = this.#take(REQUEST_BYTES + (isWrite ? length : 0));
    if (message === undefined) return false;
    if (type === 3 || (flags & FORCE_UNIT_ACCESS) !== 0) this.#countFlush();
    // Without power nothing is written any more, and nothing is answered.
    if (this.#isDead) return true;
    const answer = this.#perform({ type, offset, length, data: message.subarray(REQUEST_BYTES) });
    if ((flags & FORCE_UNIT_ACCESS) !== 0) this.#flushRange(offset, length);
    if (type !== 2) this.#writer?.write(Buffer.concat([u32(REPLY_MAGIC), u32(0), handle, answer]));
    return true;
  }

  #countFlush(): void {
    if (this.#death === undefined) return;
    this.#death.flushes -= 1;
    if (this.#death.flushes > 0) return;
    this.#isDead = true;
    this.#death.resolve();
    this.#death = undefined;
  }

  /** Read, write, flush, write zeroes; anything else succeeds and does nothing. */
  #perform(request: {
    readonly type: number;
    readonly offset: number;
    readonly length: number;
    readonly data: Buffer;
  }): Buffer {
    const { type, offset, length, data } = request;
    if (type === 0) return this.#read(offset, length);
    if (type === 1) this.#write(offset, data);
    if (type === 3) this.flush();
    if (type === 6) this.#write(offset, Buffer.alloc(length));
    return Buffer.alloc(0);
  }

  #read(offset: number, length: number): Buffer {
    const bytes = Buffer.alloc(length);
    readSync(this.#file, bytes, 0, length, offset);
    for (let at = 0; at < length; at += BLOCK)
      this.#cache.get((offset + at) / BLOCK)?.copy(bytes, at);
    return bytes;
  }

  /** Requests are whole blocks, because the emulator was told that block size. */
  #write(offset: number, data: Buffer): void {
    for (let at = 0; at < data.length; at += BLOCK)
      this.#cache.set((offset + at) / BLOCK, Buffer.from(data.subarray(at, at + BLOCK)));
  }

  #flushRange(offset: number, length: number): void {
    for (let at = 0; at < length; at += BLOCK) {
      const block = (offset + at) / BLOCK;
      const bytes = this.#cache.get(block);
      if (bytes === undefined) continue;
      writeSync(this.#file, bytes, 0, BLOCK, block * BLOCK);
      this.#cache.delete(block);
    }
  }

  #take(length: number): Buffer | undefined {
    if (this.#received.length < length) return undefined;
    const taken = this.#received.subarray(0, length);
    this.#received = this.#received.subarray(length);
    return taken;
  }
}

function u16(value: number): Buffer {
  const bytes = Buffer.alloc(2);
  bytes.writeUInt16BE(value);
  return bytes;
}

function u32(value: number): Buffer {
  const bytes = Buffer.alloc(4);
  bytes.writeUInt32BE(value);
  return bytes;
}

function u64(value: bigint): Buffer {
  const bytes = Buffer.alloc(8);
  bytes.writeBigUInt64BE(value);
  return bytes;
}
