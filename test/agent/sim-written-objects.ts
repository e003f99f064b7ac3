// What the author of a simulated machine's files knows of the objects in them.

import type { ObjectName, SimContent } from "./sim-objects.ts";
import type { FileName } from "./sim-specs.ts";

type Placed = readonly (readonly [ObjectName, SimContent])[];

export class WrittenObjects {
  readonly #homes: Map<ObjectName, FileName>;
  readonly #contents = new Map<ObjectName, SimContent>();
  /** What the agent has taken it for, nobody can say for sure. */
  readonly #doubtful = new Set<ObjectName>();
  /** In a file that is empty by mistake, or broken before anybody has read them there. */
  readonly #emptied = new Set<ObjectName>();
  /** Written with a fault. */
  readonly #spoiled = new Set<ObjectName>();
  /** Once immutable: other content counts only if the agent has seen it gone in between. */
  readonly #frozen = new Set<ObjectName>();

  /** `homes`: the file in which each object stands at first. */
  constructor(homes: ReadonlyMap<ObjectName, FileName>) {
    this.#homes = new Map(homes);
  }

  get contents(): ReadonlyMap<ObjectName, SimContent> {
    return this.#contents;
  }

  get emptied(): ReadonlySet<ObjectName> {
    return this.#emptied;
  }

  get spoiled(): ReadonlySet<ObjectName> {
    return this.#spoiled;
  }

  homeOf(name: ObjectName): FileName {
    return this.#homes.get(name) ?? "objects";
  }

  in(file: FileName): Placed {
    return [...this.#contents].filter(([name]) => this.homeOf(name) === file);
  }

  move(name: ObjectName, to: FileName): void {
    this.#homes.set(name, to);
  }

  set(name: ObjectName, content: SimContent): void {
    const before = this.#contents.get(name);
    this.#contents.set(name, content);
    this.#spoiled.delete(name);
    if (this.#frozen.has(name) && before?.data !== content.data) this.#doubtful.add(name);
    if (content.immutable) this.#frozen.add(name);
  }

  delete(name: ObjectName): void {
    this.#contents.delete(name);
    for (const all of [this.#spoiled, this.#doubtful, this.#emptied]) all.delete(name);
  }

  spoil(name: ObjectName): void {
    this.#spoiled.add(name);
  }

  /** Its file says nothing of it any more. */
  empty(name: ObjectName): void {
    this.#emptied.add(name);
  }

  /** The file was written as a whole, in order. */
  mend(file: FileName): void {
    for (const [name] of this.in(file)) {
      this.#spoiled.delete(name);
      this.#emptied.delete(name);
      if (!this.#frozen.has(name)) this.#doubtful.delete(name);
    }
  }

  /** Nobody remembers what was good before these, or what has a fault, were written. */
  doubt(isBroken: (file: FileName) => boolean): void {
    for (const name of this.#contents.keys())
      if (this.#spoiled.has(name) || isBroken(this.homeOf(name))) this.#doubtful.add(name);
  }

  /** What has to go and come again before it is sure to count; it is not immutable any more. */
  takeDoubtful(): Placed {
    const names = new Set([...this.#doubtful, ...this.#frozen]);
    for (const all of [this.#doubtful, this.#frozen, this.#emptied]) all.clear();
    return [...this.#contents]
      .filter(([name]) => names.has(name))
      .map(([name, content]) => [name, { ...content, immutable: false }] as const);
  }
}
