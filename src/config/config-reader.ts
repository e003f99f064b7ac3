// Reads the fields of one configuration document, and keeps every error with its path and place.

import { KNOWN_FIELDS, UNBUILT_FIELDS } from "./config-defaults.ts";
import { say, type Check } from "./config-fields.ts";
import { formatPath } from "../api/decode/field-path.ts";
import type { FieldError } from "../lib/result.ts";
import { nearestField } from "../lib/suggest.ts";

export interface ConfigFacts {
  /** Where a field stands in its file (1-based), by the keys that lead to it. */
  readonly locate?: (
    keys: readonly string[],
  ) => { readonly line: number; readonly column: number } | undefined;
}

export type Mapping = Readonly<Record<string, unknown>>;

/** Collects the errors of one document while its fields are read. */
export class FieldReader {
  readonly errors: FieldError[] = [];
  readonly #facts: ConfigFacts;

  constructor(facts: ConfigFacts) {
    this.#facts = facts;
  }

  refuse(keys: readonly string[], code: string, message: string): void {
    const path = formatPath(keys.map((key) => (/^\d+$/.test(key) ? Number(key) : key)));
    this.errors.push({ path, message, code, ...this.#position(keys) });
  }

  #position(keys: readonly string[]): Pick<FieldError, "line" | "column"> {
    const at = this.#facts.locate?.(keys);
    return at === undefined ? {} : { line: at.line, column: at.column };
  }

  /** One field; undefined when it is absent, null, or refused. `keys` is its full path. */
  value<T>(parent: Mapping, keys: readonly string[], check: Check<T>): T | undefined {
    const key = keys.at(-1) ?? "";
    const written = Object.hasOwn(parent, key) ? parent[key] : undefined;
    if (written === undefined || written === null) return undefined;
    const checked = check(written);
    if (checked.ok) return checked.value;
    this.refuse(keys, "Invalid", checked.message);
    return undefined;
  }

  /** A mapping whose keys are all known; anything else in it is refused. `level`: how the list of known fields calls it. */
  mapping(written: unknown, keys: readonly string[], level = keys.join(".")): Mapping {
    const mapping = this.freeMapping(written, keys);
    for (const key of Object.keys(mapping)) this.#checkKey([...keys, key], level);
    return mapping;
  }

  freeMapping(written: unknown, keys: readonly string[]): Mapping {
    if (written === undefined || written === null) return {};
    if (typeof written === "object" && !Array.isArray(written)) return { ...written };
    this.refuse(keys, "Invalid", `must be a mapping of fields, not ${say(written)}`);
    return {};
  }

  #checkKey(keys: readonly string[], parent: string): void {
    const key = keys.at(-1) ?? "";
    if (KNOWN_FIELDS[parent]?.includes(key) === true) return;
    if (UNBUILT_FIELDS[parent]?.includes(key) === true)
      return this.refuse(keys, "NotSupported", "not supported yet; remove it");
    const nearest = nearestField(key, parent, KNOWN_FIELDS);
    this.refuse(keys, "UnknownField", `unknown field (did you mean ${nearest}?)`);
  }
}
