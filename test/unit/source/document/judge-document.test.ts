import { describe, expect, test } from "bun:test";
import fc from "fast-check";

import { DOCUMENT_LIMITS } from "../../../../src/api/yaml/text-limits.ts";
import type { AcceptedDocument } from "../../../../src/protocol/desired-document.ts";
import type { JudgeContext } from "../../../../src/source/document/judge-document.ts";
import { DEFAULT_POLICY } from "../../../../src/api/pod/update-policy.ts";
import { judgeVersion } from "../../../../src/source/document/epoch-and-generation.ts";
import { sha256 } from "../../api/digest.ts";
import {
  ADDRESS,
  CONTEXT,
  NOW,
  aWrittenPod,
  bytes,
  judge,
  storedFrom,
  written,
} from "../desired-arrival.ts";

interface Case {
  readonly payload: string | Uint8Array;
  /** What the node has accepted before. */
  readonly stored?: AcceptedDocument;
  readonly context?: Partial<JudgeContext>;
}

function answerTo({ payload, stored, context }: Case) {
  return judge(payload, { stored, context: { ...CONTEXT, ...context } });
}

const A = { name: "a", image: "local/busybox:1" };
function aJob(name: string, volume: object = { emptyDir: {} }): object {
  const containers = [{ name: "a", image: "local/busybox:1" }];
  const volumes = [{ name: "v", ...volume }];
  const spec = { restartPolicy: "Never", containers, volumes };
  return { apiVersion: "batch/v1", kind: "Job", metadata: { name }, spec: { template: { spec } } };
}

const SERVICE = { apiVersion: "v1", kind: "Service", metadata: { name: "web", namespace: "shop" } };
const PORTS = [{ containerPort: 80, hostPort: 80 }];
const RUNNING = storedFrom(written(), { epoch: "e1", observedGeneration: 6 });

const accepted: Readonly<Record<string, Case>> = {
  "adopts the first document": { payload: written() },
  "adopts a document without target": { payload: written({ target: undefined }) },
  "adopts a higher generation of the same epoch": {
    payload: written({ epoch: "e1", generation: 8 }),
    stored: RUNNING,
  },
  "adopts a far higher generation": {
    payload: written({ epoch: "e1", generation: Number.MAX_SAFE_INTEGER }),
    stored: RUNNING,
  },
  "adopts any epoch after none": {
    payload: written({ epoch: "e2", generation: 1 }),
    stored: storedFrom(written()),
  },
  "adopts an epoch that names its predecessor": {
    payload: written({ epoch: "e2", previousEpoch: "e1", generation: 1 }),
    stored: RUNNING,
  },
  "adopts any epoch where signatures are not required": {
    payload: written({ epoch: "e2", generation: 1 }),
    stored: RUNNING,
  },
  "adopts a document that has not expired": {
    payload: written({ expiresAt: "2026-11-21T08:00:01Z" }),
  },
  "adopts an expired document while the clock is not trusted": {
    payload: written({ expiresAt: "2020-01-01T00:00:00Z" }),
    context: { clockTrusted: false },
  },
  "adopts the fleet's document": {
    payload: written({ target: { node: "pi-1", fleet: "berlin" } }),
    context: { fleet: "berlin" },
  },
  "adopts any fleet's document while mqtt.fleet is not set": {
    payload: written({ target: { fleet: "berlin" } }),
  },
  "adopts an empty document that allows it": {
    payload: written({ resources: [], allowEmpty: true }),
    stored: storedFrom(written({ generation: 1 }), { generation: 1 }),
  },
  "adopts what its requirements allow": {
    payload: written({
      requires: {
        agent: ">=1.2 <2",
        arch: ["arm64", "amd64"],
        features: ["cgroup-memory"],
        documents: { node: 7 },
      },
    }),
  },
  "adopts a policy that writes out the defaults": {
    payload: written({
      policy: {
        minReadySeconds: 0,
        progressDeadlineSeconds: 60,
        onFailure: "rollback",
        strategy: "pull-then-replace",
        atomic: false,
        requireUpstream: "auto",
        retryFailed: false,
        maxLockSeconds: 86400,
        staged: false,
      },
    }),
  },
  "adopts another policy": {
    payload: written({
      policy: {
        onFailure: "hold",
        strategy: "stop-then-pull",
        atomic: true,
        requireUpstream: true,
        retryFailed: true,
        maxLockSeconds: 0,
      },
    }),
  },
  "adopts a hostPort": {
    payload: written({
      resources: [
        aWrittenPod("web", {
          containers: [
            { name: "a", image: "local/busybox:1", ports: [{ containerPort: 80, hostPort: 80 }] },
          ],
        }),
      ],
    }),
  },
  "adopts pods inside a List": {
    payload: written({
      resources: [{ apiVersion: "v1", kind: "List", items: [aWrittenPod("a"), aWrittenPod("b")] }],
    }),
  },
  "reads YAML": {
    payload: `
# from a text editor
apiVersion: agent/v1
kind: DesiredState
target: {node: pi-1}
generation: 7
issuedAt: 2026-11-21T08:00:00Z
resources:
  - apiVersion: v1
    kind: Pod
    metadata: {name: web}
    spec: {containers: [{name: a, image: "local/busybox:1"}]}
`,
  },
};

