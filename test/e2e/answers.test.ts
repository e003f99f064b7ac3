// What a node answers to a document that it does not take, row by row (docs/mqtt-api.md, Answers), as far as no other file shows it.

import { expect } from "bun:test";

import { always, eventually } from "../harness/eventually.ts";
import { BUSYBOX_1 } from "../harness/images.ts";
import { plainPod } from "./support-b-pods.ts";
import { openStage, runningApps } from "./support-b-stage.ts";
import { publishDesired } from "./support-b-upstream.ts";
import { makeKey, signed } from "./support-f-signing.ts";
import {
  answering,
  ends,
  goodPod,
  isRefusedWith,
  isTaken,
  judged,
  judgements,
  nextDocument,
  refusesAll,
} from "./support-g-answers.ts";

const stage = await openStage();
const { e2e, temp, containerd } = stage;

e2e.concurrent(
  "the first document of all is refused: nothing runs, and the answer says so",
  async () => {
    const node = await answering(stage, "first", { first: false });
    const what = "what is no document";
    const ack = await isRefusedWith(node, { what, code: 400, says: /kind/, payload: { a: 1 } });
    expect(ack).toMatchObject({ code: 400, phase: "Rejected", digest: "", signed: false });
    await isTaken(node, nextDocument(node.name), { generation: 6, observedGeneration: 6 });
    await ends(node);
  },
);

e2e.concurrent(
  "what is wrong in several objects is listed object by object, with its path",
  async () => {
    const node = await answering(stage, "invalid");
    const broken = plainPod("broken", node.name, {
      hostNetwork: "yes",
      restartPolicy: "Sometimes",
    });
    const data = { apiVersion: "v1", kind: "ConfigMap", metadata: { name: "c" }, data: ["a"] };
    const resources = [goodPod(node.name), broken, data, { apiVersion: "v1", kind: "ReplicaSet" }];
    const at = { namespace: "default" };
    await isRefusedWith(node, {
      what: "a document with four mistakes",
      code: 400,
      says: /Pod default\/broken: spec\.\w+: .*Pod default\/broken: spec\.\w+: .*ConfigMap default\/c: data/,
      payload: nextDocument(node.name, { resources }),
      names: [
        { ...at, kind: "Pod", name: "broken", path: "spec.hostNetwork" },
        { ...at, kind: "Pod", name: "broken", path: "spec.restartPolicy" },
        { ...at, kind: "ConfigMap", name: "c", path: "data" },
      ],
    });
    await ends(node);
  },
);

e2e.concurrent("a document for another fleet or for a group is refused here", async () => {
  const node = await answering(stage, "fleet", { mqtt: { fleet: "berlin" } });
  const to = (target: object): object => nextDocument(node.name, { target });
  await refusesAll(node, [
    {
      what: "another fleet's document",
      code: 403,
      says: /target\.fleet: is for "hamburg", this node belongs to "berlin"/,
      payload: to({ node: node.name, fleet: "hamburg" }),
      names: [{ code: "OtherTarget", path: "target.fleet" }],
    },
    {
      what: "a group's document on the node's topic",
      code: 403,
      says: /target\.group: is for "kiosks"/,
      payload: to({ group: "kiosks" }),
    },
  ]);
  await isTaken(node, to({ node: node.name, fleet: "berlin" }), { generation: 6 });
  await ends(node);
});

e2e.concurrent(
  "what the node's own pod policy does not list is refused with the path",
  async () => {
    const listed = temp.directory("listed");
    const mqtt = {
      podPolicy: {
        profile: "privileged",
        registries: ["docker.io/local"],
        // Never so that the agent's own files are among them.
        hostPaths: [listed, temp.path],
        devices: ["/dev/null"],
      },
    };
    const node = await answering(stage, "policy", { mqtt });
    const { agent, name } = node;
    const withPath = (path: string): object =>
      goodPod(name, { volumes: [{ name: "v", hostPath: { path } }] });
    const withContainer = (fields: object): object =>
      goodPod(name, { containers: [{ name: "main", image: BUSYBOX_1.name, ...fields }] });
    const limits = { "podman.io/device=/dev/fuse": 1 };
    const pods = {
      "an unlisted path": [withPath("/etc"), /spec\.volumes\[0\]\.hostPath/],
      "the agent's own state": [withPath(agent.paths.state), /spec\.volumes\[0\]\.hostPath/],
      "the static pods": [withPath(agent.paths.manifests), /spec\.volumes\[0\]\.hostPath/],
      "an image from elsewhere": [
        withContainer({ image: "docker.io/locals/busybox:1" }),
        /spec\.containers\[0\]\.image: .*podPolicy\.registries/,
      ],
      "an unlisted device": [withContainer({ resources: { limits } }), /fuse.*podPolicy\.devices/],
      "a privileged container, which has them all": [
        withContainer({ securityContext: { privileged: true } }),
        /spec\.containers\[0\]\.securityContext\.privileged/,
      ],
    } as const;
    for (const [what, [pod, says]] of Object.entries(pods))
      await isRefusedWith(node, {
        what,
        code: 403,
        says,
        payload: nextDocument(name, { resources: [pod] }),
        names: [{ kind: "Pod", name: "good", code: "Forbidden" }],
      });
    const volumes = [{ name: "v", hostPath: { path: listed } }];
    const resources = [goodPod(name), plainPod("beside", name, { volumes })];
    await publishDesired(node.broker, name, nextDocument(name, { resources }));
    await node.upstream.ack(
      "what is listed runs",
      ({ generation, code }) => generation === 6 && code === 200,
    );
    await ends(node);
  },
);

