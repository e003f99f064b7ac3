// Performs: one call for callers that request the same at the same time. Results are shared, never cached.

interface SharedCall<T> {
  readonly answer: Promise<T>;
  readonly controller: AbortController;
  waiters: number;
}

export class SharedCalls<T> {
  readonly #calls = new Map<string, SharedCall<T>>();

  /**
   * Joins the running call of this key, else starts one. A waiter that aborts is rejected with its signal's reason; the
   * call itself is aborted when the last waiter has left.
   */
  async run(
    key: string,
    signal: AbortSignal,
    start: (signal: AbortSignal) => Promise<T>,
  ): Promise<T> {
    signal.throwIfAborted();
    const call = this.#calls.get(key) ?? this.#start(key, start);
    const left = Promise.withResolvers<never>();
    const leave = (): void => left.reject(signal.reason);
    signal.addEventListener("abort", leave, { once: true });
    call.waiters += 1;
    try {
      return await Promise.race([call.answer, left.promise]);
    } finally {
      signal.removeEventListener("abort", leave);
      call.waiters -= 1;
      if (call.waiters === 0) {
        this.#forget(key, call);
        call.controller.abort();
      }
    }
  }

  #start(key: string, start: (signal: AbortSignal) => Promise<T>): SharedCall<T> {
    const controller = new AbortController();
    const answer = start(controller.signal);
    const call: SharedCall<T> = { answer, controller, waiters: 0 };
    this.#calls.set(key, call);
    const forget = (): void => this.#forget(key, call);
    // Forgotten before any waiter gets the result, so that a later call starts again.
    void answer.then(forget, forget);
    return call;
  }

  #forget(key: string, call: SharedCall<T>): void {
    if (this.#calls.get(key) === call) this.#calls.delete(key);
  }
}
