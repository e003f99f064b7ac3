// Nearly valid requests over TLS for the compiled agent in a small memory cgroup, several on a connection, of users that it
// knows and that it does not: each is answered or cut off, and afterwards the agent is as it was.
// AGENT_MUTATED_REQUESTS=100000 makes the run longer; AGENT_MUTATED_SEED throws other dice.

import { expect } from "bun:test";
import { readdirSync, readFileSync } from "node:fs";
import { connect, type TLSSocket } from "node:tls";

import { Mulberry32 } from "../fakes/mulberry32.ts";
import { likelyRequest, mutatedRequest } from "../component/server/mutate-request.ts";
import type { AgentProcess } from "../harness/agent-process.ts";
import { eventually } from "../harness/eventually.ts";
import { freePort } from "../harness/free-port.ts";
import { BUSYBOX_1 } from "../harness/images.ts";
import { getPod } from "./support-a-agent.ts";
import { openStage } from "./support-b-stage.ts";
import { AttackWatch, confined, PEAK_MIB, release } from "./support-l-attacked.ts";

const stage = await openStage();
const { e2e } = stage;
const COUNT = Number(process.env["AGENT_MUTATED_REQUESTS"] ?? 2_000);
const SEED = Number(process.env["AGENT_MUTATED_SEED"] ?? 1);
const port = freePort();
/** Who sends in each lane. */
const LANES = [...Array.from({ length: 8 }, () => "admin"), "viewer", "viewer", "viewer", ""];
/** Handshakes are limited for each address; loopback has many. */
const ADDRESSES = 16;
/** Nothing more comes. */
const QUIET_MS = 40;
/** What has come to nothing is cut off by then. */
const CUT_OFF_MS = 20_000;
const REFUSED_MS = 100;

interface Credentials {
  readonly cert?: string;
  readonly key?: string;
}

interface Sent {
  requests: number;
  connections: number;
  /** Closed before or during the handshake. */
  refused: number;
  /** Neither answered nor cut off in time. */
  readonly hung: string[];
  /** Answers that say that the agent has failed. */
  readonly failures: string[];
  /** Status → how many; `none` = cut off. */
  readonly codes: Map<string, number>;
}

type Outcome = { readonly answer: string; readonly isReusable: boolean } | "Hung";

e2e(
  `${COUNT} mutated requests over TLS, seed ${SEED}`,
  async () => {
    const node = confined(
      stage.agent("mutated", { config: { listen: `127.0.0.1:${port}`, maxPods: 8 } }),
      stage.temp,
    );
    const { agent } = node;
    try {
      agent.writeManifest("web.yaml", pod("web"));
      await node.start();
      await eventually(
        "the pod runs",
        async () => (await getPod(agent, "web")).status.phase === "Running",
        { timeout: 60_000 },
      );
      const users: Readonly<Record<string, Credentials>> = {
        admin: await made(agent, "--user", "admin"),
        viewer: await made(agent, "--user", "viewer", "--read-only"),
        "": {},
      };
      const { pid } = agent;
      const watch = new AttackWatch("mutated", node);
      const before = { files: openFiles(pid), rss: rssOf(pid), started: await startedAt(agent) };
      const sent: Sent = {
        requests: 0,
        connections: 0,
        refused: 0,
        hung: [],
        failures: [],
        codes: new Map(),
      };
      const begun = performance.now();
      const progress = setInterval(() => console.log(words(sent)), 30_000);
      await Promise.all(
        LANES.map((user, at) => lane(users[user] ?? {}, new Mulberry32(SEED * 1_000 + at), sent)),
      );
      clearInterval(progress);
      const seconds = ((performance.now() - begun) / 1000).toFixed(0);
      console.log(`${words(sent)} in ${seconds} s`);
      expect([sent.failures, sent.hung]).toEqual([[], []]);
      expect(agent.pid).toBe(pid);
      expect(agent.running).toBe(true);
      await eventually("its files are closed", () => openFiles(pid) <= before.files + 2, {
        timeout: 30_000,
        explain: () => `${openFiles(pid)} are open, ${before.files} were`,
      });
      const seen = await watch.end();
      console.log(`RSS before ${before.rss} MiB, after ${rssOf(pid)} MiB`);
      expect(seen.unanswered).toEqual([]);
      expect(seen.peakMiB).toBeLessThan(PEAK_MIB);
      // What ran runs on, and what is new starts, once what the requests created leaves its place.
      expect(await startedAt(agent)).toBe(before.started);
      for (const name of readdirSync(agent.paths.manifests).filter((one) => one.startsWith("api.")))
        agent.removeManifest(name);
      agent.writeManifest("after.yaml", pod("after"));
      await eventually(
        "a new pod runs",
        async () => (await getPod(agent, "after")).status.phase === "Running",
        { timeout: 60_000 },
      );
    } finally {
      await release(node);
    }
  },
  120_000 + COUNT * 60,
);

