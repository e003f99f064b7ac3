// The whole agent: a document lists a pod under a new name. The old one runs until the new one is good, but leaves at once
// when the new one needs its place, and only then.

import { expect, test } from "bun:test";
import { LABEL } from "../../src/api/pod/labels.ts";
import { AnswerStage } from "./answer-stage.ts";
import { TOPIC } from "./sim-authority.ts";
import { NODE } from "./sim-manifest.ts";

/** It is not good before it has run for an hour. */
const UNPROVEN = { "agent/min-ready-seconds": "3600" };

const pod = (name: string, cpu: string, annotations: object = {}): object => ({
  apiVersion: "v1",
  kind: "Pod",
  metadata: { name, annotations },
  spec: {
    terminationGracePeriodSeconds: 1,
    containers: [{ name: "a", image: "local/busybox:1", resources: { requests: { cpu } } }],
  },
});

class Renaming implements Disposable {
  readonly world = new AnswerStage().world;
  #generation = 0;

  static async started(): Promise<Renaming> {
    const renaming = new Renaming();
    await renaming.world.perform({ type: "Start", pause: 20_000 });
    return renaming;
  }

  async publish(...resources: readonly object[]): Promise<void> {
    this.#generation += 1;
    const generation = this.#generation;
    const head = { apiVersion: "agent/v1", kind: "DesiredState", target: { node: NODE } };
    this.world.machine.broker.publish(TOPIC.desired, { ...head, generation, resources });
    await this.wait(60_000);
  }

  async wait(pause: number): Promise<void> {
    await this.world.perform({ type: "Wait", pause });
  }

  running(): readonly string[] {
    const names = this.world.machine.runtime
      .running()
      .map(({ config }) => config.labels[LABEL.podName] ?? "");
    return names.toSorted();
  }

  rejected(): readonly string[] {
    const { agent } = this.world;
    return agent?.desired.rejected.map(({ name, code }) => `${name} ${code}`) ?? [];
  }

  [Symbol.dispose](): void {
    this.world[Symbol.dispose]();
  }
}

test("a new name that needs the place of the old one gets it", async () => {
  using renaming = await Renaming.started();
  await renaming.publish(pod("old", "3"));
  expect(renaming.running()).toEqual(["old"]);
  await renaming.publish(pod("new", "3"));
  expect([renaming.running(), renaming.rejected()]).toEqual([["new"], []]);
});

test("the old name runs on while the new one is not good, if both fit", async () => {
  using renaming = await Renaming.started();
  await renaming.publish(pod("old", "1"));
  await renaming.publish(pod("new", "1", UNPROVEN));
  expect(renaming.running()).toEqual(["new", "old"]);
});

test("the old name does not leave for a pod that fits nowhere", async () => {
  using renaming = await Renaming.started();
  await renaming.publish(pod("old", "3"));
  await renaming.publish(pod("new", "100"));
  expect(renaming.running()).toEqual(["old"]);
  expect(renaming.rejected()).toEqual(["new OutOfcpu"]);
});

test("only as many leave as the new one needs", async () => {
  using renaming = await Renaming.started();
  await renaming.publish(pod("small", "100m"), pod("old", "3"));
  await renaming.publish(pod("new", "3", UNPROVEN));
  expect(renaming.running()).toEqual(["new", "small"]);
});

test("a pod that the document still lists does not leave", async () => {
  using renaming = await Renaming.started();
  await renaming.publish(pod("old", "1"), pod("stays", "2"));
  await renaming.publish(pod("stays", "2"), pod("new", "2"));
  // Not both old pods would have to go: the one that is left out is enough.
  expect(renaming.running()).toEqual(["new", "stays"]);
});
