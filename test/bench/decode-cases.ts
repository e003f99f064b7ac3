// Documents that are made to cost much: each is a shape that can be made as long as one likes.

const HEAD = `apiVersion: v1
kind: Pod
metadata: { name: web }
spec:
`;
const CONTAINER = `${HEAD}  containers:
    - name: a
      image: local/busybox:1
`;

export interface Shape {
  readonly name: string;
  /** A document of so many repetitions. */
  readonly text: (count: number) => string;
}

function each(count: number, one: (index: number) => string): string {
  return Array.from({ length: count }, (_, index) => one(index)).join("");
}

function json(spec: object): string {
  const metadata = { name: "web" };
  return JSON.stringify({ apiVersion: "v1", kind: "Pod", metadata, spec });
}

function container(more: object): string {
  return json({ containers: [{ name: "a", image: "x:1", ...more }] });
}

function list<T>(count: number, one: (index: number) => T): readonly T[] {
  return Array.from({ length: count }, (_, index) => one(index));
}

function items(count: number, one: (index: number) => object): string {
  return JSON.stringify({ apiVersion: "v1", kind: "List", items: list(count, one) });
}

/** Pods that have nothing but these. */
function annotated(count: number, annotations: Readonly<Record<string, string>>): string {
  return items(count, (index) => ({
    kind: "Pod",
    metadata: { name: `p${index}`, annotations },
    spec: {},
  }));
}

/** A pod with a volume of files at these paths. */
function volume(paths: readonly string[]): string {
  const configMap = { name: "x", items: paths.map((path) => ({ key: "a", path })) };
  return json({ containers: [], volumes: [{ name: "v", configMap }] });
}

const LOGIN = `apiVersion: v1
kind: Secret
type: kubernetes.io/dockerconfigjson
metadata:
  name: c
stringData:
  .dockerconfigjson: |
    `;

function manyPods(count: number): string {
  const item = (index: number): string => `  - apiVersion: v1
    kind: Pod
    metadata:
      name: p${index}
      labels: { app: web, tier: front }
    spec:
      hostNetwork: true
      containers:
        - name: a
          image: local/busybox:1
          command: [sleep, inf]
          env:
            - { name: A, value: b }
          ports:
            - containerPort: 80
              hostPort: 80
          volumeMounts:
            - { name: v, mountPath: /v }
      volumes:
        - name: v
          emptyDir: {}
`;
  return `apiVersion: v1\nkind: List\nitems:\n${each(count, item)}`;
}

