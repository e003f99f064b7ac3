import { describe, expect, test } from "bun:test";

import type { EnvFrom, EnvVar } from "../../../../src/api/v1/environment.ts";
import { containerOf, decode, writtenPod } from "../written-pod.ts";

function envOf(variable: object): EnvVar | undefined {
  return containerOf({ env: [variable] })?.env[0];
}

function fromOf(source: object): EnvFrom | undefined {
  return containerOf({ envFrom: [source] })?.envFrom[0];
}

describe("a variable", () => {
  const cases: Readonly<Record<string, { readonly written: object; readonly read: EnvVar }>> = {
    "has the text that is written": {
      written: { name: "A", value: "x" },
      read: { name: "A", value: "x" },
    },
    "without a value is empty": { written: { name: "A" }, read: { name: "A", value: "" } },
    "may have any printable name": {
      written: { name: "my.odd name-1", value: "x" },
      read: { name: "my.odd name-1", value: "x" },
    },
    "is a field of the pod": {
      written: { name: "A", valueFrom: { fieldRef: { fieldPath: "status.podIP" } } },
      read: { name: "A", valueFrom: { type: "fieldRef", fieldPath: "status.podIP" } },
    },
    "may have an empty value beside its source": {
      written: { name: "A", value: "", valueFrom: { fieldRef: { fieldPath: "metadata.uid" } } },
      read: { name: "A", valueFrom: { type: "fieldRef", fieldPath: "metadata.uid" } },
    },
    "is the node's name under its first name too": {
      written: {
        name: "A",
        valueFrom: { fieldRef: { apiVersion: "v1", fieldPath: "spec.host" } },
      },
      read: { name: "A", valueFrom: { type: "fieldRef", fieldPath: "spec.nodeName" } },
    },
    "is one label": {
      written: {
        name: "A",
        valueFrom: { fieldRef: { fieldPath: "metadata.labels['app.kubernetes.io/name']" } },
      },
      read: {
        name: "A",
        valueFrom: {
          type: "fieldRef",
          fieldPath: "metadata.labels['app.kubernetes.io/name']",
        },
      },
    },
    "is one annotation, in any case": {
      written: {
        name: "A",
        valueFrom: { fieldRef: { fieldPath: "metadata.annotations['My/Key']" } },
      },
      read: {
        name: "A",
        valueFrom: { type: "fieldRef", fieldPath: "metadata.annotations['My/Key']" },
      },
    },
    "is a limit": {
      written: { name: "A", valueFrom: { resourceFieldRef: { resource: "limits.cpu" } } },
      read: {
        name: "A",
        valueFrom: { type: "resourceFieldRef", resource: "limits.cpu" },
      },
    },
    "is a limit of another container in canonical units": {
      written: {
        name: "A",
        valueFrom: {
          resourceFieldRef: { containerName: "b", resource: "requests.cpu", divisor: "1000m" },
        },
      },
      read: {
        name: "A",
        valueFrom: {
          type: "resourceFieldRef",
          containerName: "b",
          resource: "requests.cpu",
          divisor: "1",
        },
      },
    },
    "counts in ones if the divisor is 0": {
      written: {
        name: "A",
        valueFrom: { resourceFieldRef: { resource: "limits.hugepages-2Mi", divisor: 0 } },
      },
      read: {
        name: "A",
        valueFrom: { type: "resourceFieldRef", resource: "limits.hugepages-2Mi" },
      },
    },
    "is a key of a ConfigMap": {
      written: { name: "A", valueFrom: { configMapKeyRef: { name: "c", key: "k.txt" } } },
      read: {
        name: "A",
        valueFrom: { type: "configMapKeyRef", name: "c", key: "k.txt", optional: false },
      },
    },
    "is a key of a Secret that may be missing": {
      written: {
        name: "A",
        valueFrom: { secretKeyRef: { name: "s", key: "k", optional: true } },
      },
      read: {
        name: "A",
        valueFrom: { type: "secretKeyRef", name: "s", key: "k", optional: true },
      },
    },
  };
  test.each(Object.entries(cases))("%s", (_sentence, { written, read }) => {
    expect(envOf(written)).toEqual(read);
  });

  test("an unquoted yes or 1_000 is no text; a checkpoint that has it keeps it as such", () => {
    for (const [text, value, shown] of [
      ["yes", true, "true"],
      ["1_000", 1000, "1000"],
    ] as const) {
      const locate = () => ({ line: 1, column: 1, text });
      const written = writtenPod({}, { env: [{ name: "A", value }] });
      expect(decode(written, { locate }).errors.map(({ message }) => message)).toEqual([
        `Invalid value: ${shown}: must be a string; write "${text}"`,
      ]);
      expect(decode(written, { locate, lenient: true }).pods[0]?.written["spec"]).toMatchObject({
        containers: [{ env: [{ name: "A", value: text }] }],
      });
    }
  });
});

describe("every key of an object as a variable", () => {
  test("of a ConfigMap with a prefix", () => {
    expect(fromOf({ prefix: "P_", configMapRef: { name: "c" } })).toEqual({
      type: "configMap",
      name: "c",
      prefix: "P_",
      optional: false,
    });
  });

  test("of a Secret that may be missing", () => {
    expect(fromOf({ secretRef: { name: "s", optional: true } })).toEqual({
      type: "secret",
      name: "s",
      prefix: "",
      optional: true,
    });
  });
});

test("a container has an open input and a terminal if its spec requests them", () => {
  expect(containerOf({ stdin: true, stdinOnce: true, tty: true })).toMatchObject({
    stdin: true,
    stdinOnce: true,
    tty: true,
  });
  expect(containerOf({})).toMatchObject({ stdin: false, stdinOnce: false, tty: false });
});
