// What a pod leaves that was deleted while no agent ran and of which the runtime has nothing: when it goes.

import { describe, expect, test } from "bun:test";
import { existsSync, mkdirSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { aDocument, aPodNamed, UpstreamBench } from "./upstream-bench.ts";

const UID = "b2b9fb4b-e819-4776-a737-c128239deffa";
const HOUR = 3_600_000;

/** The pod's volume and its logs, as paths. */
function remainsOf(bench: UpstreamBench): readonly string[] {
  const volume = join(bench.config.stateDir, "pods", UID, "volumes/kubernetes.io~empty-dir/data");
  const logs = join(bench.config.podLogsDir, `default_web_${UID}`);
  mkdirSync(volume, { recursive: true });
  mkdirSync(join(logs, "main"), { recursive: true });
  writeFileSync(join(logs, "main/0.log"), "line\n");
  return [volume, logs];
}

function areThere(paths: readonly string[]): readonly boolean[] {
  return paths.map((path) => existsSync(path));
}

describe("volumes and logs that no pod owns", () => {
  test("go, and those of pods beside them stay", async () => {
    using bench = new UpstreamBench();
    const remains = remainsOf(bench);
    writeFileSync(join(bench.root, "manifests/web.json"), JSON.stringify(aPodNamed("web")));
    bench.start();
    await bench.clock.advance(HOUR);
    expect(areThere(remains)).toEqual([false, false]);
    const [{ pod } = { pod: undefined }] = bench.facts.pods();
    const uid = pod?.metadata.uid ?? "";
    const own = [
      join(bench.config.stateDir, "pods", uid),
      join(bench.config.podLogsDir, `default_web_${uid}`, "main"),
    ];
    expect(areThere(own)).toEqual([true, true]);
    await bench.stop();
  });

  test("stay while the runtime does not answer: the pod may run", async () => {
    using bench = new UpstreamBench();
    const remains = remainsOf(bench);
    bench.runtime.stop();
    bench.start();
    await bench.clock.advance(HOUR);
    expect(areThere(remains)).toEqual([true, true]);
    bench.runtime.start();
    await bench.clock.advance(HOUR);
    expect(areThere(remains)).toEqual([false, false]);
    await bench.stop();
  });

  test("stay after the loss of the database until each source has sent a document: any of them may be theirs", async () => {
    using bench = new UpstreamBench();
    Object.assign(bench.edges.store, { knowsAllPods: false });
    const remains = remainsOf(bench);
    bench.start();
    await bench.clock.advance(HOUR);
    expect(areThere(remains)).toEqual([true, true]);
    bench.broker.publish(
      "agent/v1/node/pi-1/desired",
      aDocument(1, { resources: [aPodNamed("a")] }),
    );
    await bench.clock.advance(HOUR);
    expect(areThere(remains)).toEqual([false, false]);
    await bench.stop();
  });

  test("stay while a source has not said what it wants", async () => {
    using bench = new UpstreamBench();
    const remains = remainsOf(bench);
    const manifests = join(bench.root, "manifests");
    rmSync(manifests, { recursive: true });
    bench.start();
    await bench.clock.advance(HOUR);
    expect(areThere(remains)).toEqual([true, true]);
    mkdirSync(manifests);
    await bench.clock.advance(HOUR);
    expect(areThere(remains)).toEqual([false, false]);
    await bench.stop();
  });
});
