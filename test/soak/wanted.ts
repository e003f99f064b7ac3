// Whether, after a soak, exactly what manifests and the newest document want runs.

import { everythingOf, runningPods } from "../e2e/support-b-stage.ts";
import type { Ledger } from "../e2e/support-b-pods.ts";
import type { AgentProcess } from "../harness/agent-process.ts";
import type { PrivateContainerd } from "../harness/private-containerd.ts";
import type { Churn } from "./churn.ts";

export interface Settled {
  readonly containerd: PrivateContainerd;
  readonly ledger: Ledger;
  readonly churn: Churn;
  readonly agent: AgentProcess;
  readonly instance: string;
}

/** A sentence for each thing that is not as it must be. */
export async function lost(settled: Settled): Promise<readonly string[]> {
  const { containerd, ledger, churn, instance } = settled;
  const wanted = [...churn.files.keys(), ...churn.document.keys()].toSorted();
  const running = await runningPods(containerd, instance);
  const found: string[] = [];
  if (!Bun.deepEquals(running, wanted))
    found.push(`these pods run: ${running.join(" ")}; wanted: ${wanted.join(" ")}`);
  for (const [name, variant] of churn.files) {
    const last = ledger.lines(name).findLast(({ kind }) => kind === "start");
    if (last?.variant !== variant)
      found.push(`${name} runs as ${last?.variant ?? "nothing"}, not as ${variant}`);
  }
  for (const { name, variant } of ledger.overlaps())
    found.push(`${name} ${variant} started while its predecessor was alive`);
  const left = new Set((await everythingOf(containerd, instance)).map((one) => one.split("/")[0]));
  for (const name of left)
    if (!wanted.includes(name ?? "")) found.push(`something of ${name} is left in containerd`);
  return [...found, ...(await notReported(settled))];
}

async function notReported({ churn, agent }: Settled): Promise<readonly string[]> {
  const response = await agent.api("/api/v1/namespaces/default/pods");
  const { items } = (await response.json()) as {
    readonly items: readonly {
      readonly metadata: { readonly name: string };
      readonly spec: { readonly containers: readonly { readonly command: readonly string[] }[] };
      readonly status: { readonly phase: string };
    }[];
  };
  const documented = [...churn.document].flatMap(([name, variant]) => {
    const pod = items.find(({ metadata }) => metadata.name === name);
    const isNewest = pod?.spec.containers[0]?.command.includes(variant) === true;
    return isNewest ? [] : [`the API shows ${name} not as ${variant}`];
  });
  const others = items
    .filter(({ status }) => status.phase !== "Running")
    .map(({ metadata, status }) => `the API shows ${metadata.name} as ${status.phase}`);
  return [...documented, ...others];
}
