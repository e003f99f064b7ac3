import { expect, test } from "bun:test";
import type { Container } from "../../../src/api/v1/container.ts";
import type { ContainerStatus } from "../../../src/api/v1/pod-status.ts";
import type { ObservedContainer } from "../../../src/api/pod/observed-pod.ts";
import { containerStatuses } from "../../../src/status/container-statuses.ts";
import { aContainer, aPod, aSandbox, anInstance, anObservedPod } from "../../fakes/a-pod.ts";

const mounts: Container["volumeMounts"] = [
  { name: "data", mountPath: "/data", readOnly: false },
  { name: "config", mountPath: "/config", readOnly: true },
  { name: "all", mountPath: "/all", readOnly: true, recursiveReadOnly: "Enabled" },
  { name: "maybe", mountPath: "/maybe", readOnly: true, recursiveReadOnly: "IfPossible" },
];

function statusOf(container: Partial<Container>, instance?: Partial<ObservedContainer>) {
  const [a, init] = [aContainer("a", container), aContainer("init", container)];
  const instances =
    instance === undefined ? [] : [anInstance("a", instance), anInstance("init", instance)];
  const all = containerStatuses({
    pod: aPod({ containers: [a], initContainers: [init] }),
    observed: instance && anObservedPod([aSandbox()], instances),
    facts: { waiting: {} },
    previous: undefined,
  });
  const given = ({
    resources,
    allocatedResources,
    volumeMounts,
    user,
  }: ContainerStatus): Partial<ContainerStatus> =>
    JSON.parse(JSON.stringify({ resources, allocatedResources, volumeMounts, user })) as object;
  const [app, first] = [...all.containerStatuses, ...all.initContainerStatuses].map(given);
  // Init containers show the same.
  expect(first).toEqual(app);
  return app;
}

test("before it is created a container shows its mounts only", () => {
  const limits = { cpu: "100m" };
  expect(statusOf({ resources: { limits, requests: limits }, volumeMounts: mounts })).toEqual({
    volumeMounts: [
      { name: "data", mountPath: "/data" },
      { name: "config", mountPath: "/config", readOnly: true, recursiveReadOnly: "Disabled" },
      { name: "all", mountPath: "/all", readOnly: true, recursiveReadOnly: "Enabled" },
      { name: "maybe", mountPath: "/maybe", readOnly: true },
    ],
  });
});

test("a container shows what it asked for and got", () => {
  const resources = { limits: { memory: "64Mi" }, requests: { cpu: "50m", memory: "64Mi" } };
  expect(statusOf({ resources }, {})).toEqual({
    resources,
    allocatedResources: resources.requests,
  });
});

test("a container that asked for nothing has no resources", () => {
  expect(statusOf({}, {})).toEqual({ resources: {} });
});

test("IfPossible becomes what the runtime did", () => {
  const volumeMounts = mounts.slice(3);
  const mode = (instance: Partial<ObservedContainer>) =>
    statusOf({ volumeMounts }, instance)?.volumeMounts?.[0]?.recursiveReadOnly;
  expect(mode({ recursiveReadOnly: ["/maybe"] })).toBe("Enabled");
  expect(mode({ recursiveReadOnly: ["/other"] })).toBe("Disabled");
  expect(mode({})).toBe("Disabled");
});

test("the user is that of the runtime, also when the container has ended", () => {
  const user = { uid: 1000, gid: 0, supplementalGroups: [0, 10] };
  expect(statusOf({}, { user })?.user).toEqual({ linux: user });
  expect(statusOf({}, { user, state: "Exited" })?.user).toEqual({ linux: user });
});
