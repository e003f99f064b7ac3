// A machine that lost its power and came back, as far as containerd and the agent can tell.

import { readdirSync, rmSync } from "node:fs";
import { join } from "node:path";

import { unmountBelow } from "../harness/containerd-leftovers.ts";
import type { PrivateContainerd } from "../harness/private-containerd.ts";
import { commandLines, identify, readText, signal, waitForEnd } from "../harness/processes.ts";
import { runSync } from "../harness/run-command.ts";
import { listTasks } from "../harness/containerd-lists.ts";

/** Every task and shim dies, all that lies in memory file systems is lost; containerd runs again when it resolves. */
export async function cutPower(containerd: PrivateContainerd): Promise<void> {
  const { state, socket, bridge } = containerd.facts;
  const tasks = await listTasks(containerd);
  const shims = commandLines().filter(
    ({ args }) => args.includes("-address") && args.includes(socket),
  );
  const doomed = [...shims, ...tasks].flatMap(({ pid }) => identify(pid) ?? []);
  const sockets = shimSockets(state);
  await containerd.kill("SIGKILL");
  for (const process of doomed) signal(process, "SIGKILL");
  if (!waitForEnd(doomed, 30_000)) throw new Error("a task survived SIGKILL");
  unmountBelow(state);
  for (const path of [state, ...sockets]) rmSync(path, { recursive: true, force: true });
  runSync(["ip", "link", "delete", bridge]);
  await containerd.start();
}

/** The shims' sockets lie in /run, outside of the private state. */
function shimSockets(state: string): readonly string[] {
  const bundles = join(state, "io.containerd.runtime.v2.task", "k8s.io");
  return readdirSync(bundles).flatMap((id) => {
    const text =
      readText(join(bundles, id, "address")) ?? readText(join(bundles, id, "bootstrap.json")) ?? "";
    return /unix:\/\/(\/run\/containerd\/s\/[0-9a-f]+)/.exec(text)?.[1] ?? [];
  });
}
