// An agent that finds itself on a machine that has booted since.

import { randomUUID } from "node:crypto";
import { writeFileSync } from "node:fs";
import { join } from "node:path";

import { agentBinary, type AgentProcess } from "../harness/agent-process.ts";

const BOOT_ID = "/proc/sys/kernel/random/boot_id";

/** Starts it in a mount namespace of its own, in which the kernel's boot id is another one. */
export function startAfterReboot(agent: AgentProcess): void {
  const bootId = join(agent.paths.directory, "boot-id");
  writeFileSync(bootId, `${randomUUID()}\n`);
  const wrapper = join(agent.paths.directory, "agent-after-reboot");
  const inside = `mount --bind ${bootId} ${BOOT_ID} && exec "$0" "$@"`;
  writeFileSync(
    wrapper,
    `#!/bin/sh\nexec unshare --mount --propagation slave sh -c '${inside}' ${agentBinary()} "$@"\n`,
    { mode: 0o755 },
  );
  agent.start(wrapper);
}
