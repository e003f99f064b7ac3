// No value of a Secret and no password of the node stands in anything that the agent gives out, in any form; only where
// a value is asked for it is shown, so that the search is known to find.

import { afterAll, beforeAll, expect, test } from "bun:test";
import { randomBytes } from "node:crypto";
import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";

import { parse, stringify } from "yaml";

import type { AgentProcess } from "../harness/agent-process.ts";
import { startBroker, type Broker } from "../harness/broker.ts";
import type { BrokerClient, Collector } from "../harness/broker-client.ts";
import { eventually } from "../harness/eventually.ts";
import { freePort } from "../harness/free-port.ts";
import { BUSYBOX_2 } from "../harness/images.ts";
import { getRejected } from "./support-a-agent.ts";
import { desired, publishDesired } from "./support-b-upstream.ts";
import { HttpServer } from "./support-c-servers.ts";
import { READY, untilEvent, untilPod } from "./support-c-views.ts";
import { Registry } from "./support-e-registry.ts";
import { World } from "./support-e-world.ts";
import {
  fromApi,
  fromBroker,
  fromBundle,
  fromFiles,
  fromVerbs,
  type Ask,
} from "./support-o-outputs.ts";
import { formsOf, found, type Output } from "./support-o-search.ts";

const NODE = "vault";
const canary = (): string => `canary-${randomBytes(12).toString("hex")}`;

/** By what they are. */
const VALUES = {
  "an Opaque value in stringData": canary(),
  "an Opaque value in data": canary(),
  "a value with special characters": `${canary()}"ä%/+\\`,
  "a value of several lines": `${canary()}\n${canary()}`,
  "a copy in last-applied": canary(),
  "a basic-auth password": canary(),
  "an SSH key": canary(),
  "a TLS key": canary(),
  "a service account token": canary(),
  "a password of an imagePullSecret": canary(),
  "a password of registryAuthFile": canary(),
  "the MQTT password": canary(),
  "a header of staticPodURL": canary(),
  "a Secret of the URL": canary(),
  "a Secret of a document": canary(),
  "a Secret that was refused": canary(),
  "a Secret that kubectl writes": canary(),
  "a Secret in errors": canary(),
};
const PODS = [
  "reader",
  "own-registry",
  "knows-it",
  "knows-nothing",
  "quotes-its-command",
  "prints-it",
  "keeps-sent-secrets",
];

const world = await World.open();
const { e2e } = world;
const port = freePort();
const own = world.directory("own");
let agent: AgentProcess;
let broker: Broker;
let client: BrokerClient;
let sent: Collector;
const open: Disposable[] = [];
let pullPort = 0;
/** Of `agent kubeconfig`. */
let tokens: { readonly admin: string; readonly viewer: string };

beforeAll(async () => {
  if (!world.stage.available) return;
  broker = await startBroker(world.stage.temp);
  client = await broker.client();
  sent = await client.collect(`agent/v1/node/${NODE}/#`);
  const ofSecret = new Registry(BUSYBOX_2, {
    username: "fleet",
    password: VALUES["a password of an imagePullSecret"],
  });
  const ofNode = new Registry(BUSYBOX_2, {
    username: "node",
    password: VALUES["a password of registryAuthFile"],
  });
  const urlSecret = secretOf("of-url", { token: VALUES["a Secret of the URL"] });
  const server = new HttpServer(() => Response.json(urlSecret));
  open.push(ofSecret, ofNode, server);
  pullPort = ofSecret.port;
  const auth = Buffer.from(`node:${VALUES["a password of registryAuthFile"]}`).toString("base64");
  const auths = { [`127.0.0.1:${ofNode.port}`]: { auth } };
  agent = world.agent(NODE, {
    broker,
    config: {
      logLevel: "debug",
      listen: `127.0.0.1:${port}`,
      registryAuthFile: file("registry.json", JSON.stringify({ auths })),
      staticPodURL: `http://127.0.0.1:${server.port}/manifests`,
      staticPodURLHeader: { Authorization: [`Bearer ${VALUES["a header of staticPodURL"]}`] },
    },
    mqtt: { username: NODE, passwordFile: file("password", VALUES["the MQTT password"]) },
  });
  agent.writeManifest("own-registry.yaml", podOf("own-registry", `127.0.0.1:${ofNode.port}/a/b:1`));
  await agent.startReady();
}, 180_000);

afterAll(async () => {
  for (const one of open) one[Symbol.dispose]();
  await client?.[Symbol.asyncDispose]();
  world.close();
}, 180_000);

function file(name: string, text: string): string {
  const path = join(own, name);
  writeFileSync(path, text);
  return path;
}

function secretOf(name: string, stringData: object, more: object = {}): object {
  return { apiVersion: "v1", kind: "Secret", metadata: { name }, stringData, ...more };
}

