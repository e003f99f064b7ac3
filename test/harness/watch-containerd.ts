// The test's own view of containerd: its event stream and its lists, without the agent's words.

import { listContainers, listTasks } from "./containerd-lists.ts";
import type { PrivateContainerd } from "./private-containerd.ts";
import type { TempDirectory } from "./temp-directory.ts";

export interface ContainerdEvent {
  /** e.g. `/tasks/start`, `/tasks/exit`, `/containers/create`. */
  readonly topic: string;
  /** Wall ms, as containerd stamped it. */
  readonly at: number;
  readonly containerId: string;
  readonly body: Readonly<Record<string, unknown>>;
}

/** Collects events of the namespace of CRI until it is disposed or containerd ends. */
export class ContainerdWatch implements Disposable {
  readonly events: ContainerdEvent[] = [];
  readonly #child: Bun.Subprocess<"ignore", "pipe", "ignore">;

  private constructor(containerd: PrivateContainerd, temp: TempDirectory) {
    this.#child = Bun.spawn(
      ["ctr", "--address", containerd.socket, "--namespace", "k8s.io", "events"],
      { stdin: "ignore", stdout: "pipe", stderr: "ignore" },
    );
    temp.adopt(this.#child.pid);
    void this.#read();
  }

  /** Subscribed when it resolves: a namespace label is set until its event comes back. */
  static async start(containerd: PrivateContainerd, temp: TempDirectory): Promise<ContainerdWatch> {
    const watch = new ContainerdWatch(containerd, temp);
    const end = performance.now() + 10_000;
    while (watch.events.length === 0) {
      if (performance.now() > end) throw new Error("ctr events never told an event");
      await containerd.ctr("namespaces", "label", "k8s.io", `harness=${performance.now()}`);
      await Bun.sleep(10);
    }
    return watch;
  }

  /** Starts of containers (tasks), in order; a sandbox has one too. */
  starts(): readonly ContainerdEvent[] {
    return this.events.filter(({ topic }) => topic === "/tasks/start");
  }

  /** Ends of containers; the end of an exec inside one is left out. */
  exits(): readonly ContainerdEvent[] {
    return this.events.filter(
      ({ topic, body, containerId }) => topic === "/tasks/exit" && body["id"] === containerId,
    );
  }

  [Symbol.dispose](): void {
    this.#child.kill("SIGKILL");
  }

  async #read(): Promise<void> {
    let rest = "";
    const decoder = new TextDecoder();
    for await (const chunk of this.#child.stdout) {
      const lines = (rest + decoder.decode(chunk, { stream: true })).split("\n");
      rest = lines.pop() ?? "";
      for (const line of lines) {
        const event = parseEventLine(line);
        if (event !== undefined) this.events.push(event);
      }
    }
  }
}

/** `2026-11-21 10:00:00.123456789 +0000 UTC k8s.io /tasks/start {"container_id":"…"}` */
export function parseEventLine(line: string): ContainerdEvent | undefined {
  const found = /^(\S+) (\S+) \+0000 UTC \S+ (\/\S+) (\{.*\})$/.exec(line.trim());
  if (found === null) return undefined;
  const [, date = "", time = "", topic = "", json = "{}"] = found;
  const body = JSON.parse(json) as Readonly<Record<string, unknown>>;
  const id = body["container_id"] ?? body["id"];
  return {
    topic,
    at: Date.parse(`${date}T${time.slice(0, 12)}Z`),
    containerId: typeof id === "string" ? id : "",
    body,
  };
}

/** Running app containers as `namespace/pod/container`, sorted; one entry per running container. */
export async function runningContainers(containerd: PrivateContainerd): Promise<readonly string[]> {
  const running = new Set(
    (await listTasks(containerd)).filter(({ status }) => status === "RUNNING").map(({ id }) => id),
  );
  return (await listContainers(containerd))
    .filter(({ id, labels }) => running.has(id) && labels["io.cri-containerd.kind"] === "container")
    .map(({ labels }) =>
      ["io.kubernetes.pod.namespace", "io.kubernetes.pod.name", "io.kubernetes.container.name"]
        .map((key) => labels[key] ?? "?")
        .join("/"),
    )
    .sort();
}
