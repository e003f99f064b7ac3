// The errors of images that are not on the node, with the kubelet's reasons.

import type { Monotonic } from "../lib/clock.ts";
import { AgentError, messageOf } from "../lib/errors.ts";

export function neverPull(image: string): AgentError {
  return new AgentError({
    reason: "ErrImageNeverPull",
    message: `image "${image}" is not on this node and imagePullPolicy Never forbids pulling it`,
  });
}

export function backingOff(
  image: string,
  { retryAt, thrown: cause }: { readonly retryAt: Monotonic; readonly thrown: unknown },
): AgentError {
  return new AgentError({
    reason: "ImagePullBackOff",
    message: `back-off pulling image "${image}": ${messageOf(cause)}`,
    cause,
    retryAt,
  });
}

export function pullError(
  image: string,
  cause: unknown,
  retryAt: Monotonic | undefined,
): AgentError {
  return new AgentError({
    reason: "ErrImagePull",
    message: `cannot pull image "${image}": ${messageOf(cause)}`,
    cause,
    retryAt,
  });
}
