import { expect, test } from "bun:test";
import { create } from "@bufbuild/protobuf";
import { ContainerConfigSchema } from "../../../../src/cri/gen/runtime/v1/api_pb.ts";
import { containerConfig } from "../../../../src/runtime/cri-config/container-config.ts";
import {
  cdiAnnotations,
  containerDevices,
} from "../../../../src/runtime/cri-config/container-devices.ts";
import { NO_FEATURES } from "../../../../src/runtime/cri-config/features.ts";
import { aContainer, aDesiredPod, aPod } from "../../../fakes/a-pod.ts";
import { ALL_FEATURES, containerFacts } from "../../../fakes/config-facts.ts";
import { refusalOf } from "../../../fakes/refusal.ts";

const USB = "podman.io/device=/dev/ttyUSB0";
const CDI = ["vendor.com/gpu=0", "vendor.com/gpu=1"];
const all = { features: ALL_FEATURES, isDevice: () => true };

function asking(limits: Record<string, string>) {
  const container = aContainer("a", { resources: { limits, requests: {} } });
  return { container, pod: aPod({ containers: [container] }) };
}

test("devices of the node, by limit and by annotation", () => {
  const { container } = asking({ [USB]: "1" });
  const annotations = { "agent/devices": "/dev/i2c-1:/dev/i2c-0:rw" };
  const pod = aPod({ containers: [container] }, { annotations });
  expect(containerDevices(pod, container, all)).toEqual({
    devices: [
      { hostPath: "/dev/i2c-1", containerPath: "/dev/i2c-0", permissions: "rw" },
      { hostPath: "/dev/ttyUSB0", containerPath: "/dev/ttyUSB0", permissions: "rwm" },
    ],
    cdiDevices: [],
  });
});

test("a device that is not there is named, and waited for", () => {
  const { pod, container } = asking({ [USB]: "1" });
  const facts = { ...all, isDevice: () => false };
  expect(refusalOf(() => containerDevices(pod, container, facts))).toEqual({
    reason: "CreateContainerConfigError",
    message:
      'container "a" needs the device /dev/ttyUSB0, which is not there; it starts when the device is plugged in',
  });
});

test("CDI devices by the field and by the annotation of before", () => {
  const { pod, container } = asking({ "vendor.com/gpu=1": "1", "vendor.com/gpu=0": "1" });
  const facts = containerFacts({ features: ALL_FEATURES });
  const config = containerConfig(aDesiredPod(pod), container, facts);
  const message = create(ContainerConfigSchema, config);
  expect(message.cdiDevices.map(({ name }) => name)).toEqual(CDI);
  expect(message.annotations["cdi.k8s.io/agent"]).toBe(CDI.join(","));
  expect(cdiAnnotations(aPod(), aContainer("a"))).toEqual({});
});

test("a CDI device is refused where the runtime would leave it out", () => {
  const { pod, container } = asking({ "vendor.com/gpu=0": "1" });
  const facts = { ...all, features: NO_FEATURES };
  expect(refusalOf(() => containerDevices(pod, container, facts))).toEqual({
    reason: "UnsupportedByRuntime",
    message:
      'container "a" asks for the CDI device vendor.com/gpu=0, which this container runtime would ignore; use containerd 2.0 or newer, or 1.7 with enable_cdi = true',
  });
});