async function lane(as: Credentials, dice: Mulberry32, sent: Sent): Promise<void> {
  while (sent.requests < COUNT) {
    const client = await open(as, `127.0.0.${2 + dice.below(ADDRESSES)}`);
    if (client === undefined) {
      sent.refused += 1;
      await Bun.sleep(REFUSED_MS);
      continue;
    }
    sent.connections += 1;
    for (let isReusable = true; isReusable && sent.requests < COUNT;) {
      sent.requests += 1;
      const request = harmless(dice);
      const outcome = await exchange(client, request);
      isReusable = outcome !== "Hung" && outcome.isReusable;
      note(sent, request, outcome);
    }
    client.destroy();
  }
}

/** No request asks for an image of the world outside. */
function harmless(dice: Mulberry32): Buffer {
  for (;;) {
    const request = dice.chance(0.6) ? likelyRequest(dice) : mutatedRequest(dice);
    if (!request.includes("/images/pull")) return request;
  }
}

function note(sent: Sent, request: Buffer, outcome: Outcome): void {
  const shown = JSON.stringify(request.toString("latin1").slice(0, 500));
  if (outcome === "Hung") return void sent.hung.push(shown);
  const code = /^HTTP\/1\.1 (\d+)/.exec(outcome.answer)?.[1] ?? "none";
  sent.codes.set(code, (sent.codes.get(code) ?? 0) + 1);
  const isOdd = outcome.answer !== "" && !/^[1-4]\d\d$/.test(code);
  if (isOdd) sent.failures.push(`${shown}: ${outcome.answer.slice(0, 500)}`);
}

function open(as: Credentials, localAddress: string): Promise<TLSSocket | undefined> {
  return new Promise((resolve) => {
    const options = { host: "127.0.0.1", port, localAddress, rejectUnauthorized: false, ...as };
    const client = connect(options, () => resolve(client));
    client.on("error", () => resolve(undefined));
    client.once("close", () => resolve(undefined));
  });
}

/** An answer that is complete leaves the connection for the next request; after any other one it is given up. */
function exchange(client: TLSSocket, request: Buffer): Promise<Outcome> {
  return new Promise((resolve) => {
    let answer = "";
    const end = (outcome: Outcome): void => {
      clearTimeout(timer);
      client.off("data", read);
      client.off("close", closed);
      client.off("end", closed);
      resolve(outcome);
    };
    const closed = (): void => end({ answer, isReusable: false });
    const isLate = (): void => end("Hung");
    const isQuiet = (): void => {
      // A watch, the answer to HEAD, or several answers.
      if (answer !== "") return closed();
      // It may wait for the rest of the request.
      client.end();
      timer = setTimeout(isLate, CUT_OFF_MS);
    };
    let timer = setTimeout(isQuiet, QUIET_MS);
    const read = (part: Buffer): void => {
      answer += part.toString("latin1");
      if (isWhole(answer)) return end({ answer, isReusable: !client.writableEnded });
      clearTimeout(timer);
      timer = setTimeout(isQuiet, QUIET_MS);
    };
    client.on("data", read);
    client.once("close", closed);
    client.once("end", closed);
    client.write(request);
  });
}

/** One answer to the last byte, after which the connection stays open. */
function isWhole(answer: string): boolean {
  const at = answer.indexOf("\r\n\r\n");
  if (at < 0) return false;
  const head = answer.slice(0, at).toLowerCase();
  const length = /\r\ncontent-length: (\d+)/.exec(head)?.[1];
  const isOpen = !/\r\nconnection: close/.test(head) && /^http\/1\.1 [2-5]/.test(head);
  return isOpen && length !== undefined && answer.length - at - 4 === Number(length);
}

async function made(agent: AgentProcess, ...args: readonly string[]): Promise<Credentials> {
  const { code, stdout, stderr } = await agent.cli("kubeconfig", ...args);
  if (code !== 0) throw new Error(stderr);
  const part = (name: string): string => {
    const data = new RegExp(`${name}: (\\S+)`).exec(stdout)?.[1] ?? "";
    return Buffer.from(data, "base64").toString();
  };
  return { cert: part("client-certificate-data"), key: part("client-key-data") };
}

function pod(name: string): object {
  const container = { name: "main", image: BUSYBOX_1.name, command: ["sleep", "1000000"] };
  const spec = { hostNetwork: true, terminationGracePeriodSeconds: 0, containers: [container] };
  return { apiVersion: "v1", kind: "Pod", metadata: { name }, spec };
}

async function startedAt(agent: AgentProcess): Promise<string> {
  const { status } = await getPod(agent, "web");
  const [container] = status.containerStatuses ?? [];
  return `${container?.restartCount} ${JSON.stringify(container?.state.running)}`;
}

function openFiles(pid: number | undefined): number {
  return readdirSync(`/proc/${pid}/fd`).length;
}

function rssOf(pid: number | undefined): number {
  const status = readFileSync(`/proc/${pid}/status`, "utf8");
  return Math.round(Number(/^VmRSS:\s+(\d+)/m.exec(status)?.[1] ?? 0) / 1024);
}

function words({ requests, connections, refused, codes }: Sent): string {
  const counts = JSON.stringify(
    Object.fromEntries([...codes].toSorted(([a], [b]) => (a < b ? -1 : 1))),
  );
  return `${requests} requests on ${connections} connections, ${refused} refused: ${counts}`;
}
