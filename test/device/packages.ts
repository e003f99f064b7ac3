// Debian packages of the agent for a device, of the binary under test.

import { basename, dirname, join } from "node:path";

import { releaseOf } from "../release/make-release.ts";
import { agentBinary } from "./payload.ts";
import type { Stage } from "./scenario.ts";

/** apt in the guest, without questions. */
export const APT = "DEBIAN_FRONTEND=noninteractive apt-get -y -qq -o Dpkg::Use-Pty=0";
/** Seconds that apt may take in the guest. */
export const APT_SECONDS = 900;

/** Its path on the device. */
export async function packageOf(
  { payload }: Pick<Stage, "payload">,
  version: string,
): Promise<string> {
  const binary = agentBinary();
  const facts = { version, tag: `v${version}`, time: 1_795_000_000 };
  const maps = join(dirname(binary), "maps-linux-arm64");
  const made = await releaseOf({ target: "linux-arm64", binary, maps }, facts, {
    directory: payload,
    compression: "gzip",
  });
  return `/run/payload/${basename(made.package)}`;
}
