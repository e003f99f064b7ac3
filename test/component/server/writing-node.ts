// A node for the tests of writing: its API on a real socket and a real manifest directory, which it reads on every look.

import { existsSync, mkdirSync, readdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { decodeManifest } from "../../../src/api/decode/decode-manifest.ts";
import type { DesiredObject } from "../../../src/api/v1/object/local-object.ts";
import type { DesiredPod } from "../../../src/api/pod/desired-pod.ts";
import { podName } from "../../../src/api/v1/pod.ts";
import { realFiles } from "../../../src/host/real-files.ts";
import { createLogger } from "../../../src/lib/logger.ts";
import { sha256 } from "../../../src/lib/system-sha256.ts";
import type { GraceOutcome } from "../../../src/node/node-view-options.ts";
import type { PodEntry } from "../../../src/node/pod-list.ts";
import type { ServerFacts } from "../../../src/node/node-api.ts";
import { LocalServer } from "../../../src/server/local-server.ts";
import { MANIFEST_NAME } from "../../../src/source/file/manifest-entry.ts";
import { VirtualClock } from "../../fakes/fake-clock.ts";
import { Mulberry32 } from "../../fakes/mulberry32.ts";
import { NO_STREAMS, someFacts } from "../../unit/server/some-facts.ts";
import { RUNNING } from "./pod-entry.ts";

export interface Answered {
  readonly status: number;
  readonly body: Record<string, unknown>;
  readonly warnings: string | null;
}

interface Asked {
  readonly body?: unknown;
  /** Default: JSON. */
  readonly type?: string;
}

export const NODE_NAME = "pi-1";
export const APPLY = "application/apply-patch+yaml";

export class WritingNode implements Disposable {
  readonly manifests: string;
  readonly clock = new VirtualClock();
  /** Pods that stop, and go only when a test removes them; undefined = each goes at once. */
  stopping: PodEntry[] | undefined;
  #running: readonly PodEntry[] = [];
  /** What other sources declare. */
  declared: (DesiredPod | DesiredObject)[] = [];
  readonly graces: number[] = [];
  readonly #server: LocalServer;
  readonly #socket: string;

  constructor(directory: string, over: Partial<ServerFacts> = {}) {
    this.manifests = join(directory, "manifests");
    this.#socket = join(directory, "agent.sock");
    if (!existsSync(this.manifests)) mkdirSync(this.manifests);
    const { clock } = this;
    this.#server = new LocalServer({
      socket: this.#socket,
      files: realFiles(),
      podLogsDir: "/nonexistent",
      cri: NO_STREAMS,
      clock,
      log: createLogger({ clock, level: "error", write: () => undefined }),
      facts: this.#facts(over),
      onChange: () => ({ [Symbol.dispose]: () => undefined }),
      manifests: {
        directory: this.manifests,
        nodeName: NODE_NAME,
        clusterDNS: false,
        sha256,
        random: new Mulberry32(7),
      },
    });
  }

  static async open(directory: string, over: Partial<ServerFacts> = {}): Promise<WritingNode> {
    const node = new WritingNode(directory, over);
    await node.#server.listen();
    return node;
  }

  async ask(method: string, path: string, { body, type }: Asked = {}): Promise<Answered> {
    const isText = typeof body === "string" || body instanceof Uint8Array;
    const response = await fetch(`http://agent${path}`, {
      method,
      unix: this.#socket,
      ...(body === undefined ? {} : { body: isText ? body : JSON.stringify(body) }),
      headers: { "content-type": type ?? "application/json", "user-agent": "kubectl-test/v1 (x)" },
    });
    return {
      status: response.status,
      body: (await response.json()) as Record<string, unknown>,
      warnings: response.headers.get("warning"),
    };
  }

  /** Names of all files, hidden ones too. */
  get files(): readonly string[] {
    return readdirSync(this.manifests).toSorted();
  }

  text(name: string): string {
    return readFileSync(join(this.manifests, name), "utf8");
  }

  put(name: string, text: string): void {
    writeFileSync(join(this.manifests, name), text);
  }

  [Symbol.dispose](): void {
    this.#server.stop();
  }

  /** As the source of manifest files has it: the first of a name counts. */
  #desired(): readonly (DesiredPod | DesiredObject)[] {
    const own = this.files
      .filter((name) => MANIFEST_NAME.test(name))
      .flatMap((name) => {
        const ref = join(this.manifests, name);
        const context = {
          source: "file",
          ref,
          nodeName: NODE_NAME,
          clusterDNS: false,
          sha256,
        } as const;
        const { pods, objects } = decodeManifest(readFileSync(ref, "utf8"), context);
        return [...pods, ...objects].map(({ desired }) => desired);
      });
    return [...own, ...this.declared];
  }

  #pods(): readonly PodEntry[] {
    const running = this.#desired().flatMap((desired): readonly PodEntry[] =>
      "pod" in desired ? [{ ...desired, nodeName: NODE_NAME, status: RUNNING }] : [],
    );
    const uids = new Set(running.map(({ pod }) => pod.metadata.uid));
    const gone = this.#running.filter(({ pod }) => !uids.has(pod.metadata.uid));
    this.#running = running;
    this.stopping?.push(...gone.map((entry) => ({ ...entry, deletedAt: this.clock.now() })));
    return [...(this.stopping ?? []), ...running];
  }

  #facts(over: Partial<ServerFacts>): ServerFacts {
    return someFacts({
      pods: () => this.#pods(),
      objects: () => this.#desired().flatMap((one) => ("pod" in one ? [] : [one])),
      declared: (kind, { namespace, name }) => {
        for (const desired of this.#desired()) {
          const object = "pod" in desired ? desired.pod : desired.object;
          const { metadata } = object;
          const isNamed = metadata.namespace === namespace && metadata.name === name;
          if (object.kind === kind && isNamed) return { ...desired, object };
        }
        return undefined;
      },
      shortenGrace: (pod, seconds): GraceOutcome => {
        const name = podName({ metadata: pod });
        if (this.stopping?.some((one) => podName(one.pod) === name) !== true)
          return { type: "NotFound" };
        this.graces.push(seconds);
        return { type: "Shortened" };
      },
      ...over,
    });
  }
}
