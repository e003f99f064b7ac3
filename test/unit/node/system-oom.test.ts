import { expect, test } from "bun:test";
import { systemVictims } from "../../../src/node/system-oom.ts";

test("the victims of a node without memory are found, those of a container's limit are not", () => {
  const messages = [
    "oom-kill:constraint=CONSTRAINT_NONE,nodemask=(null),cpuset=/,mems_allowed=0,global_oom,task=web,pid=12,uid=0",
    "Out of memory: Killed process 12 (web) total-vm:9kB, anon-rss:8kB, UID:0 pgtables:1kB oom_score_adj:0",
    "Memory cgroup out of memory: Killed process 13 (tail) total-vm:9kB, anon-rss:8kB",
    "Out of memory: Killed process 14 (a (b)) total-vm:9kB",
    "oom_reaper: reaped process 12 (web), now anon-rss:0kB",
  ];
  expect(systemVictims(messages)).toEqual([
    { process: "web", pid: "12" },
    { process: "a (b)", pid: "14" },
  ]);
});
