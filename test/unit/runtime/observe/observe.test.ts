import { describe, expect, test } from "bun:test";
import { create } from "@bufbuild/protobuf";
import {
  ContainerSchema,
  ContainerState,
  ContainerStatusSchema,
  PodSandboxSchema,
  PodSandboxState,
} from "../../../../src/cri/gen/runtime/v1/api_pb.ts";
import {
  listedContainer,
  listedSandbox,
  observedContainer,
  observedSandbox,
  type ListedContainer,
  type ListedSandbox,
} from "../../../../src/runtime/observe/observe.ts";
import { identityLabels } from "../../../../src/api/pod/labels.ts";
import { aPod } from "../../../fakes/a-pod.ts";

const labels = identityLabels(aPod(), "default");

function sandbox(annotations: Record<string, string>): ListedSandbox {
  const state = PodSandboxState.SANDBOX_NOTREADY;
  const message = create(PodSandboxSchema, { labels, annotations, state });
  const listed = listedSandbox(message, "default");
  if (listed === undefined) throw new Error("not ours");
  return listed;
}

function container(): ListedContainer {
  const listed = listedContainer(create(ContainerSchema, { id: "c", labels }), "default");
  if (listed === undefined) throw new Error("not ours");
  return listed;
}

describe("observedSandbox", () => {
  test("has its boot also when it is not ready and no detail was requested", () => {
    const listed = sandbox({ "agent/boot-id": "b-1", "agent/active-since": "1500" });
    expect(observedSandbox(listed, undefined)).toMatchObject({
      state: "NotReady",
      bootId: "b-1",
      activeSince: 1500,
    });
  });

  test("knows the ids of its own users also when it is down, and reads no others", () => {
    const of = (text: string) =>
      observedSandbox(sandbox({ "agent/user-namespace": text }), undefined).userNamespace;
    expect(of("65536:65536")).toEqual({ hostId: 65_536, length: 65_536 });
    expect([of("x"), of("0:65536")]).toEqual([undefined, undefined]);
  });

  test.each(["", "x", "2026-11-21", "2026-11-21T08:00:08Z ", "9".repeat(400)])(
    "a start time of %p is none",
    (text) => {
      const observed = observedSandbox(sandbox({ "agent/start-time": text }), undefined);
      expect(Object.keys(observed)).not.toContain("startTime");
    },
  );

  test.each(["", "x", "-1", "1e9", "NaN", "Infinity", "1".repeat(400)])(
    "an active-since of %p is none",
    (text) => {
      const observed = observedSandbox(sandbox({ "agent/active-since": text }), undefined);
      expect(Object.keys(observed)).not.toContain("activeSince");
      expect(Object.keys(observed)).not.toContain("bootId");
    },
  );
});

describe("observedContainer", () => {
  test("knows its user and where mounts below are read-only too", () => {
    const status = create(ContainerStatusSchema, {
      user: { linux: { uid: 1000n, gid: 0n, supplementalGroups: [0n, 10n] } },
      mounts: [
        { containerPath: "/all", recursiveReadOnly: true },
        { containerPath: "/top", readonly: true },
      ],
    });
    expect(observedContainer(container(), status)).toMatchObject({
      user: { uid: 1000, gid: 0, supplementalGroups: [0, 10] },
      recursiveReadOnly: ["/all"],
    });
  });

  test("has no user where the runtime reports none", () => {
    const keys = Object.keys(observedContainer(container(), create(ContainerStatusSchema, {})));
    expect(keys).not.toContain("user");
    expect(keys).not.toContain("recursiveReadOnly");
  });

  const status = (annotations: Record<string, string>) =>
    create(ContainerStatusSchema, {
      state: ContainerState.CONTAINER_EXITED,
      message: "oops",
      annotations,
    });

  test("reads role, hook and ports, and adds its last words to the runtime's", () => {
    const annotations = {
      "agent/container-role": "sidecar/2",
      "io.kubernetes.container.preStopHandler": '{"type":"sleep","seconds":3}',
      "io.kubernetes.container.ports": '[{"containerPort":80,"protocol":"TCP"}]',
    };
    expect(observedContainer(container(), status(annotations), "bye")).toMatchObject({
      role: { type: "Sidecar", position: 2 },
      preStop: { type: "sleep", seconds: 3 },
      ports: [{ containerPort: 80, protocol: "TCP" }],
      message: "oops: bye",
    });
  });

  test("reads what it knew of ConfigMaps and Secrets, if it knew any", () => {
    const digest = { "agent/config-digest": "v1:key:sum" };
    expect(observedContainer(container(), status(digest)).configDigest).toBe("v1:key:sum");
    expect(observedContainer(container(), status({}))).not.toHaveProperty("configDigest");
  });

  test("reads how often its pod had been restarted as a whole, if it had", () => {
    const restarts = (text: string) => status({ "agent/pod-restarts": text });
    expect(observedContainer(container(), restarts("2")).podRestarts).toBe(2);
    for (const one of [status({}), restarts("0"), restarts("-1"), restarts("x")])
      expect(observedContainer(container(), one)).not.toHaveProperty("podRestarts");
  });

  test("without them, or with unreadable ones, it is an app container without a hook", () => {
    for (const annotations of [{}, { "io.kubernetes.container.preStopHandler": "}" }]) {
      const observed = observedContainer(container(), status(annotations));
      expect([observed.role, observed.preStop, observed.ports]).toEqual([
        undefined,
        undefined,
        undefined,
      ]);
      expect(observed.message).toBe("oops");
    }
  });
});
