// Deliberate bugs in who has a place on the node.

import type { Mutation } from "./mutations.ts";

export const ROOM_MUTATIONS: readonly Mutation[] = [
  {
    name: "a running pod of a document keeps a file's pod out",
    file: "src/source/admission/admission.ts",
    search: "const own = { ...options, occupants: occupants.filter(stays) };",
    replacement: "void stays; const own = options;",
  },
  {
    name: "a file's pod starts beside what it does not fit with",
    file: "src/podworkers/pod-replacement.ts",
    search: "const short = this.#inTheWay(own);",
    replacement: "const short = this.#inTheWay(own).slice(0, 0);",
  },
  {
    name: "what a file's pod replaces takes no room while it stops",
    file: "src/source/admission/pods-in-the-way.ts",
    search: "subtract(needsOf(one), byName.get(podName(one.pod)) ?? new Map());",
    replacement:
      "byName.has(podName(one.pod)) ? subtract(needsOf(one), needsOf(one)) : needsOf(one);",
  },
  {
    name: "a pod that was refused while the runtime was away begins with its return",
    file: "src/podworkers/pod-replacement.ts",
    search: "return !hasPlace && !this.#begun.has(own);",
    replacement: "return !hasPlace && !own.syncState.lookFirst && !this.#begun.has(own);",
  },
  {
    name: "pods make room although there is room",
    file: "src/source/admission/pods-in-the-way.ts",
    search: "if (short.length === 0) return [];",
    replacement: "if (short.length === 0) return others.map((one) => [one, PODS] as const);",
  },
  {
    name: "a pod that made room counts as running",
    file: "src/podworkers/pods.ts",
    search: "const keeps = own !== undefined && !why.has(uid) && !workers.isLeftover(own);",
    replacement: "const keeps = own !== undefined && !workers.isLeftover(own);",
  },
  {
    name: "a failed pod takes no room while it stops",
    file: "src/podworkers/pods.ts",
    search: 'containers.every(({ state }) => state !== "Running")',
    replacement: "containers.length >= 0",
  },
  {
    name: "a critical pod waits for an ordinary one",
    file: "src/source/admission/preemption-order.ts",
    search: "return b.criticality - a.criticality;",
    replacement: "return 0;",
  },
  {
    name: "an ordinary pod of a file pushes out a critical one",
    file: "src/source/admission/preemption-order.ts",
    search: "criticality: isSystemCritical(pod.spec) ? priority : NOT_CRITICAL,",
    replacement: "criticality: isSystemCritical(pod.spec) ? -2 - priority : NOT_CRITICAL,",
  },
  {
    name: "a critical pod starts beside the pod it pushes out",
    file: "src/podworkers/make-room.ts",
    search:
      "const stays = (one: DesiredPod): boolean => compareTiers(one, own) <= 0 && !isLeft(one);",
    replacement:
      "const stays = (one: DesiredPod): boolean => one.source === own.source && !isLeft(one);",
  },
  {
    name: "what a file has taken over is still a document's pod",
    file: "src/rollout/pods-on-node.ts",
    search: "nameOf(pod) === name && !uids.has(pod.uid)",
    replacement: "nameOf(pod) === name && uids !== undefined",
  },
  {
    name: "the next life of a pod that has come to its end takes no room",
    file: "src/source/admission/admission.ts",
    search: "admissionRank(one) === 2 ? taken.add(one.pod) : stay(one);",
    replacement: "stay(one);",
  },
  {
    name: "a document waits for the end of a pod that goes on under a held name",
    file: "src/upstream/report/acknowledge.ts",
    search: "!truth.held.has(podName(pod))",
    replacement: "true",
  },
  {
    name: "a pod that lingers is another one in every review",
    file: "src/rollout/pods-to-run.ts",
    search: "return LINGERING.getOrInsertComputed(good, () => ({ ...good, lingers: true }));",
    replacement: "return { ...good, lingers: true };",
  },
  {
    name: "a pod that lingered begins again at its end",
    file: "src/rollout/pods-to-run.ts",
    search: "|| pods.isLeaving(good.uid)",
    replacement: "",
  },
  {
    name: "the next process counts time in which a trial stands still",
    file: "src/rollout/checkpoint.ts",
    search: "if (saved.counts && !trial.counts) return true;",
    replacement: "",
  },
];
