// limits and requests as written → canonical quantities, requests within limits.

import { checkFields, invalid, invalidValue, objectField, type Node } from "./field-reader.ts";
import { RESOURCES } from "./pod-fields.ts";
import type { ResourceName, ResourceRequirements } from "./pod.ts";
import { canonicalQuantity, parseQuantity } from "./quantity.ts";

const NAMES: readonly ResourceName[] = ["cpu", "memory"];
const QUANTITY_RULE = 'must be a quantity such as "500m", "1.5" or "64Mi"';

type Quantities = Readonly<Partial<Record<ResourceName, string>>>;

/** Requests are as written here; `defaults` fills them from the limits. */
export function decodeResources(node: Node | undefined): ResourceRequirements {
  if (node === undefined) return { limits: {}, requests: {} };
  checkFields(node, RESOURCES);
  const limits = decodeQuantities(objectField(node, "limits"));
  const requests = decodeQuantities(objectField(node, "requests"));
  for (const name of NAMES) {
    const [limit, request] = [limits[name], requests[name]];
    if (limit === undefined || request === undefined) continue;
    if ((parseQuantity(request) ?? 0n) <= (parseQuantity(limit) ?? 0n)) continue;
    const message = invalidValue(
      request,
      `must be less than or equal to ${name} limit of ${limit}`,
    );
    node.findings.fail([...node.path, "requests", name], "Invalid", message);
  }
  return { limits, requests };
}

/** A quantity that is text or a number, in canonical text. */
export function quantityField(node: Node, key: string): string | undefined {
  const value = node.value[key];
  if (value === undefined || value === null) return undefined;
  const text = typeof value === "number" || typeof value === "string" ? String(value) : "";
  const canonical = canonicalQuantity(text);
  if (canonical === undefined) invalid(node, key, QUANTITY_RULE);
  else if (canonical.startsWith("-")) invalid(node, key, "must be greater than or equal to 0");
  else return canonical;
  return undefined;
}

function decodeQuantities(node: Node | undefined): Quantities {
  if (node === undefined) return {};
  const quantities: Partial<Record<ResourceName, string>> = {};
  for (const key of Object.keys(node.value)) {
    const name = NAMES.find((known) => known === key);
    if (name === undefined) {
      refuseResource(node, key);
      continue;
    }
    const quantity = quantityField(node, name);
    if (quantity !== undefined) quantities[name] = quantity;
  }
  return quantities;
}

function refuseResource(node: Node, key: string): void {
  const known = key === "ephemeral-storage" || key.startsWith("hugepages-") || key.includes("/");
  const path = [...node.path, key];
  if (known) node.findings.fail(path, "NotSupported", "not supported yet");
  else node.findings.fail(path, "Invalid", "unknown resource (cpu and memory are known)");
}
