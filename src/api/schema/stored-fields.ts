// Fields of checkpoints: required, and read as they were written.

import { boolean, fieldOf, integer } from "./codec.ts";
import type { Field } from "./type.ts";
import { base64, exactText, realNumber } from "./values.ts";

export function storedText(about: string): Field<string> {
  return fieldOf(exactText, "")({ about, required: true, keep: true });
}

export function storedInteger(about: string): Field<number> {
  return integer({ about, required: true });
}

export function storedNumber(about: string): Field<number> {
  return fieldOf(realNumber, 0)({ about, required: true });
}

export function storedFlag(about: string): Field<boolean> {
  return boolean({ about, required: true });
}

/** In base64. */
export function storedBytes(about: string): Field<Uint8Array> {
  return fieldOf(base64, new Uint8Array())({ about, required: true, keep: true });
}
