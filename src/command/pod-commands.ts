// Performs: the commands that act on pods: restart, pull, hold and release.

import {
  type ObservedContainer,
  type ObservedPod,
  newestContainer,
} from "../api/pod/observed-pod.ts";
import { allContainers, podName, type Pod } from "../api/v1/pod.ts";
import { deadline, type Clock } from "../lib/clock.ts";
import { messageOf, reasonOf } from "../lib/errors.ts";
import type { HoldFacts } from "../node/node-api.ts";
import { holdRefusal, type HoldVerb } from "../rollout/update-holds.ts";
import type { FetchImages } from "../podworkers/pod-replacement.ts";
import type { Pods } from "../podworkers/pods.ts";
import { outOfReach, running, type CommandOrder, type Runs } from "./run-verb.ts";
import { failure, refusedArgs, type CommandOutcome } from "./response.ts";
import { VERBS, type ArgumentsOf } from "./verbs.ts";
import { unknownPod } from "./read-commands.ts";
import { restartable } from "../runtime/decide/restart-on-config-change.ts";

export interface PodCommandsOptions {
  readonly facts: HoldFacts;
  readonly pods: Pick<Pods, "cache" | "workers">;
  readonly fetchImages: FetchImages;
  readonly clock: Clock;
}

/** Time for pull and start, beside the grace periods. */
const RESTART_MS = 120_000;
const LOOK_MS = 500;
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
  { pods: { cache, workers }, clock, signal, progress, signed }: Context,
): Promise<CommandOutcome> {
  const desired = workers.shown(`${namespace}/${name}`);
  if (desired === undefined) return unknownPod(namespace, name);
  const forbidden = outOfReach({ signed }, desired);
  if (forbidden !== undefined) return forbidden;
  const names = restartable(desired.pod).map((one) => one.name);
  if (container !== undefined && !names.includes(container))
    return refusedArgs("args.container", `must be one of ${names.join(", ")}`);
  const { uid } = desired;
  const before = cache.get(uid);
  const wanted = container === undefined ? names : [container];
  const running = wanted.flatMap((one) => runningOf(before, one) ?? []);
  if (running.length === 0)
    return failure(409, "NotRunning", "no container of the pod runs, so there is none to restart");
  const ids = running.map(({ id }) => id);
  if (workers.get(uid)?.orderRestart(ids) !== true)
    return failure(409, "Terminating", "the pod waits for its turn or is being stopped");
  progress({ containers: running.map((one) => one.name) });
  const grace = desired.pod.spec.terminationGracePeriodSeconds * 1_000 * running.length;
  const until = clock.monotonic() + grace + RESTART_MS;
  try {
    while (!signal.aborted && clock.monotonic() < until) {
      const now = cache.get(uid);
      if (now === undefined) return failure(409, "Gone", "the pod was removed meanwhile");
      const successors = running.flatMap((one) => successorOf(now, one) ?? []);
      if (successors.length === running.length) {
        const containers = successors.map(({ name: of, attempt }) => ({
          name: of,
          restartCount: attempt,
        }));
        return { code: 200, data: { containers } };
      }
      await clock.sleep(LOOK_MS, signal);
    }
    const waiting = running.filter((one) => successorOf(cache.get(uid), one) === undefined);
    const which = waiting.map((one) => one.name).join(", ");
    return failure(504, "Timeout", `not restarted in time: ${which}; the verb explain shows why`);
  } finally {
    // The order ends with the command: containers that have not been stopped stay.
    workers.get(uid)?.withdrawRestart(ids);
  }
}

function runningOf(pod: ObservedPod | undefined, name: string): ObservedContainer | undefined {
  const newest = newestContainer(pod, name);
  return newest?.state === "Running" ? newest : undefined;
}

/** The next instance, if it was started. */
function successorOf(
  pod: ObservedPod | undefined,
  { id, name }: ObservedContainer,
): ObservedContainer | undefined {
  const newest = newestContainer(pod, name);
  const isOther = newest !== undefined && newest.id !== id && newest.state !== "Created";
  // An instance whose start failed was not started.
  return isOther && newest.startedAt > 0 ? newest : undefined;
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
