// file-pods-untouched: whatever unsigned documents ask for, pods of files are admitted alike, in the same order, with the
// same objects and labels, and nothing of a document makes them leave.

import { describe, expect, test } from "bun:test";
import fc from "fast-check";
import type { DesiredPod, SourceName, SourceSnapshot } from "../../../src/api/pod/desired-pod.ts";
import { isStatic } from "../../../src/api/pod/labels.ts";
import { isSystemCritical } from "../../../src/api/resource/priority.ts";
import { compareTiers } from "../../../src/source/admission/preemption-order.ts";
import type { ObservedPod } from "../../../src/api/pod/observed-pod.ts";
import type { DesiredObject } from "../../../src/api/v1/object/local-object.ts";
import { podName } from "../../../src/api/v1/pod.ts";
import { mustMakeRoom as podsInTheWay, type RoomFacts } from "../../../src/podworkers/make-room.ts";
import { planWorkers, type WorkerFacts } from "../../../src/podworkers/plan-workers.ts";
import { admissionRanks } from "../../../src/podworkers/pods.ts";
import { mergeSnapshots } from "../../../src/source/merge-sources.ts";
import { SourceSnapshots } from "../../../src/source/source-snapshots.ts";
import { aNode } from "../../fakes/a-node.ts";
import { aContainer, aDesiredPod, aPod, aSandbox, anObservedPod } from "../../fakes/a-pod.ts";

const NAMES = ["a", "b", "c", "d"] as const;
const DOCUMENTS: readonly SourceName[] = ["mqtt:node", "mqtt:group/all", "mqtt:group/kiosks"];

/** What is thrown of one pod. */
interface Thrown {
  readonly name: string;
  readonly spec: number;
  readonly cpu: number;
  readonly port: number | undefined;
  readonly site: "here" | "there" | undefined;
  readonly priority: number;
  readonly claim: string | undefined;
  /** Whether the runtime has it, or an older spec of its name; `left` = without a worker, because no source wanted it. */
  readonly stands: "runs" | "older" | "leaves" | "left" | "new";
}

const anyPod = fc.record<Thrown>({
  name: fc.constantFrom(...NAMES),
  spec: fc.integer({ min: 1, max: 2 }),
  cpu: fc.integer({ min: 0, max: 3 }),
  port: fc.constantFrom(undefined, 80, 81),
  site: fc.constantFrom(undefined, "here", "there"),
  priority: fc.constantFrom(0, 2_000_000_000),
  claim: fc.constantFrom(undefined, "data"),
  stands: fc.constantFrom("runs", "older", "leaves", "left", "new"),
});

function mustMakeRoom(own: DesiredPod, all: RoomFacts): readonly string[] {
  return podsInTheWay(own, all).map(({ uid }) => uid);
}

function podOf(thrown: Thrown, source: SourceName): DesiredPod {
  const { name, spec, cpu, port, site, priority, claim } = thrown;
  const ports =
    port === undefined ? [] : [{ containerPort: 80, hostPort: port, protocol: "TCP" as const }];
  const resources = { limits: {}, requests: { cpu: String(cpu) } };
  const pod = aPod(
    {
      containers: [aContainer("a", { ports, resources })],
      priority,
      nodeSelector: site === undefined ? {} : { site },
      volumes:
        claim === undefined
          ? []
          : [{ name: "v", persistentVolumeClaim: { claimName: claim, readOnly: false } }],
    },
    // A document may spell a file's pod: then even the UID is the same.
    { name, uid: `${name}-${spec}-${cpu}-${port}-${site}-${priority}-${claim}` },
  );
  return aDesiredPod(pod, { source, sourceRef: source });
}

function objectOf(
  source: SourceName,
  kind: "ConfigMap" | "Secret" | "PersistentVolumeClaim",
  name: string,
): DesiredObject {
  const metadata = { namespace: "default", name, labels: {}, annotations: {} };
  const object = {
    apiVersion: "v1",
    kind,
    metadata,
    data: { from: new TextEncoder().encode(source) },
  };
  return { object, source, sourceRef: source } as unknown as DesiredObject;
}

