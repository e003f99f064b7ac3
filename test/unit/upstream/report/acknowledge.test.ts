import { describe, expect, test } from "bun:test";
import fc from "fast-check";

import type { DocumentState } from "../../../../src/protocol/desired-document.ts";
import type { DesiredPod } from "../../../../src/api/pod/desired-pod.ts";
import type { PodRolloutStatus } from "../../../../src/api/pod/rollout.ts";
import { rfc3339 } from "../../../../src/lib/clock.ts";
import {
  acknowledge,
  acknowledgeStatic,
  type Acknowledgement,
  type RunningFacts,
} from "../../../../src/upstream/report/acknowledge.ts";
import type { PodHealth } from "../../../../src/rollout/pod-health.ts";
import type { Ack } from "../../../../src/protocol/reported-state.ts";
import type { Phase } from "../../../../src/protocol/status-codes.ts";
import { NOW, WALL, aState, facts, healthOf, podNamed, readyFor } from "../health.ts";

function ackOf(state: DocumentState, given: RunningFacts): Acknowledgement {
  const answer = acknowledge(state, given);
  if (answer === undefined) throw new Error("no acknowledgement");
  return answer;
}

function previously(phase: Phase, more: Partial<Ack> = {}): Ack {
  return {
    source: "node",
    epoch: "e1",
    generation: 7,
    observedGeneration: 6,
    digest: "sha256:d7",
    signed: false,
    phase,
    code: phase === "Healthy" ? 200 : phase === "Degraded" ? 424 : 202,
    since: "2026-11-21T07:00:00Z",
    ...more,
  };
}

interface Case {
  readonly pods?: readonly DesiredPod[];
  readonly state?: Partial<DocumentState>;
  readonly health: readonly PodHealth[];
  readonly facts?: Partial<RunningFacts>;
  readonly expect: readonly [phase: Phase, code: number, observed: number];
  readonly message?: string;
  readonly lastGood?: Ack["lastGood"];
  readonly reviewAt?: number;
}

const web = podNamed("web");
const db = podNamed("db");
const job = podNamed("job", "Never");

const WHY = { reason: "CrashLoopBackOff", message: "it ended 3 times before it was ready" };
const status = (name: string, one: PodRolloutStatus["status"], goodGeneration?: number) => ({
  name: `default/${name}`,
  status: one,
  ...(goodGeneration === undefined ? {} : { goodGeneration }),
});

