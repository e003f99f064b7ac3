import { describe, expect, test } from "bun:test";
import type { ObservedPod } from "../../../src/api/pod/observed-pod.ts";
import type { ContainerStatus, PodCondition, PodStatus } from "../../../src/api/v1/pod-status.ts";
import type { PodSpec } from "../../../src/api/v1/pod-spec.ts";
import type { Pod } from "../../../src/api/v1/pod.ts";
import { generatePodStatus } from "../../../src/status/generate-pod-status.ts";
import type { PodFacts } from "../../../src/status/pod-facts.ts";
import { aContainer, aPod, aSandbox, anInstance, anObservedPod } from "../../fakes/a-pod.ts";

const NOW = Date.parse("2026-11-21T10:00:00Z");
const BEFORE = "2026-11-21T09:00:00Z";

interface Given {
  readonly spec?: Partial<PodSpec>;
  readonly observed?: ObservedPod;
  readonly facts?: Partial<PodFacts>;
  readonly previous?: PodStatus;
  readonly hostIPs?: readonly string[];
}

function generate({ spec, observed, facts, previous, hostIPs = ["192.0.2.7"] }: Given): PodStatus {
  const pod: Pod = aPod(spec);
  return generatePodStatus({
    pod,
    observed,
    hostIPs,
    facts: { waiting: {}, ...facts },
    previous,
    now: NOW,
  });
}

function conditionsOf(status: PodStatus): Record<string, string> {
  return Object.fromEntries(
    status.conditions.map(({ type, status: value, reason }) => [
      type,
      reason === undefined ? value : `${value} ${reason}`,
    ]),
  );
}

const running = anObservedPod([aSandbox()], [anInstance("a")]);

function exitedPod(exitCode: number): ObservedPod {
  return anObservedPod(
    [aSandbox({ state: "NotReady", ips: [] })],
    [anInstance("a", { state: "Exited", exitCode })],
  );
}

test("the whole status of a running pod", () => {
  const since = "2026-11-21T10:00:00Z";
  const isTrue = (type: string): PodCondition => ({
    type,
    status: "True",
    lastTransitionTime: since,
    observedGeneration: 1,
  });
  expect(generate({ observed: running })).toEqual({
    observedGeneration: 1,
    phase: "Running",
    conditions: [
      isTrue("PodReadyToStartContainers"),
      isTrue("Initialized"),
      isTrue("Ready"),
      isTrue("ContainersReady"),
      isTrue("PodScheduled"),
    ],
    hostIP: "192.0.2.7",
    hostIPs: [{ ip: "192.0.2.7" }],
    podIP: "10.88.0.2",
    podIPs: [{ ip: "10.88.0.2" }],
    startTime: since,
    initContainerStatuses: [],
    containerStatuses: [
      {
        name: "a",
        state: { running: { startedAt: "1970-01-01T00:00:01Z" } },
        lastState: {},
        ready: true,
        started: true,
        restartCount: 0,
        image: "local/busybox:1",
        imageID: "sha256:1",
        containerID: "containerd://a-0",
        resources: {},
      },
    ],
    qosClass: "BestEffort",
  });
});

