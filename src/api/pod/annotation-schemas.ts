// The annotations of a pod that this node reads, as JSON Schema, as far as it can express them.

import type { JsonSchema } from "../schema/type.ts";
import { ON_FAILURE, STRATEGIES } from "./update-policy.ts";

const FLAG: readonly string[] = ["true", "false"];

function words(description: string, choices: readonly string[]): JsonSchema {
  return { description, enum: choices };
}

function written(description: string, pattern?: string): JsonSchema {
  return pattern === undefined
    ? { description, type: ["string", "null"] }
    : { description, type: "string", pattern };
}

/** By the whole name of the annotation. */
export const ANNOTATION_SCHEMAS: Readonly<Record<string, JsonSchema>> = {
  "agent/depends-on": written(
    'Pods that must have come so far before this one starts, such as "shop/db:Ready". States: Ready, Running, Succeeded.',
  ),
  "agent/backoff-max": written(
    "Longest pause between two restarts of a crashing container, 1s to 1h.",
    "^\\s*[0-9.][0-9.a-zµμ]*\\s*$",
  ),
  "agent/devices": written(
    'Devices without privileged, such as "/dev/ttyUSB0, /dev/i2c-1:/dev/i2c-0".',
  ),
  "agent/pull-strict": words(
    "true: a registry that cannot be reached keeps the pod waiting, with imagePullPolicy Always.",
    FLAG,
  ),
  "agent/restart-on-config-change": words(
    "false: a changed ConfigMap or Secret restarts no container.",
    FLAG,
  ),
  "agent/unknown-fields": words("warn: an unknown field is a warning, not an error.", [
    "warn",
    "refuse",
  ]),
  "agent/min-ready-seconds": written(
    "Seconds that the changed pod must stay ready to count as good.",
    "^[0-9]{1,9}$",
  ),
  "agent/progress-deadline-seconds": written(
    "Seconds, at least 1, after which the changed pod that is not good has failed.",
    "^[0-9]*[1-9][0-9]*$",
  ),
  "agent/on-failure": words("What follows a failed update of the pod.", ON_FAILURE),
  "agent/update-strategy": words(
    "Order of pulling new images and stopping the old pod.",
    STRATEGIES,
  ),
  "agent/hold-upgrade": words("true: the pod replaces no other until it is released.", FLAG),
  "agent/update-lock": written(
    "Volume in which containers lock updates out: emptyDir with medium Memory.",
  ),
};