const cases: Readonly<Record<string, Case>> = {
  "is RolledBack when one of its pods is, however well it runs": {
    pods: [web, db],
    health: [readyFor("web", 60), readyFor("db", 60)],
    state: {
      rollout: [
        status("db", { type: "Failed", why: WHY }),
        status("web", { type: "RolledBack", why: WHY, isKnownBad: false }, 5),
      ],
    },
    expect: ["RolledBack", 424, 6],
    message:
      "pod default/web was taken back: CrashLoopBackOff: it ended 3 times before it was ready",
    lastGood: { generation: 5 },
  },
  "names the oldest generation that runs, and what was known before": {
    health: [],
    state: {
      rollout: [
        status("web", { type: "RolledBack", why: WHY, isKnownBad: true }, 5),
        status("db", { type: "RolledBack", why: WHY, isKnownBad: false }, 3),
      ],
    },
    expect: ["RolledBack", 424, 6],
    message:
      "pod default/web was taken back: known bad, not tried again: CrashLoopBackOff: it ended 3 times before it was ready",
    lastGood: { generation: 3 },
  },
  "is Degraded without a way back": {
    health: [readyFor("web", 60)],
    state: { rollout: [status("web", { type: "Failed", why: WHY })] },
    expect: ["Degraded", 424, 6],
    message: "pod default/web: CrashLoopBackOff: it ended 3 times before it was ready",
  },
  "is Held while one of its pods is": {
    health: [readyFor("web", 60)],
    state: { rollout: [status("web", { type: "Held", why: "locked by container app for 2 h" })] },
    expect: ["Held", 423, 6],
    message: "pod default/web: locked by container app for 2 h",
  },
  "is Progressing while a pod that is ready has not proved itself": {
    health: [readyFor("web", 60)],
    state: { rollout: [status("web", { type: "OnTrial" })] },
    expect: ["Progressing", 202, 6],
    message: "its pods are ready, and have yet to prove themselves",
  },
  "is Healthy when all have proved themselves": {
    health: [readyFor("web", 60)],
    state: { rollout: [status("web", { type: "Good" }, 7)] },
    expect: ["Healthy", 200, 7],
  },
  "is Received while nothing of it has begun": {
    health: [],
    expect: ["Received", 202, 6],
  },
  "is Downloading while an image is not there": {
    pods: [web, db],
    health: [
      readyFor("web", 60),
      healthOf("db", { stage: "Downloading", reason: "ImagePullBackOff", message: "no route" }),
    ],
    state: { images: { images: 2, imagesDone: 1 } },
    expect: ["Downloading", 202, 6],
    message: "pod default/db is Downloading: ImagePullBackOff: no route",
  },
  "is Applying while a pod has not begun": {
    pods: [web, db],
    health: [readyFor("web", 5)],
    expect: ["Applying", 202, 6],
    message: "pod default/db is not started yet",
    reviewAt: NOW + 5_000,
  },
  "is Applying while pods that are no longer wanted are stopping": {
    health: [readyFor("web", 60)],
    facts: { leftovers: 2 },
    expect: ["Applying", 202, 6],
    message: "2 pods of before are still stopping",
  },
  "is Progressing while a container starts": {
    health: [healthOf("web", { stage: "Starting", reason: "CrashLoopBackOff", crashes: 2 })],
    expect: ["Progressing", 202, 6],
    message: "pod default/web is Starting: CrashLoopBackOff",
  },
  "is Progressing until it has been Ready for minReadySeconds, and returns when to look again": {
    pods: [web, db],
    health: [readyFor("web", 4), readyFor("db", 7)],
    expect: ["Progressing", 202, 6],
    reviewAt: NOW + 3_000,
  },
  "is Healthy when every pod has been Ready for minReadySeconds": {
    pods: [web, db],
    health: [readyFor("web", 10), readyFor("db", 600)],
    expect: ["Healthy", 200, 7],
  },
  "is Healthy at once with nothing to run": { pods: [], health: [], expect: ["Healthy", 200, 7] },
  "waits for the last pod before it calls an empty document Healthy": {
    pods: [],
    health: [],
    facts: { leftovers: 1 },
    expect: ["Applying", 202, 6],
    message: "1 pod of before is still stopping",
  },
  "counts a pod that is meant to finish when it succeeded": {
    pods: [web, job],
    health: [readyFor("web", 10), healthOf("job", { stage: "Succeeded" })],
    expect: ["Healthy", 200, 7],
  },
  "does not count a pod that is meant to finish while it runs, however long": {
    pods: [web, job],
    health: [readyFor("web", 10), readyFor("job", 9999)],
    expect: ["Progressing", 202, 6],
  },
  "does not wait for a pod that a file shadows": {
    pods: [web, db],
    health: [readyFor("web", 10)],
    facts: { shadowed: new Set(["uid-db"]) },
    expect: ["Healthy", 200, 7],
  },
  "is Degraded when a pod that is meant to finish has failed": {
    pods: [job],
    health: [healthOf("job", { stage: "Failed", reason: "Error" })],
    expect: ["Degraded", 424, 6],
    message: "pod default/job is Failed: Error",
  },
  "is Degraded after three crashes in a row": {
    health: [healthOf("web", { stage: "Starting", reason: "CrashLoopBackOff", crashes: 3 })],
    expect: ["Degraded", 424, 6],
    message: "pod default/web is Starting: CrashLoopBackOff",
  },
  "turns from Healthy to Degraded when a pod ceases to be Ready": {
    state: { observedGeneration: 7 },
    health: [healthOf("web", { stage: "Starting", reason: "Error" })],
    facts: { previous: previously("Healthy") },
    expect: ["Degraded", 424, 7],
    message: "pod default/web is Starting: Error",
  },
  "stays Degraded until the pod has been Ready for minReadySeconds, and keeps its reason": {
    state: { observedGeneration: 7 },
    health: [readyFor("web", 4)],
    facts: { previous: previously("Degraded", { message: "pod default/web is Starting: Error" }) },
    expect: ["Degraded", 424, 7],
    message: "pod default/web is Starting: Error",
    reviewAt: NOW + 6_000,
  },
  "turns from Degraded back to Healthy": {
    state: { observedGeneration: 7 },
    health: [readyFor("web", 10)],
    facts: { previous: previously("Degraded") },
    expect: ["Healthy", 200, 7],
  },
  "is Healthy at once after a restart of the agent when it had converged": {
    state: { observedGeneration: 7 },
    health: [readyFor("web", 0)],
    expect: ["Healthy", 200, 7],
  },
  "is not Degraded while pods that had converged start again after a reboot": {
    state: { observedGeneration: 7 },
    health: [healthOf("web", { stage: "Starting" })],
    expect: ["Progressing", 202, 7],
    message: "pod default/web is Starting",
  },
  "begins anew with a newer generation, whatever the one before was": {
    health: [readyFor("web", 4)],
    facts: { previous: previously("Degraded", { generation: 6, digest: "sha256:d6" }) },
    expect: ["Progressing", 202, 6],
    reviewAt: NOW + 6_000,
  },
};