const anyObjects = (source: SourceName) =>
  fc
    .array(
      fc.tuple(
        fc.constantFrom("ConfigMap", "Secret", "PersistentVolumeClaim"),
        fc.constantFrom("data", "other"),
      ),
      { maxLength: 3 },
    )
    .map((all) => all.map(([kind, name]) => objectOf(source, kind as "Secret", name)));

const anySource = (source: SourceName, maxLength: number) =>
  fc.record({
    source: fc.constant(source),
    pods: fc.array(anyPod, { maxLength }),
    objects: anyObjects(source),
  });
type AnySource = { source: SourceName; pods: readonly Thrown[]; objects: readonly DesiredObject[] };

const anyWorld = fc.record({
  files: anySource("file", 4),
  documents: fc.tuple(...DOCUMENTS.map((source) => anySource(source, 5))),
  /** Labels and priorities of groups come from documents too. */
  labels: fc.constantFrom({}, { site: "here" }, { site: "there" }),
  kiosks: fc.integer({ min: -5, max: 5 }),
  cpus: fc.integer({ min: 1, max: 5 }),
  maxPods: fc.integer({ min: 1, max: 5 }),
});

/** What the runtime and the workers have of these pods. */
function standing(sources: readonly AnySource[]) {
  const observed = new Map<string, ObservedPod>();
  const workers: WorkerFacts[] = [];
  const left = new Set<string>();
  const put = (desired: DesiredPod, isLeaving: boolean): void => {
    const { uid, pod, source } = desired;
    if (observed.has(uid)) return;
    const { namespace, name } = pod.metadata;
    const removal = isLeaving ? { uid, namespace, name, why: "Deleted" as const } : undefined;
    observed.set(uid, { ...anObservedPod([aSandbox()], []), uid, namespace, name, source });
    workers.push({ uid, namespace, name, desired, removal });
  };
  const leave = (desired: DesiredPod): void => {
    if (observed.has(desired.uid)) return;
    put(desired, false);
    workers.pop();
    left.add(desired.uid);
  };
  for (const { source, pods } of sources)
    for (const thrown of pods) {
      if (thrown.stands === "runs") put(podOf(thrown, source), false);
      if (thrown.stands === "leaves") put(podOf(thrown, source), true);
      if (thrown.stands === "older") put(podOf({ ...thrown, spec: 0 }, source), false);
      if (thrown.stands === "left") leave(podOf(thrown, source));
    }
  return { observed, workers, left };
}

function look(
  sources: readonly AnySource[],
  world: { labels: object; kiosks: number; cpus: number; maxPods: number },
) {
  const { observed, workers, left } = standing(sources);
  const removals = workers.flatMap(({ removal }) => removal ?? []);
  const node = {
    ...aNode({ cpu: String(world.cpus) }),
    maxPods: world.maxPods,
    labels: { site: "here", ...world.labels },
    ownLabels: { site: "here" },
  };
  const cache = { get: (uid: string) => observed.get(uid), all: () => observed };
  const registry = {
    get: (uid: string) => workers.find((worker) => worker.uid === uid),
    isLeftover: ({ uid }: ObservedPod) => left.has(uid),
  };
  const pods = { cache, workers: registry } as never;
  const snapshots = sources.map(({ source, pods: thrown, objects }): SourceSnapshot => ({
    source,
    ready: true,
    pods: thrown.map((one) => podOf(one, source)),
    objects,
    rejected: [],
  }));
  const desired = mergeSnapshots(snapshots, {
    node,
    admissionRank: admissionRanks(pods, removals),
    occupants: workers.flatMap((worker) => worker.desired ?? []),
    isOver: () => false,
    groupPriorities: new Map([["kiosks", world.kiosks]]),
  });
  const facts: RoomFacts = { node, desired, workers, isOver: () => false };
  return { desired, snapshots, workers, observed, removals, facts };
}

