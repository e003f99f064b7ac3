import { describe, expect, test } from "bun:test";
import fc from "fast-check";
import type {
  DesiredPod,
  SourceName,
  SourceSnapshot,
} from "../../../../src/api/pod/desired-pod.ts";
import type { AdmissionRank } from "../../../../src/source/admission/admission.ts";
import { mergeSnapshots, type MergeOptions } from "../../../../src/source/merge-sources.ts";
import { aNode, ROOMY } from "../../../fakes/a-node.ts";
import type { PodSpec } from "../../../../src/api/v1/pod-spec.ts";
import { aContainer, aDesiredPod, aPod } from "../../../fakes/a-pod.ts";

function pod(
  name: string,
  cpu: number,
  source: SourceName = "file",
  more: Partial<PodSpec> = {},
): DesiredPod {
  const spec = {
    ...more,
    containers: [aContainer("a", { resources: { limits: {}, requests: { cpu: String(cpu) } } })],
    ...(name === "strange" ? STRANGE : {}),
  };
  return aDesiredPod(aPod(spec, { name, uid: `${source}-${name}-${cpu}` }), { source });
}

const critical = (name: string, cpu: number, source?: SourceName): DesiredPod =>
  pod(name, cpu, source, { priorityClassName: "system-node-critical" });

const lingering = (one: DesiredPod): DesiredPod => ({ ...one, lingers: true });

/** No node has this label. */
const STRANGE = { nodeSelector: { site: "elsewhere" } };

function snapshot(source: SourceName, ...pods: readonly DesiredPod[]): SourceSnapshot {
  return { source, ready: true, pods, objects: [], rejected: [] };
}

/** A node of four processors. */
const NODE: MergeOptions = { ...ROOMY, node: aNode({ cpu: "4" }) };

interface Case {
  readonly wanted: readonly DesiredPod[];
  /** Names of pods that run as they are wanted. */
  readonly runs?: readonly string[];
  readonly occupants?: readonly DesiredPod[];
  readonly pods: readonly string[];
  readonly refused: readonly string[];
}

