// The verbs on ConfigMaps, Secrets and claims, against the real local API.

import { NO_NOTES } from "../../../src/node/explain/pod-notes.ts";
import { NO_SHUTDOWN, NO_STREAMS } from "../../unit/server/some-facts.ts";
import { afterEach, beforeEach, describe, expect, test } from "bun:test";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { parse } from "yaml";
import type { Rejection } from "../../../src/api/pod/desired-pod.ts";
import { realFiles } from "../../../src/host/real-files.ts";
import { createLogger } from "../../../src/lib/logger.ts";
import { LocalServer } from "../../../src/server/local-server.ts";
import type { ObjectEntry } from "../../../src/node/object-list.ts";
import { aClaim, aConfigMap, aDesiredObject, aSecret, named } from "../../fakes/an-object.ts";
import { NO_IMAGES } from "../../unit/server/some-facts.ts";
import { VirtualClock } from "../../fakes/fake-clock.ts";
import { runOn } from "./cli-stage.ts";
import { CONFIG_DEFAULTS } from "../../fakes/config-defaults.ts";
import { FakeTerminal } from "./fake-terminal.ts";
import type { ClaimOutcome } from "../../../src/volume/claim-remover.ts";

const VALUE = "correct-horse-battery-staple";
const ENCODED = Buffer.from(VALUE).toString("base64");

let directory: string;
let server: LocalServer;
let terminal: FakeTerminal;
let rejected: readonly Rejection[];
let outcome: ClaimOutcome;
/** Claims whose data was to be removed. */
let removed: string[];
let log: string[];

const objects: readonly ObjectEntry[] = [
  aDesiredObject(named(aSecret({ password: VALUE, user: "root" }), "login")),
  aDesiredObject(named(aConfigMap({ b: "2", a: "1" }), "web"), {
    source: "mqtt:node",
    sourceRef: "generation 7",
  }),
  aDesiredObject(named(aConfigMap({}, { binaryData: { x: new Uint8Array([1, 2]) } }), "app")),
  aDesiredObject(named(aConfigMap({}), "elsewhere", "shop")),
  aDesiredObject(
    named(aClaim({ accessModes: ["ReadWriteOnce", "ReadOnlyMany"], storage: "2Gi" }), "data"),
  ),
  {
    object: named(aConfigMap({ name: "pi-1" }), "agent-node"),
    source: "agent",
    sourceRef: "built in",
  },
];

beforeEach(async () => {
  directory = mkdtempSync(join(tmpdir(), "agent-cli-"));
  const socket = join(directory, "agent.sock");
  const clock = new VirtualClock();
  [rejected, removed, log, outcome] = [[], [], [], { type: "Removed" }];
  terminal = new FakeTerminal();
  terminal.environment = { AGENT_SOCKET: socket };
  server = new LocalServer({
    socket,
    files: realFiles(),
    podLogsDir: "/nonexistent",
    clock,
    log: createLogger({ clock, level: "debug", write: (line) => log.push(line) }),
    cri: NO_STREAMS,
    onChange: () => ({ [Symbol.dispose]: () => undefined }),
    facts: {
      healthProblems: () => [],
      selfUpdate: () => ({ version: "1.0.0", phase: "Idle", failed: [] }),
      orderSelfUpdate: () => undefined,
      hasSynced: () => true,
      pods: () => [],
      rejected: () => rejected,
      events: () => [],
      notes: () => NO_NOTES,
      node: () => {
        throw new Error("not asked for");
      },
      version: () => ({ version: "1" }),
      restart: () => Promise.resolve(undefined),
      desired: () => [],
      linkFacts: () => undefined,
      databaseBytes: () => undefined,
      meter: () => undefined,
      config: () => CONFIG_DEFAULTS,
      shortenGrace: () => ({ type: "NotFound" }),
      shutdown: () => NO_SHUTDOWN,
      beginShutdown: () => NO_SHUTDOWN,
      cancelShutdown: () => NO_SHUTDOWN,
      declared: () => undefined,
      objects: (namespace) =>
        objects.filter(
          ({ object }) => namespace === undefined || object.metadata.namespace === namespace,
        ),
      removeClaimData: ({ namespace, name }) => {
        removed.push(`${namespace}/${name}`);
        return outcome;
      },
      trust: () => ({ required: false, why: "", trustPath: "/t", rootKeys: [], problems: [] }),
      changeHold: () => ({ type: "NotFound" }),
      imageOrders: NO_IMAGES,
      summary: () => Promise.resolve({}),
      resetTrust: () => undefined,
      rotateNodeKeys: () => undefined,
    },
  });
  await server.listen();
});

