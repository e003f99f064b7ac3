// What the tests that look from inside a container stand on: fixtures whose containers print what they see, and their logs.

import { readdirSync, readFileSync, writeFileSync } from "node:fs";
import { join, resolve } from "node:path";

import type { test } from "bun:test";

import type { Rejection } from "../../src/api/pod/desired-pod.ts";
import type { PodView } from "../../src/node/api-views.ts";
import { agentBinary, type AgentProcess } from "../harness/agent-process.ts";
import { eventually } from "../harness/eventually.ts";
import { testWhenAvailable } from "../harness/skip-reasons.ts";
import { getRejected } from "./support-a-agent.ts";
import type { Stage } from "./support-a-stage.ts";
import { containerOf, podOf, untilPod } from "./support-c-views.ts";

const FIXTURES = resolve(import.meta.dir, "../fixtures/e2e/linux");

/** Scripts that containers and the node run alike. */
export const SCRIPTS = join(FIXTURES, "bin");

/** `{PORT: 8080}` fills `(PORT)`; `(SCRIPTS)` is filled always. */
export type Blanks = Readonly<Record<string, string | number>>;

export function putFixture(agent: AgentProcess, name: string, blanks: Blanks = {}): void {
  const text = readFileSync(join(FIXTURES, `${name}.yaml`), "utf8");
  const filled = Object.entries({ SCRIPTS, ...blanks }).reduce(
    (whole, [word, value]) => whole.replaceAll(`(${word})`, String(value)),
    text,
  );
  agent.writeManifest(`${name}.yaml`, filled);
}

/** Every line that a container printed before its last one, which is "end": logs come later than the end of what wrote them. */
export async function linesOf(
  agent: AgentProcess,
  pod: string,
  container = "main",
): Promise<readonly string[]> {
  let last: PodView | undefined;
  return eventually(
    `${container} of ${pod} has said everything`,
    async () => {
      last = await podOf(agent, pod);
      const lines = logOf(agent, last, container);
      return lines.at(-1) === "end" ? lines.slice(0, -1) : undefined;
    },
    {
      timeout: 60_000,
      interval: 50,
      explain: () =>
        `its status: ${JSON.stringify(last?.status, undefined, 1)}\n${agent.logTail()}`,
    },
  );
}

/** What a container has printed so far. */
export function logOf(agent: AgentProcess, pod: PodView, container: string): readonly string[] {
  const prefix = `${pod.metadata.namespace ?? "default"}_${pod.metadata.name}_`;
  const directory = readdirSync(agent.paths.podLogs).find((name) => name.startsWith(prefix));
  if (directory === undefined) throw new Error(`${pod.metadata.name} has no logs`);
  const { restartCount } = containerOf(pod, container);
  const path = join(agent.paths.podLogs, directory, container, `${restartCount}.log`);
  // Each line begins with its time, its stream, and whether it is whole.
  const lines = readFileSync(path, "utf8").split("\n").slice(0, -1);
  return lines.map((line) => line.split(" ").slice(3).join(" "));
}

/** Why a container waits; waits for a reason of this name. */
export async function waitOf(
  agent: AgentProcess,
  pod: string,
  { container = "main", reason }: { readonly container?: string; readonly reason: string },
): Promise<string | undefined> {
  const seen = await untilPod(agent, pod, {
    is: `waits with ${container} in ${reason}`,
    when: (view) => containerOf(view, container).state.waiting?.reason === reason,
  });
  return containerOf(seen, container).state.waiting?.message;
}

/** What /rejected says of a pod; waits for it. */
export async function rejectionOf(agent: AgentProcess, pod: string): Promise<Rejection> {
  return eventually(
    `${pod} is refused`,
    async () => (await getRejected(agent)).find(({ name }) => name === pod),
    { timeout: 60_000, interval: 50, explain: () => agent.logTail() },
  );
}

/** The stage's `test`, or one that is skipped and says `skipped: needs …`. */
export function testIf(isPossible: boolean, stage: Stage, needs: string): typeof test {
  if (isPossible || !stage.available) return stage.test;
  return testWhenAvailable({ unavailable: `needs ${needs}` });
}

/** Starts the agent where the machine's own resolver listens at 127.0.0.53 and got `resolved` from the network. */
export function startBehindStub(agent: AgentProcess, resolved: string): void {
  const directory = agent.paths.directory;
  const [stub, real] = [join(directory, "stub.conf"), join(directory, "resolved.conf")];
  writeFileSync(stub, "nameserver 127.0.0.53\noptions edns0 trust-ad\nsearch stub.example\n");
  writeFileSync(real, resolved);
  // /etc/resolv.conf may be a link into /run, so that file has to be there too.
  const inside = `mount -t tmpfs none /run && mkdir -p /run/systemd/resolve
cp ${stub} /run/systemd/resolve/stub-resolv.conf && cp ${real} /run/systemd/resolve/resolv.conf
mount --bind ${stub} /etc/resolv.conf && exec "$0" "$@"`;
  const wrapper = join(directory, "agent-behind-stub");
  writeFileSync(
    wrapper,
    `#!/bin/sh\nexec unshare --mount --propagation private sh -c '${inside}' ${agentBinary()} "$@"\n`,
    { mode: 0o755 },
  );
  agent.start(wrapper);
}
