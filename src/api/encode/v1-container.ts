// One container of a spec in Kubernetes' own JSON: empty lists and false switches left out, as Kubernetes does.

import type { Lifecycle, LifecycleHandler, Probe, ProbeHandler } from "../v1/probe.ts";
import type { Container } from "../v1/pod.ts";
import { CONTAINER } from "../schema/container.ts";
import { ENV_FROM, ENV_VAR } from "../v1/environment.ts";
import { flag, list, map, type V1Object } from "./v1-shape.ts";
import type { VolumeMount } from "../v1/volumes.ts";

export function v1Container(container: Container): V1Object {
  const { command, args, env, envFrom, ports, resources, volumeMounts, ...more } = container;
  const { livenessProbe, readinessProbe, startupProbe, lifecycle, restartPolicyRules, ...said } =
    more;
  const { securityContext, stdin, stdinOnce, tty, ...rest } = said;
  return {
    ...rest,
    ...list("restartPolicyRules", restartPolicyRules),
    ...list("command", command),
    ...list("args", args),
    ...list(
      "envFrom",
      envFrom.map((from) => ENV_FROM.write(from)),
    ),
    ...list(
      "env",
      env.map((variable) => ENV_VAR.write(variable)),
    ),
    ...list("ports", ports),
    resources: CONTAINER.resources.write(resources),
    ...list("volumeMounts", volumeMounts.map(v1Mount)),
    ...probe("livenessProbe", livenessProbe),
    ...probe("readinessProbe", readinessProbe),
    ...probe("startupProbe", startupProbe),
    ...map("lifecycle", v1Lifecycle(lifecycle)),
    securityContext: CONTAINER.securityContext.write(securityContext),
    ...flag("stdin", stdin),
    ...flag("stdinOnce", stdinOnce),
    ...flag("tty", tty),
  };
}

function probe(key: string, written: Probe | undefined): V1Object {
  if (written === undefined) return {};
  const { handler, initialDelaySeconds, ...rest } = written;
  const delay = initialDelaySeconds === 0 ? {} : { initialDelaySeconds };
  return { [key]: { ...v1Handler(handler), ...delay, ...rest } };
}

function v1Lifecycle({ postStart, preStop, stopSignal }: Lifecycle): V1Object {
  return {
    ...(postStart === undefined ? {} : { postStart: v1Handler(postStart) }),
    ...(preStop === undefined ? {} : { preStop: v1Handler(preStop) }),
    ...(stopSignal === undefined ? {} : { stopSignal }),
  };
}

/** Kubernetes names the handler by its key: `{httpGet: {…}}`. */
function v1Handler(handler: ProbeHandler | LifecycleHandler): V1Object {
  const { type, ...said } = handler;
  if (!("httpHeaders" in said)) return { [type]: said };
  const { httpHeaders, ...rest } = said;
  return { [type]: { ...rest, ...list("httpHeaders", httpHeaders) } };
}

function v1Mount(mount: VolumeMount): V1Object {
  const { readOnly, writtenIndex: _writtenIndex, ...rest } = mount;
  return { ...rest, ...flag("readOnly", readOnly) };
}
