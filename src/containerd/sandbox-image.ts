// The name of the sandbox image, from the verbose answer of CRI's Status.

import { parseJson } from "../lib/json.ts";

/**
 * containerd 1.x reports `config.sandboxImage`, 2.x `pinned_images.sandbox`.
 * undefined = this runtime does not report it.
 */
export function sandboxImageName(info: Readonly<Record<string, string>>): string | undefined {
  const sections = Object.values(info).map(parseJson);
  for (const section of sections) {
    const name = stringAt(section, "sandboxImage") ?? pinnedSandbox(section);
    if (name !== undefined && name !== "") return name;
  }
  return undefined;
}

function pinnedSandbox(section: unknown): string | undefined {
  for (const key of ["pinned_images", "pinnedImages", "PinnedImages"]) {
    const name = stringAt(at(section, key), "sandbox");
    if (name !== undefined) return name;
  }
  return undefined;
}

function at(value: unknown, key: string): unknown {
  if (typeof value !== "object" || value === null) return undefined;
  return Object.getOwnPropertyDescriptor(value, key)?.value;
}

function stringAt(value: unknown, key: string): string | undefined {
  const found = at(value, key);
  return typeof found === "string" ? found : undefined;
}

/** The full reference under which containerd stores an image: with registry, `library/` and tag, as Docker does. */
export function normalizedImageName(reference: string): string {
  const [first = "", ...rest] = reference.split("/");
  const hasRegistry = rest.length > 0 && (/[.:]/.test(first) || first === "localhost");
  const path = hasRegistry
    ? reference
    : `docker.io/${rest.length === 0 ? "library/" : ""}${reference}`;
  const last = path.slice(path.lastIndexOf("/") + 1);
  return /[:@]/.test(last) ? path : `${path}:latest`;
}
