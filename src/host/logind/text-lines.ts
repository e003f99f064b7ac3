// Performs: reads the output of a program line by line; one that is too long is dropped.

const NEWLINE = "\n";

export class TextLines {
  readonly #reader: {
    read(): Promise<{ readonly done: boolean; readonly value?: Uint8Array | undefined }>;
  };
  readonly #decoder = new TextDecoder();
  readonly #maxBytes: number;
  readonly #ready: string[] = [];
  #rest = "";
  #turn: Promise<unknown> = Promise.resolve();

  constructor(stream: ReadableStream<Uint8Array>, maxBytes: number) {
    this.#reader = stream.getReader();
    this.#maxBytes = maxBytes;
  }

  /** undefined = the program has ended, or closed its output. */
  next(): Promise<string | undefined> {
    return this.#inTurn(async () => {
      await this.#fill();
      return this.#ready.shift();
    });
  }

  /** Resolves when `next` would. */
  peek(): Promise<void> {
    return this.#inTurn(() => this.#fill());
  }

  #inTurn<T>(work: () => Promise<T>): Promise<T> {
    const done = this.#turn.then(work);
    this.#turn = done.catch(() => undefined);
    return done;
  }

  async #fill(): Promise<void> {
    while (this.#ready.length === 0) {
      const { done, value } = await this.#reader.read();
      if (done || value === undefined) return;
      const lines = (this.#rest + this.#decoder.decode(value, { stream: true })).split(NEWLINE);
      this.#rest = lines.pop() ?? "";
      if (this.#rest.length > this.#maxBytes) this.#rest = "";
      this.#ready.push(...lines.filter((one) => one.length <= this.#maxBytes));
    }
  }
}
