// The moment that the wall clock cannot be earlier than (MQTT.md §7); in memory only.

/** Wall ms. */
export class ClockFloor {
  #at: number;

  constructor(at: number) {
    this.#at = at;
  }

  get at(): number {
    return this.#at;
  }

  /** It is that late at least; true = that was news. */
  raise(at: number): boolean {
    if (at <= this.#at) return false;
    this.#at = at;
    return true;
  }
}
