// The whole agent with one pod behind a door: asked by commands, heard through the broker.

import { appendFileSync, mkdirSync } from "node:fs";
import { dirname, join } from "node:path";
import type { CommandResponse } from "../../../src/protocol/command.ts";
import { containerLogPath, podLogDirectory } from "../../../src/api/pod/log-paths.ts";
import { aDocument, aPodNamed, UpstreamBench } from "../../agent/upstream-bench.ts";
import { aCommand, NODE_TOPIC, OWN } from "../../unit/upstream/a-command.ts";
import type { Door, DoorKind } from "./command-doors.ts";

export interface Answer extends CommandResponse {
  readonly topic: string;
  readonly bytes: number;
  readonly data?: Readonly<Record<string, unknown>>;
}

export class CommandNode implements AsyncDisposable {
  readonly bench: UpstreamBench;
  readonly door: Door;

  private constructor(bench: UpstreamBench, door: Door) {
    this.bench = bench;
    this.door = door;
  }

  /** Connected, and its pod `web` runs. `before`: while the node has never been there. */
  static async start(
    kind: DoorKind,
    before: (door: Door) => Promise<void> = () => Promise.resolve(),
  ): Promise<CommandNode> {
    const door = await kind.open();
    await before(door);
    const { clock, mqtt, link } = door;
    const node = new CommandNode(new UpstreamBench({ clock, mqtt, wrap: () => link }), door);
    node.bench.start();
    await clock.advance(10_000);
    const document = aDocument(1, { resources: [aPodNamed("web")] });
    await door.send("agent/v1/node/pi-1/desired", JSON.stringify(document), true);
    await clock.advance(30_000);
    return node;
  }

  /** As it stands, on the node's topic; arrives at once. */
  send(fields: Readonly<Record<string, unknown>>): Promise<void> {
    return this.door.send(NODE_TOPIC, JSON.stringify(aCommand(fields)));
  }

  /** Of one command, in the order the broker took them. */
  async answers(id: string): Promise<readonly Answer[]> {
    const all = await this.door.heard();
    return all
      .filter(({ topic }) => topic === OWN || topic.startsWith(`${OWN}/`))
      .map(({ topic, text }): Answer => {
        const response = JSON.parse(text) as Omit<Answer, "topic" | "bytes">;
        return { ...response, topic, bytes: new TextEncoder().encode(text).length };
      })
      .filter((answer) => answer.id === id);
  }

  /** Phase and code of each, those told to a second copy apart. */
  async phases(id: string): Promise<readonly string[]> {
    const answers = await this.answers(id);
    return answers
      .filter(({ phase }) => phase !== "duplicate")
      .map(({ phase, code }) => `${phase} ${code}`);
  }

  /** Of its present birth. */
  async session(): Promise<number> {
    const all = await this.door.heard();
    const births = all
      .filter(({ topic }) => topic === "agent/v1/node/pi-1/state")
      .map(({ text }) => JSON.parse(text) as { readonly state: string; readonly session: number })
      .filter(({ state }) => state === "online");
    return births.at(-1)?.session ?? 0;
  }

  /** How often a container was started. */
  starts(): number {
    return this.bench.runtime.calls.filter(({ call }) => call === "startContainer").length;
  }

  /** The container's program writes lines. */
  write(lines: readonly string[]): void {
    const [entry] = this.bench.facts.pods();
    if (entry === undefined) throw new Error("there is no pod");
    const { namespace, name, uid } = entry.pod.metadata;
    const directory = podLogDirectory(this.bench.config.podLogsDir, { namespace, name, uid });
    const path = join(directory, containerLogPath("main", 0));
    mkdirSync(dirname(path), { recursive: true });
    const written = lines.map((line) => `2026-11-21T08:00:00.1Z stdout F ${line}\n`);
    appendFileSync(path, written.join(""));
  }

  /** Until it is connected again and has said what waited. */
  async comeBack(): Promise<void> {
    this.door.line.down = false;
    while (!this.door.line.isLive) await this.door.clock.advance(1_000);
    await this.door.clock.advance(10_000);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.bench.stop();
    this.bench[Symbol.dispose]();
    await this.door[Symbol.asyncDispose]();
  }
}