const refused: Readonly<Record<string, readonly [arrival: Case, code: number, message: string]>> = {
  "refuses one byte too much": [
    { payload: new Uint8Array(DOCUMENT_LIMITS.bytes + 1) },
    413,
    "the document has 49153 bytes, at most 49152 are accepted; make it smaller",
  ],
  "refuses a signed document that is written as YAML": [
    { payload: "payloadType: x\npayload: e30=\nsignatures: []\n" },
    401,
    "write the signed envelope as one JSON object",
  ],
  "refuses an empty payload": [
    { payload: "" },
    417,
    "an empty payload deletes nothing; to remove everything publish a document with resources: [] and allowEmpty: true",
  ],
  "refuses a payload of blanks and comments": [
    { payload: "  \n# nothing\n---\n" },
    417,
    "an empty payload deletes nothing; to remove everything publish a document with resources: [] and allowEmpty: true",
  ],
  "refuses broken YAML": [{ payload: '{"apiVersion": "agent/v1"' }, 400, "line 1: "],
  "refuses binary data": [
    { payload: new Uint8Array([0x7b, 0, 0x7d]) },
    400,
    "line 1: the document holds binary data",
  ],
  "refuses bytes that are no text": [
    { payload: new Uint8Array([0xff, 0xfe, 0x7b]) },
    400,
    "line 1: the document is UTF-16 text; save it as UTF-8",
  ],
  "refuses a list": [{ payload: "[]" }, 400, "line 1: Invalid value: []: must be an object"],
  "refuses another kind": [
    { payload: written({ kind: "Pod" }) },
    400,
    'kind: Unsupported value: "Pod": supported values: "DesiredState"',
  ],
  "refuses another version of the contract": [
    { payload: written({ apiVersion: "agent/v2" }) },
    400,
    'apiVersion: Unsupported value: "agent/v2": supported values: "agent/v1"',
  ],
  "refuses two documents in one payload": [
    { payload: `${written()}\n---\n${written()}` },
    400,
    "holds 2 documents; put all objects into the resources of one DesiredState",
  ],
  "refuses a document without generation": [
    { payload: written({ generation: undefined }) },
    400,
    "generation: Required value: an integer of at least 1, higher with every change",
  ],
  "refuses generation 0": [
    { payload: written({ generation: 0 }) },
    400,
    "generation: Invalid value: 0: must be at least 1",
  ],
  "refuses a generation that is text": [
    { payload: written({ generation: "7" }) },
    400,
    'generation: Invalid value: "7": must be an integer',
  ],
  "refuses a document without resources": [
    { payload: written({ resources: undefined }) },
    400,
    "resources: Required value: the complete list of objects; [] needs allowEmpty: true",
  ],
  "refuses a target it does not understand": [
    { payload: written({ target: { nodes: ["pi-1"] } }) },
    400,
    "target.nodes: unknown field (did you mean node?)",
  ],
  "refuses a time that is none": [
    { payload: written({ expiresAt: "tomorrow" }) },
    400,
    'expiresAt: Invalid value: "tomorrow": must be a time such as 2026-11-21T08:00:00Z',
  ],
  "refuses a policy that is not a number": [
    { payload: written({ policy: { minReadySeconds: -1 } }) },
    400,
    "policy.minReadySeconds: Invalid value: -1: must be at least 0",
  ],
  "refuses another node's document": [
    { payload: written({ target: { node: "pi-2" } }) },
    403,
    'target.node: is for "pi-2", this is pi-1; publish it to that node\'s topic',
  ],
  "refuses a group's document on the node's topic": [
    { payload: written({ target: { group: "kiosks" } }) },
    403,
    'target.group: is for "kiosks", this is the topic of node pi-1; publish it to that group\'s topic',
  ],
  "refuses another fleet's document": [
    { payload: written({ target: { fleet: "paris" } }), context: { fleet: "berlin" } },
    403,
    'target.fleet: is for "paris", this node belongs to "berlin"',
  ],
  "refuses the accepted generation with other content": [
    { payload: written({ epoch: "e1", resources: [aWrittenPod("other")] }), stored: RUNNING },
    409,
    `generation 7 was accepted with other content (${RUNNING.digest}); publish the change as generation 8 or higher`,
  ],
  "refuses an older generation and names its own": [
    { payload: written({ epoch: "e1", generation: 6 }), stored: RUNNING },
    410,
    "generation 6 is older than the accepted generation 7; publish it as generation 8 or higher",
  ],
  "refuses an expired document when the clock is trusted": [
    { payload: written({ expiresAt: "2026-11-21T08:00:00Z" }) },
    408,
    "the document expired at 2026-11-21T08:00:00.000Z; publish a new generation with a later expiresAt",
  ],
  "refuses what needs a newer agent": [
    { payload: written({ requires: { agent: ">=2" } }) },
    412,
    'requires.agent: ">=2" is asked for, this agent is 1.2.0; update it',
  ],
  "refuses a range it cannot read": [
    { payload: written({ requires: { agent: "newest" } }) },
    412,
    'requires.agent: "newest" is not a range like ">=1.2"',
  ],
  "refuses what is for another architecture": [
    { payload: written({ requires: { arch: ["arm64", "riscv64"] } }) },
    412,
    "requires.arch: arm64 or riscv64 is asked for, this node is amd64",
  ],
  "refuses an unknown feature": [
    { payload: written({ requires: { features: ["cgroup-memory", "teleport"] } }) },
    412,
    'requires.features[1]: this node does not have the feature "teleport"',
  ],
  "refuses an unknown requirement": [
    { payload: written({ requires: { moonPhase: "full" } }) },
    412,
    "requires.moonPhase: this agent does not know the requirement",
  ],
  "refuses to run beside a document it does not have": [
    { payload: written({ requires: { documents: { "group/kiosks": 3 } } }) },
    412,
    "requires.documents.group/kiosks: generation 3 is asked for, this node has none",
  ],
  "refuses to run beside too old a document": [
    {
      payload: written({ requires: { documents: { "group/kiosks": 3 } } }),
      context: { accepted: { "group/kiosks": 2 } },
    },
    412,
    "requires.documents.group/kiosks: generation 3 is asked for, this node has generation 2",
  ],
  "refuses a staged document of the node's own": [
    { payload: written({ policy: { staged: true } }) },
    412,
    "policy.staged is for the document of a group, this is a node's own; leave it out",
  ],
  "refuses an unknown strategy": [
    { payload: written({ policy: { strategy: "recreate" } }) },
    400,
    'policy.strategy: Unsupported value: "recreate": supported values: "pull-then-replace", "stop-then-pull"',
  ],
  "refuses an unknown onFailure": [
    { payload: written({ policy: { onFailure: "panic" } }) },
    400,
    'policy.onFailure: Unsupported value: "panic": supported values: "rollback", "hold", "keep"',
  ],
  "refuses a string other than auto for requireUpstream": [
    { payload: written({ policy: { requireUpstream: "yes" } }) },
    400,
    'policy.requireUpstream: Invalid value: "yes": must be auto, true or false',
  ],
  "refuses content outside the document": [
    { payload: written({ resources: [{ ref: { sha256: "9b", size: 1 } }] }) },
    412,
    "resources[0].ref: content outside the document is not supported yet; write the object itself",
  ],
  "refuses to remove everything by accident": [
    { payload: written({ resources: [] }) },
    417,
    "resources is empty, which would remove everything; write allowEmpty: true if that is meant",
  ],
  "refuses to remove everything with an empty List": [
    { payload: written({ resources: [{ apiVersion: "v1", kind: "List", items: [] }] }) },
    417,
    "resources is empty, which would remove everything; write allowEmpty: true if that is meant",
  ],
  "refuses to remove everything with an empty list of Secrets": [
    { payload: written({ resources: [{ apiVersion: "v1", kind: "SecretList", items: [] }] }) },
    417,
    "resources is empty, which would remove everything; write allowEmpty: true if that is meant",
  ],
  "refuses to remove everything with empty lists in a List": [
    {
      payload: written({
        resources: [
          {
            apiVersion: "v1",
            kind: "List",
            items: [
              { apiVersion: "v1", kind: "PodList", items: [] },
              { apiVersion: "v1", kind: "ConfigMapList", items: null },
            ],
          },
        ],
      }),
    },
    417,
    "resources is empty, which would remove everything; write allowEmpty: true if that is meant",
  ],
  "refuses an unknown field of a pod": [
    { payload: written({ resources: [aWrittenPod("web", { restartPolici: "Never" })] }) },
    400,
    "Pod default/web: spec.restartPolici: unknown field (did you mean restartPolicy?)",
  ],
  "refuses a misspelt kind": [
    { payload: written({ resources: [aWrittenPod("web"), { ...SERVICE, kind: "Podd" }] }) },
    400,
    'Podd shop/web: kind: unknown kind "Podd" (did you mean Pod?)',
  ],
  "refuses to remove everything with nothing but a Service": [
    { payload: written({ resources: [SERVICE] }) },
    417,
    'nothing in resources runs on a node, which would remove everything; write allowEmpty: true if that is meant: Service shop/web: kind: kind "Service" does not run on this node and is skipped; use hostPort',
  ],
  "refuses an object without a name by its place": [
    { payload: written({ resources: [aWrittenPod("web"), 5] }) },
    400,
    "resources[1]: must be an object",
  ],
  "refuses one name twice": [
    { payload: written({ resources: [aWrittenPod("web"), aWrittenPod("web")] }) },
    400,
    "Pod default/web: metadata.name: default/web stands twice in the document; give one of them another name",
  ],
  "refuses one host port twice": [
    {
      payload: written({
        resources: [
          aWrittenPod("db", { containers: [{ ...A, ports: PORTS }] }),
          aWrittenPod("web", { containers: [{ ...A, ports: PORTS }] }),
        ],
      }),
    },
    400,
    "Pod default/web: spec.containers: default/db of the same document claims the same hostPort; change one of them",
  ],
  "refuses a sidecar's host port where it stands": [
    {
      payload: written({
        resources: [
          aWrittenPod("db", { containers: [{ ...A, ports: PORTS }] }),
          aWrittenPod("web", {
            initContainers: [{ ...A, name: "s", restartPolicy: "Always", ports: PORTS }],
          }),
        ],
      }),
    },
    400,
    "Pod default/web: spec.initContainers: default/db of the same document claims the same hostPort; change one of them",
  ],
  "refuses the node's network": [
    { payload: written({ resources: [aWrittenPod("web", { hostNetwork: true })] }) },
    403,
    "Pod default/web: spec.hostNetwork: the node's network is not for pods of documents; use ports with hostPort, or put the pod into a manifest file on the node if it needs it, or allow it there in mqtt.podPolicy",
  ],
  "refuses the node's files to the template of a Job": [
    { payload: written({ resources: [aJob("backup", { hostPath: { path: "/srv/data" } })] }) },
    403,
    'Pod default/backup-0: spec.volumes[0].hostPath: volume "v": the node\'s files ("/srv/data") are not for pods of documents; use emptyDir, or put the pod into a manifest file on the node if it needs it, or allow it there in mqtt.podPolicy',
  ],
  "refuses two Jobs of one name": [
    { payload: written({ resources: [aJob("backup"), aJob("backup")] }) },
    400,
    "Job default/backup: metadata.name: Job default/backup stands twice in the document; give one of them another name",
  ],
  "refuses the node's files": [
    {
      payload: written({
        resources: [
          aWrittenPod("web", {
            volumes: [{ name: "v", hostPath: { path: "/srv/data" } }],
          }),
        ],
      }),
    },
    403,
    'Pod default/web: spec.volumes[0].hostPath: volume "v": the node\'s files ("/srv/data") are not for pods of documents; use emptyDir, or put the pod into a manifest file on the node if it needs it, or allow it there in mqtt.podPolicy',
  ],
};

