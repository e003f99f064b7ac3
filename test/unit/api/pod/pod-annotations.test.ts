import { describe, expect, test } from "bun:test";
import fc from "fast-check";

import { Findings } from "../../../../src/api/decode/field-errors.ts";
import { formatDuration } from "../../../../src/api/resource/duration.ts";
import {
  backoffMaxMs,
  dependenciesOf,
  judgeAnnotations,
  pullsStrictly,
  restartsOnConfigChange,
  type Dependency,
} from "../../../../src/api/pod/pod-annotations.ts";
import { aPod } from "../../../fakes/a-pod.ts";
import { decode, writtenPod } from "../written-pod.ts";

const BACKOFF_RULE = 'must be a duration between 1s and 1h, such as "90s" or "5m"';
const NAME_RULE = "must name a pod, as namespace/pod:Ready; several with commas between them";

function dependsOn(text: string): readonly Dependency[] {
  return dependenciesOf(pod({ "agent/depends-on": text }));
}

function pod(annotations: Readonly<Record<string, string>>): ReturnType<typeof aPod> {
  return aPod({}, { namespace: "shop", name: "web", annotations });
}

function errors(annotations: Readonly<Record<string, string>>): readonly string[] {
  const findings = new Findings();
  judgeAnnotations(pod(annotations).metadata, findings);
  return findings.errors.map(({ message }) =>
    message.replace(/^Invalid value: "(.*?)": /, (_whole, value: string) => `${value}: `),
  );
}

describe("agent/backoff-max", () => {
  const cases: Readonly<
    Record<string, { readonly text: string; readonly ms?: number; readonly error?: string }>
  > = {
    "may be a second": { text: "1s", ms: 1000 },
    "may be an hour": { text: "1h", ms: 3_600_000 },
    "may have parts": { text: " 1m30s ", ms: 90_000 },
    "below a second is refused, and a second if it was accepted": {
      text: "999ms",
      ms: 1000,
      error: BACKOFF_RULE,
    },
    "above an hour is refused, and an hour if it was accepted": {
      text: "1h1ms",
      ms: 3_600_000,
      error: BACKOFF_RULE,
    },
    "without a unit is refused, and the node's if it was accepted": {
      text: "30",
      error: BACKOFF_RULE,
    },
    "that is empty is refused, and the node's if it was accepted": {
      text: "",
      error: BACKOFF_RULE,
    },
  };
  test.each(Object.entries(cases))("%s", (_sentence, { text, ms, error }) => {
    const annotations = { "agent/backoff-max": text };
    expect(backoffMaxMs(pod(annotations))).toBe(ms);
    expect(errors(annotations)).toEqual(error === undefined ? [] : [`${text}: ${error}`]);
  });

  test("absent is the node's", () => {
    expect(backoffMaxMs(pod({}))).toBeUndefined();
  });

  test("every duration within the bounds is taken as it is", () => {
    fc.assert(
      fc.property(fc.integer({ min: 1000, max: 3_600_000 }), (ms) => {
        expect(backoffMaxMs(pod({ "agent/backoff-max": formatDuration(ms) }))).toBe(ms);
      }),
    );
  });

  test("whatever is written, the wait stays within the bounds", () => {
    fc.assert(
      fc.property(fc.stringMatching(/^[0-9.]{1,30}(ns|ms|s|m|h)$/), (text) => {
        const ms = backoffMaxMs(pod({ "agent/backoff-max": text })) ?? 1000;
        expect(ms).toBeGreaterThanOrEqual(1000);
        expect(ms).toBeLessThanOrEqual(3_600_000);
      }),
    );
  });
});

describe("agent/devices", () => {
  test("names devices", () => {
    expect(errors({ "agent/devices": "/dev/ttyUSB0, /dev/i2c-1:/dev/i2c-0:rw" })).toEqual([]);
  });

  test("names each wrong entry", () => {
    const rule =
      'must be a device such as "/dev/ttyUSB0", "/dev/i2c-1:/dev/i2c-0" or "/dev/x:/dev/y:rw"';
    expect(errors({ "agent/devices": "/dev/ttyUSB0, ttyUSB1, /etc/x" })).toEqual([
      `ttyUSB1: ${rule}`,
      `/etc/x: ${rule}`,
    ]);
  });
});

describe("agent/pull-strict", () => {
  test.each([
    [undefined, false, []],
    ["true", true, []],
    ["false", false, []],
    ["yes", false, ['yes: must be "true" or "false"']],
  ] as const)("%p means %p", (text, isStrict, says) => {
    const annotations: Record<string, string> =
      text === undefined ? {} : { "agent/pull-strict": text };
    expect(errors(annotations)).toEqual([...says]);
    expect(pullsStrictly(pod(annotations))).toBe(isStrict);
  });
});

describe("agent/restart-on-config-change", () => {
  test.each([
    [undefined, true],
    ["true", true],
    ["false", false],
  ])("%p means %p", (text, restarts) => {
    const annotations: Record<string, string> =
      text === undefined ? {} : { "agent/restart-on-config-change": text };
    expect(errors(annotations)).toEqual([]);
    expect(restartsOnConfigChange(pod(annotations))).toBe(restarts);
  });

  test("another word is refused, and means true if it was accepted", () => {
    const annotations = { "agent/restart-on-config-change": "no" };
    expect(errors(annotations)).toEqual(['no: must be "true" or "false"']);
    expect(restartsOnConfigChange(pod(annotations))).toBe(true);
  });
});

