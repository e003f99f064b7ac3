import { describe, expect, test } from "bun:test";
import fc from "fast-check";

import type { DesiredPod, SourceName, SourceSnapshot } from "../../../src/api/pod/desired-pod.ts";
import { podName } from "../../../src/api/v1/pod.ts";
import { mergeSnapshots } from "../../../src/source/merge-sources.ts";
import { aNode, ROOMY } from "../../fakes/a-node.ts";
import { aContainer, aDesiredPod, aPod } from "../../fakes/a-pod.ts";
import { isShadowed } from "../../../src/source/precedence.ts";

const GROUPS = {
  ...ROOMY,
  groupPriorities: new Map([
    ["kiosks", 10],
    ["all", 1],
  ]),
};

function pod(source: SourceName, name: string, hostPort?: number): DesiredPod {
  const ports =
    hostPort === undefined ? [] : [{ containerPort: 80, hostPort, protocol: "TCP" as const }];
  const sourceRef = source === "file" ? `/m/${name}.yaml#0` : "generation 1";
  const spec = { containers: [aContainer("a", { ports })] };
  return aDesiredPod(aPod(spec, { name, uid: `${source}-${name}` }), { source, sourceRef });
}

function snapshot(source: SourceName, ...pods: readonly DesiredPod[]): SourceSnapshot {
  return { source, ready: true, pods, objects: [], rejected: [] };
}

function merged(...snapshots: readonly SourceSnapshot[]) {
  const { pods, rejected } = mergeSnapshots(snapshots, GROUPS);
  return {
    pods: pods.map((one) => one.uid),
    rejected: rejected.map(({ source, name, code }) => `${source} ${name} ${code}`),
  };
}

const cases: Readonly<
  Record<
    string,
    readonly [
      snapshots: readonly SourceSnapshot[],
      pods: readonly string[],
      rejected: readonly string[],
    ]
  >
> = {
  "files win over the node's document, that over groups by priority": [
    [
      snapshot("mqtt:group/all", pod("mqtt:group/all", "web"), pod("mqtt:group/all", "d")),
      snapshot("mqtt:group/kiosks", pod("mqtt:group/kiosks", "web"), pod("mqtt:group/kiosks", "d")),
      snapshot("mqtt:node", pod("mqtt:node", "web"), pod("mqtt:node", "c")),
      snapshot("http", pod("http", "web")),
      snapshot("file", pod("file", "web")),
    ],
    ["file-web", "mqtt:node-c", "mqtt:group/kiosks-d"],
    [
      "http web Shadowed",
      "mqtt:node web Shadowed",
      "mqtt:group/kiosks web Shadowed",
      "mqtt:group/all web Shadowed",
      "mqtt:group/all d Shadowed",
    ],
  ],
  "groups of one priority go by name, an unknown group comes last": [
    [
      snapshot("mqtt:group/zz", pod("mqtt:group/zz", "web")),
      snapshot("mqtt:group/aa", pod("mqtt:group/aa", "web")),
      snapshot("mqtt:group/all", pod("mqtt:group/all", "web")),
    ],
    ["mqtt:group/all-web"],
    ["mqtt:group/aa web Shadowed", "mqtt:group/zz web Shadowed"],
  ],
  "the later of two pods that claim one host port is left out": [
    [snapshot("file", pod("file", "a", 8080), pod("file", "b", 8080), pod("file", "c", 8081))],
    ["file-a", "file-c"],
    ["file b HostPortConflict"],
  ],
  "a pod that lost its port still keeps its name": [
    [
      snapshot("mqtt:node", pod("mqtt:node", "b")),
      snapshot("file", pod("file", "a", 80), pod("file", "b", 80)),
    ],
    ["file-a"],
    ["mqtt:node b Shadowed", "file b HostPortConflict"],
  ],
  "a shadowed pod claims no port": [
    [
      snapshot("file", pod("file", "a", 80)),
      snapshot("mqtt:node", pod("mqtt:node", "a", 81), pod("mqtt:node", "b", 81)),
    ],
    ["file-a", "mqtt:node-b"],
    ["mqtt:node a Shadowed"],
  ],
};

