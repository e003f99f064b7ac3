// Performs: where the parts of a node lie that `agent prepare-image` removes, on this machine or below the root of an image.

import { join } from "node:path";
import type { AgentConfig } from "../../config/config.ts";
import { realFiles } from "../../host/real-files.ts";
import { realMounts } from "../../host/mounts.ts";
import type { StatePlaces } from "../../provision/prepare-image.ts";
import { unmountAll } from "../../volume/tear-down.ts";
import { CliError } from "../exit-codes.ts";

/** Throws CliError when a link in the image leads out of it. */
export function placesOf(
  { stateDir, podLogsDir, claimRoot }: Pick<AgentConfig, "stateDir" | "podLogsDir" | "claimRoot">,
  root = "/",
): StatePlaces {
  return {
    files: realFiles(),
    stateDir: placeBelow(root, stateDir),
    podLogsDir: placeBelow(root, podLogsDir),
    claimRoot: placeBelow(root, claimRoot),
    unmountBelow: (directory) => unmountAll({ mounts: realMounts() }, directory),
  };
}

/** Throws CliError when a link in the image leads out of it. */
export function placeBelow(root: string, path: string): string {
  const at = join(root, path);
  if (root === "/") return at;
  const files = realFiles();
  const [place, real] = [files.place(at), files.place(root)];
  if (place !== undefined && real !== undefined && `${place}/`.startsWith(`${real}/`)) return at;
  throw new CliError(
    `${at} leads out of ${root} by a link; mount the image and run agent prepare-image in it with chroot`,
  );
}