describe("a document that is accepted", () => {
  test.each(Object.entries(accepted))("%s", (_sentence, arrival) => {
    const verdict = answerTo(arrival);
    expect(verdict).toMatchObject({ type: "Accepted" });
  });

  test("is checkpointed byte for byte and read with the defaults", () => {
    const payload = bytes(written());
    const digest = `sha256:${sha256(payload)}`;
    const verdict = judge(payload);
    const version = { source: "mqtt:node", epoch: "", generation: 7, digest };
    expect(verdict).toMatchObject({
      document: {
        ...version,
        policy: DEFAULT_POLICY,
        pods: [{ source: "mqtt:node", sourceRef: "generation 7" }],
      },
      notices: [],
    });
    expect(verdict.type === "Accepted" ? verdict.accepted : undefined).toEqual({
      ...(version as { source: "mqtt:node"; epoch: string; generation: number; digest: string }),
      payload,
      observedGeneration: 0,
      acceptedAt: NOW,
    });
  });

  test("keeps what has converged inside an epoch, and forgets it in another", () => {
    const same = judge(written({ epoch: "e1", generation: 8 }), { stored: RUNNING });
    const other = judge(written({ epoch: "e2" }), { stored: RUNNING });
    expect(same).toMatchObject({ accepted: { epoch: "e1", observedGeneration: 6 } });
    expect(other).toMatchObject({ accepted: { epoch: "e2", observedGeneration: 0 } });
  });

  test("lists with its path what it ignores", () => {
    const verdict = judge(written({ labels: {}, polcy: {}, policy: { atomik: true } }));
    const at = { source: "mqtt:node", ref: ADDRESS.ref, kind: "DesiredState", code: "Ignored" };
    expect(verdict).toMatchObject({
      type: "Accepted",
      notices: [
        { ...at, path: "polcy", message: "unknown field (did you mean policy?)" },
        { ...at, path: "policy.atomik", message: "unknown field (did you mean atomic?)" },
      ],
    });
  });

  test("holds Deployments as their pods, and Jobs as what they are", () => {
    const template = { metadata: { labels: { app: "web" } }, spec: { containers: [A] } };
    const deployment = {
      apiVersion: "apps/v1",
      kind: "Deployment",
      metadata: { name: "web" },
      spec: { selector: { matchLabels: { app: "web" } }, template },
    };
    const verdict = judge(written({ resources: [deployment, aJob("backup")] }));
    if (verdict.type !== "Accepted") throw new Error(verdict.type);
    const { pods, written: byName, runs = [] } = verdict.document;
    expect(pods.map(({ pod }) => pod.metadata.name)).toEqual(["web-0"]);
    expect(byName.get("default/web-0")).toMatchObject({ kind: "Pod" });
    expect(runs).toMatchObject([{ kind: "Job", name: "backup", source: "mqtt:node" }]);
  });

  test("runs the rest where a kind means nothing on a node, and lists it", () => {
    const items = [SERVICE, aWrittenPod("b")];
    const anonymous = { apiVersion: "example.com/v1", kind: "Sensor" };
    const resources = [
      aWrittenPod("a"),
      { ...SERVICE, kind: "ReplicaSet", apiVersion: "apps/v1" },
      { apiVersion: "v1", kind: "List", items },
      anonymous,
    ];
    const verdict = judge(written({ resources }));
    if (verdict.type !== "Accepted") throw new Error(verdict.type);
    expect(verdict.document.pods.map(({ pod }) => pod.metadata.name)).toEqual(["a", "b"]);
    const at = { source: "mqtt:node", ref: ADDRESS.ref, code: "Ignored" };
    const inShop = { ...at, namespace: "shop", name: "web", path: "kind" };
    expect(verdict.notices).toMatchObject([
      {
        ...inShop,
        kind: "ReplicaSet",
        message:
          'kind "ReplicaSet" does not run on this node and is skipped; write it as a Deployment',
      },
      { ...inShop, kind: "Service" },
      { ...at, kind: "Sensor", path: "resources[3].kind" },
    ]);
  });

  test("may have nothing but other kinds if it allows to be empty, or beside a pod of another node", () => {
    const elsewhere = aWrittenPod("a", { nodeName: "pi-2" });
    for (const fields of [
      { resources: [SERVICE], allowEmpty: true },
      { resources: [SERVICE, elsewhere] },
    ])
      expect(judge(written(fields))).toMatchObject({ type: "Accepted", document: { pods: [] } });
  });

  test("lists a hundred objects of other kinds at most", () => {
    const resources = [aWrittenPod("a"), ...Array.from({ length: 150 }, () => SERVICE)];
    const verdict = judge(written({ resources }));
    if (verdict.type !== "Accepted") throw new Error(verdict.type);
    expect(verdict.notices).toHaveLength(101);
    expect(verdict.notices.at(-1)?.message).toBe(
      "and 50 more objects of kinds that do not run on this node",
    );
  });

  test("has the same pods, with the same UIDs, in JSON and in YAML", () => {
    const json = judge(written());
    const yaml = answerTo(accepted["reads YAML"]!);
    const uids = (verdict: ReturnType<typeof judge>) =>
      verdict.type === "Accepted" ? verdict.document.pods.map((pod) => pod.uid) : [];
    expect(uids(json)).toHaveLength(1);
    expect(uids(yaml)).toEqual(uids(json));
  });
});

