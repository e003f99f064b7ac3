import { describe, expect, test } from "bun:test";
import fc from "fast-check";
import type { DesiredPod, SourceName } from "../../../../src/api/pod/desired-pod.ts";
import {
  podsInTheWay,
  type YieldingPod,
  type TakenPlaces,
} from "../../../../src/source/admission/pods-in-the-way.ts";
import { aNode } from "../../../fakes/a-node.ts";
import { aContainer, aDesiredPod, aPod } from "../../../fakes/a-pod.ts";

interface Ask {
  readonly cpu?: number;
  readonly memory?: number;
  readonly port?: number;
}

function pod(name: string, ask: Ask, source: SourceName = "mqtt:node", uid = name): DesiredPod {
  const { cpu = 0, memory = 0, port } = ask;
  const requests = { cpu: String(cpu), memory: String(memory) };
  const ports =
    port === undefined ? [] : [{ containerPort: 80, hostPort: port, protocol: "TCP" as const }];
  const containers = [aContainer("a", { resources: { limits: {}, requests }, ports })];
  return aDesiredPod(aPod({ containers }, { name, uid }), { source });
}

const stays = (desired: DesiredPod): YieldingPod => ({ desired, isLeaving: false });
const leaves = (desired: DesiredPod): YieldingPod => ({ desired, isLeaving: true });

/** Four processors, 1000 bytes, five pods. */
function node(more: Partial<TakenPlaces> = {}): TakenPlaces {
  return {
    node: { ...aNode({ cpu: "4", memory: "1000" }), maxPods: 5 },
    staying: [],
    yielding: [],
    isOver: () => false,
    ...more,
  };
}

interface Case {
  readonly own: Ask;
  readonly taken: Partial<TakenPlaces>;
  readonly inTheWay: readonly string[];
}

