// Performs: the commands that act on pods: restart, pull, hold and release.

import { allContainers, podName, type Pod } from "../api/v1/pod.ts";
import { deadline, type Clock } from "../lib/clock.ts";
import { messageOf, reasonOf } from "../lib/errors.ts";
import type { HoldFacts } from "../node/node-api.ts";
import { restartPod, restartRefusal } from "../node/restart-pod.ts";
import { holdRefusal, type HoldVerb } from "../rollout/update-holds.ts";
import type { FetchImages } from "../podworkers/pod-replacement.ts";
import type { Pods } from "../podworkers/pods.ts";
import { outOfReach, running, type CommandOrder, type Runs } from "./run-verb.ts";
import { failure, refusedArgs, type CommandOutcome } from "./response.ts";
import { VERBS, type ArgumentsOf } from "./verbs.ts";
import { unknownPod } from "./read-commands.ts";

export interface PodCommandsOptions {
  readonly facts: HoldFacts;
  readonly pods: Pick<Pods, "cache" | "workers">;
  readonly fetchImages: FetchImages;
  readonly clock: Clock;
}

const PULL_MS = 1_800_000;

type Context = PodCommandsOptions & Pick<CommandOrder, "signal" | "progress" | "signed">;

export function podCommands(
  options: PodCommandsOptions,
): Pick<Runs, "restart" | "pull" | HoldVerb> {
  return {
    restart: running(VERBS.restart, (args, order) => restart(args, { ...order, ...options })),
    pull: running(VERBS.pull, (args, order) => pull(args, { ...order, ...options })),
    hold: running(VERBS.hold, (args) => changeHold("hold", args, options.facts)),
    release: running(VERBS.release, (args) => changeHold("release", args, options.facts)),
  };
}

async function restart(
  { namespace, pod: name, container }: ArgumentsOf<"restart">,
  { pods, clock, signal, progress, signed }: Context,
): Promise<CommandOutcome> {
  const desired = pods.workers.shown(`${namespace}/${name}`);
  if (desired === undefined) return unknownPod(namespace, name);
  const forbidden = outOfReach({ signed }, desired);
  if (forbidden !== undefined) return forbidden;
  const onBegin = (containers: readonly string[]): void => progress({ containers });
  const outcome = await restartPod(desired, { pods, clock, container, signal, onBegin });
  switch (outcome.type) {
    case "Restarted":
      return { code: 200, data: { containers: outcome.containers } };
    case "UnknownContainer":
      return refusedArgs("args.container", `must be one of ${outcome.names.join(", ")}`);
    case "Timeout":
      return failure(504, outcome.type, restartRefusal(outcome));
    case "NotRunning":
    case "Terminating":
    case "Gone":
      return failure(409, outcome.type, restartRefusal(outcome));
  }
}

async function pull(
  { namespace, pod: name, image }: ArgumentsOf<"pull">,
  { pods: { workers }, fetchImages, clock, signal, progress, signed }: Context,
): Promise<CommandOutcome> {
  const named = image === undefined ? workers.shown(`${namespace}/${name ?? ""}`) : undefined;
  const forbidden = named === undefined ? undefined : outOfReach({ signed }, named);
  if (forbidden !== undefined) return forbidden;
  const matching = workers
    .entries()
    .filter(({ desired }) => outOfReach({ signed }, desired) === undefined)
    .flatMap(({ desired: { pod } }) =>
      image === undefined
        ? podName(pod) === `${namespace}/${name ?? ""}`
          ? [pod]
          : []
        : withImage(pod, image),
    );
  const [pod] = matching;
  if (pod === undefined) {
    // Either a pod or an image is named.
    if (image === undefined) return unknownPod(namespace, name ?? "");
    return failure(404, "NotFound", "no pod of this node asks for that image");
  }
  const images = [...new Set(allContainers(pod.spec).map((one) => one.image))];
  progress({ images });
  using limit = deadline(clock, PULL_MS, signal);
  try {
    await fetchImages(pod, limit.signal);
    return { code: 200, data: { images } };
  } catch (error) {
    return failure(502, reasonOf(error, "ErrImagePull"), messageOf(error));
  }
}

/** The pod with only its containers of the image. */
function withImage(pod: Pod, image: string): readonly Pod[] {
  const of = (containers: Pod["spec"]["containers"]): Pod["spec"]["containers"] =>
    containers.filter((one) => one.image === image);
  const spec = {
    ...pod.spec,
    initContainers: of(pod.spec.initContainers),
    containers: of(pod.spec.containers),
  };
  return allContainers(spec).length === 0 ? [] : [{ ...pod, spec }];
}

function changeHold(
  verb: HoldVerb,
  { namespace, pod: name }: ArgumentsOf<"hold">,
  facts: HoldFacts,
): CommandOutcome {
  const pod = name === undefined ? undefined : { namespace, name };
  try {
    const outcome = facts.changeHold(verb, pod);
    if (outcome.type === "Done") return { code: 200, data: {} };
    const code = outcome.type === "NotFound" ? 404 : 409;
    return failure(code, outcome.type, holdRefusal(outcome, pod));
  } catch (error) {
    return failure(500, "Internal", `nothing was changed: ${messageOf(error)}`);
  }
}