afterEach(async () => {
  server.stop();
  rmSync(directory, { recursive: true });
});

const run = (command: string): Promise<number> => runOn(terminal, command);

describe("get", () => {
  const configMaps = `NAME         DATA   AGE
agent-node   1      <unknown>
app          1      <unknown>
web          2      <unknown>
`;
  const web = "NAME   DATA   AGE\nweb    2      <unknown>\n";
  const cases: Readonly<Record<string, string>> = {
    "get configmaps": configMaps,
    "get configmap": configMaps,
    "get cm -n default": configMaps,
    "get cm web": web,
    "get cm/web": web,
    "get cm web -o wide":
      "NAME   DATA   AGE         SOURCE\nweb    2      <unknown>   mqtt:node generation 7\n",
    "get cm -o name": "configmap/agent-node\nconfigmap/app\nconfigmap/web\n",
    "get cm -A": `NAMESPACE   NAME         DATA   AGE
default     agent-node   1      <unknown>
default     app          1      <unknown>
default     web          2      <unknown>
shop        elsewhere    0      <unknown>
`,
    "get secrets": "NAME    TYPE     DATA   AGE\nlogin   Opaque   2      <unknown>\n",
    "get secret login": "NAME    TYPE     DATA   AGE\nlogin   Opaque   2      <unknown>\n",
    "get secrets -o name": "secret/login\n",
    "get cm/web secret/login -o name": "configmap/web\nsecret/login\n",
    "get cm,secrets -n shop":
      "NAME                  DATA   AGE\nconfigmap/elsewhere   0      <unknown>\n",
    "get pvc":
      "NAME   STATUS   VOLUME         CAPACITY   ACCESS MODES   STORAGECLASS   AGE\ndata   Bound    default/data   2Gi        RWO,ROX                       <unknown>\n",
    "get persistentvolumeclaims -o name": "persistentvolumeclaim/data\n",
    "get cm -l app=web": "",
  };
  test.each(Object.entries(cases))("%s", async (command, expected) => {
    expect(await run(command)).toBe(0);
    expect(terminal.stdout).toBe(expected);
  });

  test("says when there is nothing", async () => {
    expect(await run("get pvc -n empty")).toBe(0);
    expect([terminal.stdout, terminal.stderr]).toEqual([
      "",
      "No resources found in empty namespace. The node has 1 more; -A shows all namespaces.\n",
    ]);
  });

  test("shows what was refused of this kind, and only that", async () => {
    const refusal = { source: "file", ref: "/m/a.yaml", code: "Invalid", path: "data" } as const;
    rejected = [
      { ...refusal, kind: "Secret", namespace: "default", name: "other", message: "bad secret" },
      { ...refusal, kind: "Pod", namespace: "default", name: "web", message: "bad pod" },
      { ...refusal, path: "", message: "not YAML", line: 3 },
    ];
    expect(await run("get secrets")).toBe(0);
    expect(terminal.stderr).toBe("/m/a.yaml: data: bad secret\n/m/a.yaml:3: not YAML\n");
    expect(await run("get secret other")).toBe(1);
    expect(terminal.stderr).toEndWith(
      'Error: secrets "other" not found in namespace "default"; these were refused and may be it:\n  /m/a.yaml: data: bad secret\n  /m/a.yaml:3: not YAML\n',
    );
  });

  test.each([
    ["get cm web -A", "a name and --all-namespaces exclude each other"],
    ["get cm web -l a=b", "a name and a selector exclude each other"],
    ["get cm -l ???", "selector"],
  ])("%s is a usage error", async (command, sentence) => {
    expect(await run(command)).toBe(2);
    expect(terminal.stderr).toContain(sentence);
  });
});

