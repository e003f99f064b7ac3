// Random manifests, documents, commands, packets and probe answers for the compiled agent in a small memory cgroup: it
// neither ends nor stalls, and afterwards it does what a valid document asks for.
// FUZZ_INPUTS=1000000 makes the run longer; FUZZ_SEED throws the same dice again, though connections may take them in
// another order.

import { expect } from "bun:test";

import { Mulberry32 } from "../fakes/mulberry32.ts";
import { Broker } from "../harness/broker.ts";
import { eventually } from "../harness/eventually.ts";
import { BUSYBOX_1 } from "../harness/images.ts";
import { getNode } from "./support-a-agent.ts";
import { openStage } from "./support-b-stage.ts";
import { desired, publishDesired, Upstream } from "./support-b-upstream.ts";
import { AttackWatch, confined, PEAK_MIB, release, type Confined } from "./support-l-attacked.ts";
import {
  FuzzAnswers,
  FuzzBroker,
  manifest,
  type Counts,
  type FuzzOptions,
} from "./support-l-fuzz.ts";

const stage = await openStage();
const { e2e } = stage;
const INPUTS = Number(process.env["FUZZ_INPUTS"] ?? 5_000);
const SEED = Number(process.env["FUZZ_SEED"] ?? Math.floor(Math.random() * 2 ** 31));
/** Of manifests; each is read whole again when one of its documents changes. */
const FILES = 20;
const DOCUMENTS = 25;
/** Pods with probes; nothing else fits, so that random pods cost the runtime nothing. */
const PROBED = 3;

const SHARES: Counts = {
  manifests: 0.9,
  packets: 0.03,
  documents: 0.04,
  commands: 0.02,
  answers: 0.01,
};

function countsOf(count: (share: number) => number): Counts {
  const { manifests, packets, documents, commands, answers } = SHARES;
  return {
    manifests: count(manifests),
    packets: count(packets),
    documents: count(documents),
    commands: count(commands),
    answers: count(answers),
  };
}

e2e(
  `${INPUTS} random inputs, seed ${SEED}`,
  async () => {
    console.log(`fuzz: FUZZ_SEED=${SEED} FUZZ_INPUTS=${INPUTS}`);
    const counts = countsOf(() => 0);
    const most = countsOf((share) => Math.ceil(share * INPUTS));
    const options = { dice: new Mulberry32(SEED), counts, most };
    const broker = await FuzzBroker.start("fuzzed", options);
    const url = `mqtt://127.0.0.1:${broker.port}`;
    const config = { maxPods: PROBED + 1, mqtt: { url, reconnectMax: "1s" } };
    const node = confined(stage.agent("fuzzed", { config }), stage.temp);
    try {
      await node.start();
      const { pid } = node.agent;
      const watch = new AttackWatch("fuzz", node);
      using _progress = new Progress(counts);
      const { addresses = [] } = (await getNode(node.agent)).status;
      const host = addresses.find(({ type }) => type === "InternalIP")?.address ?? "127.0.0.1";
      using answers = await FuzzAnswers.listen(host, options);
      for (let n = 0; n < PROBED; n += 1)
        node.agent.writeManifest(`0-probed-${n}.yaml`, probed(`probed-${n}`, answers.port));
      await write(node, options);
      console.log(`fuzz: manifests are written: ${JSON.stringify(counts)}`);
      await eventually(
        "everything was sent",
        () => counts.packets >= most.packets && counts.documents >= most.documents,
        { timeout: 3_600_000, interval: 500, explain: () => JSON.stringify(counts) },
      );
      console.log(`fuzz: ${JSON.stringify(counts)}`);
      await broker.close();
      await does(node, broker.port);
      const seen = await watch.end();
      expect(node.agent.pid).toBe(pid);
      expect(node.agent.running).toBe(true);
      expect(seen.unanswered).toEqual([]);
      expect(seen.peakMiB).toBeLessThan(PEAK_MIB);
    } finally {
      broker[Symbol.dispose]();
      await release(node);
    }
  },
  4_000_000,
);

const PROGRESS_MS = 20_000;

/** Prints what was sent so far, until it is disposed of. */
class Progress implements Disposable {
  readonly #timer: Timer;

  constructor(counts: Counts) {
    this.#timer = setInterval(() => console.log(`fuzz: ${JSON.stringify(counts)}`), PROGRESS_MS);
  }

  [Symbol.dispose](): void {
    clearInterval(this.#timer);
  }
}

/** Random manifests, a directory full of them at a time, each read before the next is written. */
async function write({ agent }: Confined, { dice, counts, most }: FuzzOptions): Promise<void> {
  for (let round = 0; counts.manifests < most.manifests; round += 1) {
    for (let file = 0; file < FILES && counts.manifests < most.manifests; file += 1) {
      const documents = Array.from({ length: DOCUMENTS }, () => manifest(dice));
      counts.manifests += DOCUMENTS;
      agent.writeManifest(`fuzz-${file}.yaml`, documents.join("\n---\n"));
    }
    const mark = `mark-${round}`;
    const data = { round: String(round) };
    agent.writeManifest("mark.yaml", {
      apiVersion: "v1",
      kind: "ConfigMap",
      metadata: { name: mark },
      data,
    });
    await eventually(
      `the agent has read ${mark}`,
      async () => (await agent.cli("get", "configmap", mark)).code === 0,
      { timeout: 120_000, interval: 200, explain: () => agent.logTail(12) },
    );
  }
  for (let file = 0; file < FILES; file += 1) agent.removeManifest(`fuzz-${file}.yaml`);
}

/** A broker in the place of the hostile one, and a valid document. */
async function does({ agent }: Confined, port: number): Promise<void> {
  const broker = new Broker(stage.temp, { name: "sane-broker", port });
  await broker.start();
  const upstream = await Upstream.follow(await broker.client(), agent.nodeName);
  const well = {
    apiVersion: "v1",
    kind: "Pod",
    metadata: { name: "well" },
    spec: { containers: [{ name: "a", image: BUSYBOX_1.name, command: ["sleep", "1000000"] }] },
  };
  const generation = 10_000_000;
  await publishDesired(
    broker,
    agent.nodeName,
    desired(agent.nodeName, { generation, resources: [well] }),
  );
  await upstream
    .ack(
      "a valid document is obeyed",
      (ack) => ack.generation === generation && ack.code === 200,
      120_000,
    )
    .catch(async (thrown: unknown) => {
      const { stdout } = await agent.cli("get", "pods", "-A");
      const { stdout: why } = await agent.cli("explain", "pod/well");
      throw new Error(`${String(thrown)}\n${stdout}${why}`);
    });
}

function probed(name: string, port: number): object {
  const often = { periodSeconds: 1, failureThreshold: 1_000_000 };
  const http = { ...often, httpGet: { host: "127.0.0.1", port } };
  const grpc = { ...often, grpc: { port } };
  const containers = ["a", "b", "c", "d"].map((one) => ({
    name: one,
    image: BUSYBOX_1.name,
    command: ["sleep", "1000000"],
    readinessProbe: one < "c" ? http : grpc,
    livenessProbe: one < "c" ? grpc : http,
  }));
  return {
    apiVersion: "v1",
    kind: "Pod",
    metadata: { name },
    spec: { hostNetwork: true, terminationGracePeriodSeconds: 0, containers },
  };
}
