// Bridges to the type of quantities, for what is not described by types yet.

import type { Node } from "../field-reader.ts";
import { fieldOf } from "../../schema/codec.ts";
import { quantity } from "../../schema/values.ts";

/** A quantity that is text or a number, in canonical text. */
export function quantityField(node: Node, key: string): string | undefined {
  return fieldOf(quantity)({ about: "" }).read(node, key);
}

/** Disk that is limited, where nothing evicts a pod for taking more. */
export function warnUnenforced(node: Node, key: string, instead = ""): void {
  const message = `how much disk is used is not enforced: there is no eviction on this node yet${instead}`;
  node.findings.warn([...node.path, key], "Ignored", message);
}