describe("an accepted document", () => {
  test.each(Object.entries(cases))("%s", (_sentence, given) => {
    const { ack, converged, reviewAt } = ackOf(
      aState(given.pods ?? [web], given.state),
      facts(given.health, given.facts),
    );
    const [phase, code, observedGeneration] = given.expect;
    expect(ack).toMatchObject({ source: "node", epoch: "e1", generation: 7, digest: "sha256:d7" });
    expect(ack).toMatchObject({ phase, code, observedGeneration, signed: false });
    expect(ack.message).toBe(given.message);
    expect(ack.lastGood).toEqual(given.lastGood);
    expect(converged).toBe(phase === "Healthy");
    expect(reviewAt).toBe(given.reviewAt);
    expect(ack.progress).toEqual(phase === "Downloading" ? given.state?.images : undefined);
  });

  test("is reported as signed if it was when it was accepted", () => {
    const { document, ...state } = aState([web]);
    if (document === undefined) throw new Error("no document");
    const signed = { ...state, document: { ...document, signed: true } };
    expect(ackOf(signed, facts([])).ack.signed).toBe(true);
  });

  test("keeps `since` while phase and code stay, whatever the message is", () => {
    const health = [healthOf("web", { stage: "Downloading", message: "10 %" })];
    const first = ackOf(aState([web]), facts(health)).ack;
    expect(first.since).toBe(rfc3339(WALL));
    const later = facts([healthOf("web", { stage: "Downloading", message: "20 %" })], {
      wall: WALL + 60_000,
      previous: first,
    });
    const second = ackOf(aState([web]), later).ack;
    expect(second.since).toBe(first.since);
    const running = facts([readyFor("web", 10)], { wall: WALL + 90_000, previous: second });
    expect(ackOf(aState([web]), running).ack.since).toBe(rfc3339(WALL + 90_000));
  });

  test("reports a refusal beside it, and stays what it is", () => {
    const lastRejected = {
      generation: 5,
      digest: "sha256:d5",
      code: 410,
      message: "too old",
      at: WALL,
      count: 2,
    };
    const { ack } = ackOf(aState([web], { lastRejected }), facts([readyFor("web", 10)]));
    expect(ack).toMatchObject({ phase: "Healthy", code: 200, generation: 7 });
    expect(ack.lastRejected).toEqual({ ...lastRejected, at: "2026-11-21T08:00:00Z" });
  });
});

describe("a source that has accepted nothing", () => {
  test("has no acknowledgement before anything has arrived", () => {
    expect(acknowledge(aState([], { document: undefined }), facts([]))).toBeUndefined();
  });

  test("is Rejected with the code of the refusal, and generation 0", () => {
    const lastRejected = { digest: "sha256:x", code: 400, message: "no", at: WALL, count: 1 };
    const state = aState([], { document: undefined, observedGeneration: 0, lastRejected });
    expect(ackOf(state, facts([]))).toEqual({
      ack: {
        source: "node",
        epoch: "",
        generation: 0,
        observedGeneration: 0,
        digest: "",
        signed: false,
        phase: "Rejected",
        code: 400,
        message: "no",
        since: "2026-11-21T08:00:00Z",
        lastRejected: { ...lastRejected, at: "2026-11-21T08:00:00Z" },
      },
      converged: false,
      reviewAt: undefined,
    });
  });
});

describe("the manifest files", () => {
  test("are no more than received before the directory was read", () => {
    const files = { digest: "", pods: [], isKnown: false };
    const { ack, converged } = acknowledgeStatic(files, facts([]));
    expect(ack).toMatchObject({ phase: "Received", code: 202 });
    expect(converged).toBe(false);
  });

  test("are acknowledged as static, without epoch and generation", () => {
    const files = { digest: "sha256:files", pods: [web], isKnown: true };
    const { ack, reviewAt } = acknowledgeStatic(files, facts([readyFor("web", 4)]));
    expect(ack).toMatchObject({
      source: "static",
      epoch: "",
      generation: 0,
      observedGeneration: 0,
      digest: "sha256:files",
      phase: "Progressing",
    });
    expect(reviewAt).toBe(NOW + 6_000);
    const later = acknowledgeStatic(files, facts([readyFor("web", 10)], { previous: ack }));
    expect(later.ack).toMatchObject({ phase: "Healthy", code: 200, observedGeneration: 0 });
    const broken = facts([healthOf("web", { stage: "Starting" })], { previous: later.ack });
    expect(acknowledgeStatic(files, broken).ack).toMatchObject({ phase: "Degraded" });
    const edited = acknowledgeStatic({ ...files, digest: "sha256:other" }, broken);
    expect(edited.ack).toMatchObject({ phase: "Progressing" });
  });
});