describe("a document that is refused", () => {
  test.each(Object.entries(refused))("%s", (_sentence, [arrival, code, message]) => {
    const verdict = answerTo(arrival);
    expect(verdict).toMatchObject({ type: "Refused", code });
    if (verdict.type !== "Refused") return;
    expect(verdict.message).toStartWith(message);
    const payload = arrival.payload;
    expect(verdict.digest).toBe(`sha256:${sha256(payload)}`);
  });

  test("names every error with object and field path", () => {
    const verdict = judge(
      written({
        resources: [
          aWrittenPod("a", { hostPid: true, restartPolicy: "Sometimes" }),
          aWrittenPod("b", { containers: [] }),
          SERVICE,
        ],
      }),
    );
    if (verdict.type !== "Refused") throw new Error(verdict.type);
    const found = verdict.rejections.map(({ kind, name, path }) => `${kind} ${name} ${path}`);
    expect(found).toEqual([
      "Pod a spec.hostPid",
      "Pod a spec.restartPolicy",
      "Pod b spec.containers",
    ]);
  });

  test("has its generation as soon as it could be read", () => {
    expect(judge(written({ kind: "Pod" }))).toMatchObject({ code: 400, generation: 7 });
    expect(judge(written({ target: { node: "x" } }))).toMatchObject({ code: 403, generation: 7 });
    expect(judge("{}")).not.toHaveProperty("generation");
  });
});

