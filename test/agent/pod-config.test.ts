// ConfigMaps and Secrets of pods that run: waiting for them, following them.

import { describe, expect, test } from "bun:test";
import type { NewEvent } from "../../src/api/v1/events.ts";
import type { DesiredPod } from "../../src/api/pod/desired-pod.ts";
import { LABEL } from "../../src/api/pod/labels.ts";
import type { Probe } from "../../src/api/v1/probe.ts";
import type { Pod } from "../../src/api/v1/pod.ts";
import { configDigests } from "../../src/runtime/decide/config-digest.ts";
import { AgentError } from "../../src/lib/errors.ts";
import { aContainer } from "../fakes/a-pod.ts";
import type { FakeContainer } from "../fakes/fake-cri-world.ts";
import { localObjects, type WrittenObjects } from "../fakes/local-objects.ts";
import { IMAGE, PodWorld, pod } from "./pod-world.ts";
import type { Container } from "../../src/api/v1/container.ts";

const PROBE: Probe = {
  handler: { type: "exec", command: ["ready"] },
  initialDelaySeconds: 0,
  periodSeconds: 1,
  timeoutSeconds: 1,
  successThreshold: 1,
  failureThreshold: 1,
};

class ConfigWorld implements Disposable {
  readonly world: PodWorld;
  readonly events: NewEvent[] = [];
  /** Pods whose volumes were brought up to date. */
  readonly refreshed: string[] = [];
  /** What their volumes cannot follow. */
  problems: readonly string[] = [];
  /** Why no volume can be set up. */
  unfit: string | undefined;
  /** Containers that are not ready. */
  readonly sick = new Set<string>();
  #written: WrittenObjects = {};
  #version = 1;
  #wanted: readonly DesiredPod[] = [];

