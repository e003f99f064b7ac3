// Tests of how a pod and its containers begin, go on and end.

import { below, type Proof } from "./proof.ts";

const CONTAINER = "pod.spec.containers";
const LIFECYCLE = `${CONTAINER}.lifecycle`;
const PROBES = ["livenessProbe", "readinessProbe", "startupProbe"] as const;
const PROBE_E2E = "test/e2e/probes.test.ts";
const HOOKS_E2E = "test/e2e/hooks-and-termination.test.ts";
const PROBE_DECODE = "test/unit/api/v1/probe.test.ts";

/** The same fields of all three probes. */
function ofProbes(...names: readonly string[]): readonly string[] {
  return PROBES.flatMap((probe) => below(`${CONTAINER}.${probe}`, ...names));
}

const HTTP_GET = ["path", "port", "scheme", "host", "httpHeaders"].map((name) => `httpGet.${name}`);

export const LIFE_PROOFS: readonly Proof[] = [
  {
    fields: below(CONTAINER, "restartPolicy"),
    proof: "here",
    test: "test/e2e/restart-rules.test.ts",
    title: "a container with Never of its own ends beside one that goes on",
  },
  {
    fields: [`${CONTAINER}.restartPolicyRules`, `${CONTAINER}.restartPolicyRules.*`],
    proof: "here",
    test: "test/unit/api/pod/restart-policy.test.ts",
    title: "Never with a rule that excludes",
  },
  {
    fields: [`${CONTAINER}.restartPolicyRules.action`],
    proof: "here",
    test: "test/e2e/restart-all.test.ts",
    title: "an exit with its code restarts all containers in their sandbox, and nothing else",
  },
  {
    fields: ["pod.spec.restartPolicy"],
    proof: "here",
    test: "test/e2e/restart-policy.test.ts",
    title: "starts again at once, then waits in CrashLoopBackOff",
  },
  {
    fields: ["pod.spec.initContainers"],
    proof: "here",
    test: "test/e2e/init-containers.test.ts",
    title: "init containers run again with a new sandbox, not with a new app container",
  },
  {
    fields: ["pod.spec.initContainers"],
    proof: "here",
    test: "test/e2e/sidecars.test.ts",
    title: "sidecars start in order, restart alone, and stop after the app in reverse",
  },
  {
    fields: ["pod.spec.terminationGracePeriodSeconds"],
    proof: "here",
    test: "test/e2e/manifests.test.ts",
    title: "an edit kills an old pod that does not end when its grace period is over",
  },
  {
    fields: ["pod.spec.activeDeadlineSeconds"],
    proof: "here",
    test: "test/e2e/pod-life.test.ts",
    title: "a pod that has reached its deadline fails for good",
  },
  {
    fields: below(
      CONTAINER,
      "livenessProbe",
      "livenessProbe.exec",
      "livenessProbe.tcpSocket",
    ).concat(below(CONTAINER, "livenessProbe.httpGet")),
    proof: "here",
    test: PROBE_E2E,
    title: "a failing liveness probe of kind %s restarts the container, and says so",
  },
  {
    fields: below(CONTAINER, "readinessProbe", "readinessProbe.httpGet"),
    proof: "here",
    test: PROBE_E2E,
    title: "readiness turns the condition Ready at once and restarts nothing",
  },
  {
    fields: below(CONTAINER, "startupProbe"),
    proof: "here",
    test: PROBE_E2E,
    title: "a startup probe protects a slow start from the liveness probe",
  },
  {
    fields: ofProbes("exec", "exec.command"),
    proof: "here",
    test: "test/component/prober/probe-manager.test.ts",
    title: "asks in the container itself, with its time-out",
  },
  {
    fields: ofProbes("httpGet", ...HTTP_GET, "httpGet.httpHeaders.*"),
    proof: "here",
    test: PROBE_E2E,
    title: "an HTTP probe asks as the kubelet asks",
  },
  {
    fields: ofProbes("tcpSocket", "tcpSocket.*"),
    proof: "here",
    test: "test/unit/host/probe/probe-http-request.test.ts",
    title: "a tcpSocket handler means the pod or its own host",
  },
  {
    fields: ofProbes("grpc", "grpc.*"),
    proof: "here",
    test: PROBE_E2E,
    title: "probes of kind grpc ask the health service by its services' names",
  },
  {
    fields: ofProbes("initialDelaySeconds"),
    proof: "here",
    test: "test/unit/prober/probe-timing.test.ts",
    title: "to a new instance comes exactly after the initial delay",
  },
  {
    fields: ofProbes("periodSeconds"),
    proof: "here",
    test: "test/unit/prober/probe-timing.test.ts",
    title: "comes a period after the last one was due, however long that took",
  },
  {
    fields: ofProbes("timeoutSeconds"),
    proof: "here",
    test: PROBE_E2E,
    title: "bad, late and too few answers leave a container unready",
  },
  {
    fields: ofProbes("successThreshold"),
    proof: "here",
    test: "test/unit/prober/probe-thresholds.test.ts",
    title: "of readiness needs as many successes as its threshold",
  },
  {
    fields: ofProbes("failureThreshold"),
    proof: "here",
    test: "test/unit/prober/probe-thresholds.test.ts",
    title: "of liveness fails at its threshold and then asks no more",
  },
  {
    fields: ofProbes("terminationGracePeriodSeconds"),
    proof: "here",
    test: PROBE_E2E,
    title: "the probe's own grace period counts when the probe kills",
  },
  {
    fields: below(`${CONTAINER}.readinessProbe`, "terminationGracePeriodSeconds"),
    proof: "here",
    test: PROBE_DECODE,
    title: "it is a readiness probe with a grace period",
  },
  {
    fields: [
      LIFECYCLE,
      ...below(LIFECYCLE, "postStart", "postStart.exec", "postStart.exec.command"),
    ],
    proof: "here",
    test: HOOKS_E2E,
    title: "a container counts as running when its postStart hook has ended",
  },
  {
    fields: below(LIFECYCLE, "preStop", "preStop.exec", "preStop.exec.command"),
    proof: "here",
    test: HOOKS_E2E,
    title: "preStop hooks come before TERM, and one that fails keeps nothing back",
  },
  {
    fields: below(LIFECYCLE, "postStart.httpGet", "preStop.httpGet"),
    proof: "here",
    test: "test/component/runtime/lifecycle-hooks.test.ts",
    title: "takes any answer: %d",
  },
  {
    fields: ["postStart", "preStop"].flatMap((hook) =>
      below(`${LIFECYCLE}.${hook}`, ...HTTP_GET, "httpGet.httpHeaders.*"),
    ),
    proof: "here",
    test: "test/unit/runtime/hook-request.test.ts",
    title: "a host of its own replaces the pod's address",
  },
  {
    fields: below(
      LIFECYCLE,
      "postStart.sleep",
      "postStart.sleep.*",
      "preStop.sleep",
      "preStop.sleep.*",
    ),
    proof: "here",
    test: "test/component/runtime/lifecycle-hooks.test.ts",
    title: "is woken by the end of its time",
  },
  {
    fields: below(LIFECYCLE, "stopSignal"),
    proof: "request",
    test: "test/unit/runtime/cri-config/container-config.test.ts",
    title: "its stop signal is passed on where the runtime supports it, else refused with a remedy",
  },
  {
    fields: below(LIFECYCLE, "stopSignal"),
    proof: "here",
    test: HOOKS_E2E,
    title: "another stop signal is used, or the pod is refused where the runtime has none",
  },
  {
    fields: below(CONTAINER, "terminationMessagePath", "terminationMessagePolicy"),
    proof: "here",
    test: HOOKS_E2E,
    title: "last words come from the file, from the log of a failure, or there are none",
  },
];
