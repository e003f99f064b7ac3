// Performs: counts the streams that are open, so that neither one user nor all together can exhaust the memory.

/** A port-forward of a hundred connections has one. */
export const MAX_OF_USER = 128;
const MAX_OF_ALL = 256;

export class StreamPlaces {
  readonly #held = new Map<string, number>();
  #all = 0;

  /** Dispose it when the stream ends; a text = the refusal. */
  take(user: string): Disposable | string {
    const own = this.#held.get(user) ?? 0;
    if (own >= MAX_OF_USER)
      return `user ${JSON.stringify(user)} has ${own} exec, attach and port-forward connections open, and may have no more: close some of them`;
    if (this.#all >= MAX_OF_ALL)
      return `${this.#all} exec, attach and port-forward connections are open, and this node serves no more: try again later`;
    this.#count(user, 1);
    let isHeld = true;
    return {
      [Symbol.dispose]: (): void => {
        if (isHeld) this.#count(user, -1);
        isHeld = false;
      },
    };
  }

  #count(user: string, by: 1 | -1): void {
    this.#all += by;
    const own = (this.#held.get(user) ?? 0) + by;
    if (own === 0) this.#held.delete(user);
    else this.#held.set(user, own);
  }
}
