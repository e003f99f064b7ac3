// The annotations by which older pods name their AppArmor profiles, those for seccomp that are no longer read, and those of
// podman that change what runs.
// k8s: ValidateAppArmorPodAnnotations, applyAppArmorVersionSkew

import { sameValue } from "../../lib/compare.ts";
import type { Findings } from "../decode/field-errors.ts";
import type { FieldPath } from "../decode/field-path.ts";
import type { PodSpec } from "../v1/pod-spec.ts";
import { allContainers, mapContainers, placedContainers } from "../v1/pod.ts";
import { appArmorNameError, type SecurityProfile } from "../v1/security-context.ts";

const APP_ARMOR = "container.apparmor.security.beta.kubernetes.io/";
const LOCALHOST = "localhost/";
const SECCOMP_POD = "seccomp.security.alpha.kubernetes.io/pod";
const SECCOMP_CONTAINER = "container.seccomp.security.alpha.kubernetes.io/";

const PODMAN = "io.podman.annotations.";
const PINNED = "no container is pinned to processors or memory nodes here; use resources.limits";
const IMAGE_VOLUMES = "write a volume with an image source and mount it";
/** What to write instead of each, which `podman kube play` obeys. A container's name may follow after a slash. */
const INSTEAD_OF_PODMAN: Readonly<Record<string, string>> = {
  "volumes-from": "mount the volumes in both containers with volumeMounts",
  ulimit:
    "the limits of processes are those of the container runtime; set them in its configuration",
  userns: "write hostUsers: false for a user namespace, and runAsUser into securityContext",
  "pids-limit": "write podPidsLimit into the agent's configuration",
  cpuset: PINNED,
  "memory-nodes": PINNED,
  "kube.image.volumes.mount": IMAGE_VOLUMES,
  "kube.image.automount": IMAGE_VOLUMES,
  seccomp: "write securityContext.seccompProfile",
  apparmor: "write securityContext.appArmorProfile",
};
/** Values of podman's annotations that ask for nothing. */
const NOTHING: ReadonlySet<string> = new Set(["", "host", "FALSE"]);

type Annotations = Readonly<Record<string, string>>;

/** The spec with each annotated profile where its container has none of its own. */
export function withAppArmorAnnotations(spec: PodSpec, annotations: Annotations): PodSpec {
  if (!Object.keys(annotations).some((key) => key.startsWith(APP_ARMOR))) return spec;
  return mapContainers(spec, (container) => {
    const own = container.securityContext.appArmorProfile;
    const annotated = profileOf(annotations[APP_ARMOR + container.name] ?? "");
    if (own !== undefined || annotated === undefined) return container;
    if (sameValue(annotated, spec.securityContext.appArmorProfile)) return container;
    const securityContext = { ...container.securityContext, appArmorProfile: annotated };
    return { ...container, securityContext };
  });
}

/** Of `spec` before that. */
export function judgeProfileAnnotations(
  spec: PodSpec,
  annotations: Annotations,
  findings: Findings,
): void {
  const names = new Set(allContainers(spec).map((container) => container.name));
  for (const [key, value] of Object.entries(annotations)) {
    const path = ["metadata", "annotations", key];
    if (key === SECCOMP_POD || key.startsWith(SECCOMP_CONTAINER)) {
      const message = "not read since Kubernetes 1.27; use securityContext.seccompProfile instead";
      findings.warn(path, "Ignored", message);
    }
    const instead = insteadOfPodman(key);
    if (instead !== undefined && !NOTHING.has(value))
      findings.warn(path, "Ignored", `podman's annotation is not read here; ${instead}`);
    if (!key.startsWith(APP_ARMOR)) continue;
    const name = key.slice(APP_ARMOR.length);
    if (!names.has(name)) findings.invalid(path, name, "container not found");
    const error = value === "" ? undefined : profileError(value);
    if (error !== undefined) findings.invalid(path, value, error);
  }
  for (const { container, path } of placedContainers(spec)) {
    const annotated = profileOf(annotations[APP_ARMOR + container.name] ?? "");
    if (annotated === undefined) continue;
    const at = { findings, path: [...path, "securityContext", "appArmorProfile"] };
    judgeAgreement(container.securityContext.appArmorProfile, annotated, at);
  }
}

function insteadOfPodman(key: string): string | undefined {
  if (!key.startsWith(PODMAN)) return undefined;
  const [name = ""] = key.slice(PODMAN.length).split("/", 1);
  return Object.hasOwn(INSTEAD_OF_PODMAN, name) ? INSTEAD_OF_PODMAN[name] : undefined;
}

/** k8s: validateAppArmorAnnotationsAndFieldsMatchOnCreate */
function judgeAgreement(
  own: SecurityProfile | undefined,
  annotated: SecurityProfile,
  { findings, path }: { readonly findings: Findings; readonly path: FieldPath },
): void {
  if (own === undefined || sameValue(own, annotated)) return;
  const [field, what] =
    own.type === annotated.type ? ["localhostProfile", "profile"] : ["type", "type"];
  findings.forbidden([...path, field], `apparmor ${what} in annotation and field must match`);
}

function profileError(value: string): string | undefined {
  if (profileOf(value) === undefined)
    return 'must be "runtime/default", "unconfined" or "localhost/NAME"';
  return value.startsWith(LOCALHOST) ? appArmorNameError(value.slice(LOCALHOST.length)) : undefined;
}

function profileOf(value: string): SecurityProfile | undefined {
  if (value === "runtime/default") return { type: "RuntimeDefault" };
  if (value === "unconfined") return { type: "Unconfined" };
  if (!value.startsWith(LOCALHOST) || value === LOCALHOST) return undefined;
  return { type: "Localhost", localhostProfile: value.slice(LOCALHOST.length) };
}
