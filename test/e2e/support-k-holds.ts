// A node whose updates are held: one broker, one registry and one containerd for all of them, and pods with a lock.

import { afterAll, expect } from "bun:test";
import { writeFileSync } from "node:fs";
import { join } from "node:path";

import type { Ack } from "../../src/protocol/reported-state.ts";
import { agentBinary, type AgentProcess } from "../harness/agent-process.ts";
import { startBroker, type Broker } from "../harness/broker.ts";
import type { BrokerClient } from "../harness/broker-client.ts";
import { always, eventually } from "../harness/eventually.ts";
import { execSync } from "../harness/exec-sync.ts";
import { BUSYBOX_1 } from "../harness/images.ts";
import { run, type CommandResult } from "../harness/run-command.ts";
import { openStage, runningApps, type Stage, type StageAgent } from "./support-b-stage.ts";
import { startWithClock, type AnsweringOptions } from "./support-g-answers.ts";
import { topicOf, Upstream } from "./support-b-upstream.ts";
import { MovingRegistry } from "./support-h-registry.ts";

interface WishedPod {
  /** Default `web`. */
  readonly name?: string;
  /** Of the node: pods of two agents on one containerd have to differ. */
  readonly node: string;
  /** Part of the command: another variant is another revision. */
  readonly variant?: string;
  readonly image?: string;
  readonly annotations?: Readonly<Record<string, string>>;
  /** Merged into the container. */
  readonly container?: object;
  readonly volumes?: readonly object[];
  /** More of them. */
  readonly containers?: readonly object[];
}

/** Ends at once where its image says that it is broken. */
const SCRIPT = `read -r version </etc/image-version
[ "$version" = broken ] && exit 1
trap 'exit 0' TERM
sleep 2147483647 & wait $!`;

function podOf({ name = "web", node, variant = "1", ...more }: WishedPod): object {
  const { image = BUSYBOX_1.name, annotations = {}, container = {}, volumes = [] } = more;
  const command = ["sh", "-c", SCRIPT, "sh", variant, node];
  return {
    apiVersion: "v1",
    kind: "Pod",
    metadata: { name, namespace: "default", annotations },
    spec: {
      terminationGracePeriodSeconds: 2,
      containers: [{ name: "main", image, command, ...container }, ...(more.containers ?? [])],
      volumes,
    },
  };
}

export class HoldStage {
  readonly stage: Stage;
  readonly hub = new MovingRegistry();
  readonly #line: { readonly broker: Broker; readonly client: BrokerClient } | undefined;

  private constructor(
    stage: Stage,
    line?: { readonly broker: Broker; readonly client: BrokerClient },
  ) {
    this.stage = stage;
    this.#line = line;
    afterAll(async () => {
      this.hub[Symbol.dispose]();
      await line?.client[Symbol.asyncDispose]();
    }, 180_000);
  }

  /** Without a containerd there is no broker either: all tests are skipped. */
  static async open(): Promise<HoldStage> {
    const stage = await openStage();
    try {
      stage.containerd();
    } catch {
      return new HoldStage(stage);
    }
    const broker = await startBroker(stage.temp);
    return new HoldStage(stage, { broker, client: await broker.client() });
  }

