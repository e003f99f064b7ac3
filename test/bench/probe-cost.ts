// What probes cost: 200 of one kind, each once a second, against a server in another process.
// bun test/bench/probe-cost.ts [http|tcp|grpc|none]... [--seconds 30] [--probes 200]

import { parseArgs } from "node:util";

import type { ProbeHandler } from "../../src/api/v1/probe.ts";
import { realProbeEdge } from "../../src/host/probe/real-probe-edge.ts";
import { createLogger } from "../../src/lib/logger.ts";
import { systemClock, systemRandom } from "../../src/lib/system-clock.ts";
import { ProbeManager } from "../../src/prober/probe-manager.ts";
import { aContainer, anInstance, anObservedPod, aPod, aSandbox } from "../fakes/a-pod.ts";

type Ports = Readonly<Record<"http" | "tcp" | "grpc", number>>;

const { values, positionals } = parseArgs({
  allowPositionals: true,
  options: {
    seconds: { type: "string", default: "30" },
    probes: { type: "string", default: "200" },
  },
});
const seconds = Number(values.seconds);
const probes = Number(values.probes);
const kinds = positionals.length > 0 ? positionals : ["http", "tcp", "grpc"];

const bun = process.env["BENCH_BUN"] ?? process.execPath;
const server = Bun.spawn(
  [bun, process.env["BENCH_SERVER"] ?? new URL("probe-server.ts", import.meta.url).pathname],
  {
    stdout: "pipe",
    stderr: "inherit",
  },
);
const ports = JSON.parse(await firstLine(server.stdout)) as Ports;
console.log(`${probes} probes at 1 s, ${seconds} s each`);
for (const kind of kinds) await measure(kind);
server.kill();

async function measure(kind: string): Promise<void> {
  const clock = systemClock();
  const log = createLogger({ clock, level: "info", write: () => undefined });
  const events: string[] = [];
  const manager = new ProbeManager({
    clock,
    random: systemRandom,
    log,
    edge: realProbeEdge(clock),
    exec: () => Promise.reject(new Error("no exec here")),
    isStatic: () => true,
    hostIP: () => undefined,
    onChange: () => undefined,
    record: ({ message }) => events.push(message),
  });
  const sandbox = aSandbox({ ips: ["127.0.0.1"] });
  for (let index = 0; index < probes && kind !== "none"; index += 1) {
    const uid = `uid-${index}`;
    const pod = aPod(
      { containers: [aContainer("a", { readinessProbe: aProbe(handlerOf(kind)) })] },
      { uid, name: `web-${index}` },
    );
    const observed = anObservedPod([sandbox], [anInstance("a", { id: `a-${index}` })], { uid });
    manager.update(pod, observed, { terminating: false });
  }
  await clock.sleep(3000);
  const before = process.cpuUsage();
  const from = clock.monotonic();
  await clock.sleep(seconds * 1000);
  const used = process.cpuUsage(before);
  const elapsed = clock.monotonic() - from;
  const ready = Array.from({ length: probes }, (_, index) =>
    Object.values(manager.verdicts(`uid-${index}`)),
  ).filter(([verdict]) => verdict?.readiness === "Success").length;
  manager[Symbol.dispose]();
  const share = ((used.user + used.system) / 1000 / elapsed) * 100;
  const rss = Math.round(process.memoryUsage.rss() / 1e6);
  console.log(
    `${kind.padEnd(5)} ${share.toFixed(2)} % of a core (user ${(used.user / 10 / elapsed).toFixed(2)}, system ${(used.system / 10 / elapsed).toFixed(2)}), ${Math.round((share * elapsed * 10) / ((probes * elapsed) / 1000))} us a probe, ready ${ready}, rss ${rss} MB, events ${events.length} ${events[0] ?? ""}`,
  );
}

function aProbe(handler: ProbeHandler) {
  return {
    handler,
    initialDelaySeconds: 0,
    periodSeconds: 1,
    timeoutSeconds: 1,
    successThreshold: 1,
    failureThreshold: 3,
  };
}

function handlerOf(kind: string): ProbeHandler {
  switch (kind) {
    case "http":
      return {
        type: "httpGet",
        path: "/healthz",
        port: ports.http,
        scheme: "HTTP",
        httpHeaders: [],
      };
    case "tcp":
      return { type: "tcpSocket", port: ports.tcp };
    case "grpc":
      return { type: "grpc", port: ports.grpc, service: "" };
  }
  throw new Error(`no kind of probe: ${kind}`);
}

async function firstLine(stream: ReadableStream<Uint8Array>): Promise<string> {
  let text = "";
  const decoder = new TextDecoder();
  for await (const chunk of stream) {
    text += decoder.decode(chunk, { stream: true });
    if (text.includes("\n")) break;
  }
  return text;
}