function podOf(
  name: string,
  image: string,
  more: object = {},
  volumes: readonly object[] = [],
): object {
  const command = ["sh", "-c", "trap exit TERM; sleep 1000000 & wait"];
  const containers = [{ name: "main", image, command, ...more }];
  const spec = { terminationGracePeriodSeconds: 1, containers, volumes };
  return { apiVersion: "v1", kind: "Pod", metadata: { name }, spec };
}

/** Every type of Secret, and a pod that reads them in every way. */
function manifests(): string {
  const applied = JSON.stringify({ stringData: { a: VALUES["a copy in last-applied"] } });
  const docs = [
    secretOf("plain", {
      token: VALUES["an Opaque value in stringData"],
      special: VALUES["a value with special characters"],
      lines: VALUES["a value of several lines"],
    }),
    {
      ...secretOf("encoded", {}),
      metadata: {
        name: "encoded",
        annotations: { "kubectl.kubernetes.io/last-applied-configuration": applied },
      },
      data: { token: Buffer.from(VALUES["an Opaque value in data"]).toString("base64") },
    },
    secretOf(
      "basic",
      { username: "u", password: VALUES["a basic-auth password"] },
      { type: "kubernetes.io/basic-auth" },
    ),
    secretOf("ssh", { "ssh-privatekey": VALUES["an SSH key"] }, { type: "kubernetes.io/ssh-auth" }),
    secretOf(
      "tls",
      { "tls.crt": "certificate", "tls.key": VALUES["a TLS key"] },
      { type: "kubernetes.io/tls" },
    ),
    {
      ...secretOf("account", { token: VALUES["a service account token"] }),
      type: "kubernetes.io/service-account-token",
      metadata: {
        name: "account",
        annotations: { "kubernetes.io/service-account.name": "default" },
      },
    },
    podOf(
      "reader",
      "local/busybox:1",
      {
        env: [
          { name: "TOKEN", valueFrom: { secretKeyRef: { name: "plain", key: "token" } } },
          { name: "TWICE", value: "$(TOKEN)" },
        ],
        envFrom: ["plain", "encoded", "basic", "account"].map((name) => ({
          secretRef: { name },
          prefix: `${name}_`,
        })),
        volumeMounts: [
          { name: "tls", mountPath: "/tls" },
          { name: "all", mountPath: "/all" },
          { name: "tls", mountPath: "/key", subPath: "tls.key" },
        ],
      },
      [
        { name: "tls", secret: { secretName: "tls" } },
        {
          name: "all",
          projected: { sources: [{ secret: { name: "ssh" } }, { secret: { name: "of-url" } }] },
        },
      ],
    ),
  ];
  return docs.map((document) => stringify(document)).join("---\n");
}

/** Over TLS, with the token of a user. */
function asUser(token: string): Ask {
  return (path, accept = "application/json") =>
    fetch(`https://127.0.0.1:${port}${path}`, {
      headers: { authorization: `Bearer ${token}`, accept, connection: "close" },
      tls: { rejectUnauthorized: false },
      signal: AbortSignal.timeout(30_000),
    });
}

const asRoot: Ask = (path, accept = "application/json") =>
  fetch(`http://agent${path}`, {
    unix: agent.paths.socket,
    headers: { accept },
    signal: AbortSignal.timeout(30_000),
  });

async function tokenOf(...flags: readonly string[]): Promise<string> {
  const { stdout } = await agent.cli("kubeconfig", "--token", ...flags);
  const config = parse(stdout) as {
    readonly users: readonly [{ readonly user: { readonly token: string } }];
  };
  return config.users[0].user.token;
}

test("the search finds a value in every form", () => {
  const value = VALUES["a value with special characters"];
  for (const text of [
    `a ${value} b`,
    JSON.stringify({ value }),
    encodeURIComponent(value),
    Buffer.from(`x${value}`).toString("base64"),
    Buffer.from(`xy${value}z`).toString("base64"),
    Buffer.from(`xyz${value}`).toString("base64url"),
    Buffer.from(value).toString("hex"),
  ])
    expect([text, found([{ where: "w", text }], { v: value })]).toEqual([text, ["v in w"]]);
  expect(formsOf(value).every((form) => form.length > 20)).toBe(true);
});

