import { describe, expect, test } from "bun:test";
import type { Rejection } from "../../../src/api/pod/desired-pod.ts";
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

  test("warn: the pod runs without the field, with a warning", () => {
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
      'metadata.annotations[agent/unknown-fields]: Invalid value: "Warn": must be "warn" or "refuse"',
    );
  });

  describe("warn, of an object in which one thing is to be written", () => {
    const warned = (spec: object, container: object = {}): ReturnType<typeof decode> => {
      const annotations = { "agent/unknown-fields": "warn" };
      return decode({ ...writtenPod(spec, container), metadata: { name: "web", annotations } });
    };
    const beside: Readonly<Record<string, object>> = {
      "a volume": { name: "v", emptyDir: {}, comment: "x" },
      "a projected source": {
        name: "v",
        projected: { sources: [{ configMap: { name: "c" }, comment: "x" }] },
      },
    };
    test.each(Object.entries(beside))("%s runs without another field", (_, volume) => {
      const { pods, errors, notices } = warned({ volumes: [volume] });
      expect(errors).toEqual([]);
      expect(pods).toHaveLength(1);
      expect(notices.map(({ message }) => message)).toEqual(["unknown field"]);
    });

    const alone: Readonly<Record<string, readonly [ReturnType<typeof decode>, string]>> = {
      "the source of a volume": [
        warned({ volumes: [{ name: "v", emptydir: {} }] }),
        "spec.volumes[0].emptydir: unknown field (did you mean emptyDir?)",
      ],
      "a projected source": [
        warned({ volumes: [{ name: "v", projected: { sources: [{ configmap: {} }] } }] }),
        "spec.volumes[0].projected.sources[0].configmap: unknown field (did you mean configMap?)",
      ],
      "where a variable comes from": [
        warned({}, { env: [{ name: "P", valueFrom: { secretkeyRef: { name: "s" } } }] }),
        "spec.containers[0].env[0].valueFrom.secretkeyRef: unknown field (did you mean secretKeyRef?)",
      ],
    };
    test.each(Object.entries(alone))("%s refuses the pod if it is misspelt", (_, [of, text]) => {
      expect(texts(of.errors)).toEqual([text]);
    });
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
