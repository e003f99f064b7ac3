// One probe of a container as written → a defaulted Probe. k8s: validateProbe

import { decodeProbeHandler } from "./decode-handler.ts";
import { defaultProbeTimings } from "../defaults.ts";
import { checkFields, integerField, invalid, objectField, type Node } from "../field-reader.ts";
import { PROBE } from "../../schema/handlers.ts";
import type { Probe } from "../../v1/pod.ts";
import type { ProbeKind } from "../../v1/probe-verdicts.ts";

const MAX_INT32 = 2 ** 31 - 1;

/** undefined = not written, or nothing that could be asked. */
export function decodeProbe(container: Node, kind: ProbeKind): Probe | undefined {
  const node = objectField(container, `${kind}Probe`);
  if (node === undefined) return undefined;
  checkFields(node, PROBE);
  const handler = decodeProbeHandler(node);
  const timings = defaultProbeTimings({
    initialDelaySeconds: countField(node, "initialDelaySeconds"),
    periodSeconds: countField(node, "periodSeconds"),
    timeoutSeconds: countField(node, "timeoutSeconds"),
    successThreshold: countField(node, "successThreshold"),
    failureThreshold: countField(node, "failureThreshold"),
  });
  // Both decide over life and death at their first success.
  if (kind !== "readiness" && timings.successThreshold !== 1)
    invalid(node, "successThreshold", "must be 1");
  const gracePeriod = graceField(node, kind);
  return handler === undefined ? undefined : { handler, ...timings, ...gracePeriod };
}

/** Seconds or a count: 0 stands for the default. */
function countField(node: Node, key: keyof Probe): number | undefined {
  const count = integerField(node, key);
  if (count === undefined) return undefined;
  if (count < 0) invalid(node, key, "must be greater than or equal to 0");
  if (count > MAX_INT32) invalid(node, key, `must be less than or equal to ${MAX_INT32}`);
  return count;
}

/** A failed readiness probe ends nothing, so it has no grace period. */
function graceField(node: Node, kind: ProbeKind): Pick<Probe, "terminationGracePeriodSeconds"> {
  const seconds = integerField(node, "terminationGracePeriodSeconds");
  if (seconds === undefined) return {};
  const key = "terminationGracePeriodSeconds";
  if (seconds <= 0) invalid(node, key, "must be greater than 0");
  if (kind === "readiness") invalid(node, key, "must not be set for readinessProbes");
  return seconds <= 0 || kind === "readiness" ? {} : { terminationGracePeriodSeconds: seconds };
}