const anyHealth = (name: string): fc.Arbitrary<PodHealth | undefined> =>
  fc.option(
    fc
      .record({
        stage: fc.constantFrom(
          "Pending" as const,
          "Downloading" as const,
          "Starting" as const,
          "Running" as const,
          "Terminating" as const,
          "Succeeded" as const,
          "Failed" as const,
        ),
        readySince: fc.option(fc.integer({ min: 0, max: NOW }), { nil: undefined }),
        crashes: fc.nat(5),
      })
      .map((more) => healthOf(name, more)),
    { nil: undefined },
  );

describe("every acknowledgement", () => {
  const anyFacts = fc
    .record({
      health: fc.tuple(anyHealth("web"), anyHealth("db"), anyHealth("job")),
      leftovers: fc.nat(1),
      previous: fc.option(fc.constantFrom<Phase>("Healthy", "Degraded", "Progressing"), {
        nil: undefined,
      }),
      observed: fc.constantFrom(0, 6, 7),
    })
    .map(({ health, leftovers, previous, observed }) => ({
      state: aState([web, db, job], { observedGeneration: observed }),
      facts: facts(
        health.filter((one) => one !== undefined),
        { leftovers, previous: previous === undefined ? undefined : previously(previous) },
      ),
    }));

  test("is 200 exactly when it has converged, and then observes its own generation", () => {
    fc.assert(
      fc.property(anyFacts, (given) => {
        const { ack, converged, reviewAt } = ackOf(given.state, given.facts);
        expect(ack.code === 200).toBe(converged);
        expect(ack.phase === "Healthy").toBe(converged);
        if (converged) expect(ack.observedGeneration).toBe(7);
        if (reviewAt !== undefined) expect(reviewAt).toBeGreaterThan(NOW);
      }),
    );
  });

  test("decides the same once more, and needs no look before reviewAt", () => {
    fc.assert(
      fc.property(anyFacts, fc.nat(), (given, part) => {
        const first = ackOf(given.state, given.facts);
        const end = first.reviewAt ?? NOW + 3_600_000;
        const now = NOW + (part % Math.max(1, end - NOW));
        const again = ackOf(given.state, { ...given.facts, now, previous: first.ack });
        expect(again.ack).toEqual(first.ack);
      }),
    );
  });
});

describe("a document whose place a newer one took", () => {
  const superseded = {
    epoch: "e0",
    generation: 6,
    digest: "sha256:d6",
    signed: true,
    observedGeneration: 5,
  };

  test("is reported as Superseded, for good, since the newer one was accepted", () => {
    const state = aState([web], { superseded, acceptedAt: WALL - 5_000 });
    const { ack, superseded: said } = ackOf(state, facts([readyFor("web", 4)]));
    expect(ack).toMatchObject({ generation: 7, phase: "Progressing" });
    expect(said).toEqual({
      ...superseded,
      source: "node",
      phase: "Superseded",
      code: 410,
      message: "generation 7 took its place before it had converged",
      since: rfc3339(WALL - 5_000),
    });
    const plain = aState([web], { superseded: { ...superseded, signed: false } });
    expect(ackOf(plain, facts([])).superseded?.signed).toBe(false);
  });

  test("is reported also while the newer one is taken back", () => {
    const rollout = [status("web", { type: "RolledBack", why: WHY, isKnownBad: false }, 5)];
    const state = aState([web], { superseded, rollout });
    expect(ackOf(state, facts([])).superseded?.phase).toBe("Superseded");
  });

  test("is reported once more with the acknowledgement that the newer one has converged: both may be new at once", () => {
    const converged = ackOf(aState([web], { superseded }), facts([readyFor("web", 10)]));
    expect(converged).toMatchObject({ ack: { phase: "Healthy" }, converged: true });
    expect(converged.superseded?.phase).toBe("Superseded");
  });

  test("is not reported after that, whatever becomes of the newer one", () => {
    const later = aState([web], { superseded, observedGeneration: 7 });
    const previous = previously("Healthy");
    const degraded = ackOf(later, facts([healthOf("web", { stage: "Failed" })], { previous }));
    expect(degraded.ack.phase).toBe("Degraded");
    expect(degraded.superseded).toBeUndefined();
  });
});
