// Writes to a socket whatever fits, the rest when it drains.

export class SocketWriter {
  readonly #socket: Bun.Socket<undefined>;
  #unsent: Buffer = Buffer.alloc(0);

  constructor(socket: Bun.Socket<undefined>) {
    this.#socket = socket;
  }

  write(bytes: Buffer): void {
    this.#unsent = Buffer.concat([this.#unsent, bytes]);
    this.drain();
  }

  drain(): void {
    if (this.#unsent.length === 0) return;
    const sent = this.#socket.write(this.#unsent);
    if (sent > 0) this.#unsent = this.#unsent.subarray(sent);
  }
}