describe("conditions", () => {
  const cases: Record<string, Given & { readonly expected: Record<string, string> }> = {
    "of a pod the runtime does not have": {
      expected: {
        PodReadyToStartContainers: "False",
        Initialized: "True",
        Ready: "False ContainersNotReady",
        ContainersReady: "False ContainersNotReady",
        PodScheduled: "True",
      },
    },
    "of a pod that succeeded": {
      spec: { restartPolicy: "Never" },
      observed: exitedPod(0),
      expected: {
        PodReadyToStartContainers: "False",
        Initialized: "True PodCompleted",
        Ready: "False PodCompleted",
        ContainersReady: "False PodCompleted",
        PodScheduled: "True",
      },
    },
    "of a pod that failed": {
      spec: { restartPolicy: "Never" },
      observed: exitedPod(1),
      expected: {
        PodReadyToStartContainers: "False",
        Initialized: "True",
        Ready: "False PodFailed",
        ContainersReady: "False PodFailed",
        PodScheduled: "True",
      },
    },
  };
  test.each(Object.entries(cases))("%s", (_, given) => {
    expect(conditionsOf(generate(given))).toEqual(given.expected);
  });

  test("keep the time of their last change of status, not of reason", () => {
    const old = (type: string, status: "True" | "False", reason?: string): PodCondition => ({
      type,
      status,
      lastTransitionTime: BEFORE,
      ...(reason === undefined ? {} : { reason }),
    });
    const first = generate({});
    const previous = {
      ...first,
      conditions: [old("Ready", "False", "Other"), old("ContainersReady", "True")],
    };
    const times = generate({ previous }).conditions.map((c) => [c.type, c.lastTransitionTime]);
    expect(Object.fromEntries(times)).toEqual({
      PodReadyToStartContainers: "2026-11-21T10:00:00Z",
      Initialized: "2026-11-21T10:00:00Z",
      Ready: BEFORE,
      ContainersReady: "2026-11-21T10:00:00Z",
      PodScheduled: "2026-11-21T10:00:00Z",
    });
  });

  test("a disruption is reported once and stays, with its time", () => {
    const disruption = { reason: "TerminationByKubelet", message: "the disk is full" };
    const first = generate({ observed: running, facts: { failed: true, disruption } });
    const kept = first.conditions[0];
    expect(kept).toEqual({
      type: "DisruptionTarget",
      status: "True",
      ...disruption,
      observedGeneration: 1,
      lastTransitionTime: "2026-11-21T10:00:00Z",
    });
    const later = generate({
      previous: { ...first, conditions: [{ ...kept, lastTransitionTime: BEFORE } as PodCondition] },
    });
    expect(later.conditions[0]).toEqual({ ...kept, lastTransitionTime: BEFORE } as PodCondition);
  });
});

describe("addresses", () => {
  test("a host-network pod has the node's", () => {
    const observed = anObservedPod([aSandbox({ ips: [], hostNetwork: true })], []);
    const hostIPs = ["192.0.2.7", "2001:db8::7"];
    const status = generate({ spec: { hostNetwork: true }, observed, hostIPs });
    expect([status.hostIP, status.podIP, status.podIPs]).toEqual([
      "192.0.2.7",
      "192.0.2.7",
      [{ ip: "192.0.2.7" }, { ip: "2001:db8::7" }],
    ]);
  });

  test("come from the newest sandbox", () => {
    const observed = anObservedPod(
      [aSandbox(), aSandbox({ attempt: 1, ips: ["10.88.0.9", "fd00::9"] })],
      [],
    );
    expect(generate({ observed }).podIPs).toEqual([{ ip: "10.88.0.9" }, { ip: "fd00::9" }]);
  });

  test("of a host-network pod are known before it has a sandbox", () => {
    expect(generate({ spec: { hostNetwork: true } }).podIP).toBe("192.0.2.7");
  });

  test("of a finished pod stay when its sandbox has gone down or away", () => {
    const previous = generate({ observed: running });
    for (const observed of [exitedPod(0), undefined]) {
      const world = observed === undefined ? {} : { observed };
      const { podIP, podIPs } = generate({ ...world, previous });
      expect([podIP, podIPs]).toEqual(["10.88.0.2", [{ ip: "10.88.0.2" }]]);
    }
  });

  test("of a sandbox that went down are not those of the one that comes up", () => {
    const previous = generate({ observed: running });
    const observed = anObservedPod(
      [aSandbox({ state: "NotReady", ips: [] }), aSandbox({ attempt: 1, ips: [] })],
      [],
    );
    expect(generate({ observed, previous }).podIP).toBeUndefined();
  });

  test("of the node stay while they cannot be read", () => {
    const previous = generate({ observed: running });
    const { hostIP, hostIPs } = generate({ observed: running, previous, hostIPs: [] });
    expect([hostIP, hostIPs]).toEqual(["192.0.2.7", [{ ip: "192.0.2.7" }]]);
  });

  test("are absent while unknown", () => {
    const status = generate({ hostIPs: [] });
    expect(Object.keys(status)).toEqual([
      "observedGeneration",
      "phase",
      "conditions",
      "startTime",
      "initContainerStatuses",
      "containerStatuses",
      "qosClass",
    ]);
  });
});

