// What the acknowledgement of a document says of a pod that the node does not admit, and of one that runs on in its place.

import { expect, test } from "bun:test";

import type { DesiredPod, Rejection } from "../../../../src/api/pod/desired-pod.ts";
import { Acknowledgements } from "../../../../src/upstream/report/acknowledge.ts";
import { aState, NOW, podNamed, readyFor, WALL } from "../health.ts";

const web = podNamed("web");
const db = podNamed("db");
const NO_ROOM: Rejection = {
  source: "mqtt:node",
  ref: "agent/v1/node/pi-1/desired",
  kind: "Pod",
  namespace: "default",
  name: "web",
  code: "OutOfmemory",
  path: "",
  message: "Node didn't have enough resource: memory",
};

interface Scene {
  readonly own?: readonly DesiredPod[];
  /** Beside those of the document. */
  readonly running?: readonly DesiredPod[];
  readonly held?: readonly string[];
}

function ackWith(rejected: readonly Rejection[], { own = [web], running = [], held }: Scene = {}) {
  const health = new Map([[db.uid, readyFor("db", 60)]]);
  const truth = {
    pods: running.map((desired) => ({ desired, status: undefined })),
    held: new Set(held),
    health,
    files: { digest: "", pods: [], isKnown: true },
    documents: [aState(own)],
    rejected,
  };
  const { acks } = new Acknowledgements().next(truth, { now: NOW, wall: WALL });
  return acks.find(({ source }) => source === "node");
}

test("names what the node lacks, alone and beside a pod that runs", () => {
  const message =
    "pod default/web is Pending: OutOfmemory: Node didn't have enough resource: memory";
  expect(ackWith([NO_ROOM])).toMatchObject({ phase: "Applying", code: 202, message });
  expect(ackWith([NO_ROOM], { own: [db, web] })).toMatchObject({
    phase: "Applying",
    code: 202,
    message,
  });
});

test("is that of a pod that has not begun where only others, or warnings, are refused", () => {
  for (const other of [
    { ...NO_ROOM, name: "other" },
    { ...NO_ROOM, namespace: "other" },
    { ...NO_ROOM, source: "file" },
    { ...NO_ROOM, code: "Ignored" },
  ] as const)
    expect(ackWith([other])).toMatchObject({ phase: "Received", code: 202 });
});

test("waits for the end of a pod of before, unless that goes on under a held name", () => {
  const scene = { own: [db], running: [db, web] };
  const message = "1 pod of before is still stopping";
  expect(ackWith([], scene)).toMatchObject({ phase: "Applying", code: 202, message });
  const held = ["default/web"];
  expect(ackWith([], { ...scene, held })).toMatchObject({ phase: "Healthy", code: 200 });
});
