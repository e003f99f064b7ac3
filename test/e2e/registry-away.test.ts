// A registry that cannot be reached: the image that is here stands in under Always, unless the pod wants none but the registry's.

import { afterAll, expect } from "bun:test";

import { containerOf, READY, untilEvent, untilPod } from "./support-c-views.ts";
import { World } from "./support-e-world.ts";
import { MovingRegistry } from "./support-h-registry.ts";

const IMAGE = "app:stable";

const world = await World.open();
const { e2e } = world;

afterAll(() => world.close(), 180_000);

e2e(
  "Always runs what is here while the registry is away, agent/pull-strict waits for it",
  async () => {
    using registry = new MovingRegistry();
    registry.move(IMAGE, "first");
    const agent = world.agent("registry-away");
    await agent.startReady();
    const put = (name: string, annotations: Readonly<Record<string, string>> = {}): void => {
      agent.writeManifest(`${name}.yaml`, {
        apiVersion: "v1",
        kind: "Pod",
        metadata: { name, annotations },
        spec: {
          terminationGracePeriodSeconds: 1,
          containers: [
            {
              name: "main",
              image: registry.reference(IMAGE),
              imagePullPolicy: "Always",
              command: ["sh", "-c", "trap 'exit 0' TERM; sleep 3600 & wait"],
            },
          ],
        },
      });
    };
    const inside = async (pod: string): Promise<string> =>
      world.inside({ agent, pod }, "cat /etc/image-version");
    put("earlier");
    await untilPod(agent, "earlier", READY);

    registry.move(IMAGE, "second");
    await registry.goAway();
    put("strict", { "agent/pull-strict": "true" });
    const waiting = await untilPod(agent, "strict", {
      is: "waits for the registry",
      when: (pod) =>
        /^(ErrImagePull|ImagePullBackOff)$/.test(
          containerOf(pod, "main").state.waiting?.reason ?? "",
        ),
    });
    expect(containerOf(waiting, "main").state.waiting?.message).toMatch(/connection refused/);
    put("lenient");
    await untilPod(agent, "lenient", READY);
    expect(await inside("lenient")).toBe("first\n");
    await untilEvent(agent, "strict", { reason: "Failed", message: /connection refused/ });

    registry.comeBack();
    await untilPod(agent, "strict", READY);
    expect(await inside("strict")).toBe("second\n");
  },
  180_000,
);
