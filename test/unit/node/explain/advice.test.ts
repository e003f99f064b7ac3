// Every reason in the source for which a pod may not run has its sentence of advice.

import { describe, expect, test } from "bun:test";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { ADVICE, adviceFor, type AdvicePlace } from "../../../../src/node/explain/advice.ts";
import { isWarning } from "../../../../src/api/pod/desired-pod.ts";
import { UPDATE_CONDITIONS } from "../../../../src/api/pod/update-condition.ts";
import { codeName, GrpcCode } from "../../../../src/lib/grpc-code.ts";

const SRC = join(import.meta.dir, "../../../../src");
/** Rooms whose words can come into a pod's status, its conditions or its refusals. */
const ROOMS = [
  "api",
  "containerd",
  "cri",
  "eviction",
  "host",
  "image",
  "lib",
  "node",
  "pleg",
  "podworkers",
  "prober",
  "rollout",
  "runtime",
  "source",
  "status",
  "store",
  "volume",
];

const WORD = '"([A-Z][a-zA-Z]+)"';
const PATTERNS: readonly RegExp[] = [
  // reason: "X", podReason: …, code: a ? "X" : "Y", reason = "X"
  /\b(?:reason|podReason|code)\b\s*[:=](?!=)[^;\n]*/g,
  // withReason("X", …), findings.fail(path, "X", …), reasonOf(error, "X"), warning("X", …)
  /\b(?:withReason|reasonOf|fail|warn|refuse|shadow|listed|unsupported|warning)\([^;]*?"[A-Z][a-zA-Z]+"/g,
  // const START_GUARD = "X"
  /\bconst [A-Z_]+ = "[A-Z][a-zA-Z]+"/g,
];

/** Words beside reasons, and reasons that come into no status of a pod. Whoever adds one here knows that it cannot. */
const NOT_OF_A_POD: ReadonlySet<string> = new Set([
  // Words beside a reason: types, kinds, outcomes.
  "Always",
  "Normal",
  "Warning",
  "Opaque",
  "ReadWriteOncePod",
  "MemoryPressure",
  "Refused",
  "Timeout",
  "ConnectionFailed",
  "PrepareForShutdown",
  // Conditions of the node.
  "BelowFloor",
  "CPUSlowedDown",
  "CannotSetScore",
  "CannotWrite",
  "ControllerMissing",
  "EndedTwice",
  "EvictionThresholdMet",
  "Expired",
  "FullSpeed",
  "KubeletNotReady",
  "KubeletReady",
  "NearlyWornOut",
  "NetworkReady",
  "NotSynchronised",
  "RuntimeUnknown",
  "SerialChanged",
  "StorageOk",
  "VoltageLow",
  "VoltageOk",
  "VoltageWasLow",
  // Of the node's storage, whose messages say what helps.
  "CheckFailed",
  "DailyBudget",
  "FoundByCheck",
  "StorageDamaged",
  "WritesOverBudget",
  // Events that are no state.
  "ClockUntrusted",
  "DNSConfigForming",
  "Failed",
  "FailedPostStartHook",
  "FailedPreStopHook",
  "FailedToRetrieveImagePullSecret",
  "InvalidEnvironmentVariableNames",
  "MissSchedule",
  "Preempting",
  "Rejected",
  "SystemOOM",
  "TooManyActive",
  "TooManyMissedTimes",
  // Of a Job that has succeeded.
  "CompletionsReached",
  // Errors of verbs of the command line, of the start of the agent, of probes and downloads, which others word anew.
  "BadAnswer",
  "BadRedirect",
  "BodyFailed",
  "DiskFull",
  "ImageIncomplete",
  "InvalidEndpoint",
  "InvalidNodeName",
  "NoLock",
  "SqliteAddonUnusable",
  "StateDirInUse",
  "StateDirUnusable",
]);

function reasonsInSource(): ReadonlyMap<string, string> {
  const found = new Map<string, string>();
  for (const room of ROOMS)
    for (const path of new Bun.Glob("**/*.ts").scanSync({ cwd: join(SRC, room) })) {
      if (path.includes("gen/") || path === "explain/advice.ts") continue;
      const text = readFileSync(join(SRC, room, path), "utf8");
      for (const [place] of PATTERNS.flatMap((pattern) => [...text.matchAll(pattern)]))
        for (const [, word = ""] of place.matchAll(new RegExp(WORD, "g")))
          found.set(word, `${room}/${path}`);
    }
  return found;
}

const place: AdvicePlace = {
  namespace: "shop",
  pod: "web",
  container: "main",
  ref: "/etc/agent/manifests/web.yaml:3",
};

describe("advice", () => {
  const inSource = reasonsInSource();

  test("is there for every reason in the source", () => {
    const missing = [...inSource].filter(
      ([word]) => ADVICE[word] === undefined && !NOT_OF_A_POD.has(word) && /[a-z]/.test(word),
    );
    expect(missing).toEqual([]);
  });

  test("the source is really searched", () => {
    for (const word of ["ErrImagePull", "OOMKilled", "StartGuard", "Shadowed", "HostPortConflict"])
      expect([...inSource.keys()]).toContain(word);
    expect(inSource.size).toBeGreaterThan(120);
  });

  test("no reason that is excused has left the source", () => {
    expect([...NOT_OF_A_POD].filter((word) => !inSource.has(word))).toEqual([]);
    expect([...NOT_OF_A_POD].filter((word) => word in ADVICE)).toEqual([]);
  });

  test("is there for every code of the manifests in the fixtures", () => {
    const directory = join(SRC, "../test/fixtures/invalid");
    const codes = [...new Bun.Glob("*.errors").scanSync({ cwd: directory })].flatMap((file) =>
      [...readFileSync(join(directory, file), "utf8").matchAll(/^\d+:\d+ (\w+) /gm)].map(
        ([, code = ""]) => code,
      ),
    );
    expect(new Set(codes).size).toBeGreaterThan(5);
    expect([...new Set(codes)].filter((code) => ADVICE[code] === undefined)).toEqual([]);
  });

  test("is there for every answer of the runtime and every condition about an update", () => {
    const answers = Object.values(GrpcCode).filter((code) => code !== GrpcCode.OK);
    const conditions = Object.keys(UPDATE_CONDITIONS).map((type) => type.replace("agent/", ""));
    const words = [
      ...answers.map(codeName),
      ...conditions.filter((one) => one !== "UpdatePending"),
    ];
    expect(words.filter((word) => ADVICE[word] === undefined)).toEqual([]);
  });

  test("is one sentence each, with no place left open", () => {
    for (const reason of Object.keys(ADVICE)) {
      const sentence = adviceFor({ reason }, place);
      expect(sentence).toMatch(/^(?:[A-Z]|imagePull|staticPod|containerd )[^{}\n]*\.$/);
      expect(sentence).not.toMatch(/\. [A-Z]/);
    }
  });

  test.each([
    ["CrashLoopBackOff", 127, "The program is not in the image: check command in /etc/agent/"],
    [
      "CrashLoopBackOff",
      1,
      "The program ends again and again: read why with agent logs web -n shop -c main,",
    ],
    ["OutOfexample.com/gpu", undefined, "The node has too little of example.com/gpu left: "],
    ["NeverHeardOf", undefined, "The message has the reason: "],
    ["toString", undefined, "The message has the reason: "],
  ] as const)("of %s with exit code %p", (reason, exitCode, start) => {
    expect(adviceFor({ reason, exitCode }, place)).toStartWith(start);
  });

  test("of a pod in the default namespace names no namespace", () => {
    const sentence = adviceFor({ reason: "Unhealthy" }, { ...place, namespace: "default" });
    expect(sentence).toContain("agent logs web -c main,");
  });

  test("a refusal that is only a warning has one too", () => {
    const warnings = Object.keys(ADVICE).filter((code) => isWarning({ code }));
    expect(warnings.toSorted()).toEqual([
      "Ignored",
      "InsecureURL",
      "NotForThisNode",
      "NotStarted",
      "RemovalsWait",
      "SecretInSharedDocument",
      "Shadowed",
      "UnpinnedImage",
    ]);
  });
});
