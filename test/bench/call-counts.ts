// How often each CRI call was made, as containerd's own metrics count it: a hint where time goes.

export class CallCounts {
  readonly #url: string;
  #before: ReadonlyMap<string, number> = new Map();

  constructor(address: string) {
    this.#url = `http://${address}/v1/metrics`;
  }

  async reset(): Promise<void> {
    this.#before = await this.#read();
  }

  /** Calls since `reset`, most frequent first, divided by `pods`: `ListContainers 2.1, RunPodSandbox 1`. */
  async perPod(pods: number): Promise<string> {
    const now = await this.#read();
    return [...now]
      .map(([method, count]) => [method, (count - (this.#before.get(method) ?? 0)) / pods] as const)
      .filter(([, count]) => count > 0)
      .sort(([, a], [, b]) => b - a)
      .map(([method, count]) => `${method} ${Number(count.toFixed(2))}`)
      .join(", ");
  }

  async #read(): Promise<ReadonlyMap<string, number>> {
    const counts = new Map<string, number>();
    const text = await (await fetch(this.#url)).text();
    for (const line of text.split("\n")) {
      const method = /^grpc_server_started_total\{grpc_method="(\w+)"/.exec(line)?.[1];
      if (method !== undefined)
        counts.set(method, (counts.get(method) ?? 0) + Number(line.slice(line.lastIndexOf(" "))));
    }
    return counts;
  }
}
