// A socket of the host that somebody listens on.

export class UnixServer implements Disposable {
  readonly #server: ReturnType<typeof Bun.listen>;

  constructor(path: string) {
    this.#server = Bun.listen({ unix: path, socket: { data: () => undefined } });
  }

  [Symbol.dispose](): void {
    this.#server.stop(true);
  }
}