describe("the order of checks", () => {
  const everythingWrong = {
    kind: "DesiredState",
    target: { node: "pi-2" },
    epoch: "e1",
    generation: 6,
    expiresAt: "2020-01-01T00:00:00Z",
    requires: { features: ["teleport"] },
    resources: [],
  };
  const steps: readonly (readonly [number, Readonly<Record<string, unknown>>])[] = [
    [400, { kind: "Pod" }],
    [403, {}],
    [410, { target: { node: "pi-1" } }],
    [409, { generation: 7 }],
    [408, { generation: 8 }],
    [412, { expiresAt: undefined }],
    [417, { requires: undefined }],
    [400, { resources: [aWrittenPod("web", { hostNetwork: true, what: 1 })] }],
    [403, { resources: [aWrittenPod("web", { hostNetwork: true })] }],
  ];

  test("is that of the contract", () => {
    let document: Readonly<Record<string, unknown>> = everythingWrong;
    for (const [index, [code, change]] of steps.entries()) {
      document = { ...document, ...change, ...(index === 1 ? { kind: "DesiredState" } : {}) };
      expect(judge(written(document), { stored: RUNNING })).toMatchObject({ code });
    }
  });

  test("looks at the size before anything else", () => {
    const payload = written({ filler: "x".repeat(DOCUMENT_LIMITS.bytes) });
    expect(judge(payload)).toMatchObject({ code: 413 });
  });
});

