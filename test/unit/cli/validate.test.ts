import { expect, test } from "bun:test";
import { decodeManifest } from "../../../src/api/decode/decode-manifest.ts";
import {
  judgeText,
  judgeTogether,
  type NamedText,
} from "../../../src/cli/validate/judge-manifests.ts";

const sha256 = (data: string | Uint8Array): string =>
  new Bun.CryptoHasher("sha256").update(data).digest("hex");

function pod(name: string, spec = ""): string {
  return `apiVersion: v1\nkind: Pod\nmetadata:\n  name: ${name}\nspec:\n  containers: [{name: a, image: busybox${spec}}]\n`;
}

function object(kind: string, name: string): string {
  return `apiVersion: v1\nkind: ${kind}\nmetadata:\n  name: ${name}\n`;
}

/** Four lines of a list; its name stands in the third. */
function anItem(name: string, nodeName = "node"): string {
  const spec = `{nodeName: ${nodeName}, containers: [{name: ${name}, image: busybox}]}`;
  return `- apiVersion: v1\n  kind: Pod\n  metadata: {name: p}\n  spec: ${spec}\n`;
}

function list(kind: string, ...items: readonly string[]): string {
  return `apiVersion: v1\nkind: ${kind}\nitems:\n${items.join("")}`;
}

interface Expected {
  readonly documents: number;
  readonly invalid: number;
  readonly errors: readonly string[];
}

function judged(files: Readonly<Record<string, string>>): Expected {
  const texts: readonly NamedText[] = Object.entries(files).map(([file, text]) => ({ file, text }));
  const whole = judgeTogether(texts.map((text) => judgeText(text, sha256)));
  const errors = whole.errors.map(({ ref, line, path, code }) => `${ref}:${line} ${path} ${code}`);
  return { documents: whole.documents, invalid: whole.invalid.size, errors };
}

const port = ", ports: [{containerPort: 80, hostPort: 8080}]";
const sidecar = `{name: s, image: busybox, restartPolicy: Always${port}}`;

const cases: Readonly<
  Record<string, readonly [files: Readonly<Record<string, string>>, expected: Expected]>
> = {
  "valid pods are valid": [
    { "a.yaml": `${pod("a")}---\n${pod("b")}` },
    { documents: 2, invalid: 0, errors: [] },
  ],
  "one bad document does not spoil the other": [
    { "a.yaml": `${pod("a")}---\n${pod("b", ", imagee: x")}` },
    { documents: 2, invalid: 1, errors: ["a.yaml:13 spec.containers[0].imagee UnknownField"] },
  ],
  "an unknown field hides no invalid image name": [
    {
      "a.yaml": `apiVersion: v1
kind: Pod
metadata: {name: web}
spec:
  unknown: 1
  initContainers: [{name: i, image: "local/UPPER:1"}]
  containers:
    - {name: a, image: "x:1"}
    - {name: b, image: "x:no tag"}
  volumes: [{name: v, image: {reference: "a//b"}}]
`,
      "list.yaml": list(
        "PodList",
        "- metadata: {name: q}\n  spec: {containers: [{name: a, image: 'A@B@C'}]}\n",
      ),
    },
    {
      documents: 2,
      invalid: 2,
      errors: [
        "a.yaml:5 spec.unknown UnknownField",
        "a.yaml:6 spec.initContainers[0].image InvalidImageName",
        "a.yaml:9 spec.containers[1].image InvalidImageName",
        "a.yaml:10 spec.volumes[0].image.reference InvalidImageName",
        "list.yaml:5 items[0].spec.containers[0].image InvalidImageName",
      ],
    },
  ],
  "a name is given once, and both places are named": [
    { "a.yaml": pod("web"), "b.yaml": pod("web") },
    { documents: 2, invalid: 1, errors: ["b.yaml:4 metadata.name DuplicatePod"] },
  ],
  "a host port is given once": [
    { "a.yaml": pod("a", port), "b.yaml": pod("b", port) },
    { documents: 2, invalid: 1, errors: ["b.yaml:4 spec.containers HostPortConflict"] },
  ],
  "a host port of a sidecar is refused where it stands": [
    { "a.yaml": pod("a", port), "b.yaml": `${pod("b")}  initContainers: [${sidecar}]\n` },
    { documents: 2, invalid: 1, errors: ["b.yaml:4 spec.initContainers HostPortConflict"] },
  ],
  "a pod for another node is judged like any other": [
    { "a.yaml": `${pod("a", ", imagee: x")}  nodeName: pi-7\n` },
    { documents: 1, invalid: 1, errors: ["a.yaml:6 spec.containers[0].imagee UnknownField"] },
  ],
  "so is one in a list": [
    { "a.yaml": list("List", anItem("A", "worker-1")), "b.yaml": list("PodList", anItem("B")) },
    {
      documents: 2,
      invalid: 2,
      errors: [
        "a.yaml:7 spec.containers[0].name Invalid",
        "b.yaml:7 spec.containers[0].name Invalid",
      ],
    },
  ],
  "pods of different nodes never meet": [
    {
      "a.yaml": `${pod("web", port)}  nodeName: node-a\n`,
      "b.yaml": `${pod("web", port)}  nodeName: node-b\n`,
      "c.yaml": `${pod("other", port)}  nodeName: node-c\n`,
    },
    { documents: 3, invalid: 0, errors: [] },
  ],
  "pods of one node do": [
    {
      "a.yaml": `${pod("web")}  nodeName: node-b\n`,
      "b.yaml": `${pod("web", port)}  nodeName: node-a\n---\n${pod("web")}  nodeName: node-a\n`,
      "c.yaml": `${pod("other", port)}  nodeName: node-a\n`,
    },
    {
      documents: 4,
      invalid: 2,
      errors: ["b.yaml:12 metadata.name DuplicatePod", "c.yaml:4 spec.containers HostPortConflict"],
    },
  ],
  "a pod for every node meets all others": [
    {
      "a.yaml": `${pod("web", port)}  nodeName: node-a\n`,
      "b.yaml": `${pod("web")}---\n${pod("other", port)}`,
    },
    {
      documents: 3,
      invalid: 2,
      errors: ["b.yaml:4 metadata.name DuplicatePod", "b.yaml:11 spec.containers HostPortConflict"],
    },
  ],
  "objects count, and one name of a kind is given once": [
    {
      "a.yaml": `${object("ConfigMap", "web")}---\n${object("Secret", "web")}`,
      "b.yaml": object("Secret", "web"),
    },
    { documents: 3, invalid: 1, errors: ["b.yaml:4 metadata.name DuplicateObject"] },
  ],
  "the node's own ConfigMap is refused": [
    { "a.yaml": `${object("ConfigMap", "agent-node")}---\n${object("Secret", "agent-node")}` },
    { documents: 2, invalid: 1, errors: ["a.yaml:4 metadata.name Reserved"] },
  ],
  "a reference to what is in no file is no error": [
    { "a.yaml": pod("a", ", envFrom: [{secretRef: {name: s}}]") },
    { documents: 1, invalid: 0, errors: [] },
  ],
  "the agent's own configuration is judged as one": [
    { "a.yaml": "kind: AgentConfiguration\nmqtt:\n  urll: x\n" },
    { documents: 1, invalid: 1, errors: ["a.yaml:3 mqtt.urll UnknownField"] },
  ],
  "broken YAML is one invalid document": [
    { "a.yaml": "a: [\n" },
    { documents: 1, invalid: 1, errors: ["a.yaml:2  Syntax"] },
  ],
};

