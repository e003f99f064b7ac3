// A real mosquitto as a child of the test, on a free port of loopback.

import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";

export class Mosquitto implements AsyncDisposable {
  readonly port: number;
  readonly #directory = mkdtempSync(join(tmpdir(), "agent-mosquitto-"));
  #child: Bun.Subprocess<"ignore", "ignore", "pipe"> | undefined;

  private constructor(port: number, extra: readonly string[]) {
    this.port = port;
    const lines = [
      `listener ${port} 127.0.0.1`,
      "user root",
      "persistence true",
      `persistence_location ${this.#directory}/`,
      "log_dest stderr",
      ...extra,
    ];
    writeFileSync(this.#config, `${lines.join("\n")}\n`);
  }

  static async start(extra: readonly string[] = ["allow_anonymous true"]): Promise<Mosquitto> {
    const probe = Bun.listen({
      hostname: "127.0.0.1",
      port: 0,
      socket: { data: () => undefined },
    });
    const { port } = probe;
    probe.stop(true);
    const broker = new Mosquitto(port, extra);
    await broker.start();
    return broker;
  }

  get #config(): string {
    return join(this.#directory, "mosquitto.conf");
  }

  get url(): string {
    return `mqtt://127.0.0.1:${this.port}`;
  }

  /** Resolves when it says that it is running. */
  async start(): Promise<void> {
    const child = Bun.spawn(["mosquitto", "-c", this.#config], {
      stdin: "ignore",
      stdout: "ignore",
      stderr: "pipe",
    });
    this.#child = child;
    await running(child.stderr);
  }

  async stop(): Promise<void> {
    this.#child?.kill("SIGTERM");
    await this.#child?.exited;
    this.#child = undefined;
  }

  signal(name: "SIGSTOP" | "SIGCONT"): void {
    this.#child?.kill(name);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.signal("SIGCONT");
    await this.stop();
    rmSync(this.#directory, { recursive: true, force: true });
  }
}

/** Reads on for ever: mosquitto stands still when nobody takes what it says of its clients. */
function running(stderr: ReadableStream<Uint8Array>): Promise<void> {
  const started = Promise.withResolvers<void>();
  const read = async (): Promise<void> => {
    let said = "";
    const decoder = new TextDecoder();
    for await (const chunk of stderr) {
      const text = decoder.decode(chunk, { stream: true });
      said = (said + text).slice(-10_000);
      if (/mosquitto version \S+ running/.test(said)) started.resolve();
    }
    started.reject(new Error(`mosquitto does not start: ${said}`));
  };
  read().catch(started.reject);
  return started.promise;
}
