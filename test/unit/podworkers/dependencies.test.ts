import { describe, expect, test } from "bun:test";
import fc from "fast-check";
import type { SourceName } from "../../../src/api/pod/labels.ts";
import type { Pod } from "../../../src/api/v1/pod.ts";
import type { ContainerStatus, PodPhase, PodStatus } from "../../../src/api/v1/pod-status.ts";
import {
  countsFor,
  unmetDependency,
  type DependencyView,
} from "../../../src/podworkers/dependencies.ts";
import { aPod } from "../../fakes/a-pod.ts";

function waiting(name: string, on: string): Pod {
  return aPod({}, { name, uid: name, annotations: on === "" ? {} : { "agent/depends-on": on } });
}

const running: ContainerStatus = {
  name: "a",
  state: { running: { startedAt: "2026-11-21T10:00:00Z" } },
  lastState: {},
  ready: true,
  started: true,
  restartCount: 0,
  image: "local/busybox:1",
  imageID: "",
  containerID: "containerd://a-0",
};

function stands(phase: PodPhase, ready = false): PodStatus {
  const condition = { type: "Ready", status: ready ? "True" : "False" } as const;
  return {
    observedGeneration: 1,
    phase,
    conditions: [condition],
    initContainerStatuses: [],
    containerStatuses: phase === "Running" ? [running] : [],
    qosClass: "BestEffort",
  };
}

function node(pods: readonly Pod[], statuses: Record<string, PodStatus> = {}): DependencyView {
  const byName = new Map(pods.map((pod) => [`default/${pod.metadata.name}`, pod]));
  return { pod: (name) => byName.get(name), status: (name) => statuses[name] };
}

const db = waiting("db", "");

/** `Ready`: Running, and its Ready condition is true. */
type Stand = PodPhase | "Ready" | "not known";

function statusAt(stand: Stand): Record<string, PodStatus> {
  if (stand === "not known") return {};
  return { "default/db": stand === "Ready" ? stands("Running", true) : stands(stand) };
}

/** What `web` waits for, how db stands, what is said; undefined = web may start. */
const states: readonly (readonly [string, Stand, string | undefined])[] = [
  ["db", "not known", "waiting for pod default/db to be Ready; it is Pending"],
  ["db", "Pending", "waiting for pod default/db to be Ready; it is Pending"],
  ["db", "Running", "waiting for pod default/db to be Ready; it is Running"],
  ["db", "Ready", undefined],
  ["db", "Succeeded", "waiting for pod default/db to be Ready; it is Succeeded"],
  ["db", "Failed", "waiting for pod default/db to be Ready; it is Failed"],
  ["db:Running", "Pending", "waiting for pod default/db to be Running; it is Pending"],
  ["db:Running", "Running", undefined],
  ["db:Running", "Succeeded", undefined],
  ["db:Running", "Failed", "waiting for pod default/db to be Running; it is Failed"],
  ["db:Succeeded", "Ready", "waiting for pod default/db to be Succeeded; it is Running"],
  ["db:Succeeded", "Succeeded", undefined],
  ["db:Succeeded", "Failed", "waiting for pod default/db to be Succeeded; it is Failed"],
];

test("a pod that ran before a reboot does not count as running, although its phase does", () => {
  const view = node([db], { "default/db": { ...stands("Running"), containerStatuses: [] } });
  const sentence = "waiting for pod default/db to be Running; it is Running";
  expect(unmetDependency(waiting("web", "db:Running"), view)).toBe(sentence);
});

describe("a pod that depends on another", () => {
  test.each(states)("on %s, db is %s: %p", (on, stand, sentence) => {
    const web = waiting("web", on);
    const view = node([web, db], statusAt(stand));
    expect(unmetDependency(web, view)).toBe(sentence as never);
  });

  test("starts at once if it depends on none", () => {
    expect(unmetDependency(db, node([db]))).toBeUndefined();
  });

  test("waits for one that is not on the node", () => {
    const web = waiting("web", "db:Running");
    expect(unmetDependency(web, node([web]))).toBe(
      "waiting for pod default/db, which is not on this node",
    );
  });

  test("waits for a pod that is no longer desired and still running, until it fits", () => {
    const web = waiting("web", "db");
    const view = node([web], { "default/db": stands("Running") });
    expect(unmetDependency(web, view)).toBe(
      "waiting for pod default/db to be Ready; it is Running",
    );
    expect(
      unmetDependency(web, node([web], { "default/db": stands("Running", true) })),
    ).toBeUndefined();
  });

  test("of a file waits for no pod of an unsigned document, and says so", () => {
    const web = waiting("web", "db");
    const view = { ...node([web]), isIgnored: (name: string) => name === "default/db" };
    expect(unmetDependency(web, view)).toBe(
      "waiting for pod default/db of a file or of a signed document; an unsigned document declares the one on this node, and starts no pod of a file",
    );
  });

  test.each<[SourceName, SourceName, boolean | undefined, boolean]>([
    ["file", "mqtt:node", undefined, false],
    ["file", "mqtt:group/all", undefined, false],
    ["file", "mqtt:node", true, true],
    ["file", "file", undefined, true],
    ["mqtt:node", "mqtt:group/all", undefined, true],
    ["mqtt:node", "file", undefined, true],
  ])("of %s may wait for one of %s (signed: %p): %p", (source, other, signed, counts) => {
    const on = { source: other, ...(signed === undefined ? {} : { signed }) };
    expect(countsFor({ source }, on)).toBe(counts);
  });

  test("waits for the pod in the namespace that it names", () => {
    const web = waiting("web", "prod/db");
    const view = node([web, db], { "default/db": stands("Running", true) });
    expect(unmetDependency(web, view)).toBe("waiting for pod prod/db, which is not on this node");
  });

  test("names the first of several dependencies, in the order they are written", () => {
    const web = waiting("web", "db, cache:Running, mq");
    const ready = { "default/db": stands("Running", true) };
    expect(unmetDependency(web, node([web, db], ready))).toBe(
      "waiting for pod default/cache, which is not on this node",
    );
    const both = { ...ready, "default/cache": stands("Running") };
    expect(unmetDependency(web, node([web, db], both))).toBe(
      "waiting for pod default/mq, which is not on this node",
    );
  });

  test("passes over itself and what cannot be read: an accepted pod is not stopped by a typo", () => {
    const web = waiting("web", "web, DB!, db:Redy");
    expect(unmetDependency(web, node([web]))).toBeUndefined();
  });
});