e2e("pods use every Secret", async () => {
  agent.writeManifest("secrets.yaml", manifests());
  world.put(agent, "pull-secrets", {
    PORT: pullPort,
    PASSWORD: VALUES["a password of an imagePullSecret"],
  });
  world.put(agent, "secret-in-errors", { CANARY: VALUES["a Secret in errors"], SHORT: "p1n" });
  const refused = secretOf(
    "refused",
    {},
    { stringDate: { a: VALUES["a Secret that was refused"] } },
  );
  agent.writeManifest("refused.yaml", stringify(refused));
  const resources = world.documents("secret-of-document", {
    CANARY: VALUES["a Secret of a document"],
  });
  await publishDesired(broker, NODE, desired(NODE, { generation: 1, resources }));
  const written = secretOf("written", { token: VALUES["a Secret that kubectl writes"] });
  const applied = await agent.cli("apply", "-f", file("written.yaml", stringify(written)));
  expect([
    applied.code,
    found([{ where: "apply", text: applied.stdout + applied.stderr }], VALUES),
  ]).toEqual([0, []]);
  for (const pod of ["reader", "own-registry", "knows-it", "keeps-sent-secrets"])
    await untilPod(agent, pod, READY);
  await untilEvent(agent, "prints-it", { reason: "FailedPostStartHook", type: "Warning" });
  await untilEvent(agent, "prints-it", { reason: "Unhealthy", type: "Warning" });
  await eventually("the wrong file is refused", async () =>
    (await getRejected(agent)).some(({ ref }) => ref.endsWith("refused.yaml")),
  );
  const environment = await world.environment({ agent, pod: "reader" });
  expect(environment.get("TWICE")).toBe(VALUES["an Opaque value in stringData"]);
  expect(environment.get("plain_special")).toBe(VALUES["a value with special characters"]);
  expect(await world.inside({ agent, pod: "reader" }, "cat /key /all/token")).toBe(
    VALUES["a TLS key"] + VALUES["a Secret of the URL"],
  );
  tokens = { admin: await tokenOf(), viewer: await tokenOf("--read-only") };
  expect(tokens.admin).toMatch(/^[\w-]{43}$/);
});

async function expectNothing(outputs: readonly Output[], least: number): Promise<void> {
  expect(outputs.length).toBeGreaterThanOrEqual(least);
  expect(outputs.filter(({ text }) => text.length > 0).length).toBeGreaterThan(least / 2);
  expect(found(outputs, { ...VALUES, "a bearer token": tokens.admin })).toEqual([]);
  return Promise.resolve();
}

e2e(
  "verbs show none, in no format",
  async () => {
    const edited = secretOf("plain", { token: `${VALUES["an Opaque value in stringData"]}-2` });
    const wrong = secretOf("x", {}, { stringDate: { a: VALUES["a Secret that was refused"] } });
    const files = [file("edited.yaml", stringify(edited)), file("wrong.yaml", stringify(wrong))];
    await expectNothing(await fromVerbs(agent, PODS, files), 100);
  },
  180_000,
);

e2e("a bundle has none, though it has all the rest", async () => {
  const outputs = await fromBundle(agent, own);
  const names = outputs.map(({ where }) => where);
  for (const name of [
    "pods.json",
    "secrets.json",
    "manifests/secrets.yaml.json",
    "metrics.txt",
    "reader/main.log",
  ])
    expect(names.filter((one) => one.endsWith(name))).toHaveLength(1);
  await expectNothing(outputs, 30);
});

e2e(
  "the API shows none to root, over the socket",
  async () => {
    await expectNothing(
      await fromApi(asRoot, PODS, { who: "root", query: "showSecrets=false" }),
      60,
    );
  },
  60_000,
);

e2e(
  "the API shows none to a read-only user, whatever it asks for",
  async () => {
    const ask = asUser(tokens.viewer);
    await expectNothing(await fromApi(ask, PODS, { who: "viewer", query: "showSecrets=true" }), 60);
  },
  60_000,
);

e2e(
  "the broker is sent none, also in answers to commands",
  async () => {
    await expectNothing(await fromBroker(NODE, client, { sent, pods: PODS.slice(0, 3) }), 10);
  },
  120_000,
);

e2e("the agent's log, its database and its other files have none", async () => {
  const { directory, manifests: sources, config } = agent.paths;
  const written = (): readonly Output[] =>
    fromFiles(directory, sources).filter(({ where }) => where !== config);
  const outputs = written();
  for (const name of ["agent.log", "agent.db", "pki.json"])
    expect(outputs.filter(({ where }) => where.endsWith(name))).toHaveLength(1);
  await agent.restart("SIGTERM");
  await expectNothing([...outputs, ...written()], 10);
});

e2e("who asks for a value is shown it, so that the search is known to find", async () => {
  const value = "an Opaque value in stringData";
  const one = { [value]: VALUES[value] };
  const shown = await eventually("the agent has read its manifests again", async () => {
    const { stdout } = await agent.cli("get", "secret", "plain", "-o", "json", "--show-secrets");
    return stdout === "" ? undefined : stdout;
  });
  expect(found([{ where: "get", text: shown }], one)).toEqual([`${value} in get`]);
  const admin = await asUser(tokens.admin)("/api/v1/namespaces/default/secrets/plain");
  expect(found([{ where: "API", text: await admin.text() }], one)).toEqual([`${value} in API`]);
  const { manifests: sources } = agent.paths;
  expect(found(fromFiles(sources, ""), one)).toEqual([
    `${value} in ${join(sources, "secrets.yaml")}`,
  ]);
  expect(found([{ where: "own", text: readFileSync(join(own, "password")) }], VALUES)).toEqual([
    "the MQTT password in own",
  ]);
});
