import { expect, test } from "bun:test";

import { configFreshness } from "../../../src/rollout/config-freshness.ts";
import type { ObservedPod } from "../../../src/api/pod/observed-pod.ts";
import { configDigests } from "../../../src/runtime/decide/config-digest.ts";
import { aContainer, aDesiredPod, aPod, anInstance, anObservedPod } from "../../fakes/a-pod.ts";
import { localObjects, type WrittenObjects } from "../../fakes/local-objects.ts";

const digest = (text: string): string => `v1:key:${Bun.hash(text).toString(16)}`;
const KEY = {
  name: "LEVEL",
  valueFrom: { type: "configMapKeyRef", name: "web", key: "level", optional: false },
} as const;
const pod = aDesiredPod(aPod({ containers: [aContainer("main", { env: [KEY] })] }));

function digestOf(written: WrittenObjects): string | undefined {
  const facts = { objects: localObjects(written), isSettled: true, digest };
  return configDigests(pod.pod, facts)["main"];
}

/** The running container carries `configDigest`; undefined = none. */
function startedWith(configDigest: string | undefined): ObservedPod {
  return anObservedPod(
    [],
    [anInstance("main", configDigest === undefined ? {} : { configDigest })],
  );
}

function freshness(written: WrittenObjects, made: string | undefined): string {
  const observed = startedWith(made);
  return configFreshness(pod, { objects: localObjects(written), digest, observed }).type;
}

const INFO: WrittenObjects = { configMaps: { web: { level: "info" } } };
const DEBUG: WrittenObjects = { configMaps: { web: { level: "debug" } } };

test("what was started with the content has read it", () => {
  expect(freshness(INFO, digestOf(INFO))).toBe("Read");
});

test("what was started with other content has not", () => {
  expect(freshness(DEBUG, digestOf(INFO))).toBe("Unread");
});

test("an object that is missing, or lacks the key, could start nothing", () => {
  expect(freshness({}, digestOf(INFO))).toBe("Unusable");
  expect(freshness({ configMaps: { web: { levle: "info" } } }, digestOf(INFO))).toBe("Unusable");
});

test("digests of two keys, or none at all, prove nothing", () => {
  expect(freshness(DEBUG, "v1:other:00")).toBe("Read");
  expect(freshness(DEBUG, undefined)).toBe("Read");
});

test("what never restarts for its configuration has nothing to read", () => {
  const { metadata } = pod.pod;
  const annotations = { "agent/restart-on-config-change": "false" };
  const kept = { ...pod, pod: { ...pod.pod, metadata: { ...metadata, annotations } } };
  const observed = startedWith(digestOf(INFO));
  expect(configFreshness(kept, { objects: localObjects(DEBUG), digest, observed }).type).toBe(
    "Read",
  );
});
