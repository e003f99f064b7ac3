// An agent that is attacked: in a memory cgroup as small as a small device, watched while the attack lasts.

import { existsSync, mkdirSync, readFileSync, rmdirSync, writeFileSync, chmodSync } from "node:fs";
import { join } from "node:path";

import { agentBinary, type AgentProcess } from "../harness/agent-process.ts";
import { eventually } from "../harness/eventually.ts";
import type { TempDirectory } from "../harness/temp-directory.ts";

/** What the agent may use, with the page cache of what it reads and the tmpfs that it fills. */
const LIMIT_MIB = 512;
/** What it uses at most under any attack. */
export const PEAK_MIB = 200;
const LOOK_MS = 100;
/**
 * A request that takes longer counts as unanswered: long enough for a machine that runs other tests too, short enough
 * to find an agent that hangs. How long the slowest took is printed, not judged.
 */
const UNANSWERED_MS = 20_000;

const ROOTS = ["/sys/fs/cgroup/memory", "/sys/fs/cgroup"] as const;

export interface Confined {
  readonly agent: AgentProcess;
  /** Starts the agent in its cgroup and waits until it is healthy. */
  readonly start: () => Promise<void>;
}

/** `agent` in a cgroup of its own; where no memory cgroup can be made, it runs without, and the output says so. */
export function confined(agent: AgentProcess, temp: TempDirectory): Confined {
  const cgroup = makeCgroup(agent.nodeName);
  const launcher = join(temp.directory(`${agent.nodeName}-launcher`), "agent");
  const enter = cgroup === undefined ? "" : `echo $$ >${cgroup}/cgroup.procs || exit 1`;
  writeFileSync(launcher, `#!/bin/sh\n${enter}\nexec ${agentBinary()} "$@"\n`);
  chmodSync(launcher, 0o755);
  if (cgroup === undefined) console.log(`${agent.nodeName}: no memory cgroup, only RSS is judged`);
  return {
    agent,
    start: async () => {
      agent.start(launcher);
      await agent.waitReady();
    },
  };
}

/** Ends the agent and removes its cgroup. */
export async function release({ agent }: Confined): Promise<void> {
  await agent.kill("SIGKILL");
  const path = cgroupOf(agent.nodeName);
  if (path === undefined || !existsSync(path)) return;
  await eventually("the cgroup of the agent is empty", () => {
    rmdirSync(path);
    return true;
  });
}

function cgroupOf(name: string): string | undefined {
  const root = ROOTS.find((one) => existsSync(join(one, "cgroup.procs")));
  return root === undefined ? undefined : join(root, `agent-attacked-${process.pid}-${name}`);
}

function makeCgroup(name: string): string | undefined {
  const path = cgroupOf(name);
  if (path === undefined) return undefined;
  mkdirSync(path, { recursive: true });
  const limit = ["memory.limit_in_bytes", "memory.max"].find((one) => existsSync(join(path, one)));
  if (limit === undefined) {
    rmdirSync(path);
    return undefined;
  }
  writeFileSync(join(path, limit), String(LIMIT_MIB * 1024 * 1024));
  return path;
}

export interface Seen {
  /** Largest RSS of any process of the agent since the watch began. */
  readonly peakMiB: number;
  /** Of the slowest answer of the local API. */
  readonly slowestMs: number;
  /** Why requests got no answer while the agent was meant to run, one line each. */
  readonly unanswered: readonly string[];
}

/** Looks at memory and the local API until it is disposed of. */
export class AttackWatch {
  readonly #agent: AgentProcess;
  readonly #name: string;
  readonly #looking: Promise<void>;
  #isOver = false;
  #peakKiB = 0;
  #slowestMs = 0;
  readonly #unanswered: string[] = [];
  #mayBeDown = false;

  constructor(name: string, { agent }: Confined) {
    this.#agent = agent;
    this.#name = name;
    this.#looking = this.#look();
  }

  /** Kills the agent with SIGKILL in the middle of an attack and starts it again. */
  async restart({ agent, start }: Confined): Promise<void> {
    this.#mayBeDown = true;
    await agent.kill("SIGKILL");
    await start();
    this.#mayBeDown = false;
  }

  /** Prints what was seen. */
  async end(): Promise<Seen> {
    this.#isOver = true;
    await this.#looking;
    const peakMiB = Math.round(this.#peakKiB / 1024);
    const slowestMs = Math.round(this.#slowestMs);
    console.log(`${this.#name}: RSS at most ${peakMiB} MiB, slowest answer ${slowestMs} ms`);
    return { peakMiB, slowestMs, unanswered: this.#unanswered };
  }

  async #look(): Promise<void> {
    while (!this.#isOver) {
      this.#peakKiB = Math.max(this.#peakKiB, rssOf(this.#agent.pid));
      await this.#ask();
      await Bun.sleep(LOOK_MS);
    }
  }

  async #ask(): Promise<void> {
    const start = performance.now();
    try {
      const answer = await fetch("http://agent/healthz", {
        unix: this.#agent.paths.socket,
        signal: AbortSignal.timeout(UNANSWERED_MS),
      });
      await answer.text();
      this.#slowestMs = Math.max(this.#slowestMs, performance.now() - start);
    } catch (thrown) {
      // Killed by the test, and asked while it was away.
      if (this.#mayBeDown) return;
      this.#unanswered.push(`${String(thrown)} after ${Math.round(performance.now() - start)} ms`);
    }
  }
}

/** KiB; the kernel's own high mark, so that no peak between two looks is missed. */
function rssOf(pid: number | undefined): number {
  try {
    const status = readFileSync(`/proc/${pid ?? 0}/status`, "utf8");
    return Number(/^VmHWM:\s+(\d+)/m.exec(status)?.[1] ?? 0);
  } catch {
    return 0; // It has ended.
  }
}
