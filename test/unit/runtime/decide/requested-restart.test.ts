import { describe, test } from "bun:test";
import type { PodAction } from "../../../../src/runtime/decide/pod-action.ts";
import { aContainer, anInstance } from "../../../fakes/a-pod.ts";
import { cases, check, exited, kill, PROBE, sidecar, start, up } from "../actions-table.ts";

const order = (...names: string[]) => ({
  ordered: new Set(names.map((name) => anInstance(name).id)),
});
const again = (name: string): readonly PodAction[] => [
  kill(name, 0, "RestartOrdered"),
  start(name, 1),
];

describe("a restart by command", () => {
  test.each(
    cases({
      "ends the container and starts it in the same sandbox": {
        observed: up(anInstance("a")),
        context: order("a"),
        expect: again("a"),
      },
      "goes through the containers one after the other": {
        pod: { containers: [aContainer("a"), aContainer("b")] },
        observed: up(anInstance("a"), anInstance("b")),
        context: order("a", "b"),
        expect: [...again("a"), ...again("b")],
      },
      "leaves the others alone": {
        pod: { containers: [aContainer("a"), aContainer("b")] },
        observed: up(anInstance("a"), anInstance("b")),
        context: order("b"),
        expect: again("b"),
      },
      "is done once the next instance runs": {
        observed: up(anInstance("a", { attempt: 1 })),
        context: order("a"),
        expect: [],
      },
      "asks nothing of a container that has ended by itself": {
        observed: up(exited("a", 1)),
        context: order("a"),
        expect: [start("a", 1)],
      },
      "reaches sidecars": {
        pod: { initContainers: [sidecar("s")], containers: [aContainer("a")] },
        observed: up(anInstance("s"), anInstance("a")),
        context: order("s"),
        expect: again("s"),
      },
      "whatever the restart policy": {
        pod: { restartPolicy: "Never" },
        observed: up(anInstance("a")),
        context: order("a"),
        expect: again("a"),
      },
      "leaves it to a failed probe": {
        pod: { containers: [aContainer("a", { livenessProbe: PROBE })] },
        observed: up(anInstance("a")),
        context: { ...order("a"), probes: { [anInstance("a").id]: { liveness: "Failure" } } },
        expect: [kill("a", 0, "LivenessProbe")],
      },
    }),
  )("%s", (_, one) => check(one));
});
