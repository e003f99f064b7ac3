import { expect, test } from "bun:test";
import { Limiter } from "../../../src/lib/concurrency-limit.ts";

test("a place that becomes free goes to what is urgent, then in the order of arrival", async () => {
  const limiter = new Limiter(1);
  const order: string[] = [];
  const first = Promise.withResolvers<void>();
  const run = (name: string, isUrgent: boolean): Promise<void> =>
    limiter.run(async () => void order.push(name), isUrgent);
  const all = [
    limiter.run(() => first.promise),
    run("document 1", false),
    run("document 2", false),
    run("file 1", true),
    run("file 2", true),
  ];
  first.resolve();
  await Promise.all(all);
  expect(order).toEqual(["file 1", "file 2", "document 1", "document 2"]);
});

test("what fails gives its place back", async () => {
  const limiter = new Limiter(1);
  await limiter.run(() => Promise.reject(new Error("no"))).catch(() => undefined);
  expect(await limiter.run(async () => 1)).toBe(1);
});