  constructor() {
    const objects = () => localObjects(this.#written);
    const digest = (text: string): string => `v1:key:${text}`;
    this.world = new PodWorld(
      { exec: ({ config }) => ({ exitCode: this.sick.has(config.metadata?.name ?? "") ? 1 : 0 }) },
      {
        world: { objects, configDigest: digest },
        record: (event) => void this.events.push(event),
        setUpVolumes: () => {
          if (this.unfit === undefined) return new Map([["-", "/"]]);
          throw new AgentError({ reason: "FailedMount", message: this.unfit });
        },
        objects: {
          version: () => this.#version,
          refreshVolumes: ({ metadata }) => {
            this.refreshed.push(metadata.name);
            return this.problems;
          },
          digests: (desired) =>
            configDigests(desired.pod, { objects: objects(), isSettled: true, digest }),
        },
      },
    );
  }

  async desire(...pods: readonly DesiredPod[]): Promise<void> {
    this.#wanted = pods;
    await this.world.desire(pods);
  }

  /** Says it to every pod, as the agent does to those that read it. */
  async write(written: WrittenObjects): Promise<void> {
    this.#written = written;
    this.#version += 1;
    for (const { uid } of this.#wanted) this.world.runner.workers.notify(uid);
    await this.world.clock.settle();
  }

  async restart(): Promise<void> {
    await this.world.restart();
    await this.desire(...this.#wanted);
  }

  said(reason: string): readonly string[] {
    return this.events.filter((event) => event.reason === reason).map(({ message }) => message);
  }

  waiting(): readonly (string | undefined)[] {
    const { containerStatuses = [] } = this.world.pods.statuses.get("web-1")?.status ?? {};
    return containerStatuses.map(({ state }) => state.waiting?.message);
  }

  [Symbol.dispose](): void {
    this.world[Symbol.dispose]();
  }
}

const reads = (name: string, more: Partial<Container> = {}): Container =>
  aContainer(name, {
    envFrom: [{ type: "configMap", name: "web", prefix: "", optional: false }],
    ...more,
  });
const one = pod("web", "1", { containers: [reads("a")] });
const two = pod("web", "1", { containers: [reads("a"), reads("b"), aContainer("c")] });
const web = (value: string): WrittenObjects => ({ configMaps: { web: { KEY: value } } });

async function running(...pods: readonly DesiredPod[]): Promise<ConfigWorld> {
  const world = new ConfigWorld();
  await world.world.start();
  await world.write(web("1"));
  await world.desire(...pods);
  return world;
}

describe("a pod whose ConfigMap is not there", () => {
  test("waits, and says for what", async () => {
    using it = new ConfigWorld();
    await it.world.start();
    await it.desire(one);
    await it.world.clock.advance(5_000);
    const message =
      'configmap "web" not found: no manifest or desired document that this pod may use has ConfigMap default/web';
    expect(it.waiting()).toEqual([message]);
    expect(it.world.running()).toEqual([]);
    expect(it.said("Failed")).toContain(`Error: ${message}`);
  });

  test("starts the moment it appears, however long it had waited", async () => {
    using it = new ConfigWorld();
    await it.world.start();
    await it.desire(one);
    await it.world.clock.advance(600_000);
    expect(it.world.running()).toEqual([]);
    const before = it.world.clock.monotonic();
    await it.write(web("1"));
    expect(it.world.running()).toEqual(["web/a/0"]);
    expect(it.world.clock.monotonic()).toBe(before);
  });

  test("does not keep its other containers from starting", async () => {
    using it = new ConfigWorld();
    await it.world.start();
    await it.desire(two);
    await it.world.clock.advance(5_000);
    expect(it.world.running()).toEqual(["web/c/0"]);
  });
});

describe("a ConfigMap that changes", () => {
  test("restarts its readers one after the other, at once and in the same sandbox", async () => {
    using it = await running(two);
    expect(it.world.running()).toEqual(["web/a/0", "web/b/0", "web/c/0"]);
    await it.write(web("2"));
    expect(it.world.running()).toEqual(["web/a/1", "web/b/1", "web/c/0"]);
    expect(it.world.runtime.sandboxes.size).toBe(1);
    expect(it.said("Killing")).toEqual([
      "Container a reads a ConfigMap or Secret that has changed, will be restarted",
      "Container b reads a ConfigMap or Secret that has changed, will be restarted",
    ]);
    const calls = it.world.runtime.calls.filter(({ call }) =>
      ["stopContainer", "startContainer"].includes(call),
    );
    expect(calls.slice(-4).map(({ call }) => call)).toEqual([
      "stopContainer",
      "startContainer",
      "stopContainer",
      "startContainer",
    ]);
  });

  test("restarts them once", async () => {
    using it = await running(two);
    await it.write(web("2"));
    await it.world.clock.advance(600_000);
    expect(it.world.running()).toEqual(["web/a/1", "web/b/1", "web/c/0"]);
  });

  test("restarts them as often as it changes, without a back-off", async () => {
    using it = await running(one);
    for (const value of ["2", "3", "4", "5", "6"]) await it.write(web(value));
    expect(it.world.running()).toEqual(["web/a/5"]);
  });

  describe("starts no sidecar again", () => {
    const initContainers = [reads("s", { restartPolicy: "Always" })];
    const spec = { initContainers, containers: [aContainer("a")] } as const;
    const newest = ({ world }: ConfigWorld, name: string): FakeContainer => {
      const found = world.runtime.running().find(({ config }) => config.metadata?.name === name);
      if (found === undefined) throw new Error(`no ${name} runs`);
      return found;
    };
    const succeeds = async ({ world }: ConfigWorld, starts: number): Promise<void> => {
      await world.clock.advance(5_000);
      expect(world.running()).toEqual([]);
      expect(world.pods.statuses.get("web-1")?.status.phase).toBe("Succeeded");
      const made = world.runtime.calls.filter(({ call }) => call === "createContainer");
      expect(made).toHaveLength(starts);
    };

    test("whose pod has come to its end meanwhile", async () => {
      using it = await running(pod("web", "1", { ...spec, restartPolicy: "Never" }));
      newest(it, "s").program = { stopsAfterMs: 500 };
      const app = newest(it, "a");
      await it.write(web("2"));
      it.world.runtime.exit(app.id, 0);
      await succeeds(it, 2);
    });

    test("whose pod has come to its end with a container that was started together with the stop", async () => {
      using it = await running(pod("web", "1", { ...spec, restartPolicy: "OnFailure" }));
      newest(it, "s").program = { stopsAfterMs: 300 };
      it.world.runtime.exit(newest(it, "a").id, 1);
      await it.write(web("2"));
      it.world.runtime.exit(newest(it, "a").id, 0);
      await succeeds(it, 3);
    });
  });

  test("restarts nothing if another one changed", async () => {
    using it = await running(two);
    await it.write({ configMaps: { web: { KEY: "1" }, other: { KEY: "2" } } });
    expect(it.world.running()).toEqual(["web/a/0", "web/b/0", "web/c/0"]);
  });

  test("restarts the next reader when the one before is ready again", async () => {
    const ready = { readinessProbe: PROBE };
    const spec = { containers: [reads("a", ready), reads("b", ready)] };
    using it = await running(pod("web", "1", spec));
    await it.world.clock.advance(3_000);
    it.sick.add("a");
    await it.write(web("2"));
    await it.world.clock.advance(60_000);
    expect(it.world.running()).toEqual(["web/a/1", "web/b/0"]);
    it.sick.clear();
    await it.world.clock.advance(3_000);
    expect(it.world.running()).toEqual(["web/a/1", "web/b/1"]);
  });

  test("restarts a reader once more that a mistake keeps from getting ready", async () => {
    const ready = { readinessProbe: PROBE };
    using it = await running(pod("web", "1", { containers: [reads("a", ready)] }));
    await it.world.clock.advance(3_000);
    it.sick.add("a");
    await it.write(web("mistake"));
    await it.world.clock.advance(600_000);
    expect(it.world.running()).toEqual(["web/a/1"]);
    await it.write(web("2"));
    expect(it.world.running()).toEqual(["web/a/2"]);
  });

  test("ends no reader whose image is gone, and restarts it when it is back", async () => {
    using it = await running(two);
    it.world.images.clear();
    await it.write(web("2"));
    await it.world.clock.advance(600_000);
    expect(it.world.running()).toEqual(["web/a/0", "web/b/0", "web/c/0"]);
    expect(it.waiting()).toEqual([undefined, undefined, undefined]);
    it.world.images.add(IMAGE);
    await it.world.clock.advance(600_000);
    expect(it.world.running()).toEqual(["web/a/1", "web/b/1", "web/c/0"]);
  });

  test("ends no reader whose volumes could not be set up anew", async () => {
    using it = await running(one);
    it.unfit = 'volume "disk": hostPath type check failed';
    await it.write(web("2"));
    await it.world.clock.advance(600_000);
    expect(it.world.running()).toEqual(["web/a/0"]);
    expect(it.said("FailedMount")).toContain(it.unfit);
    it.unfit = undefined;
    await it.world.clock.advance(600_000);
    expect(it.world.running()).toEqual(["web/a/1"]);
  });

  test("restarts nobody whose pod does not want it", async () => {
    const { metadata } = one.pod;
    const annotations = { "agent/restart-on-config-change": "false" };
    using it = await running({
      ...one,
      pod: { ...one.pod, metadata: { ...metadata, annotations } },
    });
    await it.write(web("2"));
    expect(it.world.running()).toEqual(["web/a/0"]);
  });

  test("that is gone leaves its readers running, and restarts them if it comes back different", async () => {
    using it = await running(one);
    await it.write({});
    expect(it.world.running()).toEqual(["web/a/0"]);
    await it.write(web("1"));
    expect(it.world.running()).toEqual(["web/a/0"]);
    await it.write({});
    await it.write(web("2"));
    expect(it.world.running()).toEqual(["web/a/1"]);
  });

  test("without a key that a container needs leaves it running", async () => {
    const key = { name: "web", key: "KEY", optional: false };
    const env = [{ name: "KEY", valueFrom: { type: "configMapKeyRef", ...key } }] as const;
    using it = await running(pod("web", "1", { containers: [aContainer("a", { env })] }));
    await it.write({ configMaps: { web: { OTHER: "1" } } });
    expect(it.world.running()).toEqual(["web/a/0"]);
  });

  test("while the agent was away is noticed when it is back", async () => {
    using it = await running(one);
    await it.restart();
    expect(it.world.running()).toEqual(["web/a/0"]);
    await it.world.kill();
    const reader = it.world.runtime.running()[0];
    expect(reader?.config.labels[LABEL.podName]).toBe("web");
    await it.world.start();
    await it.write(web("2"));
    await it.desire(one);
    expect(it.world.running()).toEqual(["web/a/1"]);
  });
});

describe("volumes of a pod that runs", () => {
  test("follow each change once", async () => {
    using it = await running(one);
    it.refreshed.length = 0;
    await it.write(web("2"));
    await it.world.clock.advance(600_000);
    expect(it.refreshed).toEqual(["web"]);
  });

  test("follow a change of its labels", async () => {
    using it = await running(one);
    await it.world.clock.settle();
    it.refreshed.length = 0;
    const metadata: Pod["metadata"] = { ...one.pod.metadata, labels: { app: "new" } };
    await it.desire({ ...one, pod: { ...one.pod, metadata } });
    expect(it.refreshed).toEqual(["web"]);
    expect(it.world.running()).toEqual(["web/a/0"]);
  });

  test("that cannot follow are told of, keep their readers running, and are tried again", async () => {
    using it = await running(one);
    it.problems = ['volume "web": the disk is full'];
    await it.write(web("2"));
    expect(it.said("FailedMount")).toEqual(['volume "web": the disk is full']);
    expect(it.world.running()).toEqual(["web/a/0"]);
    it.problems = [];
    await it.world.clock.advance(60_000);
    expect(it.world.running()).toEqual(["web/a/1"]);
  });
});

test("a container that crashed while its ConfigMap was away starts the moment it is back", async () => {
  using it = await running(one);
  await it.write({});
  const [id = ""] = it.world.ids();
  it.world.runtime.exit(id, 1);
  await it.world.clock.advance(900_000);
  expect(it.world.running()).toEqual([]);
  await it.write(web("1"));
  expect(it.world.running()).toEqual(["web/a/1"]);
});
