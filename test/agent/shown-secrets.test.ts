// What the local API shows of a pod whose runtime quotes a Secret that the pod does not refer to by name.

import { expect, test } from "bun:test";
import { ImageLedger } from "../../src/image/pull-results.ts";
import { NodeView } from "../../src/node/node-view.ts";
import type { NodeViewOptions } from "../../src/node/node-view-options.ts";
import { NotAdmitted } from "../../src/node/not-admitted.ts";
import { Redactor } from "../../src/node/redact.ts";
import { askLocalApi } from "../fakes/ask-local-api.ts";
import { pod, PodWorld } from "./pod-world.ts";

const VALUE = "hunter2-value";

test("GET /pods shows no value of a Secret in a message, waiting or ended", async () => {
  using world = new PodWorld({ program: () => ({ startError: `exec: "${VALUE}": not found` }) });
  await world.start();
  await world.desire([pod("web")]);
  await world.clock.advance(60_000);
  const redactor = new Redactor();
  const metadata = { name: "s", namespace: "default", labels: {}, annotations: {} };
  const data = { key: new TextEncoder().encode(VALUE) };
  const secret = { kind: "Secret", metadata, type: "Opaque", data, immutable: false } as const;
  redactor.follow({ objects: () => [secret], pods: () => [] });
  // As much of the agent as the answer touches.
  const view = new NodeView({
    pods: world.pods,
    notAdmitted: new NotAdmitted(world),
    redactor,
    rollouts: { statuses: () => [] },
    images: new ImageLedger(() => 0),
    nodeName: "pi-1",
  } as unknown as NodeViewOptions);
  const text = await (await askLocalApi(view, "/pods")).text();
  expect(text.match(/exec: \\"<hidden>\\": not found/g)?.length).toBeGreaterThan(0);
  expect(text).not.toContain(VALUE);
});