describe("agent/depends-on", () => {
  const db = { namespace: "shop", name: "db", state: "Ready" } as const;
  const cases: Readonly<Record<string, readonly [string, readonly Dependency[], string?]>> = {
    "that is empty asks for nothing": [" ", []],
    "without namespace and state is a ready pod of the own namespace": ["db", [db]],
    "may name namespace and state": [
      "infra/db:Running",
      [{ namespace: "infra", name: "db", state: "Running" }],
    ],
    "may name several, with spaces anywhere": [
      " db , infra/db : Succeeded,web.x ",
      [
        db,
        { namespace: "infra", name: "db", state: "Succeeded" },
        { namespace: "shop", name: "web.x", state: "Ready" },
      ],
    ],
    "may name a pod of the own name elsewhere": [
      "infra/web",
      [{ namespace: "infra", name: "web", state: "Ready" }],
    ],
    "cannot name the pod itself": [
      "db,web",
      [db],
      "web: is the pod itself, which would wait for ever; leave it out",
    ],
    "cannot name the pod itself with its namespace": [
      "shop/web:Running",
      [],
      "shop/web:Running: is the pod itself, which would wait for ever; leave it out",
    ],
    "cannot name a pod twice, in whatever state": [
      "db,shop/db:Running",
      [db],
      "shop/db:Running: names a pod that stands here already; keep one of them",
    ],
    "cannot ask for an unknown state": [
      "db:Healthy,infra/db",
      [{ namespace: "infra", name: "db", state: "Ready" }],
      "db:Healthy: must wait for Ready, Running or Succeeded",
    ],
    "suggests the state that was probably meant": [
      "db:running",
      [],
      "db:running: must wait for Ready, Running or Succeeded (did you mean Running?)",
    ],
    "cannot have an empty state": ["db:", [], "db:: must wait for Ready, Running or Succeeded"],
    "cannot end in a comma": ["db,", [db], `: ${NAME_RULE}`],
    "cannot have two colons": ["db:Ready:Ready", [], `db:Ready:Ready: ${NAME_RULE}`],
    "cannot have two slashes": ["a/b/c", [], `a/b/c: ${NAME_RULE}`],
    "cannot have an empty namespace": ["/db", [], `/db: ${NAME_RULE}`],
    "cannot have an empty name": ["infra/:Ready", [], `infra/:Ready: ${NAME_RULE}`],
    "cannot have a name that no pod has": ["Infra/db", [], `Infra/db: ${NAME_RULE}`],
    "cannot have a name too long for a pod": [
      "a".repeat(64),
      [],
      `${"a".repeat(64)}: ${NAME_RULE}`,
    ],
  };
  test.each(Object.entries(cases))("%s", (_sentence, [text, expected, error]) => {
    expect(dependsOn(text)).toEqual([...expected]);
    expect(errors({ "agent/depends-on": text })).toEqual(error === undefined ? [] : [error]);
  });

  test("names no hundreds of pods", () => {
    const text = Array.from({ length: 101 }, (_, index) => `p${index}`).join(",");
    expect(dependsOn(text)).toHaveLength(20);
    expect(errors({ "agent/depends-on": text })).toEqual([
      expect.stringMatching(/: must name at most 20 pods, not 101$/),
    ]);
  });

  const label = fc.stringMatching(/^[a-z]([a-z0-9-]{0,20}[a-z0-9])?$/);
  const dependency = fc.record({
    namespace: label,
    name: label,
    state: fc.constantFrom("Ready" as const, "Running" as const, "Succeeded" as const),
  });

  test("what is written in full is read as it is written", () => {
    const several = fc.uniqueArray(dependency, {
      maxLength: 20,
      selector: ({ namespace, name }) => `${namespace}/${name}`,
    });
    fc.assert(
      fc.property(several, (wanted) => {
        const text = wanted.map((one) => `${one.namespace}/${one.name}:${one.state}`).join(",");
        fc.pre(!wanted.some(({ namespace, name }) => namespace === "shop" && name === "web"));
        expect(dependsOn(text)).toEqual(wanted);
        expect(errors({ "agent/depends-on": text })).toEqual([]);
      }),
    );
  });

  test("whatever is written, no pod waits for itself or twice for another", () => {
    const piece = fc.constantFrom("web", "db", "shop", "/", ":", ",", " ", "Ready", "Running", "X");
    fc.assert(
      fc.property(fc.array(piece, { maxLength: 30 }), (pieces) => {
        const names = dependsOn(pieces.join("")).map((one) => `${one.namespace}/${one.name}`);
        expect(names).not.toContain("shop/web");
        expect(new Set(names).size).toBe(names.length);
      }),
    );
  });
});

describe("a pod with our annotations", () => {
  const annotated = (annotations: object): object => ({
    ...writtenPod(),
    metadata: { name: "web", annotations },
  });

  test("is refused by the path of the annotation", () => {
    const value = annotated({ "agent/depends-on": "web", "agent/backoff-max": "1d" });
    expect(decode(value).errors.map(({ path, message }) => `${path}: ${message}`)).toEqual([
      'metadata.annotations[agent/depends-on]: Invalid value: "web": is the pod itself, which would wait for ever; leave it out',
      `metadata.annotations[agent/backoff-max]: Invalid value: "1d": ${BACKOFF_RULE}`,
    ]);
    expect(decode(value, { lenient: true }).pods).toHaveLength(1);
  });

  test("is the same pod as without them", () => {
    const uid = (value: object) => decode(value).pods[0]?.desired.uid;
    expect(uid(annotated({ "agent/depends-on": "db", "agent/backoff-max": "1m" }))).toBe(
      uid(annotated({})) ?? "",
    );
  });
});
