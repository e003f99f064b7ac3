// Which container of a pod a request means, and the answer if it has none that runs.

import { allStatuses, type PodStatus } from "../../api/v1/pod-status.ts";
import { selectedContainer } from "../../api/pod/selected-container.ts";
import type { Pod } from "../../api/v1/pod.ts";
import type { Container } from "../../api/v1/container.ts";
import type { Answer } from "../http/exchange.ts";
import { refusal } from "../kube/kube-status.ts";

/** The answer tells which containers there are. */
export function chooseContainer(pod: Pod, name: string | undefined): Container | Answer {
  const container = selectedContainer(pod, name);
  if (container !== undefined) return container;
  const { metadata, spec } = pod;
  if (name !== undefined)
    return refusal(400, `container ${name} is not valid for pod ${metadata.name}`);
  const names = (list: readonly Container[]): string => list.map((one) => one.name).join(" ");
  const init =
    spec.initContainers.length === 0
      ? ""
      : ` or one of the init containers: [${names(spec.initContainers)}]`;
  return refusal(
    400,
    `a container name must be specified for pod ${metadata.name}, choose one of: [${names(spec.containers)}]${init}`,
  );
}

/** For a container without a running instance in the runtime. */
export function notRunning(pod: string, container: string, status: PodStatus): Answer {
  const state = allStatuses(status).find((one) => one.name === container)?.state;
  const what = `container ${JSON.stringify(container)} in pod ${JSON.stringify(pod)}`;
  if (state?.waiting !== undefined)
    return refusal(400, `${what} is waiting to start: ${state.waiting.reason}`);
  if (state?.terminated !== undefined) {
    const { reason, exitCode } = state.terminated;
    return refusal(400, `${what} is not running: ${reason}, exit code ${exitCode}`);
  }
  return refusal(404, `container not found (${JSON.stringify(container)})`);
}

export function podNotRunning(pod: string, { phase }: PodStatus): Answer {
  return refusal(400, `pod ${JSON.stringify(pod)} is not running: its phase is ${phase}`);
}
