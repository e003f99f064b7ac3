// Shows the agent at work on real parts: two pods from files, a third over MQTT, its update, an update that goes wrong
// and is taken back, and what the broker learns of all that.
// Every line is printed when its report arrives, or the pods have changed.
// Ctrl-C ends it; with --once it ends by itself when everything was seen running (exit 1 when it was not).

import { cpSync, existsSync } from "node:fs";
import { join, resolve } from "node:path";

import { messageOf } from "../../src/lib/errors.ts";
import { AgentProcess, agentBinary } from "./agent-process.ts";
import { startBroker } from "./broker.ts";
import { DEMO_STEPS, FROM_MQTT, NODE } from "./demo-documents.ts";
import { describeReported } from "./demo-report.ts";
import { listPods, podsKey, runningPods } from "./demo-pods.ts";
import { BUSYBOX_1, importImages } from "./images.ts";
import { isUnavailable, startPrivateContainerd } from "./private-containerd.ts";
import { makeTempDirectory } from "./temp-directory.ts";

const MANIFESTS = resolve(import.meta.dir, "../../manifests");
const FROM_FILES = ["hello", "two-containers"] as const;
/** Bound of --once, in ms. */
const PATIENCE = 180_000;
const LOOK_MS = 50;

const once = process.argv.includes("--once");
const start = performance.now();
const temp = makeTempDirectory();

function say(text: string): void {
  const seconds = ((performance.now() - start) / 1000).toFixed(1);
  console.log(`[${seconds.padStart(5)} s] ${text}`);
}

function fail(text: string): never {
  console.error(text);
  process.exit(1);
}

async function main(): Promise<void> {
  if (!existsSync(agentBinary())) fail(`${agentBinary()} is missing; run ./build.sh first`);
  console.log(`Everything of this demo lies in ${temp.path} and goes away with it.\n`);
  const containerd = await startPrivateContainerd(temp);
  if (isUnavailable(containerd)) fail(`containerd cannot run here: ${containerd.unavailable}`);
  say(`a private containerd ${containerd.version} runs`);
  await importImages(containerd, temp.directory("images"), [BUSYBOX_1]);
  say(`image ${BUSYBOX_1.name} made from busybox and imported`);
  const broker = await startBroker(temp);
  say(`a private broker listens on ${broker.url}`);

  const agent = new AgentProcess(temp, {
    endpoint: containerd.endpoint,
    cgroupRoot: containerd.cgroupRoot,
    mqttUrl: broker.url,
    // A machine that has just booted would else spread its first connect over half a minute.
    mqtt: { reconnectMax: "1s" },
    nodeName: NODE,
  });
  const client = await broker.client();
  const topics = {
    desired: `agent/v1/node/${NODE}/desired`,
    reported: `agent/v1/node/${NODE}/reported`,
  };
  const reports = await client.collect(topics.reported);
  for (const name of FROM_FILES)
    cpSync(join(MANIFESTS, `${name}.yaml`), join(agent.paths.manifests, `${name}.yaml`));
  await agent.startReady().catch((thrown: unknown) => fail(messageOf(thrown)));
  say(`agent run --config ${agent.paths.config}`);
  say(`manifests: ${FROM_FILES.map((name) => `${name}.yaml`).join(", ")}\n`);

  let published = 0;
  let done = 0;
  let shown = { pods: "", reported: "", reports: 0 };
  let reported: unknown;
  for (;;) {
    if (!agent.running) fail(`the agent ended\n${agent.logTail()}`);
    for (const { payload } of reports.messages.slice(shown.reports)) {
      reported = JSON.parse(payload);
      const line = describeReported(reported);
      if (line !== shown.reported) say(`${topics.reported}: ${line}\n`);
      shown = { ...shown, reported: line, reports: shown.reports + 1 };
    }
    const pods = await listPods(agent);
    const key = podsKey(pods);
    if (key !== shown.pods)
      console.log(`$ agent get pods\n${(await agent.cli("get", "pods")).stdout}`);
    shown = { ...shown, pods: key };

    const running = runningPods(pods);
    const runAll = (names: readonly string[]): boolean =>
      names.every((name) => running.includes(name));
    const current = DEMO_STEPS[done];
    if (
      done < published &&
      current?.isDone(reported) === true &&
      runAll([...FROM_FILES, FROM_MQTT])
    ) {
      done = published;
      say(`${current.result}\n`);
      if (done === DEMO_STEPS.length) {
        if (once) break;
        hints(agent, broker.url);
      }
    }
    const next = DEMO_STEPS[published];
    if (next !== undefined && done === published && runAll(FROM_FILES)) {
      published += 1;
      await client.publish(topics.desired, next.document, { retain: true });
      say(
        `published to ${topics.desired} (retained): generation ${next.generation}, ${next.what}\n`,
      );
    }
    if (once && performance.now() - start > PATIENCE)
      fail(
        `not everything was seen within ${PATIENCE / 1000} s\n${agent.logTail()}\n${containerd.logTail()}`,
      );
    await Bun.sleep(LOOK_MS);
  }
  await client.close();
  await agent.kill("SIGTERM");
  say("the agent has stopped; its pods would go on, the demo ends them now");
}

function hints(agent: AgentProcess, url: string): void {
  const port = new URL(url).port;
  console.log(`
Try, in another terminal:
  ${agentBinary()} get pods --socket ${agent.paths.socket}
  nano ${agent.paths.manifests}/hello.yaml
  mosquitto_sub -p ${port} -v -t 'agent/v1/#'
Ctrl-C ends the demo and leaves nothing behind.
`);
}

await main();
temp.remove();
say("nothing is left of it");
process.exit(0);
