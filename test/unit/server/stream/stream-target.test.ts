import { describe, expect, test } from "bun:test";
import type { ContainerState, PodStatus } from "../../../../src/api/v1/pod-status.ts";
import { chooseContainer, notRunning } from "../../../../src/server/stream/stream-target.ts";
import { DEFAULT_CONTAINER } from "../../../../src/api/pod/selected-container.ts";
import { memberOf, parseJson } from "../../../../src/lib/json.ts";
import { aContainer, aPod } from "../../../fakes/a-pod.ts";

const TWO = aPod({
  containers: [aContainer("a"), aContainer("b")],
  initContainers: [aContainer("first")],
});

function messageIn(body: string): unknown {
  return memberOf(parseJson(body), "message");
}

function chosen(pod = TWO, name?: string): unknown {
  const found = chooseContainer(pod, name);
  return "status" in found ? [found.status, messageIn(found.body)] : found.name;
}

describe("the container", () => {
  test("is the only one", () => {
    expect(chosen(aPod())).toBe("a");
  });

  test("is the one that is named, an init container too", () => {
    expect(chosen(TWO, "b")).toBe("b");
    expect(chosen(TWO, "first")).toBe("first");
  });

  test("is the one that kubectl's annotation names", () => {
    const annotations = { [DEFAULT_CONTAINER]: "b" };
    expect(chosen({ ...TWO, metadata: { ...TWO.metadata, annotations } })).toBe("b");
  });

  test("must be named if there are several", () => {
    expect(chosen()).toEqual([
      400,
      "a container name must be specified for pod web, choose one of: [a b] or one of the init containers: [first]",
    ]);
    const annotations = { [DEFAULT_CONTAINER]: "gone" };
    expect(chosen({ ...TWO, metadata: { ...TWO.metadata, annotations } })).toEqual(chosen());
  });

  test("must be the pod's", () => {
    expect(chosen(TWO, "c")).toEqual([400, "container c is not valid for pod web"]);
  });
});

function refused(state: ContainerState | undefined): unknown {
  const base = { lastState: {}, ready: false, started: false, restartCount: 0 };
  const ids = { image: "", imageID: "", containerID: "" };
  const status: PodStatus = {
    observedGeneration: 1,
    phase: "Running",
    conditions: [],
    initContainerStatuses: [],
    containerStatuses: state === undefined ? [] : [{ name: "a", state, ...base, ...ids }],
    qosClass: "BestEffort",
  };
  const { status: code, body } = notRunning("web", "a", status);
  return [code, messageIn(body)];
}

describe("a container that does not run", () => {
  test("says what it does instead", () => {
    expect(refused({ waiting: { reason: "CrashLoopBackOff" } })).toEqual([
      400,
      'container "a" in pod "web" is waiting to start: CrashLoopBackOff',
    ]);
    expect(
      refused({ terminated: { exitCode: 3, reason: "Error", containerID: "containerd://1" } }),
    ).toEqual([400, 'container "a" in pod "web" is not running: Error, exit code 3']);
  });

  test("is not found if nothing is known of it", () => {
    expect(refused(undefined)).toEqual([404, 'container not found ("a")']);
  });
});
