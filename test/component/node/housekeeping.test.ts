import { expect, test } from "bun:test";
import { join } from "node:path";
import { Housekeeping } from "../../../src/node/housekeeping.ts";
import { realFiles } from "../../../src/host/real-files.ts";
import { realMounts } from "../../../src/host/mounts.ts";
import { createLogger } from "../../../src/lib/logger.ts";
import { PodCleanup } from "../../../src/podworkers/pod-cleanup.ts";
import { Volumes } from "../../../src/volume/volume-manager.ts";
import { VirtualClock } from "../../fakes/fake-clock.ts";
import { steadyRandom } from "../../agent/pod-world.ts";
import { openStore } from "../store/open-store.ts";
import { temporaryDirectories } from "../store/temporary-directories.ts";

const newDirectory = temporaryDirectories();

test("rows of killed containers go with pods that went while nobody looked, once all have spoken", async () => {
  const stateDir = newDirectory();
  using store = openStore(stateDir);
  const clock = new VirtualClock();
  const files = realFiles();
  let isSettled = false;
  const housekeeping = new Housekeeping({
    clock,
    random: steadyRandom,
    log: createLogger({ clock, level: "debug", write: () => undefined }),
    volumes: new Volumes({ files, mounts: realMounts(), stateDir }),
    cleanup: new PodCleanup({
      files,
      podLogsDir: join(stateDir, "logs"),
      volumes: { tearDown: () => undefined },
      cgroups: { removeCgroup: () => undefined },
      statuses: { get: () => undefined },
    }),
    killed: store.killed,
    isInUse: (uid) => uid === "here",
    isNamed: () => true,
    isSettled: () => isSettled,
  });
  for (const uid of ["here", "gone"])
    store.killed.put(uid, new Map([["a", { id: "1", always: false }]]));
  const stop = new AbortController();
  const running = housekeeping.run(stop.signal);
  await clock.advance(1_200_000);
  expect(store.killed.pods()).toEqual(["here", "gone"]);
  isSettled = true;
  await clock.advance(1_200_000);
  expect(store.killed.pods()).toEqual(["here"]);
  stop.abort();
  await clock.settle();
  await running;
});
