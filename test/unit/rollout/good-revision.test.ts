import { expect, test } from "bun:test";
import fc from "fast-check";

import { decodeObject } from "../../../src/api/decode/decode-object.ts";
import { goodCopy, pinnedObjects, readGoodCopy } from "../../../src/rollout/good-revision.ts";
import { localObjects } from "../../fakes/local-objects.ts";
import { sha256 } from "../api/digest.ts";

const CONTEXT = {
  source: "mqtt:node",
  ref: "agent/v1/node/pi-1/desired",
  sourceRef: "generation 3",
  nodeName: "pi-1",
  sha256,
} as const;
const WRITTEN = {
  apiVersion: "v1",
  kind: "Pod",
  metadata: { name: "web", namespace: "default", labels: { app: "web" } },
  spec: {
    containers: [
      {
        name: "main",
        image: "local/app:1",
        envFrom: [
          { configMapRef: { name: "web" } },
          { secretRef: { name: "web" } },
          { configMapRef: { name: "web" } },
          { configMapRef: { name: "agent-node" } },
          { configMapRef: { name: "missing", optional: true } },
        ],
      },
    ],
  },
};
const [decoded] = decodeObject(WRITTEN, CONTEXT).pods;
if (decoded === undefined) throw new Error("the pod cannot be read");
const { desired } = decoded;
const images = { main: "sha256:0123" };

test("a good revision comes back as it was, with all that it read", () => {
  const bytes = fc.uint8Array({ maxLength: 50 });
  const content = fc.dictionary(fc.stringMatching(/^[a-z][a-z.]{0,10}$/), fc.string());
  fc.assert(
    fc.property(
      content,
      fc.dictionary(fc.stringMatching(/^[a-z]{1,9}$/), bytes),
      (data, secret) => {
        const objects = localObjects({ configMaps: { web: data }, secrets: { web: secret } });
        const copy = goodCopy(desired, WRITTEN, { objects, images });
        expect(copy.objects).toHaveLength(2);
        const good = readGoodCopy(copy, CONTEXT);
        expect(good?.desired).toEqual(desired);
        expect(good?.images).toEqual(images);
        if (good === undefined) return;
        const nothing = localObjects({
          configMaps: { web: { now: "else" }, "agent-node": { a: "b" } },
        });
        const pinned = pinnedObjects(good, nothing);
        expect(pinned.configMap("default", "web")?.data).toEqual(data);
        expect(pinned.secret("default", "web")?.data).toEqual(secret);
        expect(pinned.configMap("default", "agent-node")?.data).toEqual({ a: "b" });
        expect(pinned.configMap("default", "missing")).toBeUndefined();
      },
    ),
  );
});

test("a good revision of a signed document counts as signed when it runs again", () => {
  const facts = { objects: localObjects({}), images };
  const copy = goodCopy({ ...desired, signed: true }, WRITTEN, facts);
  expect(readGoodCopy(copy, CONTEXT)?.desired).toEqual({ ...desired, signed: true });
  expect(readGoodCopy(goodCopy(desired, WRITTEN, facts), CONTEXT)?.desired).toEqual(desired);
});

test.each(["", "{", "[]", '{"kind":"Pod"}', '{"kind":"ConfigMap","metadata":{"name":"x"}}'])(
  "what cannot be read any more is lost: %s",
  (pod) => {
    expect(readGoodCopy({ pod, objects: [], images: {} }, CONTEXT)).toBeUndefined();
  },
);

test("a good revision whose objects cannot be read is lost as a whole", () => {
  const copy = goodCopy(desired, WRITTEN, { objects: localObjects({}), images });
  expect(readGoodCopy({ ...copy, objects: ["{"] }, CONTEXT)).toBeUndefined();
});
