// Pods as their authors write them, and what the decoder makes of them.

import type { DecodeContext, DecodedObject } from "../../../src/api/decode/decode-context.ts";
import { decodeObject } from "../../../src/api/decode/decode-object.ts";
import type { PodSpec } from "../../../src/api/v1/pod-spec.ts";
import { sha256 } from "./digest.ts";
import type { Container } from "../../../src/api/v1/container.ts";

const CONTEXT: DecodeContext = {
  source: "file",
  ref: "/m/a.yaml",
  sourceRef: "/m/a.yaml#0",
  nodeName: "pi-1",
  sha256,
};

/** One app container `a`, with `container` laid over it. */
export function writtenPod(spec: object = {}, container: object = {}): object {
  return {
    apiVersion: "v1",
    kind: "Pod",
    metadata: { name: "web" },
    spec: { containers: [{ name: "a", image: "x:1", ...container }], ...spec },
  };
}

/** The init container `i`, with `container` laid over it, as part of a spec. */
export function withInit(...containers: readonly object[]): object {
  return {
    initContainers: containers.map((container, index) => ({
      name: index === 0 ? "i" : `i${index}`,
      image: "x:1",
      ...container,
    })),
  };
}

export function decode(value: object, more: Partial<DecodeContext> = {}): DecodedObject {
  return decodeObject(value, { ...CONTEXT, ...more });
}

/** Each error as `path: message`. */
export function refusals(value: object): readonly string[] {
  return decode(value).errors.map(({ path, message }) => `${path}: ${message}`);
}

/** Of a pod that must be accepted: each warning as `path: message`. */
export function warnings(value: object, more: Partial<DecodeContext> = {}): readonly string[] {
  specOf(value, more);
  return decode(value, more).notices.map(({ path, message }) => `${path}: ${message}`);
}

/** Of a pod that must be accepted, or is read leniently. */
export function specOf(value: object, more: Partial<DecodeContext> = {}): PodSpec {
  const { pods, errors } = decode(value, more);
  const spec = pods[0]?.desired.pod.spec;
  if (spec === undefined) throw new Error(`refused: ${JSON.stringify(errors)}`);
  return spec;
}

/** The app container of a pod that is accepted. */
export function containerOf(
  container: object,
  more: Partial<DecodeContext> = {},
): Container | undefined {
  return specOf(writtenPod({}, container), more).containers[0];
}
