import { expect, test } from "bun:test";
import { existsSync, mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { realFiles } from "../../../src/host/real-files.ts";
import { PodCleanup } from "../../../src/podworkers/pod-cleanup.ts";
import { temporaryDirectories } from "../store/temporary-directories.ts";

const newDirectory = temporaryDirectories();

function remainsIn(podLogsDir: string): PodCleanup {
  return new PodCleanup({
    files: realFiles(),
    podLogsDir,
    volumes: { tearDown: () => undefined },
    cgroups: { removeCgroup: () => undefined },
    statuses: { get: () => undefined },
  });
}

function logs(directory: string, name: string): string {
  const path = join(directory, name);
  mkdirSync(join(path, "main"), { recursive: true });
  writeFileSync(join(path, "main", "0.log"), "line\n");
  return path;
}

test("logs that were kept for a replaced pod are left over once nobody uses its name", () => {
  const directory = newDirectory();
  const remains = remainsIn(directory);
  const [web, db] = [logs(directory, "default_web_uid-1"), logs(directory, "default_db_uid-2")];
  const removal = { namespace: "default", why: "Replaced" } as const;
  remains.cleanUp({ ...removal, uid: "uid-1", name: "web" });
  remains.cleanUp({ ...removal, uid: "uid-2", name: "db" });
  expect(remains.leftovers((name) => name === "default/db")).toEqual([web]);
  remains.removeLeftover(web);
  expect([existsSync(web), existsSync(db)]).toEqual([false, true]);
});

test("logs without our mark are never left over: they may be somebody else's", () => {
  const directory = newDirectory();
  logs(directory, "default_web_uid-1");
  logs(directory, "notes");
  writeFileSync(join(directory, "a_b_c"), "a file");
  expect(remainsIn(directory).leftovers(() => false)).toEqual([]);
});

test("a directory of logs that is not there has no leftovers", () => {
  expect(remainsIn(join(newDirectory(), "nothing")).leftovers(() => false)).toEqual([]);
});
