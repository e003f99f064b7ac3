// The source that the scenarios build from and carry to a device.

import { resolve } from "node:path";

export const ROOT = resolve(import.meta.dir, "../..");
/** Bun for the processor of a device, below ROOT. */
export const ARM64_BUN = ".tools/bun/node_modules/@oven/bun-linux-aarch64/bin/bun";
