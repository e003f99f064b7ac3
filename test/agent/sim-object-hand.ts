// The hand that edits ConfigMaps, Secrets and claims, in files and in documents.

import type { SimAuthor } from "./sim-author.ts";
import type { SimAuthority } from "./sim-authority.ts";
import type { ObjectName, SimContent } from "./sim-objects.ts";
import { requiredBy } from "./sim-rendering.ts";
import type { SimSpec } from "./sim-specs.ts";
import type { SimAct } from "./sim-steps.ts";
import type { ObjectTruth, Reader } from "./sim-truth.ts";

export type ObjectAct = Extract<
  SimAct,
  {
    readonly type: "EditObject" | "DropObject" | "MoveObject" | "SpoilObject" | "PublishObject";
  }
>;

export interface ObjectHandOptions {
  readonly author: SimAuthor;
  readonly authority: SimAuthority;
  readonly truth: ObjectTruth;
  /** The document says something else now. */
  readonly onPublished: () => void;
  /** What shall run, and whose word it is. */
  readonly wanted: () => readonly (readonly [SimSpec, Reader])[];
}

export class ObjectHand {
  readonly #options: ObjectHandOptions;

  constructor(options: ObjectHandOptions) {
    this.#options = options;
  }

  perform(act: ObjectAct): void {
    const { author, authority, truth } = this.#options;
    const { object } = act;
    switch (act.type) {
      case "EditObject": {
        const content = truth.edit(object, author.objects.get(object), act.keys);
        return author.putObject(object, { ...content, immutable: act.immutable }, act.how);
      }
      case "DropObject":
        return author.dropObject(object);
      case "MoveObject":
        return author.moveObject(object, act.to);
      case "SpoilObject":
        return author.spoilObject(object, act.how);
      case "PublishObject": {
        const { keys } = act;
        const before = authority.objects.get(object);
        return this.#publish(
          object,
          keys === "none" ? undefined : truth.edit(object, before, keys),
        );
      }
    }
  }

  /** What a document holds that shall hold these: content of before where there is some. */
  contentsOf(names: readonly ObjectName[]): ReadonlyMap<ObjectName, SimContent> {
    const { authority, truth } = this.#options;
    return new Map(
      names.map((name) => [
        name,
        authority.objects.get(name) ?? truth.edit(name, undefined, "both"),
      ]),
    );
  }

  /** Whatever pods cannot run without is there; a pod that cannot have it is not wanted any more. */
  provide(): void {
    const { author, authority, truth } = this.#options;
    for (const [spec, object, reader] of this.#missing()) {
      if (truth.content(object, reader) !== undefined) continue;
      const content = truth.edit(object, undefined, "both");
      if (reader === "file") author.putObject(object, content, "rename");
      else if (!author.objects.has(object)) this.#publish(object, content);
      else if (this.#isNeededByFiles(object))
        authority.publish(new Map([...authority.wants].filter(([name]) => name !== spec.name)));
      else {
        author.dropObject(object);
        this.#publish(object, content);
      }
    }
    this.#options.onPublished();
  }

  /** In its file: as it is, and immutable. */
  freeze(object: ObjectName): void {
    const { author } = this.#options;
    const content = author.objects.get(object);
    if (content !== undefined) author.putObject(object, { ...content, immutable: true }, "rename");
  }

  /** In its file or in the document. */
  edit(object: ObjectName, origin: Reader): void {
    if (origin === "mqtt") return this.perform({ type: "PublishObject", object, keys: "both" });
    const how = { keys: "both", how: "rename", immutable: false } as const;
    this.perform({ type: "EditObject", object, ...how });
  }

  /** Takes it away; the answer brings it back as it was. */
  withdraw(object: ObjectName, origin: Reader): () => void {
    const { author, authority } = this.#options;
    const content = (origin === "mqtt" ? authority : author).objects.get(object);
    if (content === undefined) return () => undefined;
    if (origin === "mqtt") {
      this.#publish(object, undefined);
      return () => this.#publish(object, content);
    }
    author.dropObject(object);
    return () => author.putObject(object, content, "rename");
  }

  #missing(): readonly (readonly [SimSpec, ObjectName, Reader])[] {
    // Files first: what they hold decides what documents may.
    const wanted = this.#options.wanted().toSorted(([, a], [, b]) => (a < b ? -1 : 1));
    return wanted.flatMap(([spec, reader]) =>
      [...requiredBy(spec)].map((object) => [spec, object, reader] as const),
    );
  }

  /** A Secret or claim of a file is not for documents, and hides theirs. */
  #isNeededByFiles(object: ObjectName): boolean {
    const wanted = this.#options.wanted();
    return wanted.some(([spec, reader]) => reader === "file" && requiredBy(spec).has(object));
  }

  #publish(object: ObjectName, content: SimContent | undefined): void {
    const { authority, onPublished } = this.#options;
    const objects = new Map(authority.objects);
    if (content === undefined) objects.delete(object);
    else objects.set(object, content);
    authority.publish(authority.wants, objects);
    onPublished();
  }
}
