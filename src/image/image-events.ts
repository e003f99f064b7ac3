// The events about an image, with the kubelet's messages. kubelet: images.imageManager, startContainer

import type { EventContent } from "../api/v1/events.ts";
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
  return { type: "Normal", reason: "Pulling", message: `Pulling image "${image}"` };
}

export function pulled(image: string, { ms, waitedMs, size }: PullFacts): EventContent {
  const took = `${goDuration(Math.min(ms, waitedMs))} (${goDuration(waitedMs)} including waiting)`;
  const bytes = size === undefined ? "" : ` Image size: ${size} bytes.`;
  const message = `Successfully pulled image "${image}" in ${took}.${bytes}`;
  return { type: "Normal", reason: "Pulled", message };
}

export function alreadyPresent(image: string): EventContent {
  const message = `Container image "${image}" already present on machine`;
  return { type: "Normal", reason: "Pulled", message };
}

export function pullFailed(image: string, cause: unknown): EventContent {
  const message = `Failed to pull image "${image}": ${messageOf(cause)}`;
  return { type: "Warning", reason: "Failed", message };
}

/** The events of an error of `ImagePuller.ensure`: what happened, then the reason in the container's state. */
export function refused(image: string, error: AgentError): readonly EventContent[] {
  const message = `Error: ${error.reason}`;
  return [...details(image, error), { type: "Warning", reason: "Failed", message }];
}

function details(image: string, { reason, message, cause }: AgentError): readonly EventContent[] {
  switch (reason) {
    case "InvalidImageName":
      return [{ type: "Warning", reason: "InspectFailed", message }];
    case "ImageInspectError": {
      const text = `Failed to inspect image "${image}": ${messageOf(cause)}`;
      return [{ type: "Warning", reason: "InspectFailed", message: text }];
    }
    case "ErrImageNeverPull": {
      const text = `Container image "${image}" is not present with pull policy of Never`;
      return [{ type: "Warning", reason: "ErrImageNeverPull", message: text }];
    }
    case "ErrImagePull":
      return [pullFailed(image, cause)];
    case "ImagePullBackOff":
      return [{ type: "Normal", reason: "BackOff", message: `Back-off pulling image "${image}"` }];
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
