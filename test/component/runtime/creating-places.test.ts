// Who starts first when many pods want to: pods of files, then by priority, then in the order of arrival.

import { expect, test } from "bun:test";

import { CreatingPlaces } from "../../../src/runtime/creating-places.ts";
import type { SourceName } from "../../../src/api/pod/labels.ts";
import { aPod } from "../../fakes/a-pod.ts";

const CLASSES = { shop: 1_000, batch: -1_000 };

test("places go to pods of files first, then by priority, then in the order of arrival", async () => {
  const creating = new CreatingPlaces({ priorityClasses: CLASSES, places: 1 });
  const order: string[] = [];
  const free = Promise.withResolvers<void>();
  const run = (name: string, source: SourceName, spec: object = {}): Promise<void> => {
    const plain = aPod();
    const pod = { ...plain, spec: { ...plain.spec, ...spec } };
    const isFirst = order.length === 0 && name === "first";
    const work = async (): Promise<void> => {
      order.push(name);
      if (isFirst) await free.promise;
    };
    return creating.run({ pod, source }, work);
  };
  const all = [
    run("first", "file"),
    run("document, critical", "mqtt:node", { priorityClassName: "system-node-critical" }),
    run("batch", "file", { priorityClassName: "batch" }),
    run("plain 1", "file"),
    run("number", "http", { priority: 500 }),
    run("plain 2", "http"),
    run("shop", "file", { priorityClassName: "shop" }),
    run("critical", "file", { priorityClassName: "system-cluster-critical" }),
    run("document", "mqtt:group/g"),
  ];
  free.resolve();
  await Promise.all(all);
  expect(order).toEqual([
    "first",
    "critical",
    "shop",
    "number",
    "plain 1",
    "plain 2",
    "batch",
    "document, critical",
    "document",
  ]);
});
