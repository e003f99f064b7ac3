import { describe, expect, test } from "bun:test";
import type { ObservedContainer, KilledInstances } from "../../../src/api/pod/observed-pod.ts";
import type { PodSpec } from "../../../src/api/v1/pod-spec.ts";
import { createLogger } from "../../../src/lib/logger.ts";
import { PodSyncState, type PodSyncStateOptions } from "../../../src/podworkers/pod-sync-state.ts";
import { aContainer, anInstance, anObservedPod, aPod, aSandbox } from "../../fakes/a-pod.ts";
import { VirtualClock } from "../../fakes/fake-clock.ts";
import { openStore } from "../store/open-store.ts";
import { temporaryDirectories } from "../store/temporary-directories.ts";
import type { Container } from "../../../src/api/v1/container.ts";

const newDirectory = temporaryDirectories();
const UID = "web-1";

function stateOn(rows: PodSyncStateOptions["killed"], lines: string[] = []): PodSyncState {
  const clock = new VirtualClock();
  const log = createLogger({ clock, level: "debug", write: (line) => void lines.push(line) });
  return new PodSyncState({ uid: UID, killed: rows, log, clock, maxBackoffMs: 300_000 });
}

const killed = (always = false, id = "1"): KilledInstances => new Map([["a", { id, always }]]);

interface Case {
  readonly spec: Partial<PodSpec>;
  readonly own?: Partial<Container>;
  readonly isInit?: true;
  readonly always?: true;
  readonly written: boolean;
}

const rule = { action: "Restart", exitCodes: { operator: "In", values: [42] } } as const;

const cases: Record<string, Case> = {
  "OnFailure: 0 would end it": { spec: { restartPolicy: "OnFailure" }, written: true },
  "Always: nothing would": { spec: { restartPolicy: "Always" }, written: false },
  "Always, and not what the pod asks for": {
    spec: { restartPolicy: "Always" },
    always: true,
    written: false,
  },
  "Never: nothing follows": { spec: { restartPolicy: "Never" }, written: false },
  "Never, and not what the pod asks for": {
    spec: { restartPolicy: "Never" },
    always: true,
    written: true,
  },
  "Never with a rule": {
    spec: { restartPolicy: "Never" },
    own: { restartPolicyRules: [rule] },
    written: true,
  },
  "an init container": { spec: { restartPolicy: "Always" }, isInit: true, written: true },
  "a sidecar": {
    spec: { restartPolicy: "OnFailure" },
    own: { restartPolicy: "Always" },
    isInit: true,
    written: false,
  },
};

describe("whom an exit code could end for good is written down", () => {
  test.each(Object.entries(cases))("%s", (_, { spec, own, isInit, always, written }) => {
    using store = openStore(newDirectory());
    const container = aContainer("a", own);
    const others = [aContainer("b")];
    const place =
      isInit === true
        ? { initContainers: [container], containers: others }
        : { containers: [container] };
    stateOn(store.killed).writeKills(aPod({ ...spec, ...place }), killed(always));
    expect(store.killed.get(UID)).toEqual(written ? killed(always) : new Map());
  });
});

describe("what is written", () => {
  const seen = (...instances: readonly Partial<ObservedContainer>[]) =>
    anObservedPod(
      [aSandbox()],
      instances.map((more) => anInstance("a", more)),
    );
  const old = { id: "1", attempt: 0, state: "Exited" } as const;

  test.each([
    ["stays while it runs", seen({ ...old, state: "Running" }), true],
    ["stays when it has ended", seen(old), true],
    ["stays beside one never started", seen({ id: "2", attempt: 1, state: "Created" }, old), true],
    ["goes when the next runs", seen({ id: "2", attempt: 1, state: "Running" }, old), false],
    ["goes when the next has ended too", seen({ ...old, id: "2", attempt: 1 }, old), false],
    ["goes with its record", seen(), false],
    ["goes with its pod", undefined, false],
  ])("%s", (_, observed, stays) => {
    using store = openStore(newDirectory());
    store.killed.put(UID, killed());
    stateOn(store.killed).settleKills(observed);
    expect(store.killed.get(UID).size).toBe(stays ? 1 : 0);
  });

  test("is where the next life of the process begins", () => {
    using store = openStore(newDirectory());
    store.killed.put(UID, killed());
    const life = stateOn(store.killed);
    const pod = aPod({ restartPolicy: "OnFailure", containers: [aContainer("a")] });
    expect(life.restarts.get("a")?.killed).toEqual({ id: "1", always: false });
    expect(life.replaced(pod, seen(old))).toEqual(["1"]);
  });
});

test("a disk that cannot be written stops nobody, and is told of", () => {
  const lines: string[] = [];
  const full = (): never => {
    throw new Error("no space left");
  };
  const marks = stateOn({ get: () => killed(), put: full, settle: full }, lines);
  const pod = aPod({ restartPolicy: "OnFailure", containers: [aContainer("a")] });
  for (let again = 0; again < 3; again += 1) {
    marks.writeKills(pod, killed(false, "2"));
    marks.settleKills(undefined);
  }
  expect(lines.map((line) => /"msg":"([^"]*)"/.exec(line)?.[1])).toEqual([
    "cannot store which containers are being replaced",
    "cannot remove the rows of replaced containers",
  ]);
});
