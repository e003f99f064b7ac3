// Manifest files in whose hand the agent has ended twice.

import { expect, test } from "bun:test";
import { manifest, ManifestDirectory } from "./manifest-directory.ts";

const work = (on: ManifestDirectory, name: string): string => `File ${on.path(name)}`;

test("a file is in hand while it is decoded, and no suspect afterwards", async () => {
  using on = new ManifestDirectory();
  await on.start();
  await on.move("web.yaml", manifest("web"));
  expect(on.guard.history).toEqual([
    `hold ${work(on, "web.yaml")}`,
    `settle ${work(on, "web.yaml")}`,
  ]);
  await on.stop();
});

test("a suspect is not decoded; its last good copy counts, and so do all other files", async () => {
  using on = new ManifestDirectory();
  await on.start();
  await on.move("web.yaml", manifest("web", "busybox:1"));
  on.guard.suspects.add(work(on, "web.yaml"));
  on.guard.history.length = 0;
  await on.move("web.yaml", manifest("web", "busybox:2"));
  await on.move("db.yaml", manifest("db"));
  expect(on.now()).toEqual({
    ready: true,
    pods: ["db busybox:1", "web busybox:1"],
    rejected: ["web.yaml StartGuard"],
  });
  expect(on.guard.history.join()).not.toContain("web.yaml");
  expect(on.guard.waiting).toEqual([work(on, "web.yaml")]);

  on.guard.allow(work(on, "web.yaml"));
  await on.clock.advance(1_000);
  expect(on.now()).toEqual({ ready: true, pods: ["db busybox:1", "web busybox:2"], rejected: [] });
  await on.stop();
});

test("without a last good copy the files have not synced until it was read: nothing of it is removed", async () => {
  using on = new ManifestDirectory();
  on.guard.suspects.add(work(on, "web.yaml"));
  await on.move("web.yaml", manifest("web"));
  await on.start();
  await on.clock.advance(1_500);
  expect(on.now()).toEqual({
    ready: false,
    pods: [],
    rejected: ["web.yaml StartGuard"],
  });
  on.guard.allow(work(on, "web.yaml"));
  await on.clock.advance(1_000);
  expect(on.now()).toEqual({ ready: true, pods: ["web busybox:1"], rejected: [] });
  await on.stop();
});

test("another content is not suspected, and a deleted file waits for nothing", async () => {
  using on = new ManifestDirectory();
  await on.start();
  on.guard.suspects.add(work(on, "web.yaml"));
  await on.move("web.yaml", manifest("web"));
  expect(on.guard.waiting).toHaveLength(1);
  await on.remove("web.yaml");
  expect(on.guard.waiting).toEqual([]);
  expect(on.now()).toEqual({ ready: true, pods: [], rejected: [] });
  await on.stop();
  expect(on.guard.waiting).toEqual([]);
});

test("a copy that is suspected stands for its file no more, and nothing of it is removed", async () => {
  using on = new ManifestDirectory();
  await on.start();
  await on.move("web.yaml", manifest("web"));
  await on.move("db.yaml", manifest("db"));
  await on.stop();
  on.guard.suspects.add(work(on, "web.yaml"));
  await on.start();
  await on.clock.advance(1_500);
  expect(on.now()).toEqual({
    ready: false,
    pods: ["db busybox:1"],
    rejected: ["web.yaml LastGoodLost", "web.yaml StartGuard"],
  });
  expect(on.log.join()).toContain(`${work(on, "web.yaml")} waits`);
  on.guard.allow(work(on, "web.yaml"));
  await on.clock.advance(1_000);
  expect(on.now()).toEqual({ ready: true, pods: ["db busybox:1", "web busybox:1"], rejected: [] });
  await on.stop();
});