e2e.concurrent("an image without a digest is refused where one is required", async () => {
  const node = await answering(stage, "pinned", { mqtt: { requireDigest: true }, first: false });
  await isRefusedWith(node, {
    what: "a tag",
    code: 403,
    says: /spec\.containers\[0\]\.image: .*names no digest/,
    payload: nextDocument(node.name),
    names: [{ kind: "Pod", name: "good", path: "spec.containers[0].image" }],
  });
  await ends(node);
});

const YEAR_MS = 365 * 24 * 3_600_000;
const inMs = (ms: number): string => new Date(Date.now() + ms).toISOString();

e2e.concurrent(
  "a document that arrives expired is refused; one that expires later runs on",
  async () => {
    const node = await answering(stage, "expired", { clock: "synchronised" });
    await isRefusedWith(node, {
      what: "an expired document",
      code: 408,
      says: /expired at 20\d\d-.*expiresAt/,
      payload: nextDocument(node.name, { expiresAt: inMs(-1_000) }),
    });
    expect(node.upstream.reports().at(-1)?.clockTrusted).toBe(true);
    const expiresAt = inMs(12_000);
    await isTaken(node, nextDocument(node.name, { expiresAt }), { generation: 6 });
    await eventually("it has expired", () => Date.now() > Date.parse(expiresAt), {
      timeout: 60_000,
    });
    await always("the pod runs on", 3_000, async () =>
      Bun.deepEquals(await runningApps(containerd(), node.name), node.pods),
    );
    await node.restart();
    expect(await runningApps(containerd(), node.name)).toEqual([...node.pods]);
    expect(judgements(node.agent)).toEqual(["accepted 5", "refused 408", "accepted 6"]);
    await ends(node);
  },
);

e2e.concurrent("with a clock that nobody vouches for no document expires", async () => {
  const node = await answering(stage, "adrift", { clock: "adrift" });
  await isTaken(node, nextDocument(node.name, { expiresAt: inMs(-YEAR_MS) }), { generation: 6 });
  expect(node.upstream.reports().at(-1)?.clockTrusted).toBe(false);
  await ends(node);
});

e2e.concurrent(
  "what is required and not met, or reserved, is named, each with its path",
  async () => {
    const node = await answering(stage, "demands");
    const requires = {
      agent: ">=99.0",
      arch: ["s390x"],
      features: ["telepathy"],
      documents: { node: 7, "group/kiosks": 1 },
      moon: "full",
    };
    const unmet = [
      "agent",
      "arch",
      "features[0]",
      "documents.node",
      "documents.group/kiosks",
      "moon",
    ];
    await refusesAll(node, [
      {
        what: "a demanding document",
        code: 412,
        says: /requires\.agent: .*requires\.arch: s390x is asked for/,
        payload: nextDocument(node.name, { requires }),
        names: unmet.map((path) => ({ kind: "DesiredState", path: `requires.${path}` })),
      },
      {
        what: "reserved features",
        code: 412,
        says: /supported yet/,
        payload: nextDocument(node.name, {
          resources: [{ ref: { sha256: "0".repeat(64) } }],
        }),
        names: ["resources[0].ref"].map((path) => ({
          code: "NotSupported",
          path,
        })),
      },
    ]);
    const met = { arch: ["amd64", "arm64"], documents: { node: 6 } };
    await isTaken(node, nextDocument(node.name, { requires: met }), { generation: 6 });
    await ends(node);
  },
);

e2e.concurrent("a document has at most 48 KiB, to the byte", async () => {
  const node = await answering(stage, "large");
  const ofBytes = (bytes: number): string => {
    const text = JSON.stringify(nextDocument(node.name, { issuedBy: "" }));
    return text.replace(`"issuedBy":""`, `"issuedBy":"${"x".repeat(bytes - text.length)}"`);
  };
  expect(ofBytes(49_152)).toHaveLength(49_152);
  await isRefusedWith(node, {
    what: "one byte too many",
    code: 413,
    says: /49153 bytes, at most 49152/,
    payload: ofBytes(49_153),
  });
  await isTaken(node, ofBytes(49_152), { generation: 6, observedGeneration: 6 });
  await ends(node);
});

e2e.concurrent("of several mistakes the one that is judged first is answered", async () => {
  const root = makeKey();
  const mqtt = { podPolicy: { profile: "baseline" } };
  const node = await answering(stage, "order", { root, mqtt, clock: "synchronised" });
  const { name, pods } = node;
  const bad = plainPod("bad", name, { restartPolicy: "Sometimes" });
  const forbidden = plainPod("forbidden", name, { hostNetwork: true });
  const steps: readonly (readonly [code: number, fields: object])[] = [
    [400, { kind: "Other" }],
    [403, { target: { node: "somebody" } }],
    [410, { generation: 4 }],
    [408, { expiresAt: inMs(-1_000) }],
    [412, { requires: { features: ["telepathy"] } }],
    [417, { resources: [] }],
    [400, { resources: [forbidden, bad] }],
    [403, { resources: [forbidden] }],
  ];
  // Each document has the mistakes of its step and of all that follow.
  const documents = steps.map((_, at) =>
    steps.slice(at).reduceRight((fields, [, more]) => ({ ...fields, ...more }), nextDocument(name)),
  );
  const [worst = {}] = documents;
  expect(await judged(node, { ...worst, issuedBy: "x".repeat(50_000) })).toBe("refused 413");
  expect(await judged(node, worst)).toBe("refused 401");
  for (const [at, document] of documents.entries())
    expect([at, await judged(node, signed(document, [root]))]).toEqual([
      at,
      `refused ${steps[at]?.[0]}`,
    ]);
  expect(await runningApps(containerd(), name)).toEqual([...pods]);
  await ends(node);
});