/** What becomes of the files' pods. */
function ofFiles(sources: readonly AnySource[], world: Parameters<typeof look>[1]) {
  const { desired, snapshots } = look(sources, world);
  const written = new SourceSnapshots({
    sources: ["file"],
    node: () => ({
      name: "pi-1",
      arch: "arm64",
      labels: { site: "here", ...world.labels },
      groups: ["kiosks"],
      own: { labels: { site: "here" }, groups: [] },
    }),
  });
  for (const snapshot of snapshots) written.setSnapshot(snapshot);
  written.setMerged(desired);
  const files = desired.pods.filter(({ source }) => isStatic(source));
  const contents = files.map((pod) => {
    const objects = written.objectsFor(pod);
    const found = ["data", "other", "agent-node"].flatMap((name) => [
      objects.configMap("default", name),
      objects.secret("default", name),
      objects.claim("default", name),
    ]);
    return found.map((object) => JSON.stringify(object));
  });
  return {
    pods: files.map(({ uid }) => uid),
    rejected: desired.rejected.filter(({ source }) => isStatic(source)),
    contents,
  };
}

describe("documents change nothing of what becomes of the files' pods", () => {
  test("admitted, refused, in which order, with which objects and labels", () => {
    fc.assert(
      fc.property(anyWorld, ({ files, documents, ...world }) => {
        const without = ofFiles([files], { ...world, labels: {} });
        expect(ofFiles([files, ...documents], world)).toEqual(without);
      }),
      { numRuns: 1_000 },
    );
  });

  test("and none is removed, or makes room, for a document's", () => {
    fc.assert(
      fc.property(anyWorld, ({ files, documents, ...world }) => {
        const { desired, workers, observed, removals, facts } = look([files, ...documents], world);
        const plan = planWorkers({ desired, workers, observed: [...observed.values()], removals });
        const declared = new Set(files.pods.map(({ name }) => `default/${name}`));
        for (const { namespace, name, uid } of plan.removals)
          if (declared.has(`${namespace}/${name}`))
            expect(removals.map((removal) => removal.uid)).toContain(uid);
        for (const own of desired.pods) {
          const others = workers.filter(({ uid }) => uid !== own.uid);
          const out = mustMakeRoom(own, { ...facts, workers: others });
          if (!isStatic(own.source) && own.pod.spec.priority === 0) expect(out).toEqual([]);
          const ended = workers.filter(({ uid }) => out.includes(uid));
          for (const { desired: one } of ended) {
            if (one === undefined || !isStatic(one.source)) continue;
            // Only a critical pod of another file pushes out what a file declares.
            if (declared.has(podName(one.pod))) expect(compareTiers(own, one)).toBeLessThan(0);
            expect(isStatic(own.source)).toBe(true);
          }
        }
      }),
      { numRuns: 1_000 },
    );
  });

  test("beside each critical pod that is admitted there is room when those in its way are gone", () => {
    fc.assert(
      fc.property(anyWorld, ({ files, documents, ...world }) => {
        const { desired, workers, facts } = look([files, ...documents], world);
        for (const own of desired.pods.filter(({ pod }) => isSystemCritical(pod.spec))) {
          const others = workers.filter(({ uid }) => uid !== own.uid);
          const out = mustMakeRoom(own, { ...facts, workers: others });
          const left = others.filter(({ uid }) => !out.includes(uid));
          expect(mustMakeRoom(own, { ...facts, workers: left })).toEqual([]);
          const ended = others.filter(({ uid }) => out.includes(uid));
          for (const { desired: one } of ended)
            if (one !== undefined && isStatic(one.source) === isStatic(own.source))
              expect(isSystemCritical(one.pod.spec)).toBe(false);
        }
      }),
      { numRuns: 1_000 },
    );
  });

  test("beside each file's pod that is admitted there is room when those in its way are gone", () => {
    fc.assert(
      fc.property(anyWorld, ({ files, documents, ...world }) => {
        const { desired, workers, facts } = look([files, ...documents], world);
        const own = desired.pods.find(({ source }) => isStatic(source));
        if (own === undefined) return;
        const others = workers.filter(({ uid }) => uid !== own.uid);
        const out = mustMakeRoom(own, { ...facts, workers: others });
        const left = others.filter(({ uid }) => !out.includes(uid));
        expect(mustMakeRoom(own, { ...facts, workers: left })).toEqual([]);
      }),
      { numRuns: 1_000 },
    );
  });
});
