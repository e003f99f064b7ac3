// Objects that clients write through the Kubernetes API become manifest files.

import { describe, expect, test } from "bun:test";
import { mkdirSync, readFileSync, rmSync, statSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import fc from "fast-check";
import { isJsonObject, memberOf } from "../../../src/lib/json.ts";
import { aDesiredPod, aPod } from "../../fakes/a-pod.ts";
import { aConfigMap, aDesiredObject, named } from "../../fakes/an-object.ts";
import { temporaryDirectories } from "../host/temporary-directories.ts";
import { APPLY, WritingNode, type Answered } from "./writing-node.ts";

const newDirectory = temporaryDirectories();
const PODS = "/api/v1/namespaces/default/pods";
const CONFIGS = "/api/v1/namespaces/default/configmaps";
const POD_FILE = "api.pod.default.web.yaml";
const CONFIG_FILE = "api.configmap.default.conf.yaml";

const pod = (over: object = {}, labels: object = { app: "web" }) => ({
  apiVersion: "v1",
  kind: "Pod",
  metadata: { name: "web", labels },
  spec: { containers: [{ name: "main", image: "local/busybox:1" }], ...over },
});
const config = (data: object, more: object = {}) => ({
  apiVersion: "v1",
  kind: "ConfigMap",
  metadata: { name: "conf" },
  data,
  ...more,
});

function openNode(): Promise<WritingNode> {
  return WritingNode.open(newDirectory());
}

function metaOf({ body }: Answered, key: string): unknown {
  return memberOf(body["metadata"], key);
}

const applied = (manager: string, more = "") => `?fieldManager=${manager}${more}`;

describe("create", () => {
  const SECRET = {
    kind: "Secret",
    metadata: { name: "login" },
    stringData: { password: "s3cret" },
  };
  const CLAIM = {
    kind: "PersistentVolumeClaim",
    metadata: { name: "data" },
    spec: { accessModes: ["ReadWriteOnce"], resources: { requests: { storage: "1Gi" } } },
  };
  const cases: Readonly<Record<string, readonly [string, object, string, number]>> = {
    "a pod": ["pods", pod(), POD_FILE, 0o644],
    "a ConfigMap": ["configmaps", config({ a: "1" }), CONFIG_FILE, 0o644],
    "a Secret": ["secrets", SECRET, "api.secret.default.login.yaml", 0o600],
    "a claim": [
      "persistentvolumeclaims",
      CLAIM,
      "api.persistentvolumeclaim.default.data.yaml",
      0o644,
    ],
  };
  test.each(Object.entries(cases))(
    "of %s is a file, and the answer what GET shows",
    async (_case, [plural, object, name, mode]) => {
      using node = await openNode();
      const path = `/api/v1/namespaces/default/${plural}`;
      const created = await node.ask("POST", path, { body: object });
      expect(created.status).toBe(201);
      expect(node.files).toEqual([name]);
      expect(statSync(join(node.manifests, name)).mode & 0o777).toBe(mode);
      const shown = await node.ask("GET", `${path}/${String(metaOf(created, "name"))}`);
      const { managedFields: _fields, ...metadata } = isJsonObject(created.body["metadata"])
        ? created.body["metadata"]
        : {};
      expect(shown.body).toEqual({ ...created.body, metadata });
    },
  );

  test("of what is there already is refused, and the file stays", async () => {
    using node = await openNode();
    await node.ask("POST", CONFIGS, { body: config({ a: "1" }) });
    const before = node.text(CONFIG_FILE);
    const again = await node.ask("POST", CONFIGS, { body: config({ a: "2" }) });
    expect([again.status, again.body["reason"], again.body["message"]]).toEqual([
      409,
      "AlreadyExists",
      'configmaps "conf" already exists',
    ]);
    expect(node.text(CONFIG_FILE)).toBe(before);
  });

  test("gives an object a UID that edits and the next process leave as it is", async () => {
    const directory = newDirectory();
    const uids: unknown[] = [];
    {
      using node = await WritingNode.open(directory);
      const created = await node.ask("POST", CONFIGS, { body: config({ a: "1" }) });
      const edited = await node.ask("PUT", `${CONFIGS}/conf`, {
        body: { ...created.body, data: { a: "2" } },
      });
      expect(edited.status).toBe(200);
      uids.push(metaOf(created, "uid"), metaOf(edited, "uid"));
    }
    using node = await WritingNode.open(directory);
    const path = `${CONFIGS}/conf`;
    uids.push(metaOf(await node.ask("GET", path), "uid"));
    const foreign = { preconditions: { uid: "another" } };
    expect((await node.ask("DELETE", path, { body: foreign })).status).toBe(409);
    const own = await node.ask("DELETE", path, { body: { preconditions: { uid: uids[0] } } });
    expect([own.status, memberOf(own.body["details"], "uid")]).toEqual([200, uids[0]]);
    expect(uids[0]).toMatch(/^[\da-f]{8}-[\da-f]{4}-8[\da-f]{3}-[89ab][\da-f]{3}-[\da-f]{12}$/);
    expect(new Set(uids).size).toBe(1);
  });

  test("makes a name of generateName", async () => {
    using node = await openNode();
    const body = { ...pod(), metadata: { generateName: "job-" } };
    const [one, other] = [
      await node.ask("POST", PODS, { body }),
      await node.ask("POST", PODS, { body }),
    ];
    expect(String(metaOf(one, "name"))).toMatch(/^job-[a-z0-9]{5}$/);
    expect(metaOf(one, "name")).not.toEqual(metaOf(other, "name"));
    expect(node.files).toHaveLength(2);
  });

  test("of an object with a very long name has a file of its own, and is found again", async () => {
    using node = await openNode();
    const name = "n".repeat(253);
    const body = config({}, { metadata: { name } });
    expect((await node.ask("POST", CONFIGS, { body })).status).toBe(201);
    expect((await node.ask("POST", CONFIGS, { body })).status).toBe(409);
    expect((await node.ask("DELETE", `${CONFIGS}/${name}`)).status).toBe(200);
    expect(node.files).toEqual([]);
  });

  test("reads YAML, and kubectl's protobuf of ConfigMaps", async () => {
    using node = await openNode();
    const yaml = { body: "kind: ConfigMap\nmetadata: {name: conf}\n", type: "application/yaml" };
    expect((await node.ask("POST", CONFIGS, yaml)).status).toBe(201);
    // What kubectl 1.32 sends for `create configmap c --from-literal=a=b`, and for a Secret of two values.
    const type = "application/vnd.kubernetes.protobuf";
    const bytes = (base64: string): Uint8Array => new Uint8Array(Buffer.from(base64, "base64"));
    const created = await node.ask("POST", CONFIGS, {
      body: bytes("azhzAAoPCgJ2MRIJQ29uZmlnTWFwEhsKEQoBYxIAGgAiACoAMgA4AEIAEgYKAWESAWIaACIA"),
      type,
    });
    expect(created.body).toMatchObject({ metadata: { name: "c" }, data: { a: "b" } });
    const secret = await node.ask("POST", "/api/v1/namespaces/default/secrets", {
      body: bytes(
        "azhzAAoMCgJ2MRIGU2VjcmV0EiwKEQoBcxIAGgAiACoAMgA4AEIAEgYKAWESAWISDQoCcHcSB2h1bnRlcjIaABoAIgA=",
      ),
      type,
    });
    expect(secret.body["data"]).toEqual({ a: "Yg==", pw: "aHVudGVyMg==" });
  });

  test("names every wrong field as a file would, and writes nothing", async () => {
    using node = await openNode();
    const spec = { restartPolicy: "Sometimes", containers: [{ name: "Main", imagee: "x" }] };
    const refused = await node.ask("POST", `${PODS}?fieldValidation=Strict`, {
      body: { ...pod(), spec },
    });
    expect([refused.status, refused.body["reason"]]).toEqual([422, "Invalid"]);
    const details = refused.body["details"];
    expect(details).toMatchObject({ kind: "Pod", name: "web" });
    const wanted: unknown[] = [
      {
        reason: "FieldValueInvalid",
        field: "spec.containers[0].imagee",
        message: "unknown field (did you mean image?)",
      },
      expect.objectContaining({ field: "spec.containers[0].name" }),
      expect.objectContaining({
        reason: "FieldValueNotSupported",
        field: "spec.restartPolicy",
        message: expect.stringContaining('Unsupported value: "Sometimes"') as unknown,
      }),
    ];
    expect(memberOf(details, "causes")).toEqual(expect.arrayContaining(wanted));
    expect(node.files).toEqual([]);
  });

  test("drops unknown fields and warns of them, unless asked to be strict or silent", async () => {
    using node = await openNode();
    const body = pod({ hostname: "a", hostnam: "b" });
    const strict = await node.ask("POST", `${PODS}?fieldValidation=Strict&dryRun=All`, { body });
    expect(strict.status).toBe(422);
    const silent = await node.ask("POST", `${PODS}?fieldValidation=Ignore&dryRun=All`, { body });
    expect([silent.status, silent.warnings]).toEqual([201, null]);
    const warned = await node.ask("POST", PODS, { body });
    expect([warned.status, warned.warnings]).toEqual([
      201,
      String.raw`299 - "unknown field \"spec.hostnam\""`,
    ]);
    expect(node.text(POD_FILE)).not.toContain("hostnam:");
  });

  test("with hundreds of unknown fields is refused, as each hundred costs another look", async () => {
    using node = await openNode();
    const many = Object.fromEntries(Array.from({ length: 500 }, (_, index) => [`x${index}`, 1]));
    const refused = await node.ask("POST", CONFIGS, { body: config({}, many) });
    expect(refused.status).toBe(422);
    const some = Object.fromEntries(Object.entries(many).slice(0, 150));
    expect((await node.ask("POST", CONFIGS, { body: config({}, some) })).status).toBe(201);
  });

  test("warns of what the node says about the file, such as that there is no room", async () => {
    const directory = newDirectory();
    const ref = join(directory, "manifests", POD_FILE);
    const about = {
      source: "file",
      ref,
      code: "OutOfpods",
      path: "",
      message: 'no "room" left',
    } as const;
    using node = await WritingNode.open(directory, {
      rejected: () => [about, { ...about, ref: "/m/other.yaml", message: "other" }],
    });
    const created = await node.ask("POST", PODS, { body: pod() });
    expect([created.status, created.warnings]).toEqual([201, String.raw`299 - "no \"room\" left"`]);
  });

  test("of a pod for another node, and of the node's own ConfigMap, is refused with a file's words", async () => {
    using node = await openNode();
    const elsewhere = await node.ask("POST", PODS, { body: pod({ nodeName: "pi-2" }) });
    expect(elsewhere.body["message"]).toContain('the pod is for node "pi-2"; this node is "pi-1"');
    const own = config({}, { metadata: { name: "agent-node" } });
    const reserved = await node.ask("POST", CONFIGS, { body: own });
    expect(reserved.body["message"]).toContain("the ConfigMap agent-node is the node's own");
    expect(node.files).toEqual([]);
  });

  test.each([
    ["another kind", { kind: "Secret", metadata: { name: "a" } }, 400],
    ["another namespace", config({}, { metadata: { name: "a", namespace: "shop" } }), 400],
    ["no name", { kind: "ConfigMap", metadata: {} }, 422],
    ["a name that climbs", config({}, { metadata: { name: "../x" } }), 422],
    ["a list", [], 400],
    ["several documents", "kind: ConfigMap\n---\nkind: ConfigMap\n", 400],
    ["broken text", '{"a":', 400],
    ["binary data", new Uint8Array([0xff, 0xfe, 0]), 400],
    ["too deep a text", "[".repeat(5000), 400],
    ["too many nodes", JSON.stringify(config({ a: Array.from({ length: 10_000 }, () => 1) })), 400],
    ["too many bytes", "#".repeat(4 * 1024 * 1024 + 1), 413],
  ])("of %s is refused, and writes nothing", async (_case, body, status) => {
    using node = await openNode();
    const refused = await node.ask("POST", CONFIGS, { body });
    expect([refused.status, refused.body["kind"], refused.body["code"]]).toEqual([
      status,
      "Status",
      status,
    ]);
    expect(node.files).toEqual([]);
  });

  test.each(["application/cbor", "text/plain", "application/vnd.kubernetes.protobuf"])(
    "of %s that cannot be read is 415 or 400",
    async (type) => {
      using node = await openNode();
      const refused = await node.ask("POST", PODS, { body: "x", type });
      expect(refused.status).toBe(415);
    },
  );
});

describe("any body", () => {
  test("is accepted or refused, never an error of the agent, and leaves only whole manifests", async () => {
    using node = await openNode();
    const values = fc.jsonValue({ maxDepth: 3 });
    const keys = fc.constantFrom(
      "apiVersion",
      "kind",
      "metadata",
      "spec",
      "data",
      "name",
      "labels",
    );
    const body = fc.dictionary(keys, values);
    const write = fc.record({
      method: fc.constantFrom("POST", "PUT", "PATCH", "DELETE"),
      plural: fc.constantFrom("pods", "configmaps", "secrets", "persistentvolumeclaims"),
      name: fc.constantFrom("", "/a", "/..%2Fa", "/%00", "/A"),
      query: fc.constantFrom("", "?fieldManager=a", "?dryRun=All", "?force=true&fieldManager=b"),
      body: fc.oneof(
        body,
        values,
        fc.record({ metadata: fc.record({ name: fc.constant("a") }), data: values }),
      ),
    });
    await fc.assert(
      fc.asyncProperty(write, async ({ method, plural, name, query, body: sent }) => {
        const path = `/api/v1/namespaces/default/${plural}${name}${query}`;
        const type = method === "PATCH" ? APPLY : "application/json";
        const { status } = await node.ask(method, path, { body: sent, type });
        expect(status).toBeLessThan(500);
      }),
      { numRuns: 150 },
    );
    for (const file of node.files)
      expect(file).toMatch(/^api\.[a-z]+\.default\.[a-z0-9.-]+\.yaml$/);
  });
});

describe("replace", () => {
  test("of an object that was read and sent back keeps what is written of its spec", async () => {
    using node = await openNode();
    const created = await node.ask("POST", PODS, { body: pod() });
    const shown = await node.ask("GET", `${PODS}/web`);
    const metadata = isJsonObject(shown.body["metadata"]) ? shown.body["metadata"] : {};
    const body = { ...shown.body, metadata: { ...metadata, labels: { app: "other" } } };
    const replaced = await node.ask("PUT", `${PODS}/web`, { body });
    expect([replaced.status, metaOf(replaced, "uid")]).toEqual([200, metaOf(created, "uid")]);
    expect(metaOf(replaced, "labels")).toEqual({ app: "other" });
    const text = node.text(POD_FILE);
    for (const shownOnly of [
      "terminationMessagePath",
      "config.hash",
      "status:",
      "uid:",
      "nodeName",
    ])
      expect(text).not.toContain(shownOnly);
  });

  test("of an older version is refused", async () => {
    using node = await openNode();
    const created = await node.ask("POST", CONFIGS, { body: config({ a: "1" }) });
    const resourceVersion = metaOf(created, "resourceVersion");
    const body = (data: object) => config(data, { metadata: { name: "conf", resourceVersion } });
    expect((await node.ask("PUT", `${CONFIGS}/conf`, { body: body({ a: "2" }) })).status).toBe(200);
    const late = await node.ask("PUT", `${CONFIGS}/conf`, { body: body({ a: "3" }) });
    expect([late.status, late.body["reason"]]).toEqual([409, "Conflict"]);
    expect(late.body["message"]).toContain("the object has been modified");
    expect(node.text(CONFIG_FILE)).toContain('a: "2"');
  });

  test("of an absent object is 404, and of another UID a conflict", async () => {
    using node = await openNode();
    expect((await node.ask("PUT", `${PODS}/web`, { body: pod() })).status).toBe(404);
    await node.ask("POST", PODS, { body: pod() });
    const body = { ...pod(), metadata: { name: "web", uid: "other" } };
    expect((await node.ask("PUT", `${PODS}/web`, { body })).status).toBe(409);
  });

  test("of an immutable ConfigMap is refused", async () => {
    using node = await openNode();
    await node.ask("POST", CONFIGS, { body: config({ a: "1" }, { immutable: true }) });
    const refused = await node.ask("PUT", `${CONFIGS}/conf`, { body: config({ a: "2" }) });
    expect([refused.status, refused.body["message"]]).toEqual([
      422,
      expect.stringContaining("field is immutable when `immutable` is set"),
    ]);
  });
});

describe("apply", () => {
  const put = (node: WritingNode, data: object, query = applied("kubectl")) =>
    node.ask("PATCH", `${CONFIGS}/conf${query}`, { body: config(data), type: APPLY });

  test("creates, changes, and writes nothing when nothing changes", async () => {
    using node = await openNode();
    expect((await put(node, { a: "1" })).status).toBe(201);
    const { ino } = statSync(join(node.manifests, CONFIG_FILE));
    const again = await put(node, { a: "1" });
    expect(again.status).toBe(200);
    expect(statSync(join(node.manifests, CONFIG_FILE)).ino).toBe(ino);
    const changed = await put(node, { b: "2" });
    expect(changed.body["data"]).toEqual({ b: "2" });
    expect(metaOf(changed, "managedFields")).toMatchObject([
      { manager: "kubectl", operation: "Apply", fieldsV1: { "f:data": { "f:b": {} } } },
    ]);
  });

  test("over another manager's fields is refused with each of them, unless forced", async () => {
    using node = await openNode();
    await put(node, { a: "1", b: "1" });
    expect((await put(node, { a: "1", b: "1" }, applied("other"))).status).toBe(200);
    const refused = await put(node, { a: "2", b: "1" });
    expect([refused.status, refused.body["reason"], refused.body["message"]]).toEqual([
      409,
      "Conflict",
      'Apply failed with 1 conflict: conflict with "other" using v1: .data.a',
    ]);
    expect(memberOf(refused.body["details"], "causes")).toMatchObject([
      { reason: "FieldManagerConflict", field: ".data.a" },
    ]);
    const forced = await put(node, { a: "2", b: "1" }, applied("kubectl", "&force=true"));
    expect([forced.status, forced.body["data"]]).toEqual([200, { a: "2", b: "1" }]);
  });

  test("needs a manager, and an object without managedFields", async () => {
    using node = await openNode();
    const unnamed = await put(node, {}, "");
    expect([unnamed.status, unnamed.body["message"]]).toEqual([
      422,
      expect.stringContaining("is required for apply patch"),
    ]);
    const body = config({}, { metadata: { name: "conf", managedFields: [] } });
    expect(
      (await node.ask("PATCH", `${CONFIGS}/conf${applied("a")}`, { body, type: APPLY })).status,
    ).toBe(400);
  });

  test.each([
    "application/strategic-merge-patch+json",
    "application/merge-patch+json",
    "application/json-patch+json",
    "application/apply-patch+cbor",
    "application/json",
  ])("is the only patch: %s is 415 with the remedy", async (type) => {
    using node = await openNode();
    await put(node, { a: "1" });
    const refused = await node.ask("PATCH", `${CONFIGS}/conf${applied("a")}`, { body: {}, type });
    expect([refused.status, refused.body["message"]]).toEqual([
      415,
      expect.stringContaining("use kubectl apply --server-side"),
    ]);
  });
});

describe("a dry run", () => {
  test("answers the result of each verb, and writes nothing", async () => {
    using node = await openNode();
    const body = config({ a: "1" });
    const created = await node.ask("POST", `${CONFIGS}?dryRun=All`, { body });
    expect([created.status, created.body["data"], node.files]).toEqual([201, { a: "1" }, []]);
    await node.ask("POST", CONFIGS, { body });
    const text = node.text(CONFIG_FILE);
    const other = config({ a: "2" });
    const replaced = await node.ask("PUT", `${CONFIGS}/conf?dryRun=All`, { body: other });
    expect([replaced.status, replaced.body["data"]]).toEqual([200, { a: "2" }]);
    const path = `${CONFIGS}/conf${applied("a", "&dryRun=All&force=true")}`;
    expect((await node.ask("PATCH", path, { body: other, type: APPLY })).body["data"]).toEqual({
      a: "2",
    });
    expect((await node.ask("DELETE", `${CONFIGS}/conf?dryRun=All`)).status).toBe(200);
    expect(node.text(CONFIG_FILE)).toBe(text);
    expect((await node.ask("POST", `${CONFIGS}?dryRun=Some`, { body: other })).status).toBe(422);
  });
});

describe("what is declared elsewhere", () => {
  const sources = [
    ["file", "/m/web.yaml#0", "/m/web.yaml: "],
    ["http", "https://example.org/p.yaml", "https://example.org/p.yaml: "],
    ["mqtt:node", "generation 7", "the MQTT document of this node (generation 7): "],
    ["mqtt:group/kiosks", "generation 7", "the MQTT document of group kiosks (generation 7): "],
  ] as const;
  test.each(sources)(
    "by %s is refused with the place and the remedy",
    async (source, sourceRef, place) => {
      using node = await openNode();
      node.declared = [
        aDesiredPod(aPod({}, { name: "web", namespace: "default" }), { source, sourceRef }),
        aDesiredObject(named(aConfigMap({}), "conf"), { source, sourceRef }),
      ];
      const type = APPLY;
      const answers = [
        await node.ask("POST", PODS, { body: pod() }),
        await node.ask("PUT", `${PODS}/web`, { body: pod() }),
        await node.ask("PATCH", `${PODS}/web${applied("a", "&force=true")}`, { body: pod(), type }),
        await node.ask("DELETE", `${PODS}/web`),
        await node.ask("DELETE", `${CONFIGS}/conf`),
        await node.ask("DELETE", CONFIGS),
      ];
      for (const { status, body } of answers) {
        expect(status).toBe(409);
        expect(body["message"]).toContain(` is declared by ${place}`);
      }
      expect(node.files).toEqual([]);
    },
  );

  test("by the same file, which a person has edited to hold more, is refused as well", async () => {
    using node = await openNode();
    const text =
      "kind: ConfigMap\napiVersion: v1\nmetadata: {name: conf}\n---\n{apiVersion: v1, kind: ConfigMap, metadata: {name: b}}\n";
    node.put(CONFIG_FILE, text);
    for (const [method, path] of [
      ["PUT", `${CONFIGS}/conf`],
      ["DELETE", `${CONFIGS}/conf`],
    ] as const) {
      const refused = await node.ask(method, path, method === "PUT" ? { body: config({}) } : {});
      expect([refused.status, refused.body["message"]]).toEqual([
        409,
        expect.stringContaining("was edited and has several objects"),
      ]);
    }
    expect(node.text(CONFIG_FILE)).toBe(text);
  });

  test("and broken is replaced by what a client writes", async () => {
    using node = await openNode();
    node.put(CONFIG_FILE, "kind: [");
    expect((await node.ask("PUT", `${CONFIGS}/conf`, { body: config({ a: "1" }) })).status).toBe(
      200,
    );
    expect(node.text(CONFIG_FILE)).toContain('a: "1"');
  });
});

describe("delete", () => {
  test("of an object removes its file", async () => {
    using node = await openNode();
    await node.ask("POST", CONFIGS, { body: config({}) });
    const gone = await node.ask("DELETE", `${CONFIGS}/conf`);
    expect(gone.body).toMatchObject({
      kind: "Status",
      status: "Success",
      details: { name: "conf", kind: "configmaps" },
    });
    expect(node.files).toEqual([]);
    expect((await node.ask("DELETE", `${CONFIGS}/conf`)).status).toBe(404);
    expect((await node.ask("DELETE", `${CONFIGS}/..%2Fx`)).status).toBe(404);
  });

  test("of a pod answers the pod as it stops", async () => {
    using node = await openNode();
    node.stopping = [];
    const created = await node.ask("POST", PODS, { body: pod() });
    const deleted = await node.ask("DELETE", `${PODS}/web`);
    expect([deleted.status, deleted.body["kind"], metaOf(deleted, "uid")]).toEqual([
      200,
      "Pod",
      metaOf(created, "uid"),
    ]);
    expect(metaOf(deleted, "deletionTimestamp")).toBeString();
    expect([node.files, node.graces]).toEqual([[], []]);
  });

  test.each([
    ["the query", "?gracePeriodSeconds=0", {}, [0]],
    ["the body", "", { body: { kind: "DeleteOptions", gracePeriodSeconds: 1 } }, [1]],
    ["nothing", "?propagationPolicy=Foreground", { body: { kind: "DeleteOptions" } }, []],
  ])("takes the grace period of %s", async (_case, query, asked, graces) => {
    using node = await openNode();
    node.stopping = [];
    await node.ask("POST", PODS, { body: pod() });
    expect((await node.ask("DELETE", `${PODS}/web${query}`, asked)).status).toBe(200);
    expect(node.graces).toEqual(graces);
    // It stops already.
    expect((await node.ask("DELETE", `${PODS}/web?gracePeriodSeconds=2`)).status).toBe(200);
    expect(node.graces).toEqual([...graces, 2]);
  });

  test("shortens the stop of a pod whose spec is forgotten, or whose successor another file declares", async () => {
    const graces: number[] = [];
    const shortenGrace = (_pod: object, seconds: number) => {
      graces.push(seconds);
      return { type: "Shortened" } as const;
    };
    using node = await WritingNode.open(newDirectory(), { shortenGrace });
    expect((await node.ask("DELETE", `${PODS}/web`)).status).toBe(404);
    expect((await node.ask("DELETE", `${PODS}/web?gracePeriodSeconds=1`)).status).toBe(200);
    node.declared = [aDesiredPod(aPod({}, { name: "web", namespace: "default" }))];
    expect((await node.ask("DELETE", `${PODS}/web`)).status).toBe(409);
    expect((await node.ask("DELETE", `${PODS}/web?gracePeriodSeconds=2`)).status).toBe(200);
    expect(graces).toEqual([1, 2]);
  });

  test.each([
    ["uid", { uid: "other" }],
    ["resourceVersion", { resourceVersion: "1" }],
  ])("with another %s is a conflict, and deletes nothing", async (_case, preconditions) => {
    using node = await openNode();
    await node.ask("POST", PODS, { body: pod() });
    const refused = await node.ask("DELETE", `${PODS}/web`, { body: { preconditions } });
    expect([refused.status, refused.body["reason"]]).toEqual([409, "Conflict"]);
    expect(node.files).toEqual([POD_FILE]);
  });

  test.each(["-1", "1.5", "soon"])("with a grace period of %s is refused", async (seconds) => {
    using node = await openNode();
    await node.ask("POST", PODS, { body: pod() });
    expect((await node.ask("DELETE", `${PODS}/web?gracePeriodSeconds=${seconds}`)).status).toBe(
      422,
    );
    expect(node.files).toEqual([POD_FILE]);
  });

  test("of a collection deletes those that match, and none if one of them may not go", async () => {
    using node = await openNode();
    for (const name of ["a", "b", "c"])
      await node.ask("POST", PODS, {
        body: { ...pod(), metadata: { name, labels: { app: name === "c" ? "c" : "ab" } } },
      });
    const some = await node.ask("DELETE", `${PODS}?labelSelector=app%3Dab`);
    expect([some.body["kind"], node.files]).toEqual(["PodList", ["api.pod.default.c.yaml"]]);
    node.put("mine.yaml", JSON.stringify({ ...pod(), metadata: { name: "mine" } }));
    expect((await node.ask("DELETE", PODS)).status).toBe(409);
    expect(node.files).toEqual(["api.pod.default.c.yaml", "mine.yaml"]);
  });
});

describe("the manifest directory", () => {
  test("that is missing, a file, or cannot be written is an error with a remedy", async () => {
    using node = await openNode();
    mkdirSync(join(node.manifests, `.${CONFIG_FILE}.tmp`));
    const blocked = await node.ask("POST", CONFIGS, { body: config({}) });
    expect([blocked.status, blocked.body["message"]]).toEqual([
      500,
      expect.stringContaining("check that the manifest directory can be written"),
    ]);
    rmSync(node.manifests, { recursive: true });
    const missing = await node.ask("POST", CONFIGS, { body: config({}) });
    expect([missing.status, missing.body["message"]]).toEqual([
      500,
      expect.stringContaining("does not exist: create it"),
    ]);
    writeFileSync(node.manifests, "kind: Pod\n");
    const single = await node.ask("POST", CONFIGS, { body: config({}) });
    expect([single.status, single.body["message"]]).toEqual([
      409,
      expect.stringContaining("is a single file: set it to a directory"),
    ]);
    expect(readFileSync(node.manifests, "utf8")).toBe("kind: Pod\n");
    rmSync(node.manifests);
    mkdirSync(node.manifests);
  });

  test("loses unfinished files of this API at the start, and no other", async () => {
    const directory = newDirectory();
    mkdirSync(join(directory, "manifests"));
    const others = [".api.yaml.swp", ".web.yaml.tmp", "api.pod.default.a.yaml.tmp"];
    for (const name of [...others, `.${POD_FILE}.tmp`])
      writeFileSync(join(directory, "manifests", name), "half");
    using node = await WritingNode.open(directory);
    expect(node.files).toEqual(others.toSorted());
  });
});

describe("a resource that only shows", () => {
  test.each([
    ["POST", "/api/v1/namespaces"],
    ["DELETE", "/api/v1/nodes/pi-1"],
    ["POST", "/api/v1/namespaces/default/events"],
    ["POST", "/api/v1/pods"],
    ["PUT", PODS],
  ])("%s %s is 405", async (method, path) => {
    using node = await openNode();
    expect((await node.ask(method, path, method === "DELETE" ? {} : { body: {} })).status).toBe(
      405,
    );
  });
});
