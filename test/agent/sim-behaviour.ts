// How the programs in the containers of a simulated world behave: while the world is hostile, and in calm.

import type { FakeContainer, Program } from "../fakes/fake-cri-world.ts";
import type { Mulberry32 } from "../fakes/mulberry32.ts";
import { runsAgain } from "./sim-kubernetes.ts";
import { uidOf, type Ledger } from "./sim-ledger.ts";
import type { SimName } from "./sim-specs.ts";

export class Behaviour {
  readonly #dice: Mulberry32;
  readonly #ledger: () => Ledger;
  readonly #sick = new Set<SimName>();
  #hostile = true;

  constructor(dice: Mulberry32, ledger: () => Ledger) {
    this.#dice = dice;
    this.#ledger = ledger;
  }

  /** Everybody is well, nobody crashes any more. */
  calm(): void {
    this.#hostile = false;
    this.#sick.clear();
  }

  setHealth(name: SimName, healthy: boolean): void {
    if (healthy) this.#sick.delete(name);
    else this.#sick.add(name);
  }

  /** What a new container will do. */
  program(container: FakeContainer): Program {
    const spec = this.#ledger().spec(uidOf(container));
    const own = this.#ledger().own(container);
    if (this.#ledger().isForeign(container) || spec === undefined || own === undefined) return {};
    const { program } = own;
    if (!this.#hostile) {
      const { stopsAfterMs = 0, exitsAfterMs } = program;
      // A probe may fail of one that has just ended well, and then it runs once more: that would never end.
      const isProbed = own.probes.some(({ type }) => type !== "readiness");
      const ends = exitsAfterMs !== undefined && !isProbed && !runsAgain(spec, own, 0);
      return ends ? { stopsAfterMs, exitsAfterMs: 1_000, exitCode: 0 } : { stopsAfterMs };
    }
    const isBad = spec.startErrors > 0 && this.#dice.chance(spec.startErrors);
    return isBad ? { ...program, startError: "exec: no such file" } : program;
  }

  /** Whether it answers its probes and hooks well. */
  isWell(container: FakeContainer): boolean {
    const name = this.#ledger().spec(uidOf(container))?.name;
    return name === undefined || !this.#sick.has(name);
  }
}
