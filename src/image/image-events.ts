// The events about an image, with the kubelet's messages. kubelet: images.imageManager, startContainer

import { normal, warning, type EventContent } from "../api/v1/events.ts";
import { type AgentError, messageOf } from "../lib/errors.ts";

export interface PullFacts {
  /** Duration of the pull. */
  readonly ms: number;
  /** With the time in the queue. */
  readonly waitedMs: number;
  /** Bytes; absent = unknown to the runtime. */
  readonly size?: bigint | undefined;
}

export function pulling(image: string): EventContent {
  return normal("Pulling", `Pulling image "${image}"`);
}

export function pullingBytes(image: string, bytes: string): EventContent {
  return normal("Pulling", `Pulling image "${image}": ${bytes}`);
}

export function pulled(image: string, { ms, waitedMs, size }: PullFacts): EventContent {
  const took = `${goDuration(Math.min(ms, waitedMs))} (${goDuration(waitedMs)} including waiting)`;
  const bytes = size === undefined ? "" : ` Image size: ${size} bytes.`;
  return normal("Pulled", `Successfully pulled image "${image}" in ${took}.${bytes}`);
}

export function alreadyPresent(image: string): EventContent {
  return normal("Pulled", `Container image "${image}" already present on machine`);
}

export function pullFailed(image: string, cause: unknown): EventContent {
  return warning("Failed", `Failed to pull image "${image}": ${messageOf(cause)}`);
}

/** The events of an error of `ImagePuller.ensure`: what happened, then the reason in the container's state. */
export function refused(image: string, error: AgentError): readonly EventContent[] {
  return [...details(image, error), warning("Failed", `Error: ${error.reason}`)];
}

function details(image: string, { reason, message, cause }: AgentError): readonly EventContent[] {
  switch (reason) {
    case "InvalidImageName":
      return [warning("InspectFailed", message)];
    case "ImageInspectError":
      return [warning("InspectFailed", `Failed to inspect image "${image}": ${messageOf(cause)}`)];
    case "ErrImageNeverPull": {
      const text = `Container image "${image}" is not present with pull policy of Never`;
      return [warning(reason, text)];
    }
    case "ErrImagePull":
      return [pullFailed(image, cause)];
    case "ImagePullBackOff":
      return [normal("BackOff", `Back-off pulling image "${image}"`)];
  }
  return [];
}

/** As Go prints a duration: `523ms`, `1.2s`, `1m2.5s`. */
function goDuration(ms: number): string {
  const whole = Math.round(ms);
  if (whole < 1_000) return whole === 0 ? "0s" : `${whole}ms`;
  const minutes = Math.floor(whole / 60_000);
  const seconds = `${(whole % 60_000) / 1_000}s`;
  if (minutes === 0) return seconds;
  const hours = Math.floor(minutes / 60);
  return hours === 0 ? `${minutes}m${seconds}` : `${hours}h${minutes % 60}m${seconds}`;
}
