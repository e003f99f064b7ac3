// A registry that asks for a password gets it from the Secrets that a pod names, and from nowhere else.

import { afterAll, beforeAll, expect } from "bun:test";

import type { AgentProcess } from "../harness/agent-process.ts";
import { BUSYBOX_2 } from "../harness/images.ts";
import { containerOf, READY, untilEvent, untilPod } from "./support-c-views.ts";
import { Registry } from "./support-e-registry.ts";
import { World } from "./support-e-world.ts";

const PASSWORD = "correct-horse-battery-staple";

const world = await World.open();
const { e2e } = world;
let agent: AgentProcess;

beforeAll(async () => {
  if (!world.stage.available) return;
  agent = world.agent("pulls");
  await agent.startReady();
}, 180_000);

afterAll(() => world.close(), 180_000);

e2e("an image is pulled with the Secrets that its pod names", async () => {
  using registry = new Registry(BUSYBOX_2, { username: "fleet", password: PASSWORD });
  world.put(agent, "pull-secrets", { PORT: registry.port, PASSWORD });
  for (const pod of ["knows-it", "knows-both"]) {
    await untilPod(agent, pod, READY);
    expect(await world.inside({ agent, pod }, "cat /etc/image-version")).toBe("2\n");
  }
  const refused = await untilPod(agent, "knows-nothing", {
    is: "may not pull",
    when: (pod) =>
      /ErrImagePull|ImagePullBackOff/.test(containerOf(pod, "main").state.waiting?.reason ?? ""),
  });
  // As the versions of containerd word it.
  expect(containerOf(refused, "main").state.waiting?.message).toMatch(
    /401 Unauthorized|no basic auth credentials/,
  );
  expect(new Set(registry.callers)).toEqual(new Set(["fleet", "stranger", undefined]));
  await untilEvent(agent, "knows-nothing", {
    reason: "FailedToRetrieveImagePullSecret",
    message: /nowhere/,
  });
  expect(agent.logTail(10_000)).not.toContain(PASSWORD);
});