describe("start time", () => {
  const previous = { ...generate({}), startTime: BEFORE };
  test("is now at first", () => expect(generate({}).startTime).toBe("2026-11-21T10:00:00Z"));
  test("is what the pod's first sandbox has written", () => {
    const sandboxes = [
      aSandbox({ attempt: 1, startTime: "2026-11-20T08:00:00Z" }),
      aSandbox({ startTime: BEFORE, state: "NotReady" }),
    ];
    const observed = anObservedPod(sandboxes, []);
    expect(generate({ observed }).startTime).toBe(BEFORE);
    // A status from before the runtime was listed.
    expect(generate({ observed, previous: generate({}) }).startTime).toBe(BEFORE);
  });
  test("stays as it was", () => expect(generate({ previous }).startTime).toBe(BEFORE));
});

describe("the end of a pod", () => {
  test("a pod refused before it began has failed and has no containers", () => {
    const facts = { failed: true, podReason: "OutOfcpu", podMessage: "no cpu left" };
    const status = generate({ facts });
    expect([status.phase, status.reason, status.message, status.containerStatuses]).toEqual([
      "Failed",
      "OutOfcpu",
      "no cpu left",
      [],
    ]);
    expect(conditionsOf(status)["Ready"]).toBe("False PodFailed");
  });

  test("a pod that is evicted has failed although a container still stops", () => {
    const status = generate({ observed: running, facts: { failed: true, podReason: "Evicted" } });
    expect([status.phase, status.reason]).toEqual(["Failed", "Evicted"]);
    expect(status.containerStatuses.map(({ ready }) => ready)).toEqual([true]);
  });

  test("a pod past its deadline has failed while its containers still stop, and ends with them", () => {
    const facts = { failed: true, podReason: "DeadlineExceeded", podMessage: "active too long" };
    const stopping = generate({ observed: running, facts });
    expect([stopping.phase, stopping.reason, stopping.message]).toEqual([
      "Failed",
      "DeadlineExceeded",
      "active too long",
    ]);
    expect(stopping.containerStatuses[0]?.state.running).toBeDefined();
    expect(conditionsOf(stopping)["Ready"]).toBe("False PodFailed");
    const stopped = generate({ observed: exitedPod(137), facts, previous: stopping });
    expect(stopped.containerStatuses[0]?.state.terminated?.exitCode).toBe(137);
    expect([stopped.phase, stopped.podIP]).toEqual(["Failed", "10.88.0.2"]);
    const later = generate({ observed: exitedPod(137), previous: stopped });
    expect([later.phase, later.reason, later.message, later.podIP]).toEqual([
      "Failed",
      "DeadlineExceeded",
      "active too long",
      "10.88.0.2",
    ]);
  });

  test("a pod that a probe ended has not succeeded, although its container exited with 0", () => {
    const spec = { restartPolicy: "OnFailure" } as const;
    const facts = { replaced: ["a-0"] };
    expect(generate({ spec, observed: exitedPod(0), facts }).phase).toBe("Running");
    expect(generate({ spec, observed: exitedPod(0) }).phase).toBe("Succeeded");
  });

  test("a pod has not finished while the last words of its containers are on their way", () => {
    const previous = generate({ observed: running });
    const exited = anInstance("a", { state: "Exited", exitCode: 1, reason: "Error" });
    const spec = { restartPolicy: "Never" } as const;
    const early = anObservedPod([aSandbox()], [{ ...exited, presumed: true }]);
    expect(generate({ spec, observed: early, previous }).phase).toBe("Running");
    const late = anObservedPod([aSandbox()], [{ ...exited, message: "it broke" }]);
    expect(generate({ spec, observed: late, previous }).phase).toBe("Failed");
    const facts = { terminating: true };
    expect(generate({ spec, observed: early, previous, facts }).phase).toBe("Failed");
  });

  test("a finished pod keeps its phase and its reason whatever comes later", () => {
    const evicted = generate({ observed: running, facts: { failed: true, podReason: "Evicted" } });
    const later = generate({ observed: running, previous: evicted });
    expect([later.phase, later.reason]).toEqual(["Failed", "Evicted"]);
  });

  test("a reason of a living pod goes with its cause", () => {
    const waiting = generate({ facts: { podReason: "NetworkNotReady" } });
    const later = generate({ previous: waiting });
    expect([waiting.reason, later.reason]).toEqual(["NetworkNotReady", undefined]);
  });
});

