// An agent that dies at any call while it restarts all containers of a pod.

import { expect, test } from "bun:test";
import { ANNOTATION } from "../../src/api/pod/labels.ts";
import type { Container } from "../../src/api/v1/container.ts";
import { aContainer } from "../fakes/a-pod.ts";
import type { CallName } from "../fakes/fake-cri-faults.ts";
import { PodWorld, pod } from "./pod-world.ts";

const never = (name: string, more: Partial<Container> = {}): Container =>
  aContainer(name, { restartPolicy: "Never", ...more });
const watcher = aContainer("w", {
  restartPolicy: "Always",
  restartPolicyRules: [
    { action: "RestartAllContainers", exitCodes: { operator: "In", values: [42] } },
  ],
});
const web = pod("web", "1", {
  restartPolicy: "Never",
  terminationGracePeriodSeconds: 3_600,
  initContainers: [never("i"), watcher],
  containers: [never("a"), never("b")],
});
const FIRST = ["web/a/0", "web/b/0", "web/w/0"];

class RestartWorld implements Disposable {
  readonly world = new PodWorld({
    // All but the init container run until they are ended, and would take an hour for SIGTERM.
    program: ({ config }) =>
      config.metadata?.name === "i" ? { exitsAfterMs: 10 } : { stopsAfterMs: 3_600_000 },
  });

  async begin(): Promise<void> {
    await this.world.start();
    await this.world.desire([web]);
    await this.world.clock.advance(1_000);
    expect(this.world.running()).toEqual(FIRST);
  }

  exit(name: string, code: number): void {
    const found = this.world.runtime.running().find(({ config }) => config.metadata?.name === name);
    this.world.runtime.exit(found?.id ?? "", code);
  }

  /** How often the pod had been restarted when each running container was made. */
  runs(): readonly (string | undefined)[] {
    return this.world.runtime
      .running()
      .map(({ config }) => config.annotations[ANNOTATION.podRestarts]);
  }

  condition(): string | undefined {
    const conditions = this.world.pods.statuses.get("web-1")?.status.conditions ?? [];
    return conditions.find(({ type }) => type === "AllContainersRestarting")?.status;
  }

  [Symbol.dispose](): void {
    this.world[Symbol.dispose]();
  }
}

const CALLS = ["stopContainer", "createContainer", "startContainer"] as const;
const DEATHS: readonly (readonly [CallName, number, "before" | "after"])[] = CALLS.flatMap((call) =>
  [1, 2, 3, 4].flatMap((nth) =>
    (["before", "after"] as const).map((when) => [call, nth, when] as const),
  ),
);

test.each(DEATHS)("an agent that dies at %s %i, %s it", async (call, nth, when) => {
  using it = new RestartWorld();
  await it.begin();
  let seen = 0;
  const effect = when === "after" ? ({ effect: "happens" } as const) : {};
  it.world.runtime.faults.order(
    call,
    { type: "hang", ...effect },
    { when: () => (seen += 1) === nth },
  );
  it.exit("w", 42);
  await it.world.clock.advance(1_000);
  await it.world.kill();
  it.world.runtime.faults.clear();
  await it.world.start();
  await it.world.desire([web]);
  await it.world.clock.advance(120_000);
  const names = it.world.running().map((one) => one.replace(/\/\d+$/, ""));
  expect([names, it.runs()]).toEqual([
    ["web/a", "web/b", "web/w"],
    ["1", "1", "1"],
  ]);
  expect(it.condition()).toBe("False");
  // Whatever was started in between was not stopped again.
  if (call === "stopContainer")
    expect(it.world.running()).toEqual(["web/a/1", "web/b/1", "web/w/1"]);
  // Nothing more happens, in this process or the next.
  const before = it.world.running();
  await it.world.restart();
  await it.world.desire([web]);
  await it.world.clock.advance(120_000);
  expect(it.world.running()).toEqual(before);
});

test("the first restart waits for nothing, the second for the back-off of the one that asked", async () => {
  using it = new RestartWorld();
  await it.begin();
  it.exit("w", 42);
  await it.world.clock.advance(1_000);
  expect(it.world.running()).toEqual(["web/a/1", "web/b/1", "web/w/1"]);
  it.exit("w", 42);
  await it.world.clock.advance(1_000);
  expect([it.world.running(), it.condition()]).toEqual([[], "True"]);
  await it.world.clock.advance(8_000);
  expect(it.world.running()).toEqual([]);
  await it.world.clock.advance(2_000);
  expect(it.world.running()).toEqual(["web/a/2", "web/b/2", "web/w/2"]);
  expect([it.runs(), it.condition()]).toEqual([["2", "2", "2"], "False"]);
});

test("a container that was restarted with the others has not failed: its own next failure waits for nothing", async () => {
  const failing = pod("web", "1", {
    initContainers: [watcher],
    containers: [aContainer("a", { restartPolicy: "OnFailure" })],
  });
  using it = new RestartWorld();
  await it.world.start();
  await it.world.desire([failing]);
  it.exit("w", 42);
  await it.world.clock.advance(1_000);
  expect(it.world.running()).toEqual(["web/a/1", "web/w/1"]);
  it.exit("a", 1);
  await it.world.clock.advance(1_000);
  expect(it.world.running()).toEqual(["web/a/2", "web/w/1"]);
});
