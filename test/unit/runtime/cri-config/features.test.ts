import { describe, expect, test } from "bun:test";
import { create, type MessageInitShape } from "@bufbuild/protobuf";
import { StatusResponseSchema } from "../../../../src/cri/gen/runtime/v1/api_pb.ts";
import {
  canRecursiveReadOnly,
  canUserNamespaces,
  NO_FEATURES,
  runtimeFeatures,
  type RuntimeFeatures,
} from "../../../../src/runtime/cri-config/features.ts";

type Status = Pick<
  MessageInitShape<typeof StatusResponseSchema>,
  "runtimeHandlers" | "features" | "info"
>;

function of(
  runtimeVersion: string,
  status: Status = {},
  runtimeName = "containerd",
): RuntimeFeatures {
  const version = { runtimeName, runtimeVersion };
  return runtimeFeatures(version, create(StatusResponseSchema, status));
}

const configured = (config: object): Status => ({ info: { config: JSON.stringify(config) } });

describe("by containerd's version", () => {
  const versions: Record<string, readonly (keyof RuntimeFeatures)[]> = {
    "1.6.20~ds1": [],
    "v1.7.27": [],
    "v2.0.0": ["cdi"],
    "2.0.5": ["cdi"],
    "v2.1.0-beta.0": ["cdi", "imageVolumes"],
    "v2.1.9": ["cdi", "imageVolumes"],
    "v2.2.0": ["cdi", "imageVolumes", "imageSubPaths"],
    "v2.3.1": ["cdi", "imageVolumes", "imageSubPaths"],
    "v2.4.0-rc.1": ["cdi", "imageVolumes", "imageSubPaths", "stopSignal"],
    "v2.10.0": ["cdi", "imageVolumes", "imageSubPaths", "stopSignal"],
    "v3.0.0": ["cdi", "imageVolumes", "imageSubPaths", "stopSignal"],
    "2": [],
    unknown: [],
    "": [],
  };
  test.each(Object.entries(versions))("containerd %p can %p", (version, expected) => {
    const can = Object.fromEntries(expected.map((feature) => [feature, true]));
    expect(of(version)).toEqual({ ...NO_FEATURES, ...can });
  });
});

describe("by containerd's configuration", () => {
  test("1.7 supports CDI devices if configured, 1.6 never", () => {
    expect(of("v1.7.24", configured({ enableCDI: true })).cdi).toBe(true);
    expect(of("v1.7.24", configured({ enableCDI: false })).cdi).toBe(false);
    expect(of("1.6.20", configured({ enableCDI: true })).cdi).toBe(false);
  });

  test("2.0 supports CDI devices unless configured otherwise", () => {
    expect(of("v2.0.0", configured({ enableCDI: false })).cdi).toBe(false);
    expect(of("v2.0.0", configured({ enableCDI: null })).cdi).toBe(true);
  });

  test("SELinux is off unless it is switched on", () => {
    expect(of("v2.0.0", configured({})).selinux).toBe(false);
    expect(of("1.6.20", configured({ enableSelinux: true })).selinux).toBe(true);
  });

  test.each(["", "no JSON", "null", "[]", '"text"'])("%p says nothing", (config) => {
    expect(of("1.6.20", { info: { config } })).toEqual(NO_FEATURES);
  });
});

describe("according to Status", () => {
  const status: Status = {
    runtimeHandlers: [
      { name: "", features: { userNamespaces: true, recursiveReadOnlyMounts: true } },
      { name: "kata", features: { userNamespaces: false, recursiveReadOnlyMounts: true } },
      { name: "old" },
    ],
    features: { supplementalGroupsPolicy: true },
  };

  test("each handler has the features that it reports, an unknown one none", () => {
    const features = of("v2.0.0", status);
    const can = ["", "kata", "old", "gone"].map((handler) => [
      canUserNamespaces(features, handler),
      canRecursiveReadOnly(features, handler),
    ]);
    expect(can).toEqual([
      [true, true],
      [false, true],
      [false, false],
      [false, false],
    ]);
  });

  test("the policy of supplemental groups is supported where the runtime reports it", () => {
    expect(of("v2.0.0", status).supplementalGroupsPolicy).toBe(true);
    expect(of("v2.0.0", { features: {} }).supplementalGroupsPolicy).toBe(false);
    expect(of("v2.0.0").supplementalGroupsPolicy).toBe(false);
  });

  test("of a runtime that is not containerd only that counts, and SELinux is its own affair", () => {
    expect(of("9.0.0", { ...status, ...configured({ enableCDI: true }) }, "other")).toEqual({
      ...NO_FEATURES,
      handlers: of("v2.0.0", status).handlers,
      supplementalGroupsPolicy: true,
      selinux: true,
    });
  });
});