test("generating again from the result changes nothing", () => {
  const worlds: Given[] = [
    {},
    { observed: running },
    { observed: exitedPod(1) },
    { observed: exitedPod(1), facts: { waiting: { a: { reason: "CrashLoopBackOff" } } } },
    { observed: exitedPod(0), spec: { restartPolicy: "Never" } },
    { facts: { terminating: true } },
  ];
  for (const world of worlds) {
    const once = generate(world);
    expect(generate({ ...world, previous: once })).toEqual(once);
  }
  const lost: ContainerStatus[] = [
    ...generate({ previous: generate({ observed: running }) }).containerStatuses,
  ];
  expect(lost[0]?.restartCount).toBe(1);
});

describe("a pod whose containers are restarted together", () => {
  const rule = {
    action: "RestartAllContainers",
    exitCodes: { operator: "In", values: [42] },
  } as const;
  const spec: Partial<PodSpec> = {
    restartPolicy: "Never",
    initContainers: [aContainer("i")],
    containers: [aContainer("a", { restartPolicy: "Never", restartPolicyRules: [rule] })],
  };
  const ended = (name: string, exitCode: number, attempt = 0) =>
    anInstance(name, { state: "Exited", exitCode, attempt });
  const before = [ended("i", 0), ended("a", 42)];

  test("says so until the first of them has started again", () => {
    const asked = generate({
      spec,
      observed: anObservedPod([aSandbox()], before),
      facts: { restartingAll: true },
    });
    expect(conditionsOf(asked)["AllContainersRestarting"]).toBe("True RestartAllContainersStarted");
    expect(asked.phase).toBe("Running");
  });

  test("is pending while its init containers run again, and not initialized by those before", () => {
    const again = anInstance("i", { attempt: 1, podRestarts: 1 });
    const status = generate({ spec, observed: anObservedPod([aSandbox()], [...before, again]) });
    expect(conditionsOf(status)["AllContainersRestarting"]).toBe("False");
    expect(status.phase).toBe("Pending");
    expect(status.initContainerStatuses[0]).toMatchObject({ restartCount: 1, ready: false });
    expect(status.containerStatuses[0]?.state.terminated?.exitCode).toBe(42);
  });

  test("shows why an init container that had completed does not start again", () => {
    const running = anInstance("i", { attempt: 1, podRestarts: 1 });
    const two = { ...spec, initContainers: [aContainer("i"), aContainer("j")] };
    const waiting = { j: { reason: "ImagePullBackOff" } };
    const status = generate({
      spec: two,
      observed: anObservedPod([aSandbox()], [...before, ended("j", 0), running]),
      facts: { waiting },
    });
    expect(status.initContainerStatuses[1]?.state.waiting?.reason).toBe("ImagePullBackOff");
  });

  test("is pending while a sidecar starts again, whatever the app containers did before", () => {
    const startupProbe = {
      handler: { type: "tcpSocket", port: 80 },
      initialDelaySeconds: 0,
      periodSeconds: 10,
      timeoutSeconds: 1,
      successThreshold: 1,
      failureThreshold: 3,
    } as const;
    const sidecar = aContainer("i", { restartPolicy: "Always", startupProbe });
    const again = anInstance("i", { attempt: 1, podRestarts: 1 });
    const status = generate({
      spec: { ...spec, initContainers: [sidecar] },
      observed: anObservedPod([aSandbox()], [...before, again]),
    });
    expect(status.phase).toBe("Pending");
  });

  test("has no such condition without such a rule", () => {
    expect(conditionsOf(generate({ observed: running }))).not.toHaveProperty(
      "AllContainersRestarting",
    );
  });
});
