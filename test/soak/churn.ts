// What happens to the node of a soak: pods edited, added, removed and killed, documents, restarts of the broker and of the
// container runtime.

import type { Mulberry32 } from "../fakes/mulberry32.ts";
import type { AgentProcess } from "../harness/agent-process.ts";
import type { Broker } from "../harness/broker.ts";
import type { PrivateContainerd } from "../harness/private-containerd.ts";
import { output } from "../harness/run-command.ts";
import { listTasks } from "../harness/containerd-lists.ts";
import { plainPod, type Ledger } from "../e2e/support-b-pods.ts";

export interface ChurnOptions {
  readonly agent: AgentProcess;
  readonly ledger: Ledger;
  readonly broker: Broker;
  readonly containerd: PrivateContainerd;
  readonly dice: Mulberry32;
  /** Names of pods of manifests. */
  readonly names: readonly string[];
  readonly node: string;
}

type Action = readonly [name: string, run: () => Promise<void> | void];

export class Churn {
  readonly #options: ChurnOptions;
  /** Pod of a manifest → newest variant; absent = not wanted. */
  readonly files = new Map<string, string>();
  /** Pods of the newest document → variant. */
  document: ReadonlyMap<string, string> = new Map();
  generation = 0;
  readonly done = new Map<string, number>();
  #variant = 0;

  constructor(options: ChurnOptions) {
    this.#options = options;
  }

  async act(): Promise<void> {
    const [name, run] = this.#options.dice.weighted<Action>([
      [["edit a manifest", () => this.edit()], 30],
      [["remove a manifest", () => this.#remove()], 8],
      [["publish a document", () => this.publish()], 12],
      [["kill a container", () => this.#killContainer()], 20],
      [["restart the broker", () => this.#restartBroker()], 2],
      [["restart containerd", () => this.#restartContainerd()], 1],
    ]);
    this.done.set(name, (this.done.get(name) ?? 0) + 1);
    await run();
  }

  /** Writes a new version of a pod, of one that is not there too. */
  edit(name = this.#someName()): void {
    const { agent, ledger } = this.#options;
    const variant = this.#nextVariant();
    this.files.set(name, variant);
    agent.writeManifest(`${name}.yaml`, ledger.pod({ name, variant }));
  }

  /** A generation with other pods than the one before; nothing of it is ever bad. */
  async publish(): Promise<void> {
    const { broker, dice, node } = this.#options;
    this.generation += 1;
    const names = ["doc-a", "doc-b", "doc-c"].filter(() => dice.chance(0.8));
    this.document = new Map(names.map((name) => [name, this.#nextVariant()]));
    const body = {
      apiVersion: "agent/v1",
      kind: "DesiredState",
      generation: this.generation,
      policy: { minReadySeconds: 0 },
      resources: [...this.document].map(([name, variant]) => plainPod(name, variant)),
    };
    const topic = `agent/v1/node/${node}/desired`;
    const to = ["-p", String(broker.port), "-q", "1", "-r", "-t", topic];
    await output(["mosquitto_pub", ...to, "-m", JSON.stringify(body)]);
  }

  #remove(): void {
    const name = this.#someName();
    this.files.delete(name);
    this.#options.agent.removeManifest(`${name}.yaml`);
  }

  /** As a crash of the program would. */
  async #killContainer(): Promise<void> {
    const { containerd, dice } = this.#options;
    const tasks = await listTasks(containerd);
    const running = tasks.filter(({ status }) => status === "RUNNING");
    if (running.length === 0) return;
    // It may have ended meanwhile.
    await containerd.ctr("tasks", "kill", "-s", "KILL", dice.pick(running).id).catch(() => "");
  }

  async #restartBroker(): Promise<void> {
    const { broker, dice } = this.#options;
    await broker.stop(dice.chance(0.5) ? "SIGKILL" : "SIGTERM");
    await Bun.sleep(dice.below(5_000));
    await broker.start();
  }

  async #restartContainerd(): Promise<void> {
    const { containerd, dice } = this.#options;
    await containerd.restart(dice.chance(0.5) ? "SIGKILL" : "SIGTERM");
  }

  #nextVariant(): string {
    this.#variant += 1;
    return `v${this.#variant}`;
  }

  #someName(): string {
    return this.#options.dice.pick(this.#options.names);
  }
}