describe("pods that wait for each other", () => {
  const ring = (size: number): readonly Pod[] =>
    Array.from({ length: size }, (_, index) =>
      waiting(`p${index}`, `p${(index + 1) % size}:Running`),
    );

  test("are reported with every pod of the cycle", () => {
    const pods = [waiting("a", "b"), waiting("b", "c:Running"), waiting("c", "a:Succeeded")];
    expect(unmetDependency(pods[1]!, node(pods))).toBe(
      "the pods wait for each other: default/b → default/c → default/a → default/b; " +
        "remove one of the annotations agent/depends-on",
    );
  });

  test("are found in a ring of any length, from any of them", () => {
    fc.assert(
      fc.property(fc.integer({ min: 2, max: 120 }), fc.nat(), (size, from) => {
        const pods = ring(size);
        const name = `default/p${from % size}`;
        const said = unmetDependency(pods[from % size]!, node(pods)) ?? "";
        const path = said.replace(/^.*: /, "").replace(/;.*$/, "").split(" → ");
        expect(path).toHaveLength(size + 1);
        expect([path[0], path.at(-1)]).toEqual([name, name]);
        expect(new Set(path).size).toBe(size);
      }),
      { numRuns: 50 },
    );
  });

  test("are reported even while all of them run: after the next boot none would start", () => {
    const pods = ring(2);
    const running = { "default/p0": stands("Running"), "default/p1": stands("Running") };
    expect(unmetDependency(pods[0]!, node(pods, running))).toContain("wait for each other");
  });

  test("are not reported for a pod that only depends on one of them", () => {
    const web = waiting("web", "p0:Running");
    expect(unmetDependency(web, node([web, ...ring(3)]))).toBe(
      "waiting for pod default/p0 to be Running; it is Pending",
    );
  });

  test("are no ring if one of them is not wanted here any more", () => {
    const [first, ...rest] = ring(3);
    expect(unmetDependency(rest[0]!, node(rest))).toBe(
      "waiting for pod default/p2 to be Running; it is Pending",
    );
    expect(unmetDependency(rest[1]!, node(rest))).toBe(
      "waiting for pod default/p0, which is not on this node",
    );
    expect(first).toBeDefined();
  });

  test("are found however many ways lead elsewhere, and the search ends", () => {
    const names = Array.from({ length: 60 }, (_, index) => `p${index}`);
    const others = (own: string): string => names.filter((name) => name > own).join(",");
    const pods = names.map((name) => waiting(name, others(name)));
    expect(unmetDependency(pods[0]!, node(pods))).toContain("waiting for pod default/p1 ");
    const back = [...pods.slice(0, -1), waiting("p59", "p0"), waiting("p9", "p59")];
    expect(unmetDependency(pods[0]!, node(back))).toContain("wait for each other");
  });

  test("one pod is a ring if and only if a way leads from it back to itself", () => {
    const edges = fc.array(fc.tuple(fc.nat(5), fc.nat(5)), { maxLength: 12 });
    fc.assert(
      fc.property(edges, (list) => {
        const real = list.filter(([from, to]) => from !== to);
        const pods = [0, 1, 2, 3, 4, 5].map((index) => {
          const on = new Set(real.filter(([from]) => from === index).map(([, to]) => `p${to}`));
          return waiting(`p${index}`, [...on].join(","));
        });
        for (const [index, pod] of pods.entries()) {
          const found = unmetDependency(pod, node(pods))?.includes("wait for each other") ?? false;
          expect(found).toBe(leadsBack(index, real));
        }
      }),
    );
  });
});

function leadsBack(start: number, edges: readonly (readonly [number, number])[]): boolean {
  const reached = new Set<number>();
  const open = [start];
  for (let one = open.pop(); one !== undefined; one = open.pop())
    for (const [from, to] of edges)
      if (from === one && !reached.has(to)) {
        reached.add(to);
        open.push(to);
      }
  return reached.has(start);
}
