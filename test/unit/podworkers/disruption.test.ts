import { expect, test } from "bun:test";
import type { Rejection } from "../../../src/api/pod/desired-pod.ts";
import { aDesiredPod } from "../../fakes/a-pod.ts";
import { disruptionOf } from "../../../src/podworkers/publish-status.ts";

const conflict: Rejection = {
  source: "mqtt:node",
  ref: "generation 3",
  kind: "Pod",
  namespace: "default",
  name: "web",
  code: "HostPortConflict",
  path: "spec.containers",
  message: "host port 80/TCP is taken by default/shop of file (shop.yaml#0)",
};
const web = aDesiredPod(undefined, { source: "mqtt:node" });

test("a pod whose host port a higher source has taken is disrupted, with a message that names the pod", () => {
  expect(disruptionOf(web, [conflict])).toEqual({
    reason: "TerminationByKubelet",
    message: `preempted: ${conflict.message}`,
  });
});

test.each<[string, Partial<Rejection>]>([
  ["another pod", { name: "db" }],
  ["a pod of that name in another namespace", { namespace: "prod" }],
  ["the same pod of another source", { source: "file" }],
  ["a ConfigMap of that name", { kind: "ConfigMap" }],
  ["another refusal", { code: "Shadowed" }],
])("a refusal of %s is no disruption", (_what, more) => {
  expect(disruptionOf(web, [{ ...conflict, ...more }])).toBeUndefined();
});
