// When a node answers a document, and what it costs when a pod never comes to rest: the whole agent on virtual time.

import { expect, test } from "bun:test";
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import type { Ack, ReportedState } from "../../src/protocol/reported-state.ts";
import { aDocument, aPodNamed, UpstreamBench, type BenchOptions } from "./upstream-bench.ts";

const MINUTE_MS = 60_000;
const DESIRED = "agent/v1/node/pi-1/desired";
const REPORTED = "agent/v1/node/pi-1/reported";
/** What the calls take on a small device. */
const LATENCY = { runPodSandbox: 90, createContainer: 10, startContainer: 50 };
const START_MS = 150;
const STOP_MS = 100;
/** Changes within this time are one report. */
const JOIN_MS = 200;

interface Answer extends Ack {
  readonly at: number;
}

/** A node that is connected, and has had time to earn its whole credit. */
async function quietNode(options: BenchOptions = {}): Promise<UpstreamBench> {
  const latencyMs = { ...LATENCY, stopPodSandbox: STOP_MS };
  const bench = new UpstreamBench({ latencyMs, ...options });
  bench.start();
  await bench.clock.advance(5 * MINUTE_MS);
  expect(bench.report()?.desired).toMatchObject([{ source: "static", code: 200 }]);
  return bench;
}

/** Publishes the next document and waits; the answers to it, in the order of their arrival at the broker. */
async function answersTo(
  bench: UpstreamBench,
  document: { readonly generation: number; readonly minReadySeconds: number },
): Promise<{ readonly publishedAt: number; readonly answers: readonly Answer[] }> {
  const { generation, minReadySeconds } = document;
  const env = [{ name: "GENERATION", value: String(generation) }];
  const [main] = (aPodNamed("web") as { spec: { containers: object[] } }).spec.containers;
  const resources = [aPodNamed("web", { containers: [{ ...main, env }] })];
  const publishedAt = bench.clock.monotonic();
  const policy = { minReadySeconds };
  bench.broker.publish(DESIRED, aDocument(generation, { resources, policy }));
  await bench.clock.advance(minReadySeconds * 1000 + 1000);
  const answers = reports(bench).flatMap(({ at, desired }) =>
    desired.filter((ack) => ack.generation === generation).map((ack) => ({ ...ack, at })),
  );
  return { publishedAt, answers };
}

function reports(bench: UpstreamBench): readonly (ReportedState & { readonly at: number })[] {
  return bench.broker.publications
    .filter(({ topic }) => topic === REPORTED)
    .map(({ at, payload }) => {
      const report = JSON.parse(new TextDecoder().decode(payload)) as ReportedState;
      return { ...report, at };
    });
}

/** When the first answer with this code was at the broker, in ms since `from`. */
function answeredAfter(answers: readonly Answer[], code: number, from: number): number | undefined {
  const at = answers.find((answer) => answer.code === code)?.at;
  return at === undefined ? undefined : at - from;
}

test("a document is answered 202 when it arrives and 200 when its pod has been ready long enough", async () => {
  using bench = await quietNode();
  const { publishedAt, answers } = await answersTo(bench, { generation: 1, minReadySeconds: 10 });
  expect(answeredAfter(answers, 202, publishedAt)).toBeLessThanOrEqual(JOIN_MS);
  const readyAt = publishedAt + START_MS;
  expect(answeredAfter(answers, 200, readyAt)).toBeGreaterThanOrEqual(10_000);
  expect(answeredAfter(answers, 200, readyAt)).toBeLessThanOrEqual(10_000 + JOIN_MS);
  await bench.stop();
});

test("what leaves the report as it was costs no credit: it lasts for two documents and the begin of a third", async () => {
  using bench = await quietNode();
  const before = reports(bench).length;
  for (const generation of [1, 2]) {
    const { publishedAt, answers } = await answersTo(bench, { generation, minReadySeconds: 1 });
    expect(answeredAfter(answers, 202, publishedAt)).toBeLessThanOrEqual(JOIN_MS);
    const readyAt = publishedAt + START_MS + (generation === 1 ? 0 : STOP_MS);
    expect(answeredAfter(answers, 200, readyAt)).toBeLessThanOrEqual(1000 + JOIN_MS);
  }
  // Each converged document is also written down, which changes nothing that is reported.
  expect(reports(bench).length - before).toBe(5);
  const { publishedAt, answers } = await answersTo(bench, { generation: 3, minReadySeconds: 1 });
  expect(answeredAfter(answers, 202, publishedAt)).toBeLessThanOrEqual(JOIN_MS);
  await bench.stop();
});

/** A pod whose readiness changes every two seconds. */
function flappingPod(bench: UpstreamBench): object {
  const httpGet = { port: 80 };
  const readinessProbe = { httpGet, periodSeconds: 1, successThreshold: 1, failureThreshold: 1 };
  const [main] = (aPodNamed("web") as { spec: { containers: object[] } }).spec.containers;
  bench.probes.otherwise(({ at }) => ({ type: at % 4000 < 2000 ? "Up" : "Refused" }));
  return aPodNamed("restless", { containers: [{ ...main, readinessProbe }] });
}

test("a pod that flaps for an hour costs at most 370 reports", async () => {
  using bench = await quietNode();
  const before = reports(bench).length;
  // Each time it becomes ready or unready its document has another code.
  const document = { resources: [flappingPod(bench)], policy: { minReadySeconds: 1 } };
  bench.broker.publish(DESIRED, aDocument(1, document));
  await bench.clock.advance(60 * MINUTE_MS);
  const cost = reports(bench).length - before;
  expect(cost).toBeLessThanOrEqual(370);
  expect(cost).toBeGreaterThan(340);
  const codes = reports(bench).flatMap(({ desired }) => desired.map(({ code }) => code));
  expect(codes).toContain(424);
  await bench.stop();
}, 120_000);

test("two documents are answered at once while another pod has taken the whole credit", async () => {
  using bench = await quietNode();
  writeFileSync(
    join(bench.config.staticPodPath, "restless.yaml"),
    JSON.stringify(flappingPod(bench)),
  );
  await bench.clock.advance(5 * MINUTE_MS);
  for (const generation of [1, 2]) {
    const { publishedAt, answers } = await answersTo(bench, { generation, minReadySeconds: 1 });
    expect(answeredAfter(answers, 202, publishedAt)).toBeLessThanOrEqual(JOIN_MS);
    const readyAt = publishedAt + START_MS + (generation === 1 ? 0 : STOP_MS);
    expect(answeredAfter(answers, 200, readyAt)).toBeLessThanOrEqual(1000 + JOIN_MS);
  }
  await bench.stop();
});
