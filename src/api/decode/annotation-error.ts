// Something wrong with an annotation of ours. Types only.

import type { Message } from "./field-errors.ts";

export interface AnnotationError {
  /** Of the annotation. */
  readonly key: string;
  /** What is wrong in it. */
  readonly value: string;
  readonly message: Message;
}
