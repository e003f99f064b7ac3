import { describe, expect, test } from "bun:test";
import type { Rejection } from "../../../src/api/desired-pod.ts";
import { decode, writtenPod } from "./written-pod.ts";

function misspelt(annotation: string | undefined): object {
  const pod = writtenPod(
    { hostNetwrok: true },
    { livenesProbe: {}, env: [{ name: "A", vlaue: "1" }] },
  );
  const annotations = annotation === undefined ? {} : { "agent/unknown-fields": annotation };
  return { ...pod, metadata: { name: "web", annotations } };
}

const FINDINGS = [
  "spec.containers[0].env[0].vlaue: unknown field (did you mean value?)",
  "spec.containers[0].livenesProbe: unknown field (did you mean livenessProbe?)",
  "spec.hostNetwrok: unknown field (did you mean hostNetwork?)",
];

function texts(findings: readonly Rejection[]): readonly string[] {
  return findings.map(({ path, message }) => `${path}: ${message}`).toSorted();
}

describe("agent/unknown-fields", () => {
  test.each([[undefined], ["refuse"]])("%s: an unknown field refuses the pod", (annotation) => {
    const { pods, errors } = decode(misspelt(annotation));
    expect(pods).toEqual([]);
    expect(texts(errors)).toEqual(FINDINGS);
    expect(errors.map(({ code }) => code)).toEqual(FINDINGS.map(() => "UnknownField"));
  });

  test("warn: the pod runs without it, and that is said", () => {
    const { pods, errors, notices } = decode(misspelt("warn"));
    expect(errors).toEqual([]);
    expect(texts(notices)).toEqual(FINDINGS);
    expect(notices.map(({ code }) => code)).toEqual(FINDINGS.map(() => "Ignored"));
    expect(pods[0]?.desired.pod.spec.hostNetwork).toBe(false);
  });

  test("warn: everything else that is wrong still refuses the pod", () => {
    const pod = { ...misspelt("warn"), spec: { containers: [], whatever: 1 } };
    expect(decode(pod).errors.map(({ path }) => path)).toEqual(["spec.containers"]);
  });

  test("another word is refused itself, and warns of nothing", () => {
    const { errors } = decode(misspelt("Warn"));
    expect(errors).toHaveLength(FINDINGS.length + 1);
    expect(texts(errors)).toContain(
      'metadata.annotations[agent/unknown-fields]: Invalid value: "Warn": must be "warn" or "refuse" (the default)',
    );
  });

  test("it is one pod with the field and another without", () => {
    const [a, b] = [{ hostNetwrok: true }, {}].map((spec) => {
      const annotations = { "agent/unknown-fields": "warn" };
      return decode({ ...writtenPod(spec), metadata: { name: "web", annotations } }).pods[0]
        ?.desired.uid;
    });
    expect(a).not.toBe(b);
  });
});
