// One container of a spec in Kubernetes' own JSON: empty lists and false switches left out, as Kubernetes does.

import type { Container, Lifecycle, LifecycleHandler, Probe, ProbeHandler } from "../api/pod.ts";

type V1Object = Readonly<Record<string, unknown>>;

export function v1Container(container: Container): V1Object {
  const { command, args, env, ports, resources, volumeMounts, ...more } = container;
  const { livenessProbe, readinessProbe, startupProbe, lifecycle, restartPolicyRules, ...rest } =
    more;
  const { limits, requests } = resources;
  return {
    ...rest,
    ...list("restartPolicyRules", restartPolicyRules),
    ...list("command", command),
    ...list("args", args),
    ...list("env", env),
    ...list("ports", ports),
    resources: { ...map("limits", limits), ...map("requests", requests) },
    ...list("volumeMounts", volumeMounts.map(v1Mount)),
    ...probe("livenessProbe", livenessProbe),
    ...probe("readinessProbe", readinessProbe),
    ...probe("startupProbe", startupProbe),
    ...map("lifecycle", v1Lifecycle(lifecycle)),
  };
}

function list(key: string, items: readonly unknown[]): V1Object {
  return items.length === 0 ? {} : { [key]: items };
}

function map(key: string, members: object): V1Object {
  return Object.keys(members).length === 0 ? {} : { [key]: members };
}

function v1Mount({ readOnly, ...rest }: Container["volumeMounts"][number]): V1Object {
  return readOnly ? { ...rest, readOnly } : rest;
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
