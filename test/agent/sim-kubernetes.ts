// What Kubernetes promises of restarts, said once more and in other words than the agent's, so that one can judge the other.

import type { RestartPolicy } from "../../src/api/v1/pod.ts";
import type { SimContainer, SimSpec } from "./sim-specs.ts";

export function policyOf(spec: SimSpec, own: SimContainer): RestartPolicy {
  return own.role === "sidecar" ? "Always" : (own.restartPolicy ?? spec.restartPolicy);
}

/** Whether it runs again when its program has ended with `code`. */
export function runsAgain(spec: SimSpec, own: SimContainer, code: number): boolean {
  if (own.role === "sidecar") return true;
  if (own.role === "init" && code === 0) return false;
  if (own.rules.includes(code)) return true;
  const policy = policyOf(spec, own);
  return policy === "Always" || (policy === "OnFailure" && code !== 0);
}

/** Whether all of its instances together may run only once. */
export function runsOnce(spec: SimSpec, own: SimContainer): boolean {
  return policyOf(spec, own) === "Never" && own.rules.length === 0;
}

/** How each container's newest instance ended, by name; undefined = it has not, or there is none. */
export type Codes = (own: SimContainer) => number | undefined;

/** An init container has failed for good: the pod never came to its own containers. */
export function neverBegins(spec: SimSpec, codes: Codes): boolean {
  return spec.containers.some((own) => {
    const code = codes(own);
    if (own.role !== "init" || code === undefined || code === 0) return false;
    return !runsAgain(spec, own, code);
  });
}

/** All app containers have ended for good. */
export function isThrough(spec: SimSpec, codes: Codes): boolean {
  return spec.containers.every((own) => {
    const code = codes(own);
    return own.role !== "app" || (code !== undefined && !runsAgain(spec, own, code));
  });
}