/** What breaks nothing and is only much. */
const MUCH: readonly Shape[] = [
  { name: "YAML: one long text", text: (count) => `a: |\n${"  line\n".repeat(count)}` },
  { name: "YAML: a list of words", text: (count) => `a: [${"x,".repeat(count)}]` },
  { name: "YAML: a list of empty maps", text: (count) => `[${"{},".repeat(count)}]` },
  { name: "YAML: a block list", text: (count) => "- x\n".repeat(count) },
  { name: "YAML: a block map", text: (count) => each(count, (index) => `k${index}: v\n`) },
  { name: "YAML: texts", text: (count) => each(count, (index) => `k${index}: |\n  b\n\n`) },
  {
    name: "YAML: quoted words",
    text: (count) => each(count, (index) => `k${index}: ['b', "c"]\n`),
  },
  {
    name: "YAML: escapes of JSON",
    text: (count) => `a: "${"\\n".repeat(count)}"\n`,
  },
  {
    name: "YAML: lines of escapes in brackets",
    text: (count) => each(count, (index) => `k${index}: ["${"\\n".repeat(5900)}"]\n`),
  },
  {
    name: "YAML: escapes of JSON that go wrong late",
    text: (count) => `a: "${"\\n".repeat(count)}" "\n`,
  },
  {
    name: "YAML: long keys",
    text: (count) => each(count, (index) => `${"k".repeat(240)}${index}: v\n`),
  },
  {
    name: "YAML: plain but for its last line",
    text: (count) => `${each(count, (index) => `k${index}: v\n`)}a: b\t\n`,
  },
  {
    name: "YAML: a text, plain but for the line after it",
    text: (count) => `a: |\n${" b\n".repeat(count)}c: d\t\n`,
  },
  { name: "YAML: comments", text: (count) => `a: 1\n${"#\n".repeat(count)}` },
  { name: "YAML: blank lines", text: (count) => `a: 1\n${"\n".repeat(count)}b: 1` },
  { name: "YAML: blanks in a word", text: (count) => `a: b${" ".repeat(count)}c\n` },
  { name: "YAML: blank lines in a text", text: (count) => `a: |\n b\n${"\n".repeat(count)} c\n` },
  { name: "YAML: short lines in a text", text: (count) => `a: |\n${" b\n".repeat(count)}` },
  { name: "YAML: short lines, folded", text: (count) => `a: >\n${" b\n".repeat(count)}` },
  { name: "YAML: short lines in quotes", text: (count) => `a: "${" b\n".repeat(count)}"\n` },
  { name: "YAML: blank lines in quotes", text: (count) => `a: "${"\n".repeat(count)}"\n` },
  { name: "YAML: short lines of words", text: (count) => `a: ${" b\n".repeat(count)}` },
  { name: "YAML: empty documents", text: (count) => "---\n".repeat(count) },
  { name: "YAML: anchors", text: (count) => `[${each(count, (index) => `&a${index} x,`)}]` },
  { name: "YAML: a List of pods", text: manyPods },
  {
    name: "YAML: a ConfigMap of lines",
    text: (count) =>
      `apiVersion: v1\nkind: ConfigMap\nmetadata: { name: c }\ndata:\n  k: |\n${"    some line\n".repeat(count)}`,
  },
  {
    name: "JSON: a List of pods",
    text: (count) => {
      const pod = (index: number): unknown =>
        JSON.parse(container({ env: [{ name: `A${index}` }] }));
      return JSON.stringify({ apiVersion: "v1", kind: "List", items: list(count, pod) });
    },
  },
  { name: "JSON: args", text: (count) => container({ args: list(count, () => "x") }) },
  {
    name: "JSON: containers",
    text: (count) =>
      json({ containers: list(count, (index) => ({ name: `c${index}`, image: "x:1" })) }),
  },
  {
    name: "JSON: ports",
    text: (count) =>
      container({
        ports: list(count, (index) => ({ containerPort: 1, hostPort: 1 + (index % 65_535) })),
      }),
  },
  {
    name: "JSON: volumes and mounts",
    text: (count) =>
      json({
        containers: [
          {
            name: "a",
            image: "x:1",
            volumeMounts: list(count, (index) => ({ name: `v${index}`, mountPath: `/${index}` })),
          },
        ],
        volumes: list(count, (index) => ({ name: `v${index}`, emptyDir: {} })),
      }),
  },
  {
    name: "JSON: resources of many containers",
    text: (count) =>
      json({
        resources: { limits: { cpu: "1000" } },
        containers: list(count, (index) => ({
          name: `c${index}`,
          image: "x:1",
          resources: { limits: Object.fromEntries(list(20, (n) => [`v.io/c=${index}-${n}`, 1])) },
        })),
      }),
  },
];

