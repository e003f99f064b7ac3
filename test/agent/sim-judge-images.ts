// Judges removals of images: only what the agent brought and nothing needs goes, the least recently used first, and not
// before every source has synced.

import { IMAGE } from "./pod-world.ts";
import { OLD } from "./sim-images.ts";
import type { Ledger } from "./sim-ledger.ts";
import { LATER } from "./sim-specs.ts";
import type { SimWorld } from "./sim-world.ts";

export class ImageJudge {
  readonly #ledger: Ledger;
  /** Names that the agent has brought, as far as its database knows. */
  #own: ReadonlySet<string> = new Set();

  constructor(ledger: Ledger) {
    this.#ledger = ledger;
  }

  onBrought(names: Iterable<string>): void {
    this.#own = new Set([...this.#own, ...names]);
  }

  onLostDatabase(): void {
    this.#own = new Set();
  }

  onPull(name: string): void {
    if (!this.#ledger.runtime.images.has(name)) this.onBrought([name]);
  }

  onRemove(id: string): void {
    const { runtime, agent } = this.#ledger;
    const image = [...runtime.images.values()].find((one) => one.id === id);
    if (image === undefined || agent === undefined) return;
    const { name } = image;
    this.#ledger.say(`  removes ${name}`);
    if (!this.#own.has(name)) this.#ledger.accuse(`${name} is removed, which others brought`);
    const container = [...runtime.containers.values()].find(({ imageId }) => imageId === id);
    if (container !== undefined) {
      this.#ledger.accuse(`${name} is removed although ${container.id} is made of it`);
      return;
    }
    if (this.#isNeeded(name)) this.#ledger.accuse(`${name} is removed although a pod needs it`);
    if (!this.#haveSynced()) this.#ledger.accuse(`${name} is removed before the sources are ready`);
    const older = OLD.slice(OLD.indexOf(name) + 1).find((one) => this.isLeft(one));
    if (OLD.includes(name) && older !== undefined && !this.#hasRefused())
      this.#ledger.accuse(`${name} is removed before ${older}, which was used less recently`);
  }

  /** Whether it is on the node, and the agent's. */
  isLeft(name: string): boolean {
    return this.#own.has(name) && this.#ledger.runtime.images.has(name);
  }

  /** What nothing needs and the agent may remove, if nothing was in its way so far. */
  removable(): string | undefined {
    const wasAway = this.#ledger.history.some((line) => line.includes(" Daemon "));
    if (wasAway || this.#hasRefused() || !this.#haveSynced()) return undefined;
    return OLD.find((name) => this.isLeft(name));
  }

  #hasRefused(): boolean {
    return this.#ledger.history.some((line) => line.includes('"removeImage"'));
  }

  /** By what is desired now, by an accepted document, or by a rollback. */
  #isNeeded(name: string): boolean {
    const { agent } = this.#ledger;
    if (agent === undefined) return false;
    const source = "mqtt:node";
    const wanted = agent.desired.pods.some(
      ({ uid }) => this.#ledger.spec(uid)?.containers.some(({ image }) => image === name) === true,
    );
    const rollouts = agent.store.rollouts;
    const good = [...rollouts.of(source).keys()].some((pod) => {
      const found = rollouts.copy({ source, name: pod });
      return found.type === "Found" && found.copy.pod.includes(`"${name}"`);
    });
    return wanted || good || agent.documentText().includes(`"${name}"`);
  }

  #haveSynced(): boolean {
    const { agent } = this.#ledger;
    const ready = agent?.desired.ready;
    const hasDocument = agent?.store.documents.get("mqtt:node") !== undefined;
    return ready?.has("file") === true && (!hasDocument || ready.has("mqtt:node"));
  }
}

/** After every trouble the disk is not full while anything is left that may go. Then there is room again. */
export function wrongImages(world: SimWorld): string | undefined {
  const { imageDisk } = world.machine;
  const { capacityBytes, availableBytes } = imageDisk.space();
  const isFull = capacityBytes - availableBytes >= 0.86 * capacityBytes;
  const left = OLD.find((name) => world.judge.images.isLeft(name));
  imageDisk.fill(0);
  for (const name of [IMAGE, LATER]) world.machine.runtime.addImage(name);
  if (!isFull || left === undefined) return undefined;
  return `the disk of images is full, and ${left} is left`;
}
