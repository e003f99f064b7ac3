import { expect, test } from "bun:test";
import { Limiter } from "../../../src/lib/concurrency-limit.ts";

test("a place that becomes free goes to what is most urgent, then in the order of arrival", async () => {
  const limiter = new Limiter(1);
  const order: string[] = [];
  const first = Promise.withResolvers<void>();
  const run = (name: string, urgency: number): Promise<void> =>
    limiter.run(async () => void order.push(name), urgency);
  const all = [
    limiter.run(() => first.promise),
    run("document 1", 0),
    run("low", -5),
    run("document 2", 0),
    run("file 1", 7),
    run("critical", 9),
    run("file 2", 7),
  ];
  first.resolve();
  await Promise.all(all);
  expect(order).toEqual(["critical", "file 1", "file 2", "document 1", "document 2", "low"]);
});

test("what fails gives its place back", async () => {
  const limiter = new Limiter(1);
  await limiter.run(() => Promise.reject(new Error("no"))).catch(() => undefined);
  expect(await limiter.run(async () => 1)).toBe(1);
});
