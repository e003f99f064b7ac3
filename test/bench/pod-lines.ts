// The lines of one pod: start, edit, crash, start over MQTT.

import type { BarePod } from "./bare-calls.ts";
import { podManifest, type AgentSide } from "./agent-side.ts";
import { CallTimes } from "./call-times.ts";
import { inPairs, type Bench, type Pairs, type Rest } from "./pairs.ts";
import type { World } from "./world.ts";

const ECHO = "bench/echo";

/** Manifest renamed into place → container running. */
export async function onePod(bench: Bench, count: number): Promise<Pairs> {
  const { log, calls, containerd } = bench.world;
  const split = new CallTimes(containerd.logFile);
  let counted = "";
  const pairs = await inPairs(bench, {
    count,
    agent: async (agent, rest) => {
      const place = agent.prepare("one", podManifest("one"));
      await calls.reset();
      await rest();
      const mark = log.mark();
      const start = performance.now();
      place();
      const { at } = await log.lastStart(mark, 1);
      split.add("agent", start, at);
      await Bun.sleep(100);
      counted = await calls.perPod(1);
      await removeByAgent(bench.world, agent, "one");
      return at - start;
    },
    bare: async (rest) => {
      const { start, end, pod } = await timeBareRun(bench.world, rest);
      split.add("bare", start, end);
      await removeBare(bench.world, pod);
      return end - start;
    },
  });
  return { ...pairs, notes: [...split.describe(), ...callsOf("one start", counted)] };
}

/** Manifest replaced → new container running, the old one gone first. */
export async function edit(bench: Bench, count: number): Promise<Pairs> {
  const { world, agent } = bench;
  const { log, bare, calls, containerd } = world;
  const split = new CallTimes(containerd.logFile);
  let revision = 0;
  let together = 0;
  let counted = "";
  const first = log.mark();
  agent?.put("edited", revision);
  if (agent !== undefined) await log.lastStart(first, 1);
  let pod = await runBare(world);
  const pairs = await inPairs(bench, {
    count,
    agent: async (side, rest) => {
      const place = side.prepare("edited", podManifest("edited", (revision += 1)));
      await calls.reset();
      await rest();
      const mark = log.mark();
      const start = performance.now();
      place();
      const started = await log.lastStart(mark, 1);
      const exited = log.appsSince(mark, "exited")[0];
      split.add("agent", start, started.at);
      if (exited === undefined || exited.at > started.at) together += 1;
      await log.lastGone(mark, 1);
      await Bun.sleep(50);
      counted = await calls.perPod(1);
      return started.at - start;
    },
    bare: async (rest) => {
      const [config] = bare.prepare(1);
      if (config === undefined) throw new Error("no configuration was prepared");
      await rest();
      const mark = log.mark();
      const start = performance.now();
      await bare.remove(pod.sandboxId);
      pod = await bare.run(config);
      const { at } = await log.lastStart(mark, 1);
      split.add("bare", start, at);
      return at - start;
    },
  });
  await removeBare(world, pod);
  if (agent !== undefined) await removeByAgent(world, agent, "edited");
  const order = `a new one began before its old one had ended: ${together} times`;
  return {
    ...pairs,
    notes: [
      ...split.describe(),
      ...callsOf("one edit", counted),
      ...(agent === undefined ? [] : [order]),
    ],
  };
}

