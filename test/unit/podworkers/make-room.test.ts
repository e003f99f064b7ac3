import { describe, expect, test } from "bun:test";
import type { DesiredPod, Rejection, SourceName } from "../../../src/api/pod/desired-pod.ts";
import { mustMakeRoom as podsInTheWay, type RoomFacts } from "../../../src/podworkers/make-room.ts";
import type { WorkerFacts } from "../../../src/podworkers/plan-workers.ts";
import { aNode } from "../../fakes/a-node.ts";
import { aContainer, aDesiredPod, aPod } from "../../fakes/a-pod.ts";

function mustMakeRoom(own: DesiredPod, all: RoomFacts): readonly string[] {
  return podsInTheWay(own, all).map(({ uid }) => uid);
}

function pod(name: string, source: SourceName, cpu: number, port?: number): DesiredPod {
  const resources = { limits: {}, requests: { cpu: String(cpu) } };
  const ports =
    port === undefined ? [] : [{ containerPort: 80, hostPort: port, protocol: "TCP" as const }];
  const containers = [aContainer("a", { resources, ports })];
  return aDesiredPod(aPod({ containers }, { name, uid: `${source} ${name}` }), { source });
}

function critical(desired: DesiredPod): DesiredPod {
  const { pod: one } = desired;
  const spec = { ...one.spec, priorityClassName: "system-node-critical" };
  return { ...desired, pod: { ...one, spec } };
}

function worker(desired: DesiredPod, why?: "Deleted" | "Preempted"): WorkerFacts {
  const { uid, pod: one } = desired;
  const names = { uid, namespace: "default", name: one.metadata.name };
  return { ...names, desired, removal: why === undefined ? undefined : { ...names, why } };
}

/** As an agent that was restarted knows it. */
const forgotten = (facts: WorkerFacts): WorkerFacts => ({ ...facts, desired: undefined });

/** `pods`: what is wanted, in order of precedence. */
function facts(
  pods: readonly DesiredPod[],
  workers: readonly WorkerFacts[],
  rejected: readonly Rejection[] = [],
): RoomFacts {
  return { node: aNode({ cpu: "4" }), isOver: () => false, desired: { pods, rejected }, workers };
}

const OWN = pod("own", "file", 2, 80);
const ofNode = pod("n", "mqtt:node", 2);
const ofGroup = pod("g", "mqtt:group/all", 2);
const ofLowGroup = pod("l", "mqtt:group/low", 2);

describe("room for a file's pod", () => {
  test("is made by the group of the lowest priority, before the node's document", () => {
    const wanted = [OWN, ofNode, ofGroup, ofLowGroup];
    const all = facts(
      wanted,
      [ofLowGroup, ofNode].map((one) => worker(one)),
    );
    expect(mustMakeRoom(OWN, all)).toEqual([ofLowGroup.uid]);
    const groups = facts(
      wanted,
      [ofLowGroup, ofGroup].map((one) => worker(one)),
    );
    expect(mustMakeRoom(OWN, groups)).toEqual([ofLowGroup.uid]);
  });

  test("is made by an old spec that no document wants any more first, among those of its source", () => {
    const old = pod("old", "mqtt:node", 2);
    const all = facts([OWN, ofNode], [worker(old), worker(ofNode)]);
    expect(mustMakeRoom(OWN, all)).toEqual([old.uid]);
  });

  test("is not made for a document's pod", () => {
    expect(mustMakeRoom(ofNode, facts([ofNode], [worker(pod("g", "mqtt:group/all", 4))]))).toEqual(
      [],
    );
  });

  test("is made for a critical pod of a document by other documents, and by no file", () => {
    const own = critical(pod("own", "mqtt:group/all", 2, 80));
    const file = pod("f", "file", 2, 80);
    const wanted = [file, ofNode, own, ofLowGroup];
    const all = facts(
      wanted,
      [file, ofNode, ofLowGroup].map((one) => worker(one)),
    );
    expect(mustMakeRoom(own, all)).toEqual([ofNode.uid, ofLowGroup.uid]);
    expect(mustMakeRoom(own, facts([own], [worker(critical(ofNode)), worker(file)]))).toEqual([]);
  });

  test("is made for a critical pod of a file by other files too, documents first", () => {
    const own = critical(OWN);
    const file = pod("f", "file", 2);
    const wanted = [own, file, ofNode];
    const two = [worker(file), worker(ofNode)];
    expect(mustMakeRoom(own, facts(wanted, two))).toEqual([ofNode.uid]);
    const one = pod("own", "file", 4);
    expect(mustMakeRoom(critical(one), facts(wanted, two))).toEqual([file.uid, ofNode.uid]);
    expect(mustMakeRoom(one, facts(wanted, two))).toEqual([ofNode.uid]);
  });

  test("is not made by pods of files, wanted or refused, but by what only a document declares by now", () => {
    const other = pod("other", "file", 4, 80);
    const refused = {
      source: "file",
      ref: "/m/x.yaml",
      code: "OutOfcpu",
      path: "",
      message: "",
    } as const;
    expect(mustMakeRoom(OWN, facts([OWN, other], [worker(other)]))).toEqual([]);
    const rejection = { ...refused, namespace: "default", name: "other" };
    expect(mustMakeRoom(OWN, facts([OWN], [worker(other)], [rejection]))).toEqual([]);
    // Its file is gone, and a document's pod of the name waits for its images.
    expect(mustMakeRoom(OWN, facts([OWN], [worker(other)]))).toEqual([other.uid]);
  });

  test("is waited for where a restart has forgotten what leaves", () => {
    const leaving = forgotten(worker(ofNode, "Preempted"));
    expect(mustMakeRoom(pod("own", "file", 2), facts([OWN], [leaving]))).toEqual([ofNode.uid]);
    // It may have had the host port; a pod without one does not wait for it.
    const deleted = forgotten(worker(ofNode, "Deleted"));
    expect(mustMakeRoom(OWN, facts([OWN], [deleted]))).toEqual([ofNode.uid]);
    expect(mustMakeRoom(pod("own", "file", 2), facts([OWN], [deleted]))).toEqual([]);
  });
});
