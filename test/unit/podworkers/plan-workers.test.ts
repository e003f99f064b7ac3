import { describe, expect, test } from "bun:test";
import {
  NOTHING_DESIRED,
  type DesiredState,
  type SourceName,
  type Removal,
} from "../../../src/api/pod/desired-pod.ts";
import {
  planWorkers,
  type PlanInput,
  type WorkerFacts,
} from "../../../src/podworkers/plan-workers.ts";
import { aDesiredPod, aPod, aSandbox, anObservedPod, UID } from "../../fakes/a-pod.ts";

const web = aDesiredPod();
const newWeb = aDesiredPod(aPod({}, { uid: "uid-2" }));
const names = { namespace: "default", name: "web" };
const deleted: Removal = { uid: UID, ...names, why: "Deleted" };

function desired(pods: DesiredState["pods"], ready: SourceName[] = ["file"]): DesiredState {
  return { ...NOTHING_DESIRED, pods, ready: new Set(ready) };
}
const worker = (more: Partial<WorkerFacts> = {}): WorkerFacts => ({
  uid: UID,
  ...names,
  desired: web,
  removal: undefined,
  ...more,
});
const running = anObservedPod([aSandbox()], []);

const cases: Record<
  string,
  Partial<PlanInput> & { plan: Partial<ReturnType<typeof planWorkers>> }
> = {
  "a new pod gets a worker": { desired: desired([web]), plan: { starts: [web] } },
  "a pod that runs since before the start gets a worker": {
    desired: desired([web]),
    observed: [running],
    plan: { starts: [web] },
  },
  "a worker learns of newer labels": {
    desired: desired([web]),
    workers: [worker()],
    plan: { updates: [web] },
  },
  "a pod whose source dropped it is removed": {
    desired: desired([]),
    workers: [worker()],
    observed: [running],
    plan: { removals: [deleted] },
  },
  "a pod that only the runtime knows is removed once its source has synced": {
    desired: desired([]),
    observed: [running],
    plan: { removals: [deleted] },
  },
  "nothing is removed before its own source has synced": {
    desired: desired([], ["mqtt:node"]),
    observed: [running],
    workers: [worker({ uid: "other", name: "other" })],
    plan: {},
  },
  "a pod whose source cannot be read is left alone": {
    desired: desired([]),
    observed: [{ ...running, source: undefined }],
    plan: {},
  },
  "another source's silence does not protect a pod": {
    desired: desired([], ["file"]),
    observed: [
      { ...running, source: "mqtt:node" },
      { ...running, uid: "uid-3", name: "x" },
    ],
    plan: { removals: [{ ...names, uid: "uid-3", name: "x", why: "Deleted" }] },
  },
  "what is being started under a held name goes on, although the runtime has not shown it yet": {
    desired: { ...desired([]), held: new Set(["default/web"]) },
    workers: [worker({ isUnsure: true })],
    plan: { removals: [] },
  },
  "what runs under a name that is asked for and has no room goes on": {
    desired: { ...desired([]), held: new Set(["default/web"]) },
    workers: [worker()],
    observed: [running],
    plan: {},
  },
  "what has not begun under such a name does not begin": {
    desired: { ...desired([]), held: new Set(["default/web"]) },
    workers: [worker()],
    plan: { removals: [deleted] },
  },
  "a pod that makes room and whose source drops it meanwhile becomes deleted": {
    desired: desired([]),
    workers: [worker({ removal: { ...deleted, why: "Preempted" } })],
    observed: [running],
    removals: [{ ...deleted, why: "Preempted" }],
    plan: { removals: [deleted] },
  },
  "a predecessor is not ended by the plan but by its successor": {
    desired: desired([newWeb]),
    workers: [worker()],
    observed: [running],
    plan: { starts: [newWeb] },
  },
  "a predecessor that only the runtime knows neither": {
    desired: desired([newWeb]),
    observed: [running],
    plan: { starts: [newWeb] },
  },
  "a removal begun before the restart is finished before the same pod starts anew": {
    desired: desired([web]),
    observed: [running],
    removals: [deleted],
    plan: { removals: [deleted] },
  },
  "a removal begun before the restart is settled even if nothing is left of it": {
    desired: desired([]),
    removals: [deleted],
    plan: { removals: [deleted] },
  },
  "a pod added again while it terminates waits for its end": {
    desired: desired([web]),
    workers: [worker({ removal: deleted })],
    removals: [deleted],
    observed: [running],
    plan: {},
  },
  "a removal under way is not ordered again": {
    desired: desired([]),
    workers: [worker({ removal: deleted })],
    removals: [deleted],
    observed: [running],
    plan: {},
  },
};

describe("planWorkers", () => {
  test.each(Object.entries(cases))("%s", (_, { plan, ...input }) => {
    const base: PlanInput = { desired: desired([]), workers: [], observed: [], removals: [] };
    expect(planWorkers({ ...base, ...input })).toEqual({
      removals: [],
      starts: [],
      updates: [],
      ...plan,
    });
  });
});
