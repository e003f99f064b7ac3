import { expect, test } from "bun:test";
import { requireConfig } from "../../../src/podworkers/require-config.ts";
import type { Volume } from "../../../src/api/v1/volumes.ts";
import { AgentError } from "../../../src/lib/errors.ts";
import { aContainer, aPod } from "../../fakes/a-pod.ts";
import { localObjects } from "../../fakes/local-objects.ts";
import type { Container } from "../../../src/api/v1/container.ts";
import type { VolumeMount } from "../../../src/api/v1/volume-mounts.ts";

const VOLUME: Volume = {
  name: "cfg",
  configMap: { name: "web", items: [], optional: false, defaultMode: 0o644 },
};

/** What is missing for this container, where the ConfigMap has the key `web.conf`. */
function missing(more: Partial<Container>, checkVolumes = () => {}): string | undefined {
  const pod = aPod({ volumes: [VOLUME], containers: [aContainer("a", more)] });
  const objects = localObjects({ configMaps: { web: { "web.conf": "x" } } });
  const allocatable = { cpuMillis: 1000, memoryBytes: 2 ** 30 };
  try {
    requireConfig(pod, {
      objects,
      allocatable,
      nodeName: "pi-1",
      volumes: { check: checkVolumes },
    });
    return undefined;
  } catch (thrown) {
    expect(thrown).toMatchObject({ reason: "CreateContainerConfigError" });
    return (thrown as AgentError).message;
  }
}

function mounts(more: Partial<VolumeMount>): Partial<Container> {
  return { volumeMounts: [{ name: "cfg", mountPath: "/c", readOnly: true, ...more }] };
}

test("a part of a volume that is there is enough", () => {
  expect(missing(mounts({ subPath: "web.conf" }))).toBeUndefined();
  expect(missing(mounts({ subPath: "..data/web.conf" }))).toBeUndefined();
  expect(missing(mounts({ subPath: "..data" }))).toBeUndefined();
  expect(missing(mounts({}))).toBeUndefined();
});

test("a directory that is there for another mount is there", () => {
  const more = { name: "cfg", readOnly: true };
  const whole = { ...more, mountPath: "/c" };
  const inside = { name: "other", readOnly: true, mountPath: "/c/cache/x" };
  const part = { ...more, mountPath: "/d", subPath: "cache" };
  expect(missing({ volumeMounts: [whole, inside, part] })).toBeUndefined();
});

test("a mistyped part of a volume is missing, however it is written", () => {
  const message = (written: string): string =>
    `volumeMount "cfg" of container "a": subPath "${written}" is not in the volume`;
  expect(missing(mounts({ subPath: "wbe.conf" }))).toBe(message("wbe.conf"));
  const env = [{ name: "WHO", value: "wbe" }];
  expect(missing({ env, ...mounts({ subPathExpr: "$(WHO).conf" }) })).toBe(message("$(WHO).conf"));
});

test("a part that only a start can name is left to it", () => {
  const env: Container["env"] = [
    { name: "IP", valueFrom: { type: "fieldRef", fieldPath: "status.podIP" } },
  ];
  expect(missing({ env, ...mounts({ subPathExpr: "$(IP)" }) })).toBeUndefined();
});

test("what is wrong otherwise shows when it starts", () => {
  const fails = (reason: string) => (): never => {
    throw new AgentError({ reason, message: "no" });
  };
  expect(missing({}, fails("FailedMount"))).toBeUndefined();
  expect(missing({}, fails("CreateContainerConfigError"))).toBe("no");
});
