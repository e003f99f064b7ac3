// The host's end of the guest's control port: a script goes in, its exit code and outputs come back (image/control.sh).

import { Buffer } from "node:buffer";

import { eventually } from "../harness/eventually.ts";
import type { CommandResult } from "../harness/run-command.ts";
import { SocketWriter } from "./socket-writer.ts";

/** The guest is gone: switched off, or its power was cut. */
export class GuestGone extends Error {}

interface Waiting {
  readonly resolve: (result: CommandResult) => void;
  readonly reject: (error: Error) => void;
}

interface Head {
  readonly id: number;
  readonly code: number;
  readonly out: number;
  readonly err: number;
}

/** One script runs at a time; further ones wait for it. */
export class ControlPort {
  readonly #waiting = new Map<number, Waiting>();
  #socket: Bun.Socket<undefined> | undefined;
  #writer: SocketWriter | undefined;
  #received: Buffer = Buffer.alloc(0);
  #turn: Promise<unknown> = Promise.resolve();
  #id = 0;

  /** The emulator makes the socket; the guest reads it when it has booted. */
  async connect(path: string): Promise<void> {
    const look = async (): Promise<Bun.Socket<undefined>> =>
      Bun.connect<undefined>({
        unix: path,
        socket: {
          data: (_socket, data) => this.#receive(data),
          drain: () => this.#writer?.drain(),
          close: () => this.#end(),
          error: () => this.#end(),
        },
      });
    this.#socket = await eventually("the emulator opens the control port", look, {
      timeout: 60_000,
    });
    this.#writer = new SocketWriter(this.#socket);
  }

  /** `seconds`: the guest ends the script then, with code 124. A code is not an error. */
  async exec(script: string, seconds: number): Promise<CommandResult> {
    const mine = this.#turn.then(async () => this.#ask(script, seconds));
    this.#turn = mine.catch(() => undefined); // Whoever asked hears of it; the next one only waits.
    return mine;
  }

  close(): void {
    this.#socket?.end();
    this.#end();
  }

  async #ask(script: string, seconds: number): Promise<CommandResult> {
    if (this.#writer === undefined) throw new GuestGone("the guest is not running");
    this.#id += 1;
    const id = this.#id;
    const answered = new Promise<CommandResult>((resolve, reject) => {
      this.#waiting.set(id, { resolve, reject });
    });
    const body = Buffer.from(script);
    this.#writer.write(Buffer.concat([Buffer.from(`${id} ${seconds} ${body.length}\n`), body]));
    return answered;
  }

  #receive(data: Buffer): void {
    this.#received = Buffer.concat([this.#received, data]);
    for (;;) {
      const end = this.#received.indexOf("\n");
      if (end < 0) return;
      const head = readHead(this.#received.toString("utf8", 0, end));
      if (head === undefined) {
        this.#received = this.#received.subarray(end + 1);
        continue;
      }
      const start = end + 1;
      const whole = start + head.out + head.err;
      if (this.#received.length < whole) return;
      const stdout = this.#received.toString("utf8", start, start + head.out);
      const stderr = this.#received.toString("utf8", start + head.out, whole);
      this.#received = this.#received.subarray(whole);
      this.#waiting.get(head.id)?.resolve({ code: head.code, stdout, stderr });
      this.#waiting.delete(head.id);
    }
  }

  #end(): void {
    this.#socket = undefined;
    this.#writer = undefined;
    for (const { reject } of this.#waiting.values()) reject(new GuestGone("the guest has gone"));
    this.#waiting.clear();
  }
}

function readHead(line: string): Head | undefined {
  const found = /^answer (\d+) (\d+) (\d+) (\d+)$/.exec(line);
  if (found === null) return undefined;
  const [id = 0, code = 0, out = 0, err = 0] = found.slice(1).map(Number);
  return { id, code, out, err };
}
