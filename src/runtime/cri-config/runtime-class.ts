// Which of the runtime's handlers runs a pod. kubelet: runtimeClassManager.LookupRuntimeHandler

import type { Pod } from "../../api/v1/pod.ts";
import { AgentError } from "../../lib/errors.ts";

/** "" = the runtime's default. Throws AgentError `CreatePodSandboxError` for a class that this node does not have. */
export function runtimeHandlerOf(
  { spec: { runtimeClassName } }: Pod,
  classes: Readonly<Record<string, string>>,
): string {
  if (runtimeClassName === undefined || runtimeClassName === "") return "";
  if (Object.hasOwn(classes, runtimeClassName)) return classes[runtimeClassName] ?? "";
  const known = Object.keys(classes).toSorted().join(", ");
  throw new AgentError({
    reason: "CreatePodSandboxError",
    message: `RuntimeClass "${runtimeClassName}" not found; add it to runtimeClasses in the agent's configuration, with the handler of the container runtime (there: ${known === "" ? "none" : known})`,
  });
}