const cases: Readonly<Record<string, Case>> = {
  "those that come first have the room": {
    wanted: [pod("a", 2), pod("b", 2), pod("c", 1)],
    pods: ["a", "b"],
    refused: ["c OutOfcpu used: 4000"],
  },
  "a small one passes a big one that does not fit": {
    wanted: [pod("a", 3), pod("b", 2), pod("c", 1)],
    pods: ["a", "c"],
    refused: ["b OutOfcpu used: 3000"],
  },
  "a pod of a file is admitted although the running pod of a document takes its room until it is ready":
    {
      wanted: [pod("new", 3), pod("old", 3, "mqtt:node")],
      runs: ["old"],
      pods: ["new", "old"],
      refused: [],
    },
  "a pod of a document that made room is refused as long as the file's pod needs it": {
    wanted: [pod("new", 3), pod("old", 3, "mqtt:node")],
    occupants: [pod("old", 3, "mqtt:node")],
    pods: ["new"],
    refused: ["old OutOfcpu used: 3000"],
  },
  "a pod that is listed is admitted although one that lingers takes its room": {
    wanted: [pod("new", 3, "mqtt:node"), lingering(pod("old", 3, "mqtt:node"))],
    runs: ["old"],
    occupants: [pod("old", 3, "mqtt:node")],
    pods: ["new", "old"],
    refused: [],
  },
  "one that lingers and has left is not refused, but gone": {
    wanted: [pod("new", 3, "mqtt:node"), lingering(pod("old", 3, "mqtt:node"))],
    occupants: [pod("old", 3, "mqtt:node")],
    pods: ["new"],
    refused: [],
  },
  "what runs of a group is not pushed out by a newcomer of the node's document": {
    wanted: [pod("new", 3, "mqtt:node"), pod("old", 3, "mqtt:group/all")],
    runs: ["old"],
    pods: ["old"],
    refused: ["new OutOfcpu used: 3000"],
  },
  "nor what runs of a file by another file": {
    wanted: [pod("new", 3), pod("old", 3)],
    runs: ["old"],
    pods: ["old"],
    refused: ["new OutOfcpu used: 3000"],
  },
  "a document's pod that leaves takes no room from a file's, and a file's does": {
    wanted: [pod("new", 3)],
    occupants: [pod("leaving", 2, "mqtt:node")],
    pods: ["new"],
    refused: [],
  },
  "what a file left to a document is in no other file's way": {
    wanted: [pod("new", 3), pod("heir", 2, "mqtt:node")],
    occupants: [pod("heir", 2)],
    pods: ["new"],
    refused: ["heir OutOfcpu used: 3000"],
  },
  "a critical pod of a document is admitted although another pod of a document runs in its room": {
    wanted: [pod("old", 3, "mqtt:node"), critical("new", 3, "mqtt:group/all")],
    runs: ["old"],
    pods: ["old", "new"],
    refused: [],
  },
  "which is refused when it has made room": {
    wanted: [pod("old", 3, "mqtt:node"), critical("new", 3, "mqtt:group/all")],
    occupants: [pod("old", 3, "mqtt:node")],
    pods: ["new"],
    refused: ["old OutOfcpu used: 3000"],
  },
  "a critical pod of a document pushes out no pod of a file": {
    wanted: [pod("old", 3), critical("new", 3, "mqtt:node")],
    runs: ["old"],
    pods: ["old"],
    refused: ["new OutOfcpu used: 3000"],
  },
  "a critical pod of a file comes before the other files": {
    wanted: [pod("old", 3), critical("new", 3)],
    runs: ["old"],
    pods: ["old", "new"],
    refused: [],
  },
  "no critical pod pushes out one that is as critical": {
    wanted: [critical("old", 3), critical("new", 3)],
    runs: ["old"],
    pods: ["old"],
    refused: ["new OutOfcpu used: 3000"],
  },
  "of those that wait the higher priority has the room": {
    wanted: [pod("low", 3), pod("high", 3, "file", { priority: 7 })],
    pods: ["high"],
    refused: ["low OutOfcpu used: 3000"],
  },
  "what runs is not pushed out for a higher priority that is not critical": {
    wanted: [pod("low", 3), pod("high", 3, "file", { priority: 1_000_000_000 })],
    runs: ["low"],
    pods: ["low"],
    refused: ["high OutOfcpu used: 3000"],
  },
  "what runs stays although the node would not take it any more": {
    wanted: [pod("strange", 9)],
    runs: ["strange"],
    pods: ["strange"],
    refused: [],
  },
  "a pod that is being stopped takes its room until it is gone": {
    wanted: [pod("new", 3)],
    occupants: [pod("leaving", 2)],
    pods: [],
    refused: ["new OutOfcpu used: 2000"],
  },
  "a pod has the room of the one it replaces": {
    wanted: [pod("a", 4)],
    occupants: [pod("a", 3)],
    pods: ["a"],
    refused: [],
  },
};

test("a label that only a document gives the node attracts no static pod, and repels none", () => {
  const node = { ...NODE.node, labels: { site: "elsewhere" }, ownLabels: { site: "here" } };
  const named = (name: string, source: SourceName, site: string): DesiredPod => {
    const { pod: one } = pod(name, 1, source);
    return aDesiredPod({ ...one, spec: { ...one.spec, nodeSelector: { site } } }, { source });
  };
  const { pods } = mergeSnapshots(
    [
      snapshot("file", named("a", "file", "here"), named("b", "file", "elsewhere")),
      snapshot("mqtt:node", named("c", "mqtt:node", "here"), named("d", "mqtt:node", "elsewhere")),
    ],
    { ...NODE, node },
  );
  expect(pods.map((one) => one.pod.metadata.name)).toEqual(["a", "d"]);
});