/** What is wrong at every place. */
const WRONG: readonly Shape[] = [
  {
    name: "YAML: args that are numbers",
    text: (count) => `${CONTAINER}      args: [${"1,".repeat(count)}]`,
  },
  {
    name: "YAML: words that may be booleans",
    text: (count) => `${CONTAINER}      args: [${"on,".repeat(count)}]`,
  },
  {
    name: "YAML: unknown fields",
    text: (count) =>
      `${HEAD}${each(count, (index) => `  terminationGracePeriodSecondsss${index}: 1\n`)}`,
  },
  {
    name: "YAML: unknown fields, warned",
    text: (count) =>
      `${HEAD.replace("{ name: web }", "{ name: web, annotations: { agent/unknown-fields: warn } }")}${each(count, (index) => `  terminationGracePeriodSecondsss${index}: 1\n`)}  containers: [{ name: a, image: x }]\n`,
  },
  {
    name: "YAML: long words and an escape in quotes",
    text: (count) => `[${`"${"x".repeat(1000)}\\n",`.repeat(count)}]`,
  },
  { name: "YAML: tags that fit no value", text: (count) => `a: [${"!b c,".repeat(count)}]` },
  {
    name: "YAML: tags with a long prefix",
    text: (count) => `%TAG !e! ${"a".repeat(980)}\n---\na: [${"!e!b c,".repeat(count)}]`,
  },
  { name: "YAML: tags before nothing", text: (count) => `a: ${"!b ".repeat(count)}` },
  { name: "YAML: commas without values", text: (count) => `a: [${",".repeat(count)}]` },
  { name: "YAML: brackets that close nothing", text: (count) => `a: ${"]".repeat(count)}` },
  { name: "YAML: keys without values", text: (count) => each(count, (index) => `${index}:\n`) },
  {
    name: "YAML: merges in brackets",
    text: (count) => `a: {${each(count, (index) => `<<: {k${index}: 1},`)}}`,
  },
  { name: "YAML: escapes that are none", text: (count) => `a: "${"\\q".repeat(count)}"\n` },
  {
    name: "YAML: long words in quotes",
    text: (count) => `${CONTAINER}      args: [${`"${"x".repeat(100)}",`.repeat(count)}]`,
  },
  {
    name: "YAML: unknown fields of many pods",
    text: (count) =>
      `apiVersion: v1\nkind: List\nitems:\n- kind: Pod\n  metadata: { name: x }\n  spec: &s\n${each(100, (index) => `    zz${index}QQQQQQQQQQQ: 1\n`)}${each(count, (index) => `- { kind: Pod, metadata: { name: p${index} }, spec: *s }\n`)}`,
  },
  {
    name: "JSON: a name of many parts",
    text: (count) =>
      JSON.stringify({ apiVersion: "v1", kind: "Pod", metadata: { name: "a.".repeat(count) } }),
  },
  {
    name: "JSON: signals that are none",
    text: (count) =>
      json({ containers: list(count, () => ({ lifecycle: { stopSignal: "xSIGRTMINyyy" } })) }),
  },
  {
    name: "JSON: signals that are none of many pods",
    text: (count) =>
      items(count, () => ({
        kind: "Pod",
        spec: { containers: [{ lifecycle: { stopSignal: "xSIGRTMINyyy" } }] },
      })),
  },
  {
    name: "JSON: states that nobody waits for",
    text: (count) =>
      annotated(count, {
        "agent/depends-on": list(20, (index) => `${index}:Succeddxx`).join(","),
      }),
  },
  {
    name: "JSON: pods that wait and have devices",
    text: (count) =>
      annotated(count, {
        "agent/depends-on": list(20, (index) => `a${index}`).join(","),
        "agent/devices": list(20, (index) => `/dev/a/b/c/${index}`).join(","),
      }),
  },
  {
    name: "JSON: kinds that are nearly one",
    text: (count) => items(count, () => ({ kind: "PersistentVolumeClaimXisy" })),
  },
  {
    name: "JSON: unknown fields of a List",
    text: (count) =>
      JSON.stringify({
        kind: "List",
        ...Object.fromEntries(list(count, (index) => [`apiVersi${index}`, 1])),
      }),
  },
  { name: "JSON: a path of many names", text: (count) => volume([`${"a/".repeat(count)}x`]) },
  { name: "JSON: a path of wide names", text: (count) => volume([`${"日b/".repeat(count)}x`]) },
  {
    name: "JSON: paths of many names",
    text: (count) => volume(list(count, (index) => `${"a/".repeat(500)}${index}`)),
  },
  { name: "JSON: line ends", text: (count) => `{"apiVersion":"v1",${"\n".repeat(count)}"x":1}` },
  {
    name: "YAML: a registry's login of brackets",
    text: (count) => `${LOGIN}${"[".repeat(count)}\n`,
  },
  {
    name: "YAML: a registry's deep login",
    text: (count) => `${LOGIN}{"a":${"[".repeat(count)}${"]".repeat(count)}}\n`,
  },
  { name: "YAML: a duplicate key", text: (count) => "k: v\n".repeat(count) },
  {
    name: "YAML: duplicate keys as long as lines",
    text: (count) => `${"k".repeat(count)}: v\n`.repeat(2),
  },
  { name: "YAML: brackets without end", text: (count) => "[".repeat(count) },
  { name: "YAML: a staircase", text: (count) => "- ".repeat(count) },
  { name: "YAML: question marks", text: (count) => "? x\n".repeat(count) },
  { name: "YAML: tabs", text: (count) => "\t".repeat(count) },
  { name: "YAML: a quote without end", text: (count) => `a: "${"x\n ".repeat(count)}` },
  {
    name: "YAML: a number without end",
    text: (count) => `${HEAD}  priority: ${"9".repeat(count)}`,
  },
  {
    name: "YAML: objects of no kind",
    text: (count) => `apiVersion: v1\nkind: List\nitems: [${"{},".repeat(count)}]`,
  },
  {
    name: "YAML: bad pods in a List",
    text: (count) => `apiVersion: v1\nkind: PodList\nitems: [${"{a: 1},".repeat(count)}]`,
  },
  {
    name: "YAML: aliases of a list",
    text: (count) => `a: &a [${"x,".repeat(1000)}]\nb: [${"*a,".repeat(count)}]`,
  },
  {
    name: "YAML: aliases in args",
    text: (count) =>
      `${CONTAINER}      args: &a [${"x,".repeat(100)}]\n${each(count, (index) => `    - { name: b${index}, image: x, args: *a }\n`)}`,
  },
  {
    name: "YAML: aliases of a long text",
    text: (count) =>
      `apiVersion: v1\nkind: ConfigMap\nmetadata: { name: c }\ndata:\n  a: &a "${"x".repeat(100_000)}"\n${each(count, (index) => `  k${index}: *a\n`)}`,
  },
  {
    name: "YAML: merges",
    text: (count) =>
      `a: &a { ${each(100, (index) => `k${index}: 1, `)} }\n${each(count, (index) => `m${index}: { <<: *a }\n`)}`,
  },
  {
    name: "JSON: args that are numbers",
    text: (count) => container({ args: list(count, () => 1) }),
  },
  {
    name: "JSON: variables without a name",
    text: (count) => container({ env: list(count, () => ({ value: 1, valueFrom: {} })) }),
  },
  {
    name: "JSON: ports that repeat",
    text: (count) =>
      container({ ports: list(count, () => ({ name: "p", containerPort: 1, hostPort: 1 })) }),
  },
  {
    name: "JSON: labels",
    text: (count) =>
      JSON.stringify({
        apiVersion: "v1",
        kind: "Pod",
        metadata: {
          name: "web",
          labels: Object.fromEntries(list(count, (index) => [`-${index}`, "-"])),
        },
      }),
  },
  {
    name: "JSON: cut off at its end",
    text: (count) => container({ args: list(count, () => "x") }).slice(0, -1),
  },
  { name: "JSON: nested", text: (count) => `${'{"a":'.repeat(count)}1${"}".repeat(count)}` },
  { name: "JSON: escapes", text: (count) => `{"a":"${"\\u0041".repeat(count)}"}` },
];

export const SHAPES: readonly Shape[] = [...MUCH, ...WRONG];