describe("the content of Secrets", () => {
  const hidden = { password: `<hidden: ${VALUE.length} bytes>`, user: "<hidden: 4 bytes>" };

  test.each(["get secrets", "get secrets -o wide", "get secrets --show-secrets"])(
    "%s is a table without it",
    async (command) => {
      await run(command);
      expect(terminal.stdout).toContain("login");
      expect(terminal.stdout).not.toContain(VALUE);
      expect(terminal.stdout).not.toContain(ENCODED);
    },
  );

  test.each(["yaml", "json"])(
    "-o %s shows sizes, in a form that nobody can apply",
    async (format) => {
      expect(await run(`get secret login -o ${format}`)).toBe(0);
      expect(parse(terminal.stdout)).toEqual({
        apiVersion: "v1",
        kind: "Secret",
        metadata: {
          name: "login",
          namespace: "default",
          uid: expect.stringMatching(/^[\da-f-]{36}$/) as string,
          resourceVersion: expect.any(String) as string,
          annotations: {
            "kubernetes.io/config.source": "file",
            "agent/source-ref": "/etc/agent/manifests/web.yaml#0",
          },
        },
        data: hidden,
        type: "Opaque",
      });
    },
  );

  test("--show-secrets shows it in base64", async () => {
    expect(await run("get secrets -A -o json --show-secrets")).toBe(0);
    expect(JSON.parse(terminal.stdout)).toMatchObject({
      kind: "List",
      items: [{ data: { password: ENCODED, user: "cm9vdA==" } }],
    });
    expect(log.join("")).not.toContain(ENCODED);
  });

  test("of ConfigMaps is no secret", async () => {
    await run("get cm app -o json");
    expect(JSON.parse(terminal.stdout)).toMatchObject({ binaryData: { x: "AQI=" } });
  });
});

describe("delete pvc", () => {
  test.each([
    ["delete pvc data --data", "default/data"],
    ["delete pvc/data --data -n shop", "shop/data"],
    ["delete persistentvolumeclaim data --data", "default/data"],
  ])("%s removes its data", async (command, claim) => {
    expect(await run(command)).toBe(0);
    expect(removed).toEqual([claim]);
    expect(terminal.stdout).toBe(
      "persistentvolumeclaim/data: all data deleted; its space is freed in the background\n",
    );
  });

  test("without --data deletes no data", async () => {
    expect(await run("delete pvc data")).toBe(1);
    expect(removed).toEqual([]);
    expect(terminal.stderr).toStartWith("Error from server (MethodNotAllowed): ");
  });

  const refusals: readonly (readonly [ClaimOutcome, string])[] = [
    [
      { type: "InUse", pods: ["default/db", "default/web"] },
      "the claim default/data is used by default/db, default/web: remove these pods first and wait until they are gone",
    ],
    [
      { type: "NotFound" },
      'persistentvolumeclaims "data" in namespace "default" has no data on this node',
    ],
    [
      { type: "Failed", message: "/claims/default/data is a mount point" },
      "the data of the claim default/data could not be deleted: /claims/default/data is a mount point",
    ],
  ];
  test.each(refusals)("%j is an error", async (answer, sentence) => {
    outcome = answer;
    expect(await run("delete pvc data --data")).toBe(1);
    expect(terminal.stderr).toContain(sentence);
    expect(terminal.stdout).toBe("");
  });
});

describe("the local API", () => {
  const ask = (path: string, method = "GET"): Promise<Response> =>
    fetch(`http://agent${path}`, { method, unix: terminal.environment["AGENT_SOCKET"] ?? "" });

  test.each([
    ["GET", "/api/v1/namespaces/default/configmaps/nope", 404],
    ["GET", "/api/v1/configmaps/web", 404],
    ["GET", "/api/v1/namespaces/default/services", 404],
    ["GET", "/api/v1/namespaces/default/toString", 404],
    ["POST", "/api/v1/namespaces/default/secrets", 405],
    ["DELETE", "/api/v1/namespaces/default/secrets/login", 405],
    ["DELETE", "/api/v1/namespaces/default/persistentvolumeclaims", 405],
    ["DELETE", "/api/v1/namespaces/default/persistentvolumeclaims/data", 405],
    ["DELETE", "/api/v1/namespaces/default/persistentvolumeclaims/data?data=false", 400],
    ["HEAD", "/api/v1/namespaces/default/secrets/login", 200],
    ["GET", "/api/v1/namespaces/default/secrets/login?showSecrets=false", 200],
    ["GET", "/api/v1/secrets?showSecrets=false", 200],
  ])("%s %s is %i", async (method, path, status) => {
    const response = await ask(path, method);
    expect([response.status, (await response.text()).includes(ENCODED)]).toEqual([status, false]);
    expect(removed).toEqual([]);
  });

  test("lists as an API server does", async () => {
    expect(await (await ask("/api/v1/persistentvolumeclaims")).json()).toMatchObject({
      kind: "PersistentVolumeClaimList",
      apiVersion: "v1",
      items: [
        {
          apiVersion: "v1",
          kind: "PersistentVolumeClaim",
          spec: {
            accessModes: ["ReadWriteOnce", "ReadOnlyMany"],
            resources: { requests: { storage: "2Gi" } },
          },
          status: { phase: "Bound", capacity: { storage: "2Gi" } },
        },
      ],
    });
  });
});