describe("the accepted document once more", () => {
  test("changes nothing, even when it has expired since", () => {
    const text = written({ expiresAt: "2026-11-21T07:00:00Z" });
    expect(judge(text, { stored: storedFrom(text) })).toEqual({ type: "Unchanged" });
  });
});

describe("an epoch where signatures are required", () => {
  const BY_ROOT = { signaturesRequired: true, byRoot: true };
  const arrived = { epoch: "e2", generation: 9, digest: "sha256:x" };

  test("is refused when it does not name its predecessor", () => {
    const verdict = judgeVersion(arrived, RUNNING, BY_ROOT);
    if (typeof verdict === "string") throw new Error(verdict);
    expect(verdict.code).toBe(409);
    expect(verdict.message).toStartWith('EpochConflict: epoch "e2" does not follow');
    expect(judgeVersion({ ...arrived, previousEpoch: "e0" }, RUNNING, BY_ROOT)).toMatchObject({
      code: 409,
    });
  });

  test("is refused when no root key has signed the predecessor that it names", () => {
    const rules = { ...BY_ROOT, byRoot: false };
    expect(judgeVersion({ ...arrived, previousEpoch: "e1" }, RUNNING, rules)).toMatchObject({
      code: 409,
    });
  });

  test("is adopted when it does, or after none", () => {
    expect(judgeVersion({ ...arrived, previousEpoch: "e1" }, RUNNING, BY_ROOT)).toBe("Newer");
    expect(judgeVersion(arrived, { ...RUNNING, epoch: "" }, BY_ROOT)).toBe("Newer");
  });

  test("any version is adopted after trust was reset, also the same: then it counts again", () => {
    const stored = { ...RUNNING, versionForgotten: true };
    expect(judgeVersion(arrived, stored, BY_ROOT)).toBe("Newer");
    expect(judgeVersion({ ...RUNNING, generation: 1 }, stored, BY_ROOT)).toBe("Newer");
    expect(judgeVersion(RUNNING, stored, BY_ROOT)).toBe("Newer");
    expect(judgeVersion(RUNNING, RUNNING, BY_ROOT)).toBe("Same");
  });
});

describe("any payload", () => {
  test("gets an answer, and is accepted only with a generation above the stored one", () => {
    const noise = fc.oneof(
      fc.uint8Array({ maxLength: 200 }),
      fc.json().map(bytes),
      fc
        .dictionary(
          fc.constantFrom(
            "apiVersion",
            "kind",
            "target",
            "epoch",
            "generation",
            "policy",
            "requires",
            "resources",
            "allowEmpty",
            "expiresAt",
          ),
          fc.oneof(fc.jsonValue(), fc.constantFrom(1, 8, "e1", true, [])),
        )
        .map((fields) => bytes(written({ epoch: "e1", ...fields }))),
    );
    fc.assert(
      fc.property(noise, (payload) => {
        const verdict = judge(payload, { stored: RUNNING });
        if (verdict.type === "Refused") expect(verdict.message).not.toBe("");
        if (verdict.type !== "Accepted") return;
        const { epoch, generation } = verdict.accepted;
        expect(epoch !== "e1" || generation > 7).toBe(true);
      }),
    );
  });
});