const cases: Readonly<Record<string, Case>> = {
  "nothing, while there is room": {
    own: { cpu: 1 },
    taken: { yielding: [stays(pod("a", { cpu: 3 }))] },
    inTheWay: [],
  },
  "the lowest precedence, not the highest": {
    own: { cpu: 2 },
    taken: { yielding: [stays(pod("a", { cpu: 2 })), stays(pod("b", { cpu: 2 }))] },
    inTheWay: ["b"],
  },
  "no more than needed: a small pod stays where stopping it alone helps nobody": {
    own: { cpu: 2 },
    taken: {
      yielding: [
        stays(pod("a", { cpu: 1 })),
        stays(pod("b", { cpu: 2 })),
        stays(pod("c", { cpu: 1 })),
      ],
    },
    inTheWay: ["b"],
  },
  "nobody who takes nothing of what is short": {
    own: { cpu: 3 },
    taken: { yielding: [stays(pod("a", { cpu: 2 })), stays(pod("b", { memory: 900 }))] },
    inTheWay: ["a"],
  },
  "not the pod that runs, where only the successor of its name takes what is short": {
    own: { cpu: 3 },
    taken: {
      yielding: [stays(pod("a", { cpu: 0 })), stays(pod("a", { cpu: 3 }, "mqtt:node", "a-new"))],
    },
    inTheWay: ["a-new"],
  },
  "nobody for what the file's pod does not ask for, even where the node has too little by now": {
    own: { cpu: 1 },
    taken: { yielding: [stays(pod("a", { memory: 1500 })), stays(pod("b", { cpu: 3 }))] },
    inTheWay: [],
  },
  "the pod with its host port": {
    own: { port: 80 },
    taken: { yielding: [stays(pod("a", { port: 80 })), stays(pod("b", { port: 81 }))] },
    inTheWay: ["a"],
  },
  "what the pod with its port frees is counted": {
    own: { port: 80, cpu: 2 },
    taken: { yielding: [stays(pod("a", { cpu: 2 })), stays(pod("b", { cpu: 2, port: 80 }))] },
    inTheWay: ["b"],
  },
  "the last pods where the node is full": {
    own: {},
    taken: { yielding: ["a", "b", "c", "d", "e"].map((name) => stays(pod(name, {}))) },
    inTheWay: ["e"],
  },
  "one that leaves anyway, and no other": {
    own: { cpu: 2 },
    taken: { yielding: [stays(pod("a", { cpu: 2 })), leaves(pod("b", { cpu: 2 }))] },
    inTheWay: ["b"],
  },
  "one that leaves with its port": {
    own: { port: 80 },
    taken: { yielding: [leaves(pod("a", { port: 80 }))] },
    inTheWay: ["a"],
  },
  "not one that leaves while there is room beside it": {
    own: { cpu: 1 },
    taken: { yielding: [leaves(pod("a", { cpu: 3 }))] },
    inTheWay: [],
  },
  "both specs of a name, which take their room once": {
    own: { cpu: 2 },
    taken: {
      yielding: [
        stays(pod("a", { cpu: 2 })),
        stays(pod("b", { cpu: 1 }, "mqtt:node", "b-old")),
        stays(pod("b", { cpu: 2 }, "mqtt:node", "b-new")),
      ],
    },
    inTheWay: ["b-old", "b-new"],
  },
  "other files' pods count, running or not": {
    own: { cpu: 1 },
    taken: {
      staying: [pod("f", { cpu: 2 }, "file")],
      yielding: [stays(pod("a", { cpu: 1 })), stays(pod("b", { cpu: 1 }))],
    },
    inTheWay: ["b"],
  },
  "not the pod under its own name, which it replaces": {
    own: { cpu: 4, port: 80 },
    taken: { yielding: [stays(pod("own", { cpu: 4, port: 80 }, "mqtt:node", "old"))] },
    inTheWay: [],
  },
  "the pod under another file's name, while it takes more than that one": {
    own: { cpu: 2 },
    taken: {
      staying: [pod("f", { cpu: 1 }, "file")],
      yielding: [stays(pod("f", { cpu: 3 }, "mqtt:node", "old"))],
    },
    inTheWay: ["old"],
  },
  "not the pod under another file's name that takes no more than that one": {
    own: { cpu: 2 },
    taken: {
      staying: [pod("f", { cpu: 2 }, "file"), pod("g", {}, "file"), pod("h", {}, "file")],
      yielding: [
        stays(pod("f", { cpu: 2 }, "mqtt:node", "old")),
        stays(pod("a", {})),
        stays(pod("b", {})),
      ],
    },
    inTheWay: ["b"],
  },
  "nobody who has come to his end and takes no room": {
    own: { cpu: 2 },
    taken: {
      yielding: [stays(pod("a", { cpu: 4 }))],
      isOver: (uid) => uid === "a",
    },
    inTheWay: [],
  },
};

describe("in the way of a file's pod", () => {
  test.each(Object.entries(cases))("%s", (_sentence, { own, taken, inTheWay }) => {
    const found = podsInTheWay(pod("own", own, "file"), node(taken));
    expect(found.map(({ uid }) => uid)).toEqual([...inTheWay]);
  });

  test("without them it fits, and with any one of them again it does not", () => {
    const asks = fc.array(fc.integer({ min: 0, max: 3 }), { maxLength: 6 });
    fc.assert(
      fc.property(asks, fc.integer({ min: 1, max: 4 }), (cpus, cpu) => {
        const yielding = cpus.map((one, index) => stays(pod(`p${index}`, { cpu: one })));
        const own = pod("own", { cpu }, "file");
        const taken = node({ yielding, node: { ...node().node, maxPods: 100 } });
        const out = new Set(podsInTheWay(own, taken).map(({ uid }) => uid));
        const kept = cpus.filter((_, index) => !out.has(`p${index}`));
        const sum = (all: readonly number[]) => all.reduce((a, b) => a + b, 0);
        if (sum(cpus) + cpu <= 4) expect(out.size).toBe(0);
        else expect(sum(kept) + cpu).toBeLessThanOrEqual(4);
        for (const [index, one] of cpus.entries())
          if (out.has(`p${index}`)) expect(sum(kept) + cpu + one).toBeGreaterThan(4);
      }),
    );
  });
});