describe("merge", () => {
  test.each(Object.entries(cases))("%s", (_sentence, [snapshots, pods, rejected]) => {
    expect(merged(...snapshots)).toEqual({ pods: [...pods], rejected: [...rejected] });
  });

  test("only sources that have synced are ready, and every rejection is passed on", () => {
    const rejected = [
      { source: "file", ref: "/m/x.yaml", code: "Syntax", path: "", message: "broken" },
    ] as const;
    const state = mergeSnapshots(
      [{ source: "file", ready: false, pods: [], objects: [], rejected }, snapshot("mqtt:node")],
      GROUPS,
    );
    expect([[...state.ready], state.rejected]).toEqual([["mqtt:node"], [...rejected]]);
  });

  test("a conflict names both places", () => {
    const { rejected } = mergeSnapshots(
      [snapshot("file", pod("file", "a", 80), pod("file", "b", 80))],
      GROUPS,
    );
    expect(rejected[0]).toMatchObject({
      ref: "/m/b.yaml",
      path: "spec.containers",
      message: "host port 80/TCP is taken by default/a of file (/m/a.yaml#0)",
    });
  });

  test("a conflict of a sidecar names its list", () => {
    const { pod: written, ...rest } = pod("file", "b");
    const ports = [{ containerPort: 80, hostPort: 80, protocol: "TCP" as const }];
    const initContainers = [aContainer("s", { ports, restartPolicy: "Always" })];
    const b = { ...rest, pod: { ...written, spec: { ...written.spec, initContainers } } };
    const { rejected } = mergeSnapshots([snapshot("file", pod("file", "a", 80), b)], GROUPS);
    expect(rejected).toMatchObject([{ name: "b", path: "spec.initContainers" }]);
  });
});

const SOURCES: readonly SourceName[] = [
  "file",
  "http",
  "mqtt:node",
  "mqtt:group/all",
  "mqtt:group/kiosks",
];
const anyPod = (source: SourceName) =>
  fc
    .tuple(fc.constantFrom("a", "b", "c"), fc.option(fc.constantFrom(80, 81), { nil: undefined }))
    .map(([name, hostPort]) => pod(source, name, hostPort));
const anySnapshots = fc.tuple(
  ...SOURCES.map((source) =>
    fc.array(anyPod(source), { maxLength: 4 }).map((pods) => snapshot(source, ...pods)),
  ),
);

describe("room on the node", () => {
  const names = (pods: readonly DesiredPod[]) => pods.map((one) => one.pod.metadata.name);
  const rankOf = (running: DesiredPod) => (one: DesiredPod) => (one.uid === running.uid ? 0 : 2);
  const both = [snapshot("file", pod("file", "a", 80), pod("file", "b", 80))];

  test("a newcomer does not push out the pod that runs, and what runs is held", () => {
    const admissionRank = (one: DesiredPod) => (one.pod.metadata.name === "b" ? 0 : 2);
    const state = mergeSnapshots(both, { ...GROUPS, admissionRank });
    expect(names(state.pods)).toEqual(["b"]);
    expect(state.held).toEqual(new Set(["default/a"]));
  });

  test("among newcomers the first wins", () => {
    expect(names(mergeSnapshots(both, GROUPS).pods)).toEqual(["a"]);
  });

  test("a port is taken until the pod that leaves is gone", () => {
    const old = pod("file", "old", 80);
    const wanted = [snapshot("file", pod("file", "new", 80))];
    const state = mergeSnapshots(wanted, { ...GROUPS, occupants: [old] });
    expect([names(state.pods), [...state.held]]).toEqual([[], ["default/new"]]);
    expect(names(mergeSnapshots(wanted, { ...GROUPS, occupants: [] }).pods)).toEqual(["new"]);
  });

  test("a pod that is replaced holds no port against its own successor", () => {
    const occupants = [pod("file", "a", 80)];
    const wanted = [snapshot("file", pod("file", "a", 80))];
    expect(names(mergeSnapshots(wanted, { ...GROUPS, occupants }).pods)).toEqual(["a"]);
  });

  test("a document's pod that runs keeps the port until the file's pod is ready to take it", () => {
    const running = pod("mqtt:node", "b", 80);
    const wanted = [snapshot("mqtt:node", running), snapshot("file", pod("file", "a", 80))];
    const runs = { ...GROUPS, admissionRank: rankOf(running), occupants: [running] };
    expect(names(mergeSnapshots(wanted, runs).pods)).toEqual(["a", "b"]);
    // It was stopped, and its records are not gone yet.
    const stopped = mergeSnapshots(wanted, { ...GROUPS, occupants: [running] });
    expect([names(stopped.pods), [...stopped.held]]).toEqual([["a"], []]);
    expect(stopped.rejected).toMatchObject([{ name: "b", code: "HostPortConflict" }]);
  });

  test("the node's document takes the port of a group's pod that runs, which is then ended first", () => {
    const running = pod("mqtt:group/all", "b", 80);
    const wanted = [
      snapshot("mqtt:group/all", running),
      snapshot("mqtt:node", pod("mqtt:node", "a", 80)),
    ];
    const runs = { ...GROUPS, admissionRank: rankOf(running), occupants: [running] };
    const first = mergeSnapshots(wanted, runs);
    expect([names(first.pods), [...first.held]]).toEqual([[], ["default/a"]]);
    const then = mergeSnapshots(wanted, { ...GROUPS, admissionRank: rankOf(running) });
    expect([names(then.pods), [...then.held]]).toEqual([["a"], []]);
  });

  test("a full node takes a file's pod, and no newcomer of a document", () => {
    const running = pod("mqtt:node", "b");
    const wanted = [
      snapshot("file", pod("file", "a")),
      snapshot("mqtt:node", running, pod("mqtt:node", "c")),
    ];
    const node = { ...aNode(), maxPods: 1 };
    const state = mergeSnapshots(wanted, { ...GROUPS, admissionRank: rankOf(running), node });
    expect(names(state.pods)).toEqual(["a", "b"]);
    expect(state.rejected).toMatchObject([{ name: "c", code: "OutOfpods" }]);
  });

  test("what is over maxPods is refused, newcomers first", () => {
    const three = [snapshot("file", pod("file", "a"), pod("file", "b"), pod("file", "c"))];
    const admissionRank = (one: DesiredPod) => (one.pod.metadata.name === "c" ? 0 : 2);
    const state = mergeSnapshots(three, {
      ...GROUPS,
      admissionRank,
      node: { ...aNode(), maxPods: 2 },
    });
    expect(names(state.pods)).toEqual(["a", "c"]);
    expect(state.rejected).toMatchObject([{ name: "b", code: "OutOfpods" }]);
  });
});

