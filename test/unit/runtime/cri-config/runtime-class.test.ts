import { expect, test } from "bun:test";
import { aPod } from "../../../fakes/a-pod.ts";
import { refusalOf } from "../../../fakes/refusal.ts";
import { runtimeHandlerOf } from "../../../../src/runtime/cri-config/sandbox-config.ts";

const classes = { gvisor: "runsc", kata: "kata-qemu" };

test("a pod without a class has the runtime's own handler", () => {
  expect(runtimeHandlerOf(aPod(), classes)).toBe("");
});

test("a class of the configuration has its handler", () => {
  expect(runtimeHandlerOf(aPod({ runtimeClassName: "gvisor" }), classes)).toBe("runsc");
});

test.each(["other", "constructor"])("a class %p that nobody configured is refused", (name) => {
  const pod = aPod({ runtimeClassName: name });
  expect(refusalOf(() => runtimeHandlerOf(pod, classes))).toEqual({
    reason: "CreatePodSandboxError",
    message: `RuntimeClass "${name}" not found; add it to runtimeClasses in the agent's configuration, with the handler of the container runtime (there: gvisor, kata)`,
  });
  expect(() => runtimeHandlerOf(pod, {})).toThrow("(there: none)");
});
