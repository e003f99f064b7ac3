// The outermost level of each kind: what every object consists of.

import { harmless } from "../decode/field-rules.ts";
import { fieldOf, objectType, unread } from "../schema/codec.ts";
import { invalidAt } from "../decode/field-reader.ts";
import type { Type } from "../schema/type.ts";
import { POD_METADATA, typeFields } from "./metadata.ts";
import { POD_SPEC } from "./pod-spec.ts";

export const POD = objectType("Pod", {
  ...typeFields("Pod"),
  metadata: fieldOf(POD_METADATA)({
    about: "Name, namespace, labels and annotations.",
    required: true,
  }),
  spec: fieldOf(POD_SPEC)({
    about: "What runs. A changed spec is a new pod, which starts when the old one is gone.",
    required: true,
  }),
  status: unread("PodStatus", "Last known state in an API server; never read.", harmless),
});

/** Items of any kind: each is read as if it were alone. */
const ITEMS: Type<readonly unknown[]> = {
  name: "[]Object",
  read: (at) => (Array.isArray(at.value) ? at.value : invalidAt(at, "must be a list")),
  write: (items) => items,
  schema: () => ({ type: "array", items: { type: "object" } }),
};

export const LIST = objectType("List", {
  ...typeFields("List"),
  metadata: unread("ListMeta", "Facts of an API server about the list.", harmless),
  items: fieldOf(ITEMS)({ about: "The objects.", default: [], marked: true }),
});