describe("merge of anything", () => {
  test("is idempotent", () => {
    fc.assert(
      fc.property(anySnapshots, (snapshots) => {
        const once = mergeSnapshots(snapshots, GROUPS);
        const again = SOURCES.map((source) =>
          snapshot(source, ...once.pods.filter((one) => one.source === source)),
        );
        expect(mergeSnapshots(again, GROUPS)).toEqual({
          ...once,
          held: new Set(),
          rejected: [],
          notAdmitted: [],
        });
      }),
    );
  });

  test("does not depend on the order of the sources", () => {
    fc.assert(
      fc.property(anySnapshots, (snapshots) => {
        expect(mergeSnapshots(snapshots.toReversed(), GROUPS)).toEqual(
          mergeSnapshots(snapshots, GROUPS),
        );
      }),
    );
  });

  test("loses no pod in silence and runs no name twice", () => {
    fc.assert(
      fc.property(anySnapshots, (snapshots) => {
        const { pods, rejected } = mergeSnapshots(snapshots, GROUPS);
        const given = snapshots.flatMap((one) => one.pods);
        expect(pods.length + rejected.length).toBe(given.length);
        expect(new Set(pods.map((one) => podName(one.pod))).size).toBe(pods.length);
      }),
    );
  });
});

test("Services are those of all sources, in order of precedence", () => {
  const of = (source: SourceName) => ({
    kind: "Service" as const,
    namespace: "default",
    name: "web",
    selector: { app: "web" },
    publishesNotReady: false,
    source,
    sourceRef: "",
  });
  const sources: readonly SourceName[] = ["mqtt:group/all", "mqtt:node", "file"];
  const snapshots = sources.map((source) => ({ ...snapshot(source), services: [of(source)] }));
  const { services } = mergeSnapshots(snapshots, GROUPS);
  expect(services?.map(({ source }) => source)).toEqual(["file", "mqtt:node", "mqtt:group/all"]);
  expect(mergeSnapshots([snapshot("file")], GROUPS)).not.toHaveProperty("services");
});

describe("isShadowed", () => {
  const shadowed = {
    ref: "generation 7",
    kind: "Pod",
    namespace: "default",
    path: "",
    message: "",
  };

  test("finds the pods that lost their name to a source before", () => {
    const rejected = [
      { ...shadowed, source: "mqtt:node", name: "web", code: "Shadowed" },
      { ...shadowed, source: "mqtt:group/kiosks", name: "db", code: "Shadowed" },
      { ...shadowed, source: "mqtt:node", name: "job", code: "HostPortConflict" },
      { ...shadowed, source: "mqtt:node", name: "db", namespace: "other", code: "Shadowed" },
    ] as const;
    const pods = ["web", "db", "job"].map((name) => pod("mqtt:node", name));
    expect(pods.map((one) => isShadowed(one, rejected))).toEqual([true, false, false]);
    expect(pods.map((one) => isShadowed(one, []))).toEqual([false, false, false]);
  });
});