/** Container exits → its replacement runs: the first restart of a new pod, which no back-off delays. */
export async function crash(bench: Bench, count: number): Promise<Pairs> {
  const { log, bare, calls, containerd } = bench.world;
  const split = new CallTimes(containerd.logFile);
  let counted = "";
  const pairs = await inPairs(bench, {
    count,
    agent: async (agent, rest) => {
      const born = log.mark();
      agent.put("crashing");
      const { pid } = await log.lastStart(born, 1);
      await calls.reset();
      await rest();
      const mark = log.mark();
      process.kill(pid, "SIGKILL");
      const { at } = await log.lastStart(mark, 1);
      const end = await exitTime(bench.world, mark);
      split.add("agent", end, at);
      await Bun.sleep(50);
      counted = await calls.perPod(1);
      await removeByAgent(bench.world, agent, "crashing");
      return at - end;
    },
    bare: async (rest) => {
      const born = log.mark();
      const pod = await runBare(bench.world);
      const { pid } = await log.lastStart(born, 1);
      await rest();
      const mark = log.mark();
      process.kill(pid, "SIGKILL");
      const end = await exitTime(bench.world, mark);
      await bare.startContainer(pod.sandboxId, pod.config, 1);
      const { at } = await log.lastStart(mark, 1);
      split.add("bare", end, at);
      await removeBare(bench.world, pod);
      return at - end;
    },
  });
  return { ...pairs, notes: [...split.describe(), ...callsOf("one restart", counted)] };
}

/** Desired state published → container running; the bare half takes the same message from the broker and makes the calls. */
export async function overMqtt(bench: Bench, count: number): Promise<Pairs> {
  const { world } = bench;
  const { log, client, bare, containerd } = world;
  const split = new CallTimes(containerd.logFile);
  const echoes = await client.collect(ECHO);
  const trips: number[] = [];
  const pairs = await inPairs(bench, {
    count,
    agent: async (agent, rest) => {
      const document = agent.document(["by-mqtt"]);
      await rest();
      const mark = log.mark();
      const start = performance.now();
      await agent.publish(document);
      const { at } = await log.lastStart(mark, 1);
      split.add("agent", start, at);
      await agent.publish(agent.document([]));
      await log.lastGone(mark, 1);
      return at - start;
    },
    bare: async (rest) => {
      const [config] = bare.prepare(1);
      if (config === undefined) throw new Error("no configuration was prepared");
      const seen = echoes.messages.length;
      await rest();
      const mark = log.mark();
      const start = performance.now();
      const arrived = echoes.next((message) => echoes.messages.indexOf(message) >= seen);
      await Promise.all([client.publish(ECHO, "x".repeat(500)), arrived]);
      trips.push(performance.now() - start);
      const pod = await bare.run(config);
      const { at } = await log.lastStart(mark, 1);
      split.add("bare", start, at);
      await removeBare(world, pod);
      return at - start;
    },
  });
  const trip = trips.toSorted((a, b) => a - b)[Math.floor(trips.length / 2)] ?? 0;
  const told = `broker round trip within the bare half: ${trip.toFixed(1)} ms`;
  return { ...pairs, notes: [told, ...split.describe()] };
}

function callsOf(what: string, counted: string): readonly string[] {
  return counted === "" ? [] : [`calls of ${what}: ${counted}`];
}

async function runBare({ bare }: World): Promise<BarePod> {
  const [config] = bare.prepare(1);
  if (config === undefined) throw new Error("no configuration was prepared");
  return bare.run(config);
}

async function timeBareRun(
  world: World,
  rest: Rest,
): Promise<{ readonly start: number; readonly end: number; readonly pod: BarePod }> {
  const { log, bare } = world;
  const [config] = bare.prepare(1);
  if (config === undefined) throw new Error("no configuration was prepared");
  await rest();
  const mark = log.mark();
  const start = performance.now();
  const pod = await bare.run(config);
  const { at } = await log.lastStart(mark, 1);
  return { start, end: at, pod };
}

async function exitTime({ log }: World, mark: number): Promise<number> {
  const look = (): number | undefined => log.appsSince(mark, "exited")[0]?.at;
  return log.until("the container has exited", look);
}

async function removeBare({ log, bare }: World, pod: BarePod): Promise<void> {
  const mark = log.mark();
  await bare.remove(pod.sandboxId);
  await log.lastGone(mark, 1);
}

async function removeByAgent({ log }: World, agent: AgentSide, name: string): Promise<void> {
  const mark = log.mark();
  agent.drop(name);
  await log.lastGone(mark, 1);
}
