// What `agent fleet import` writes, run by an agent.

import { expect } from "bun:test";
import { writeFileSync } from "node:fs";
import { join } from "node:path";

import { agentBinary, type AgentProcess } from "../harness/agent-process.ts";
import { eventually } from "../harness/eventually.ts";
import { run } from "../harness/run-command.ts";

/** `args`: of the verb. Nothing is said about what is imported. */
export async function importInto(
  agent: AgentProcess,
  name: string,
  args: readonly string[],
): Promise<void> {
  const written = await run([agentBinary(), "fleet", "import", ...args]);
  expect(written).toMatchObject({ code: 0, stderr: "" });
  writeFileSync(join(agent.paths.manifests, `${name}.yaml`), written.stdout);
}

/** Pods of one container each, as `agent get pods` shows them. */
export async function untilShownReady(
  agent: AgentProcess,
  names: readonly string[],
): Promise<void> {
  await eventually(
    `these are ready: ${names.join(", ")}`,
    async () => {
      const { stdout } = await agent.cli("get", "pods");
      const isReady = names.every((name) => new RegExp(`^${name} +1/1 +Running`, "m").test(stdout));
      if (!isReady) throw new Error(stdout);
      return true;
    },
    { timeout: 120_000, explain: () => agent.logTail(40) },
  );
}
