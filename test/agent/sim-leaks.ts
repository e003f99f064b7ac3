// Looks for Secrets where none may be in plain sight: on the disk, and in what the node has published.

import { existsSync, readFileSync, readdirSync } from "node:fs";
import { join } from "node:path";
import { NODE } from "./sim-manifest.ts";
import { MARK } from "./sim-objects.ts";
import type { SimWorld } from "./sim-world.ts";

/** Plain, and as the data of a Secret. */
const FORMS = [MARK, Buffer.from(MARK).toString("base64")];

export function leak({ machine }: SimWorld): string | undefined {
  const { mounts, state, logs, broker } = machine;
  const inMemory = (path: string): boolean => mounts.isMemory(path);
  const path = [state, logs].flatMap((root) => [...filesOn(root, inMemory)]).find(tells);
  if (path !== undefined) return `${path} contains a Secret`;
  const said = broker.publications.find(
    ({ clientId, payload }) => clientId === NODE && holds(Buffer.from(payload)),
  );
  return said === undefined ? undefined : `${said.topic} contains a Secret`;
}

function tells(path: string): boolean {
  return holds(readFileSync(path));
}

function holds(bytes: Buffer): boolean {
  return FORMS.some((form) => bytes.includes(form));
}

/** Whatever is mounted in memory is not on the disk. */
function* filesOn(path: string, isElsewhere: (path: string) => boolean): Generator<string> {
  if (!existsSync(path) || isElsewhere(path)) return;
  for (const entry of readdirSync(path, { withFileTypes: true })) {
    const below = join(path, entry.name);
    if (entry.isDirectory()) yield* filesOn(below, isElsewhere);
    else if (entry.isFile()) yield below;
  }
}
