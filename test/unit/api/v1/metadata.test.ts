import { describe, expect, test } from "bun:test";

import { decode, warnings, writtenPod } from "../written-pod.ts";

function named(metadata: object): object {
  return { ...writtenPod(), metadata };
}

/** Each error as `code path: message`. */
function findings(metadata: object): readonly string[] {
  return decode(named(metadata)).errors.map(
    ({ code, path, message }) => `${code} ${path}: ${message}`,
  );
}

const SUBDOMAIN_RULE =
  "must be lower-case letters, digits, '-' or '.', with a letter or digit at both ends (RFC 1123 subdomain)";
const LABEL_RULE =
  "must be lower-case letters, digits or '-', with a letter or digit at both ends (RFC 1123 label)";
const PART_RULE =
  "must be at most 63 letters, digits, '-', '_' or '.', with a letter or digit at both ends";
const LONG = "a".repeat(64);

describe("a pod is refused", () => {
  const cases: Readonly<Record<string, readonly [metadata: object, ...errors: string[]]>> = {
    "without a name": [{}, "Required metadata.name: Required value"],
    "with a prefix for a name instead of a name": [
      { generateName: "web-" },
      "Required metadata.name: Required value",
    ],
    "with a name that is no subdomain": [
      { name: "web_1" },
      `Invalid metadata.name: Invalid value: "web_1": ${SUBDOMAIN_RULE}`,
    ],
    "with a name of 64 characters": [
      { name: LONG },
      `NameTooLong metadata.name: Invalid value: "${LONG}": must be no more than 63 characters`,
    ],
    "in a namespace with a dot": [
      { name: "web", namespace: "a.b" },
      `Invalid metadata.namespace: Invalid value: "a.b": ${LABEL_RULE}`,
    ],
    "in a namespace of 64 characters": [
      { name: "web", namespace: LONG },
      `NameTooLong metadata.namespace: Invalid value: "${LONG}": must be no more than 63 characters`,
    ],
    "with labels that cannot be": [
      { name: "web", labels: { "Ex.com/a": "", "/a": "", ok: "-" } },
      'Invalid metadata.labels[Ex.com/a]: Invalid value: "Ex.com/a": its prefix must be a DNS subdomain',
      'Invalid metadata.labels[/a]: Invalid value: "/a": its prefix must be a DNS subdomain',
      `Invalid metadata.labels[ok]: Invalid value: "-": ${PART_RULE}`,
    ],
    "with a label that is a number": [
      { name: "web", labels: { version: 1.2 } },
      "Invalid metadata.labels[version]: Invalid value: 1.2: must be a string; put it in quotes",
    ],
    "with annotations whose keys cannot be": [
      { name: "web", annotations: { "a b": "any text at all", [LONG]: "" } },
      `Invalid metadata.annotations[a b]: Invalid value: "a b": its name ${PART_RULE}`,
      `Invalid metadata.annotations[${LONG}]: Invalid value: "${LONG}": its name ${PART_RULE}`,
    ],
    "with more annotations than 256 KiB": [
      { name: "web", annotations: { a: "x".repeat(200_000), b: "ä".repeat(31_072) } },
      "Invalid metadata.annotations: Too long: all annotations together have 262146 bytes; at most 262144 are allowed",
    ],
    "with what metadata does not have": [
      { name: "web", label: { a: "b" } },
      "UnknownField metadata.label: unknown field (did you mean labels?)",
    ],
  };
  test.each(Object.entries(cases))("%s", (_, [metadata, ...errors]) => {
    expect(findings(metadata)).toEqual(errors);
  });
});

describe("a pod is taken", () => {
  test("with the longest name, and every kind of label and annotation", () => {
    const metadata = {
      name: "a".repeat(63),
      namespace: "0",
      labels: { "app.kubernetes.io/name": "Web_1.2", empty: null },
      annotations: { "Example.com/Any": "any\ntext ü\0", "kubernetes.io/x": null },
    };
    expect(decode(named(metadata)).pods[0]?.desired.pod.metadata).toMatchObject({
      name: metadata.name,
      namespace: "0",
      labels: { "app.kubernetes.io/name": "Web_1.2", empty: "" },
      annotations: { "Example.com/Any": "any\ntext ü\0", "kubernetes.io/x": "" },
    });
  });

  test("with all that an API server writes there, in silence", () => {
    const metadata = {
      name: "web",
      generateName: "web-",
      uid: "6b4f5b1e-0000-0000-0000-000000000000",
      creationTimestamp: null,
      deletionTimestamp: "2026-01-01T00:00:00Z",
      deletionGracePeriodSeconds: 30,
      resourceVersion: "41",
      generation: 2,
      managedFields: [{ manager: "kubectl" }],
      ownerReferences: [{ kind: "ReplicaSet" }],
      finalizers: ["foregroundDeletion"],
      selfLink: "/api/v1/pods/web",
    };
    expect(warnings(named(metadata))).toEqual([]);
    const uid = (value: object): string | undefined => decode(value).pods[0]?.desired.uid;
    expect(uid(named(metadata))).toBe(uid(named({ name: "web" })));
  });

  test("in the namespace default where none is written", () => {
    const namespaces = [undefined, "", null].map(
      (namespace) =>
        decode(named({ name: "web", namespace })).pods[0]?.desired.pod.metadata.namespace,
    );
    expect(namespaces).toEqual(["default", "default", "default"]);
  });
});
