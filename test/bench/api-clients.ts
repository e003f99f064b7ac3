// The clients of api-load.ts, in a process of their own: watches that stay open, and requests at a steady rate, over TLS.
// Reads its orders from a JSON file, prints `ready` when the watches are open, works until its standard input ends, and then
// prints what came of it as JSON.
//
// bun test/bench/api-clients.ts ORDERS.json

import { readFileSync } from "node:fs";
import { Agent, request, type RequestOptions } from "node:https";

export interface Orders {
  readonly host: string;
  readonly port: number;
  readonly ca: string;
  readonly cert: string;
  readonly key: string;
  readonly watchers: number;
  readonly perSecond: number;
  /** `namespace/name` of a pod that writes a log. */
  readonly pod: string;
}

export interface Served {
  /** Milliseconds from the moment at which each request was due until its last byte. */
  readonly latencies: readonly number[];
  /** Status → how many; 0 = the connection failed. */
  readonly codes: Readonly<Record<string, number>>;
  readonly bytes: number;
  /** Of the watches together. */
  readonly events: number;
  /** Watches that ended before they were told to. */
  readonly lostWatches: number;
}

const TABLE = "application/json;as=Table;v=v1;g=meta.k8s.io,application/json";
const WATCHED = [
  ["/api/v1/pods?watch=true", TABLE],
  ["/api/v1/pods?watch=true", "application/json"],
  ["/api/v1/events?watch=true", "application/json"],
  ["/api/v1/nodes?watch=true", "application/json"],
  ["/api/v1/configmaps?watch=true", "application/json"],
] as const;

const orders = JSON.parse(readFileSync(process.argv[2] ?? "", "utf8")) as Orders;
const [namespace = "", pod = ""] = orders.pod.split("/");
const OF_POD = `/api/v1/namespaces/${namespace}/pods/${pod}`;
const ASKED = [
  ["/api/v1/pods", TABLE],
  ["/api/v1/pods", "application/json"],
  [OF_POD, "application/json"],
  ["/api/v1/events", TABLE],
  [`${OF_POD}/log?tailLines=20`, "*/*"],
  ["/metrics", "*/*"],
  ["/api/v1/nodes", "application/json"],
  ["/healthz", "*/*"],
] as const;

const { host, port, ca, cert, key } = orders;
const tls = { host, port, ca, cert, key };
/** As kubectl's library does: connections are used again, and one request in fifty comes with a new one. */
const kept = new Agent({ keepAlive: true, maxSockets: 16, ...tls });
const NEW_EACH = 50;

const latencies: number[] = [];
const codes: Record<string, number> = {};
let bytes = 0;
let events = 0;
let lostWatches = 0;
let isOver = false;

function ask(options: RequestOptions): Promise<void> {
  const due = performance.now();
  return new Promise((resolve) => {
    const end = (code: number): void => {
      codes[code] = (codes[code] ?? 0) + 1;
      latencies.push(performance.now() - due);
      resolve();
    };
    const sent = request({ ...tls, ...options }, (answer) => {
      answer.on("data", (part: Buffer) => (bytes += part.length));
      answer.once("end", () => end(answer.statusCode ?? 0));
      answer.once("error", () => end(0));
    });
    sent.once("error", () => end(0));
    sent.end();
  });
}

function watch(path: string, accept: string): Promise<void> {
  return new Promise((resolve, reject) => {
    const sent = request({ ...tls, path, headers: { accept }, agent: false }, (answer) => {
      resolve();
      answer.on("data", (part: Buffer) => {
        for (const byte of part) if (byte === 10) events += 1;
      });
      answer.once("close", () => {
        if (!isOver) lostWatches += 1;
      });
    });
    sent.once("error", reject);
    sent.end();
  });
}

for (let count = 0; count < orders.watchers; count += 1) {
  const [path, accept] = WATCHED[count % WATCHED.length] ?? WATCHED[0];
  await watch(path, accept);
}
console.log("ready");

const begun = performance.now();
let sent = 0;
const running = new Set<Promise<void>>();
const timer = setInterval(() => {
  const wanted = Math.floor(((performance.now() - begun) / 1000) * orders.perSecond);
  for (; sent < wanted; sent += 1) {
    const [path, accept] = ASKED[sent % ASKED.length] ?? ASKED[0];
    const asked = ask({
      path,
      headers: { accept },
      agent: sent % NEW_EACH === 0 ? false : kept,
    });
    running.add(asked);
    void asked.finally(() => running.delete(asked));
  }
}, 5);

for await (const _ of Bun.stdin.stream());
clearInterval(timer);
isOver = true;
await Promise.race([Promise.all(running), Bun.sleep(5_000)]);
const served: Served = { latencies, codes, bytes, events, lostWatches };
console.log(JSON.stringify(served));
process.exit(0);