  get broker(): Broker {
    if (this.#line === undefined) throw new Error("there is no broker");
    return this.#line.broker;
  }

  get client(): BrokerClient {
    if (this.#line === undefined) throw new Error("there is no broker");
    return this.#line.client;
  }

  /** An agent that is online; its node is called `name`. */
  async node(
    name: string,
    { clock, ...options }: StageAgent & Pick<AnsweringOptions, "clock"> = {},
  ): Promise<HeldNode> {
    const agent = this.stage.agent(name, {
      broker: this.broker,
      ...options,
      config: { crashLoopBackOff: { maxContainerRestartPeriod: "1s" }, ...options.config },
    });
    const upstream = await Upstream.follow(this.client, name);
    startWithClock(agent, clock);
    await agent.waitReady(60_000);
    await upstream.untilState("online", 60_000);
    return new HeldNode(this, agent, upstream);
  }

  /** A verb of the operator's side. */
  fleet(...args: readonly string[]): Promise<CommandResult> {
    return run([agentBinary(), "fleet", ...args, "--url", this.broker.url], { timeout: 110_000 });
  }

  /** A file of the operator's. */
  file(name: string, content: object | string): string {
    const path = join(this.stage.temp.path, name);
    writeFileSync(path, typeof content === "string" ? content : JSON.stringify(content));
    return path;
  }
}

export class HeldNode implements AsyncDisposable {
  readonly agent: AgentProcess;
  readonly upstream: Upstream;
  readonly name: string;
  readonly #stage: HoldStage;
  #generation = 0;

  constructor(stage: HoldStage, agent: AgentProcess, upstream: Upstream) {
    this.#stage = stage;
    this.agent = agent;
    this.upstream = upstream;
    this.name = agent.nodeName;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.agent.kill();
  }

  pod(wished: Omit<WishedPod, "node"> = {}): object {
    return podOf({ node: this.name, ...wished });
  }

  /** Its container may lock updates out, by a file of its own name in /lock. */
  lockingPod(variant: string): object {
    return this.pod({
      variant,
      annotations: { "agent/update-lock": "lock" },
      container: { volumeMounts: [{ name: "lock", mountPath: "/lock" }] },
      volumes: [{ name: "lock", emptyDir: { medium: "Memory" } }],
    });
  }

  /** The whole of the next generation. */
  document(resources: readonly object[], policy: object = {}): object {
    this.#generation += 1;
    return {
      apiVersion: "agent/v1",
      kind: "DesiredState",
      target: { node: this.name },
      generation: this.#generation,
      policy: { minReadySeconds: 1, progressDeadlineSeconds: 90, ...policy },
      resources,
    };
  }

  /** The next generation; `wrap` signs it. */
  async publish(
    resources: readonly object[],
    policy: object = {},
    wrap: (document: object) => object | string = (document) => document,
  ): Promise<number> {
    const document = wrap(this.document(resources, policy));
    await this.#stage.client.publish(topicOf(this.name, "desired"), document, { retain: true });
    return this.#generation;
  }

  /** Of the last generation, from now or before. */
  async ack(what: string, matches: (ack: Ack) => boolean): Promise<Ack> {
    const generation = this.#generation;
    const isIt = (ack: Ack): boolean => ack.generation === generation && matches(ack);
    try {
      return await this.upstream.ack(what, isIt, 90_000);
    } catch (thrown) {
      throw new Error(`${String(thrown)}\n${this.agent.logTail(60)}`, { cause: thrown });
    }
  }

  async healthy(): Promise<void> {
    await this.ack("it is healthy", ({ code }) => code === 200);
  }

  /** Publishes, and waits for 200. */
  async good(resources: readonly object[]): Promise<string> {
    await this.publish(resources);
    await this.healthy();
    return this.container();
  }

  /** The last generation is answered 423 for this reason; the container runs on. */
  async held(why: RegExp, container: string): Promise<Ack> {
    const ack = await this.ack(
      `it is held: ${why}`,
      ({ code, message = "" }) => code === 423 && why.test(message),
    );
    expect(ack.phase).toBe("Held");
    expect(ack.observedGeneration).toBeLessThan(ack.generation);
    expect(await this.container()).toBe(container);
    const { stdout } = await this.agent.cli("get", "pods");
    expect(stdout).toContain("(update held");
    return ack;
  }

  async staysHeld(container: string, ms = 3_000): Promise<void> {
    await always(`${this.name} runs the same container`, ms, async () => {
      return (await this.container()) === container;
    });
  }

  /** The only running container of a pod. */
  async container(pod = "web"): Promise<string> {
    return eventually(
      `${pod} runs on ${this.name}`,
      async () => {
        const apps = await runningApps(this.#stage.stage.containerd(), this.name);
        const own = apps.filter(({ name }) => name === pod);
        return own.length === 1 ? own[0]?.id : undefined;
      },
      { timeout: 60_000, interval: 100, explain: () => this.agent.logTail(40) },
    );
  }

  /** Another container than this one; ms until it was there. */
  async replaced(container: string): Promise<number> {
    const start = performance.now();
    await eventually(
      `${this.name} has a new container`,
      async () => (await this.container()) !== container,
      { timeout: 60_000, interval: 50, explain: () => this.agent.logTail(40) },
    );
    return performance.now() - start;
  }

  /** From inside; any exit code but 0 throws. */
  async inside(container: string, script: string): Promise<string> {
    const said = await execSync(this.#stage.stage.containerd(), container, ["sh", "-c", script]);
    if (said.exitCode !== 0) throw new Error(`exit ${said.exitCode}: ${said.stderr}`);
    return said.stdout;
  }

  /** As if its process had died by itself. */
  async end(container: string): Promise<void> {
    const containerd = this.#stage.stage.containerd();
    await containerd.ctr("tasks", "kill", "--signal", "SIGKILL", container);
  }

  /** Ends with 0, and gives what it says. */
  async cli(...args: readonly string[]): Promise<string> {
    const { code, stdout, stderr } = await this.agent.cli(...args);
    expect([args.join(" "), code, stderr]).toEqual([args.join(" "), 0, ""]);
    return stdout;
  }

  async hasImage(reference: string): Promise<boolean> {
    const listed = await this.#stage.stage.containerd().ctr("images", "list", "--quiet");
    return listed.split("\n").includes(reference);
  }
}