describe("admission", () => {
  test.each(Object.entries(cases))("%s", (_sentence, one) => {
    const { wanted, runs = [], occupants = [] } = one;
    const admissionRank = ({ pod: { metadata } }: DesiredPod): AdmissionRank =>
      runs.includes(metadata.name) ? 0 : 2;
    const bySource = Map.groupBy(wanted, ({ source }) => source);
    const state = mergeSnapshots(
      [...bySource].map(([source, pods]) => snapshot(source, ...pods)),
      { ...NODE, admissionRank, occupants },
    );
    expect(state.pods.map(({ pod: { metadata } }) => metadata.name)).toEqual([...one.pods]);
    const refused = state.rejected.map(
      ({ name, code, message }) => `${name} ${code} ${/used: \d+/.exec(message)?.[0]}`,
    );
    expect(refused).toEqual([...one.refused]);
  });

  test("the refusal of a document's pod names the pods of files that have the room", () => {
    const { rejected } = mergeSnapshots(
      [snapshot("file", pod("new", 3)), snapshot("mqtt:node", pod("old", 3, "mqtt:node"))],
      NODE,
    );
    expect(rejected[0]?.message).toEndWith(
      "capacity: 4000; pods of files come first: default/new of file (/etc/agent/manifests/web.yaml#0)",
    );
    const many = ["a", "b", "c", "d"].map((name) => pod(name, 1));
    const full = mergeSnapshots(
      [snapshot("file", ...many), snapshot("mqtt:node", pod("old", 0, "mqtt:node"))],
      { ...NODE, node: { ...NODE.node, maxPods: 4 } },
    );
    expect(full.rejected).toMatchObject([{ name: "old", code: "OutOfpods" }]);
    expect(full.rejected[0]?.message).toEndWith(
      "default/c of file (/etc/agent/manifests/web.yaml#0), 1 more",
    );
  });

  test("the refusal names critical pods as such", () => {
    const come = (...first: readonly DesiredPod[]): string | undefined => {
      const snapshots = [...Map.groupBy(first, ({ source }) => source)].map(([source, pods]) =>
        snapshot(source, ...pods),
      );
      const group = snapshot("mqtt:group/all", pod("old", 4, "mqtt:group/all"));
      const { rejected } = mergeSnapshots([...snapshots, group], NODE);
      return /; (.*) come first/.exec(rejected[0]?.message ?? "")?.[1];
    };
    expect(come(critical("a", 1), critical("b", 1, "mqtt:node"))).toBe("critical pods");
    expect(come(pod("a", 1), critical("b", 1, "mqtt:node"))).toBe(
      "pods of files and critical pods",
    );
  });

  test("whatever runs under the name of a refused pod goes on, and nothing slips into its place", () => {
    const state = mergeSnapshots(
      [snapshot("file", pod("strange", 1)), snapshot("mqtt:node", pod("strange", 2, "mqtt:node"))],
      NODE,
    );
    expect(state.pods).toEqual([]);
    expect([...state.held]).toEqual(["default/strange"]);
    expect(state.rejected.map(({ source, code }) => `${source} ${code}`)).toEqual([
      "mqtt:node Shadowed",
      "file NodeAffinity",
    ]);
  });

  test("a pod that has come to its end takes no room, whether it is wanted or leaves", () => {
    const done = pod("done", 3);
    const gone = pod("gone", 3);
    const wanted = [snapshot("file", done), snapshot("mqtt:node", pod("new", 4, "mqtt:node"))];
    const options = {
      ...NODE,
      occupants: [done, gone],
      admissionRank: ({ uid }: DesiredPod): AdmissionRank => (uid === done.uid ? 0 : 2),
    };
    const over = (uid: string): boolean => uid === done.uid || uid === gone.uid;
    const refused = (isOver: (uid: string) => boolean) =>
      mergeSnapshots(wanted, { ...options, isOver }).rejected.map(({ code }) => code);
    expect(refused(over)).toEqual([]);
    expect(refused((uid) => uid === done.uid)).toEqual(["OutOfcpu"]);
    expect(refused((uid) => uid === gone.uid)).toEqual(["OutOfcpu"]);
  });

  test("a pod that has come to its end, leaves and is wanted again takes the room of its next life", () => {
    const again = pod("again", 3);
    const wanted = [snapshot("file", again, pod("new", 4))];
    const options = {
      ...NODE,
      occupants: [again],
      admissionRank: (): AdmissionRank => 2,
      isOver: (uid: string) => uid === again.uid,
    };
    const { pods, rejected } = mergeSnapshots(wanted, options);
    expect(pods).toEqual([again]);
    expect(rejected.map(({ code }) => code)).toEqual(["OutOfcpu"]);
  });

  test("a refused pod claims no host port", () => {
    const ports = [{ containerPort: 80, hostPort: 80, protocol: "TCP" as const }];
    const withPort = (name: string, more: Partial<PodSpec> = {}): DesiredPod =>
      aDesiredPod(aPod({ containers: [aContainer("a", { ports })], ...more }, { name, uid: name }));
    const both = [withPort("strange", STRANGE), withPort("b")];
    const state = mergeSnapshots([snapshot("file", ...both)], NODE);
    expect(state.pods.map(({ uid }) => uid)).toEqual(["b"]);
  });

  describe("a host port", () => {
    const at = (name: string, uid: string, hostPort?: number): DesiredPod => {
      const ports =
        hostPort === undefined ? [] : [{ containerPort: 80, hostPort, protocol: "TCP" as const }];
      return aDesiredPod(aPod({ containers: [aContainer("a", { ports })] }, { name, uid }));
    };
    const judge = (
      wanted: readonly DesiredPod[],
      occupants: readonly DesiredPod[],
      ranks: Readonly<Record<string, AdmissionRank>> = {},
    ) => {
      const admissionRank = ({ uid }: DesiredPod): AdmissionRank => ranks[uid] ?? 2;
      const options = { ...NODE, occupants, admissionRank };
      const { pods, rejected } = mergeSnapshots([snapshot("file", ...wanted)], options);
      return {
        pods: pods.map(({ uid }) => uid),
        refused: rejected.map(({ name, code }) => `${name} ${code}`),
      };
    };

    test("stays with the pod that was admitted, although nothing of it is there yet", () => {
      const early = at("web", "web-1", 80);
      expect(judge([at("db", "db-1", 80), early], [early], { "web-1": 1 })).toEqual({
        pods: ["web-1"],
        refused: ["db HostPortConflict"],
      });
    });

    test("is taken until the pod that is being replaced is gone", () => {
      const wanted = [at("db", "db-2"), at("web", "web-1", 80)];
      expect(judge(wanted, [at("db", "db-1", 80)], { "db-2": 1 })).toEqual({
        pods: ["db-2"],
        refused: ["web HostPortConflict"],
      });
      expect(judge(wanted, []).pods).toEqual(["db-2", "web-1"]);
    });

    test("is taken by what runs on because its replacement is refused", () => {
      const wanted = [at("db", "db-2", 90), at("other", "other-1", 90), at("web", "web-1", 80)];
      const ranks = { "other-1": 0, "db-2": 1 } as const;
      expect(judge(wanted, [at("db", "db-1", 80), at("other", "other-1", 90)], ranks)).toEqual({
        pods: ["other-1"],
        refused: ["db HostPortConflict", "web HostPortConflict"],
      });
    });

    test("can be exchanged between two pods: one of them goes first", () => {
      const wanted = [at("a", "a-2", 90), at("b", "b-2", 80)];
      const occupants = [at("a", "a-1", 80), at("b", "b-1", 90)];
      expect(judge(wanted, occupants, { "a-2": 1, "b-2": 1 })).toEqual({
        pods: ["b-2"],
        refused: ["a HostPortConflict"],
      });
    });
  });

  test("never lets in more than there is room for", () => {
    const anyPods = fc.array(fc.integer({ min: 0, max: 5 }), { maxLength: 8 });
    fc.assert(
      fc.property(anyPods, (sizes) => {
        const wanted = sizes.map((cpu, index) => pod(`p${index}`, cpu));
        const { pods, rejected } = mergeSnapshots([snapshot("file", ...wanted)], NODE);
        const taken = pods.map(({ uid }) => Number(uid.split("-").at(-1)));
        expect(taken.reduce((sum, cpu) => sum + cpu, 0)).toBeLessThanOrEqual(4);
        expect(pods.length + rejected.length).toBe(wanted.length);
      }),
    );
  });
});
