// What a run of the bench stands on: a private containerd with images, a broker, bare calls, the event log, the agent.

import { appendFileSync, existsSync } from "node:fs";
import { join } from "node:path";

import { grpcCriClient } from "../../src/cri/cri-client.ts";
import { systemClock } from "../../src/lib/system-clock.ts";
import { AgentProcess, agentBinary } from "../harness/agent-process.ts";
import type { BrokerClient } from "../harness/broker-client.ts";
import { startBroker, type Broker } from "../harness/broker.ts";
import { freePort } from "../harness/free-port.ts";
import { BUSYBOX_1, importImages, PAUSE } from "../harness/images.ts";
import { whyNoContainerd } from "../harness/machine.ts";
import { PrivateContainerd } from "../harness/private-containerd.ts";
import type { TempDirectory } from "../harness/temp-directory.ts";
import { BareCalls } from "./bare-calls.ts";
import { CallCounts } from "./call-counts.ts";
import { EventLog } from "./event-log.ts";

export const NODE = "bench";
export const IMAGE = BUSYBOX_1.name;

export interface World {
  readonly containerd: PrivateContainerd;
  readonly broker: Broker;
  readonly client: BrokerClient;
  readonly bare: BareCalls;
  readonly log: EventLog;
  readonly calls: CallCounts;
  /** Not yet started; absent when it has not been built. */
  readonly agent: AgentProcess | undefined;
}

/** A sentence instead, where containerd cannot run. */
export async function makeWorld(temp: TempDirectory): Promise<World | string> {
  const unavailable = await whyNoContainerd();
  if (unavailable !== undefined) return unavailable;
  const containerd = await PrivateContainerd.prepare(temp, { sandboxImage: PAUSE.name });
  const metrics = `127.0.0.1:${freePort()}`;
  appendFileSync(
    join(containerd.facts.directory, "config.toml"),
    `\n[metrics]\naddress = "${metrics}"\n`,
  );
  await containerd.start();
  await importImages(containerd, temp.directory("images"), [BUSYBOX_1, PAUSE]);
  // The broker counts its bytes each second, for the line of idle traffic.
  const broker = await startBroker(temp, { extra: ["sys_interval 1"] });
  const clock = systemClock();
  const { endpoint, cgroupRoot } = containerd;
  const agent = existsSync(agentBinary())
    ? new AgentProcess(temp, { endpoint, cgroupRoot, mqttUrl: broker.url, nodeName: NODE })
    : undefined;
  return {
    containerd,
    broker,
    client: await broker.client(),
    bare: new BareCalls(grpcCriClient({ endpoint, clock }), {
      image: IMAGE,
      logDirectory: temp.directory("bare-logs"),
      cgroupParent: cgroupRoot,
    }),
    log: await EventLog.start({ endpoint, clock, sandboxImage: PAUSE.name }),
    calls: new CallCounts(metrics),
    agent,
  };
}
