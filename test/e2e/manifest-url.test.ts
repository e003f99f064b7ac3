// Pods from an HTTPS server: taken in, edited, kept while the server is away or wrong, and removed by its own word.

import { afterAll, beforeAll, expect } from "bun:test";
import { readFileSync } from "node:fs";

import { stringify } from "yaml";

import { agentBinary, type AgentProcess } from "../harness/agent-process.ts";
import { CertificateAuthority } from "../harness/certificates.ts";
import { eventually } from "../harness/eventually.ts";
import { output } from "../harness/run-command.ts";
import { getNode, getPod, getPods, getRejected } from "./support-a-agent.ts";
import { Stage } from "./support-a-stage.ts";

const stage = await Stage.open();
const e2e = stage.test;
let agent: AgentProcess;
let server: ReturnType<typeof Bun.serve>;
let config: Readonly<Record<string, unknown>>;

/** What the server answers; undefined = it is away. */
let manifests: readonly object[] = [];
let status = 200;
/** What the agent calls itself. */
const userAgents = new Set<string | null>();
const asked: { readonly etag: string | null; readonly authorization: string | null }[] = [];

function answer({ headers }: Request): Response {
  const etag = `"${Bun.hash(JSON.stringify(manifests))}"`;
  userAgents.add(headers.get("user-agent"));
  asked.push({ etag: headers.get("if-none-match"), authorization: headers.get("authorization") });
  if (status !== 200) return new Response("no", { status });
  if (headers.get("if-none-match") === etag) return new Response(null, { status: 304 });
  const body = manifests.map((one) => stringify(one)).join("---\n");
  return new Response(body, { headers: { etag } });
}

function listen(ca: CertificateAuthority, port = 0): ReturnType<typeof Bun.serve> {
  const { cert, key } = ca.issue("manifests", "server", { altName: "IP:127.0.0.1" });
  const tls = { cert: readFileSync(cert, "utf8"), key: readFileSync(key, "utf8") };
  return Bun.serve({ port, hostname: "127.0.0.1", tls, fetch: answer });
}

let ca: CertificateAuthority;

beforeAll(async () => {
  if (!stage.available) return;
  ca = new CertificateAuthority(stage.temp.path);
  server = listen(ca);
  config = {
    staticPodURL: `https://127.0.0.1:${server.port}/pods.yaml?site=hushed`,
    staticPodURLHeader: { Authorization: ["Bearer top-hushed"] },
    staticPodURLCAFile: ca.cert,
    httpCheckFrequency: "1s",
  };
  agent = stage.agent({ config });
  manifests = [stage.manifest({ name: "web" }), stage.manifest({ name: "db" })];
  await agent.startReady();
}, 180_000);

afterAll(async () => {
  await server?.stop(true);
  stage.close();
}, 180_000);

const names = async (): Promise<readonly string[]> =>
  (await getPods(agent)).map(({ metadata }) => metadata.name).toSorted();
const codes = async (): Promise<readonly string[]> =>
  (await getRejected(agent)).map(({ code }) => code);

e2e("pods of a URL run, and are asked for with what the configuration says", async () => {
  await stage.journalIs("web", ["start a"]);
  await stage.journalIs("db", ["start a"]);
  const { metadata } = await getPod(agent, "web");
  expect(metadata.annotations?.["kubernetes.io/config.source"]).toBe("http");
  expect(metadata.annotations?.["agent/source-ref"]).toBe(
    `https://127.0.0.1:${server.port}/pods.yaml#0`,
  );
  await eventually("the server is asked for changes only", () => asked.at(-1)?.etag !== null);
  expect(asked.at(-1)?.authorization).toBe("Bearer top-hushed");
  const version = (await output([agentBinary(), "version"])).trim().replace("agent ", "");
  const platform = process.arch === "arm64" ? "arm64" : "amd64";
  expect([...userAgents]).toEqual([`agent/${version} (linux/${platform})`]);
  const { status: shown } = await getNode(agent);
  expect(shown.nodeInfo?.["kubeletVersion"]).toBe(version);
  expect(await codes()).toEqual([]);
});

e2e("an edit replaces its pod and no other", async () => {
  manifests = [stage.manifest({ name: "web", tag: "b" }), stage.manifest({ name: "db" })];
  await stage.journalIs("web", ["start a", "stop a", "start b"]);
  expect(stage.journal("db")).toEqual(["start a"]);
});

e2e("a server that fails, answers nonsense, or is away stops nothing", async () => {
  const mark = stage.mark();
  status = 404;
  await eventually("the failure is shown", async () => (await codes()).includes("URLFailed"));
  status = 200;
  manifests = [
    stage.manifest({ name: "db" }),
    { apiVersion: "v1", kind: "Pod", metadata: { name: "web" }, spec: { containers: 3 } },
  ];
  await eventually("the mistake is shown", async () => {
    const rejected = await getRejected(agent);
    return rejected.some(({ source, name }) => source === "http" && name === "web");
  });
  expect(await names()).toContain("web");

  const { port } = server;
  await server.stop(true);
  await agent.restart("SIGKILL");
  expect(await names()).toEqual(["db", "web"]);
  await stage.countsStay(mark, { starts: 0, exits: 0 }, 2000);

  manifests = [stage.manifest({ name: "web", tag: "b" }), stage.manifest({ name: "db" })];
  server = listen(ca, port);
  await eventually("the server is asked again", async () => (await codes()).length === 0);
  await stage.countsStay(mark, { starts: 0, exits: 0 }, 500);
});

e2e("a file of the same name comes first, and gives it back when it goes", async () => {
  agent.writeManifest("web.yaml", stage.manifest({ name: "web", tag: "file" }));
  await stage.journalIs("web", ["start a", "stop a", "start b", "stop b", "start file"]);
  expect(await codes()).toEqual(["Shadowed"]);
  agent.removeManifest("web.yaml");
  await eventually(
    "the pod of the URL runs again",
    () => stage.journal("web").at(-1) === "start b",
  );
});

e2e("a pod that is no longer named stops, also by an empty list", async () => {
  manifests = [stage.manifest({ name: "web", tag: "b" })];
  await eventually("db is gone", async () => (await names()).join() === "web");
  manifests = [{ apiVersion: "v1", kind: "PodList", items: [] }];
  await eventually("web is gone", async () => (await names()).length === 0);
  expect(agent.logTail(10_000)).not.toContain("hushed");
});
