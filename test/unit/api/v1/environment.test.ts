import { describe, expect, test } from "bun:test";

import type { EnvFrom, EnvVar } from "../../../../src/api/v1/environment.ts";
import { containerOf, decode, refusals, writtenPod } from "../written-pod.ts";

const AT = "spec.containers[0]";

function refusedEnv(variable: object): readonly string[] {
  return refusals(writtenPod({}, { env: [variable] }));
}

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

  const ENV_FIELDS =
    '"metadata.name", "metadata.namespace", "metadata.uid", "spec.nodeName", "spec.serviceAccountName", "status.hostIP", "status.hostIPs", "status.podIP", "status.podIPs"';
  const RESOURCES =
    '"limits.cpu", "limits.ephemeral-storage", "limits.memory", "requests.cpu", "requests.ephemeral-storage", "requests.memory"';
  const source = (valueFrom: object): object => ({ name: "A", valueFrom });
  const field = (fieldPath: unknown): object => source({ fieldRef: { fieldPath } });
  const resource = (resourceFieldRef: object): object => source({ resourceFieldRef });
  const wrong: Readonly<Record<string, { readonly written: object; readonly says: string[] }>> = {
    "without a name": { written: { value: "x" }, says: ["env[0].name: Required value"] },
    "with = in its name": {
      written: { name: "A=B" },
      says: [`env[0].name: Invalid value: "A=B": must be printable ASCII without '='`],
    },
    "with a name that is a number": {
      written: { name: 5 },
      says: ["env[0].name: Invalid value: 5: must be a string; put it in quotes"],
    },
    "with a number": {
      written: { name: "A", value: 8080 },
      says: ["env[0].value: Invalid value: 8080: must be a string; put it in quotes"],
    },
    "with a boolean": {
      written: { name: "A", value: true },
      says: ["env[0].value: Invalid value: true: must be a string; put it in quotes"],
    },
    "with a value and a source": {
      written: { name: "A", value: "x", valueFrom: { fieldRef: { fieldPath: "metadata.name" } } },
      says: ['env[0].valueFrom: Invalid value: "": may not be specified when `value` is not empty'],
    },
    "with an empty source": {
      written: source({}),
      says: [
        'env[0].valueFrom: Invalid value: "": must specify one of: `fieldRef`, `resourceFieldRef`, `configMapKeyRef` or `secretKeyRef`',
      ],
    },
    "with two sources": {
      written: source({
        fieldRef: { fieldPath: "metadata.name" },
        configMapKeyRef: { name: "c", key: "k" },
      }),
      says: [
        'env[0].valueFrom: Invalid value: "": may not have more than one field specified at a time',
      ],
    },
    "with a misspelt source": {
      written: source({ secretRef: { name: "s", key: "k" } }),
      says: ["env[0].valueFrom.secretRef: unknown field (did you mean secretKeyRef?)"],
    },
    "with a source that is text": {
      written: source({ secretKeyRef: "s" }),
      says: ['env[0].valueFrom.secretKeyRef: Invalid value: "s": must be an object'],
    },
    "of a field that no variable has": {
      written: field("status.phase"),
      says: [
        `env[0].valueFrom.fieldRef.fieldPath: Unsupported value: "status.phase": supported values: ${ENV_FIELDS}`,
      ],
    },
    "of all labels at once, which only a volume has": {
      written: field("metadata.labels"),
      says: [
        `env[0].valueFrom.fieldRef.fieldPath: Unsupported value: "metadata.labels": supported values: ${ENV_FIELDS}`,
      ],
    },
    "of no field": {
      written: field(""),
      says: ["env[0].valueFrom.fieldRef.fieldPath: Required value"],
    },
    "of a field with a key that takes none": {
      written: field("metadata.name['x']"),
      says: [
        `env[0].valueFrom.fieldRef.fieldPath: Invalid value: "metadata.name['x']": metadata.name does not support subscript`,
      ],
    },
    "of a label that cannot be": {
      written: field("metadata.labels['a b']"),
      says: [
        `env[0].valueFrom.fieldRef.fieldPath: Invalid value: "metadata.labels['a b']": its name must be at most 63 letters, digits, '-', '_' or '.', with a letter or digit at both ends`,
      ],
    },
    "of a field in another version": {
      written: source({ fieldRef: { apiVersion: "v2", fieldPath: "metadata.name" } }),
      says: ['env[0].valueFrom.fieldRef.apiVersion: Invalid value: "v2": must be "v1"'],
    },
    "of no resource": {
      written: resource({}),
      says: ["env[0].valueFrom.resourceFieldRef.resource: Required value"],
    },
    "of a resource that no container has": {
      written: resource({ resource: "limits.disk" }),
      says: [
        `env[0].valueFrom.resourceFieldRef.resource: Unsupported value: "limits.disk": supported values: ${RESOURCES}`,
      ],
    },
    "of cpu in a unit of memory": {
      written: resource({ resource: "limits.cpu", divisor: "1Mi" }),
      says: [
        'env[0].valueFrom.resourceFieldRef.divisor: Invalid value: "1Mi": only divisor\'s values 1m and 1 are supported with cpu',
      ],
    },
    "of memory in thousandths": {
      written: resource({ resource: "requests.memory", divisor: "1m" }),
      says: [
        'env[0].valueFrom.resourceFieldRef.divisor: Invalid value: "1m": only divisor\'s values 1, 1k, 1M, 1G, 1T, 1P, 1E, 1Ki, 1Mi, 1Gi, 1Ti, 1Pi, 1Ei are supported with memory',
      ],
    },
    "of an object and a key without names": {
      written: source({ configMapKeyRef: {} }),
      says: [
        "env[0].valueFrom.configMapKeyRef.name: Required value",
        "env[0].valueFrom.configMapKeyRef.key: Required value",
      ],
    },
    "of an object and a key that cannot be": {
      written: source({ secretKeyRef: { name: "My_Secret", key: "a/b" } }),
      says: [
        `env[0].valueFrom.secretKeyRef.name: Invalid value: "My_Secret": must be lower-case letters, digits, '-' or '.', with a letter or digit at both ends (RFC 1123 subdomain)`,
        `env[0].valueFrom.secretKeyRef.key: Invalid value: "a/b": a valid config key must consist of alphanumeric characters, '-', '_' or '.'`,
      ],
    },
  };
  test.each(Object.entries(wrong))("%s is refused", (_sentence, { written, says }) => {
    expect(refusedEnv(written)).toEqual(says.map((line) => `${AT}.${line}`));
  });

  test("an unquoted yes is text, with a warning, also in what is kept", () => {
    const locate = () => ({ line: 1, column: 1, text: "yes" });
    const decoded = decode(writtenPod({}, { env: [{ name: "A", value: true }] }), { locate });
    expect(decoded.notices.map(({ message }) => message)).toEqual([
      'unquoted yes is read as text here; write "yes"',
    ]);
    expect(decoded.pods[0]?.written["spec"]).toMatchObject({
      containers: [{ env: [{ name: "A", value: "yes" }] }],
    });
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

  const wrong: Readonly<Record<string, { readonly written: object; readonly says: string }>> = {
    "of nothing": {
      written: { prefix: "P_" },
      says: 'envFrom[0]: Invalid value: "": must specify one of: `configMapRef` or `secretRef`',
    },
    "of two at once": {
      written: { configMapRef: { name: "c" }, secretRef: { name: "s" } },
      says: 'envFrom[0]: Invalid value: "": may not have more than one field specified at a time',
    },
    "of an object without a name": {
      written: { configMapRef: {} },
      says: "envFrom[0].configMapRef.name: Required value",
    },
    "with a prefix that cannot be": {
      written: { prefix: "A=", configMapRef: { name: "c" } },
      says: `envFrom[0].prefix: Invalid value: "A=": must be printable ASCII without '='`,
    },
    "with an unknown field": {
      written: { secretRef: { name: "s", key: "k" } },
      says: "envFrom[0].secretRef.key: unknown field",
    },
  };
  test.each(Object.entries(wrong))("%s is refused", (_sentence, { written, says }) => {
    expect(refusals(writtenPod({}, { envFrom: [written] }))).toEqual([`${AT}.${says}`]);
  });
});

test("a container has an open input and a terminal if it says so", () => {
  expect(containerOf({ stdin: true, stdinOnce: true, tty: true })).toMatchObject({
    stdin: true,
    stdinOnce: true,
    tty: true,
  });
  expect(containerOf({})).toMatchObject({ stdin: false, stdinOnce: false, tty: false });
});