test.each(Object.entries(cases))("%s", (_sentence, [files, expected]) => {
  expect(judged(files)).toEqual(expected);
});

test.each(["List", "PodList"])(
  "two pods of one name in a %s are reported with the position of each",
  (kind) => {
    const text = list(kind, anItem("a"), anItem("b"));
    const { errors } = judgeTogether([judgeText({ file: "a.yaml", text }, sha256)]);
    expect(errors.map(({ line, message }) => `${line}: ${message}`)).toEqual([
      "10: pod default/p is also in a.yaml:6, which wins",
    ]);
  },
);

test("two objects of one name in a list of lists are reported with the position of each", () => {
  const item = (name: string) =>
    `  - {apiVersion: v1, kind: ConfigMap, metadata: {name: ${name}}}\n`;
  const text = `${list("List")}- apiVersion: v1\n  kind: ConfigMapList\n  items:\n${item("a")}${item("a")}`;
  const { errors } = judgeTogether([judgeText({ file: "a.yaml", text }, sha256)]);
  expect(errors.map(({ line, message }) => `${line}: ${message}`)).toEqual([
    "8: ConfigMap default/a is also in a.yaml:7, which wins",
  ]);
});

test("a pod for another node in a list is not passed over", () => {
  const text = list("List", anItem("A", "worker-1"));
  expect(judgeText({ file: "a.yaml", text }, sha256).warnings).toEqual([]);
});

test("a reference to what is in no file is noted, unless the pod starts without it", () => {
  const env = ", envFrom: [{secretRef: {name: s}}, {secretRef: {name: t, optional: true}}]";
  const volumes =
    "  volumes: [{name: a, configMap: {name: c}}, {name: b, configMap: {name: agent-node}}, {name: d, persistentVolumeClaim: {claimName: d}}]\n";
  const texts = [
    { file: "a.yaml", text: `${pod("a", env)}${volumes}` },
    { file: "b.yaml", text: object("ConfigMap", "c") },
  ];
  const { notes, warnings } = judgeTogether(texts.map((text) => judgeText(text, sha256)));
  expect(warnings).toEqual([]);
  expect(notes.map(({ ref, line, path, message }) => `${ref}:${line} ${path}: ${message}`)).toEqual(
    [
      "a.yaml:4 spec.volumes[2].persistentVolumeClaim: PersistentVolumeClaim default/d is in none of these files; the pod waits until the node has it",
      "a.yaml:4 spec.containers[0].envFrom[0].secretRef: Secret default/s is in none of these files; the pod waits until the node has it",
    ],
  );
});

test("for a file it reports the same as the agent", () => {
  const unknown = Array.from({ length: 60 }, (_, index) => `, x${index}: 1`).join("");
  const text = ["a", "b", "c"].map((name) => pod(name, unknown)).join("---\n");
  const context = { source: "file", ref: "a.yaml", nodeName: "", sha256 } as const;
  const { errors } = judgeText({ file: "a.yaml", text }, sha256);
  expect(errors).toEqual(decodeManifest(text, context).errors);
  expect(errors.length).toBe(60 + 41 + 2);
});
