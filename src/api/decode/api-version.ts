// The version that every object begins with.

import { invalid, isUnwritten, required, stringField, type Node } from "./field-reader.ts";

/** Of a pod, a local object or a list of them. */
export function checkApiVersion(root: Node): void {
  const version = stringField(root, "apiVersion");
  if (isUnwritten(root, "apiVersion")) required(root, "apiVersion", '"v1"');
  else if (version !== undefined && version !== "v1") invalid(root, "apiVersion", 'must be "v1"');
}
