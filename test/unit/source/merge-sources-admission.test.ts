import { describe, expect, test } from "bun:test";
import fc from "fast-check";
import type { DesiredPod, SourceName, SourceSnapshot } from "../../../src/api/pod/desired-pod.ts";
import {
  mergeSnapshots,
  type Admission,
  type AdmissionRank,
} from "../../../src/source/merge-sources.ts";
import { aContainer, aDesiredPod, aPod } from "../../fakes/a-pod.ts";

function pod(name: string, cpu: number, source: SourceName = "file"): DesiredPod {
  const spec = {
    containers: [aContainer("a", { resources: { limits: {}, requests: { cpu: String(cpu) } } })],
  };
  return aDesiredPod(aPod(spec, { name, uid: `${source}-${name}-${cpu}` }), { source });
}

function snapshot(source: SourceName, ...pods: readonly DesiredPod[]): SourceSnapshot {
  return { source, ready: true, pods, objects: [], rejected: [] };
}

/** A node of so many processors, which takes no pod called `strange`. */
function node(cpus: number, inside: ReadonlyMap<string, number> = new Map()): Admission {
  const cpuOf = ({ pod: { spec } }: DesiredPod): number =>
    Number(spec.containers[0]?.resources.requests.cpu ?? 0);
  const nameOf = ({ pod: { metadata } }: DesiredPod): string => metadata.name;
  return {
    refusal: (one) => {
      if (nameOf(one) === "strange")
        return { code: "NodeAffinity", path: "spec.nodeSelector", message: "strange" };
      const others = [...inside].filter(([name]) => name !== nameOf(one));
      const used = others.reduce((sum, [, cpu]) => sum + cpu, 0);
      if (used + cpuOf(one) <= cpus) return undefined;
      return { code: "OutOfcpu", path: "spec", message: `used: ${used}` };
    },
    with: (one) => node(cpus, new Map([...inside, [nameOf(one), cpuOf(one)]])),
  };
}

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
    refused: ["c OutOfcpu used: 4"],
  },
  "a small one passes a big one that does not fit": {
    wanted: [pod("a", 3), pod("b", 2), pod("c", 1)],
    pods: ["a", "c"],
    refused: ["b OutOfcpu used: 3"],
  },
  "what runs is not pushed out by a newcomer of a higher source": {
    wanted: [pod("new", 3), pod("old", 3, "mqtt:node")],
    runs: ["old"],
    pods: ["old"],
    refused: ["new OutOfcpu used: 3"],
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
    refused: ["new OutOfcpu used: 2"],
  },
  "a pod has the room of the one it replaces": {
    wanted: [pod("a", 4)],
    occupants: [pod("a", 3)],
    pods: ["a"],
    refused: [],
  },
};

describe("admission", () => {
  test.each(Object.entries(cases))("%s", (_sentence, one) => {
    const { wanted, runs = [], occupants = [] } = one;
    const admissionRank = ({ pod: { metadata } }: DesiredPod): AdmissionRank =>
      runs.includes(metadata.name) ? 0 : 2;
    const bySource = Map.groupBy(wanted, ({ source }) => source);
    const state = mergeSnapshots(
      [...bySource].map(([source, pods]) => snapshot(source, ...pods)),
      { groupPriorities: new Map(), admissionRank, occupants, admission: node(4) },
    );
    expect(state.pods.map(({ pod: { metadata } }) => metadata.name)).toEqual([...one.pods]);
    expect(state.rejected.map(({ name, code, message }) => `${name} ${code} ${message}`)).toEqual([
      ...one.refused,
    ]);
  });

  test("whatever runs under the name of a refused pod goes on, and nothing slips into its place", () => {
    const state = mergeSnapshots(
      [snapshot("file", pod("strange", 1)), snapshot("mqtt:node", pod("strange", 2, "mqtt:node"))],
      { groupPriorities: new Map(), admission: node(4) },
    );
    expect(state.pods).toEqual([]);
    expect([...state.held]).toEqual(["default/strange"]);
    expect(state.rejected.map(({ source, code }) => `${source} ${code}`)).toEqual([
      "mqtt:node Shadowed",
      "file NodeAffinity",
    ]);
  });

  test("a refused pod claims no host port", () => {
    const ports = [{ containerPort: 80, hostPort: 80, protocol: "TCP" as const }];
    const withPort = (name: string): DesiredPod =>
      aDesiredPod(aPod({ containers: [aContainer("a", { ports })] }, { name, uid: name }));
    const state = mergeSnapshots([snapshot("file", withPort("strange"), withPort("b"))], {
      groupPriorities: new Map(),
      admission: node(4),
    });
    expect(state.pods.map(({ uid }) => uid)).toEqual(["b"]);
  });

  test("never lets in more than there is room for", () => {
    const anyPods = fc.array(fc.integer({ min: 0, max: 5 }), { maxLength: 8 });
    fc.assert(
      fc.property(anyPods, (sizes) => {
        const wanted = sizes.map((cpu, index) => pod(`p${index}`, cpu));
        const { pods, rejected } = mergeSnapshots([snapshot("file", ...wanted)], {
          groupPriorities: new Map(),
          admission: node(4),
        });
        const taken = pods.map(({ uid }) => Number(uid.split("-").at(-1)));
        expect(taken.reduce((sum, cpu) => sum + cpu, 0)).toBeLessThanOrEqual(4);
        expect(pods.length + rejected.length).toBe(wanted.length);
      }),
    );
  });
});
