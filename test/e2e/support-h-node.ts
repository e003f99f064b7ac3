// A node whose documents go wrong: what it ran before, what it says at the broker, and how long nothing served.

import { expect } from "bun:test";
import { rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";

import type { Ack } from "../../src/protocol/reported-state.ts";
import type { AgentProcess } from "../harness/agent-process.ts";
import type { Collector } from "../harness/broker-client.ts";
import { always, eventually } from "../harness/eventually.ts";
import { execSync } from "../harness/exec-sync.ts";
import { topicOf, type Upstream } from "./support-b-upstream.ts";
import { containerOf, idOf, READY, untilPod } from "./support-c-views.ts";
import type { RollbackStage } from "./support-h-rollback.ts";
import { configMap, Ticks, uptime, volumeClaim, type TickingPod } from "./support-h-ticks.ts";
import { appsOf, eventsOf, shownOf, type ToldEvent } from "./support-h-views.ts";

/** What a document says beside its generation. */
export interface Wish {
  readonly resources: readonly object[];
  readonly policy?: object;
}

/** A pod that is fine, looked at from inside. */
export interface Before {
  readonly pod: string;
  readonly containerId: string;
  readonly imageID: string;
  readonly inside: string;
}

export interface RolledBack {
  /** Of the document that went wrong. */
  readonly generation: number;
  readonly reason: RegExp;
  readonly before: Before;
  /** Default 1. */
  readonly lastGood?: number;
}

/**
 * Patience on a machine with much to do: with a pod that has to become good, and with a runtime that reports the end of a
 * container a second late, during which the container counts as ready.
 */
const PATIENT = { minReadySeconds: 3, progressDeadlineSeconds: 90 };
const INSIDE = `
cat /data/kept; [ -e /claim ] && cat /claim/kept
cat /etc/image-version
[ -e /config ] && echo "volume: $(cat /config/mode)"
tr '\\0' '\\n' </proc/1/environ | grep -E '^(MODE|NOTE)='
true`;

interface NodeParts {
  readonly stage: RollbackStage;
  readonly agent: AgentProcess;
  readonly upstream: Upstream;
  readonly events: Collector;
}

export class RollbackNode implements AsyncDisposable {
  readonly agent: AgentProcess;
  readonly upstream: Upstream;
  readonly ticks: Ticks;
  readonly name: string;
  readonly #stage: RollbackStage;
  readonly #events: Collector;
  #generation = 0;
  #publishedAt = 0;

  constructor({ stage, agent, upstream, events }: NodeParts) {
    this.#stage = stage;
    this.agent = agent;
    this.upstream = upstream;
    this.#events = events;
    this.name = agent.nodeName;
    this.ticks = new Ticks(stage.stage.temp.directory(`${this.name}-host`));
    stage.hub.move(`${this.name}:stable`, "1");
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.agent.kill();
    this.#stage.leave();
  }

  /** Its image by a tag that may move. */
  get image(): string {
    return this.#stage.hub.reference(`${this.name}:stable`);
  }

  app(options: Partial<TickingPod> = {}): object {
    return this.ticks.pod({ name: "web", image: this.image, claim: "store", ...options });
  }

  /** What an app of this node needs. */
  objects(mode = "good"): readonly object[] {
    return [configMap(mode), volumeClaim("store")];
  }

  /** The next generation; says which. */
  async publish({ resources, policy = {} }: Wish): Promise<number> {
    this.#generation += 1;
    this.#publishedAt = uptime();
    await this.#stage.operator.publish(
      topicOf(this.name, "desired"),
      {
        apiVersion: "agent/v1",
        kind: "DesiredState",
        target: { node: this.name },
        generation: this.#generation,
        policy: { ...PATIENT, ...policy },
        resources,
      },
      { retain: true },
    );
    return this.#generation;
  }

  async ack(what: string, matches: (ack: Ack) => boolean): Promise<Ack> {
    try {
      return await this.upstream.ack(what, matches, 90_000);
    } catch (thrown) {
      throw new Error(`${String(thrown)}\n${this.agent.logTail(60)}`, { cause: thrown });
    }
  }

  /** Publishes, and waits for 200. */
  async good(wish: Wish): Promise<number> {
    const generation = await this.publish(wish);
    const ack = await this.ack(
      `${generation} is good`,
      (one) => one.generation === generation && one.code === 200,
    );
    expect(ack).toMatchObject({ phase: "Healthy", observedGeneration: generation });
    return generation;
  }

  /** The first generation with this one pod, which is fine; what it keeps is in its volumes. */
  async goodApp(options: Partial<TickingPod> = {}): Promise<Before> {
    await this.good({ resources: [...this.objects(), this.app(options)] });
    return this.remember(options.name);
  }

  /** `like`: what another pod keeps in the same place is not to change. */
  async remember(pod = "web", like?: Before): Promise<Before> {
    if (like !== undefined) return this.look(pod);
    const { containerId } = await this.#container(pod);
    const kept = crypto.randomUUID();
    await this.#run(
      containerId,
      `echo ${kept} >/data/kept; [ -d /claim ] && echo ${kept} >/claim/kept; true`,
    );
    const now = await this.look(pod);
    expect(now.inside).toContain(kept);
    return now;
  }

  /** Everything that a rollback has to show; the old revision serves again. */
  async rolledBack({ generation, reason, before, lastGood = 1 }: RolledBack): Promise<Ack> {
    const { pod } = before;
    const since = this.#publishedAt;
    const ack = await this.ack(
      `${generation} is rolled back`,
      (one) => one.generation === generation && one.phase === "RolledBack",
    );
    const took = uptime() - since;
    expect(ack).toMatchObject({ code: 424, lastGood: { generation: lastGood } });
    expect(ack.message).toMatch(reason);
    expect(ack.observedGeneration).toBeLessThan(generation);
    // Nothing was final before.
    const said = this.upstream.acks().filter((one) => one.generation === generation);
    expect(said.filter((one) => one.code !== 202 && one.phase !== "RolledBack")).toEqual([]);
    await this.asBefore(before);
    const { line, condition } = await shownOf(this.agent, pod);
    expect(line).toContain("Running (rolled back)");
    expect(condition).toMatchObject({ status: "True" });
    expect(`${String(condition?.["reason"])}: ${String(condition?.["message"])}`).toMatch(reason);
    // Never both of them.
    expect(this.ticks.faults(pod)).toEqual([]);
    await this.#event(pod, reason);
    const downtime = this.ticks.downtime([pod], since);
    const word = /known bad|\b[A-Z]\w+(?=: )/.exec(ack.message ?? "")?.[0] ?? "?";
    this.#stage.tell({ name: this.name, reason: word, downtime, took });
    return ack;
  }

  /** Image, configuration and data are what they were, and one container of the pod runs. */
  async asBefore(before: Before): Promise<void> {
    const { pod, imageID, inside } = before;
    await eventually(
      `${this.name}: ${pod} is as it was`,
      async () => {
        const now = await this.look(pod);
        expect({ pod, imageID: now.imageID, inside: now.inside }).toEqual({ pod, imageID, inside });
        return true;
      },
      { timeout: 60_000, interval: 200, explain: () => this.agent.logTail(60) },
    );
    const running = await this.running();
    expect(running.filter((name) => name === pod)).toEqual([pod]);
  }

  /** Seconds without service under these names since the last publication. */
  downtime(...names: readonly string[]): number {
    return this.ticks.downtime(names, this.#publishedAt);
  }

  /** For what is no plain rollback of one pod. */
  tell(reason: string, downtime: number): void {
    const took = uptime() - this.#publishedAt;
    this.#stage.tell({ name: this.name, reason, downtime, took });
  }

  /** For the waits of apps. */
  putData(file: string): void {
    writeFileSync(join(this.ticks.data, file), "");
  }

  removeData(file: string): void {
    rmSync(join(this.ticks.data, file));
  }

  /** The agent dies, then the container by itself: an agent that is new makes the same again. */
  async survives(before: Before): Promise<void> {
    const { pod } = before;
    const containerd = this.#stage.stage.containerd();
    await this.agent.kill("SIGKILL");
    const found = (await appsOf(containerd, this.name)).find((one) => one.pod === pod);
    if (found === undefined) throw new Error(`${pod} does not run`);
    await containerd.ctr("tasks", "kill", "--signal", "SIGKILL", found.id);
    await this.agent.startReady(60_000);
    await eventually(
      `${this.name}: ${pod} runs in another container`,
      async () => {
        const [now] = await appsOf(containerd, this.name);
        return now !== undefined && now.id !== found.id;
      },
      { timeout: 60_000, interval: 200, explain: () => this.agent.logTail() },
    );
    await this.asBefore(before);
    expect((await shownOf(this.agent, pod)).line).toContain("(rolled back)");
  }

  /** For so many ms. */
  async stays(ms: number, look: () => boolean | Promise<boolean>): Promise<void> {
    try {
      await always(`${this.name} is as it was`, ms, look);
    } catch (thrown) {
      throw new Error(`${String(thrown)}\n${this.agent.logTail(40)}`, { cause: thrown });
    }
  }

  /** Pods with a running app container, one entry for each container. */
  async running(): Promise<readonly string[]> {
    const { stage } = this.#stage;
    return (await appsOf(stage.containerd(), this.name)).map(({ pod }) => pod);
  }

  async event(reason: string, message: RegExp): Promise<void> {
    await this.#events.next(
      ({ payload }) =>
        eventsOf(payload).some((one) => one.reason === reason && message.test(one.message)),
      180_000,
    );
  }

  async #event(pod: string, reason: RegExp): Promise<void> {
    const isIt = (one: ToldEvent): boolean =>
      one.reason === "RolledBack" && one.object.name === pod && reason.test(one.message);
    const { payload } = await this.#events.next(
      (message) => eventsOf(message.payload).some(isIt),
      180_000,
    );
    expect(eventsOf(payload).find(isIt)).toMatchObject({
      type: "Warning",
      object: { kind: "Pod", namespace: "default", name: pod },
    });
  }

  async #container(
    pod: string,
  ): Promise<{ readonly containerId: string; readonly imageID: string }> {
    const ready = await untilPod(this.agent, pod, { ...READY, timeout: 60_000 });
    const status = containerOf(ready, "main");
    // Many nodes of this file have the same image under different names.
    return { containerId: idOf(status), imageID: status.imageID.replace(/^.*@/, "") };
  }

  /** From inside. */
  async look(pod = "web"): Promise<Before> {
    const { containerId, imageID } = await this.#container(pod);
    return { pod, containerId, imageID, inside: await this.#run(containerId, INSIDE) };
  }

  async #run(containerId: string, script: string): Promise<string> {
    const { stage } = this.#stage;
    const said = await execSync(stage.containerd(), containerId, ["sh", "-c", script]);
    if (said.exitCode !== 0) throw new Error(`exit ${said.exitCode}: ${said.stderr}`);
    return said.stdout;
  }
}
