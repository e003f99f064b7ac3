// Whoever tells the node over MQTT what to run: numbers its documents, and now and then sends rubbish.

import { MQTT_DEFAULTS } from "../fakes/config-defaults.ts";
import { topicFor } from "../../src/protocol/mqtt-topics.ts";
import type { FakeBroker } from "../fakes/fake-mqtt-broker.ts";
import { NODE, writtenPod } from "./sim-manifest.ts";
import { spoiledObject, writtenObject, type ObjectName, type SimContent } from "./sim-objects.ts";
import type { SimName, SimSpec } from "./sim-specs.ts";

export type BadDocument =
  | "stale"
  | "rival"
  | "syntax"
  | "target"
  | "nothing"
  | "noResources"
  | "forbidden"
  | "resource"
  | "object";

export interface Want {
  readonly spec: SimSpec;
  readonly revision: number;
}

const root = MQTT_DEFAULTS.topicRoot;
export const TOPIC = {
  desired: topicFor({ type: "NodeDesired", root, node: NODE }),
  reported: topicFor({ type: "NodeReported", root, node: NODE }),
  state: topicFor({ type: "NodeState", root, node: NODE }),
  event: topicFor({ type: "NodeEvent", root, node: NODE }),
  pod: (name: string) =>
    topicFor({ type: "PodReported", root, node: NODE, namespace: "default", pod: name }),
  pods: `${root}/node/${NODE}/reported/pod/`,
} as const;

export class SimAuthority {
  readonly #broker: FakeBroker;
  #wants: ReadonlyMap<SimName, Want> = new Map();
  #objects: ReadonlyMap<ObjectName, SimContent> = new Map();
  #generation = 0;
  /** Good documents, the newest last. */
  readonly #sent: object[] = [];
  /** Good messages as they were sent, so that somebody may send them again. */
  readonly #recorded: (string | object)[] = [];
  /** How updates are carried out. */
  policy: object = {};
  onPublish: ((wants: ReadonlyMap<SimName, Want>) => void) | undefined;
  /** Whether the broker holds the newest good document. */
  isRetained = true;
  /** What goes over the wire for a document: itself, where nothing is signed. */
  sign: ((document: object) => string) | undefined;

  constructor(broker: FakeBroker) {
    this.#broker = broker;
  }

  /** The oldest message; undefined = it is the newest too. */
  get recorded(): string | object | undefined {
    return this.#recorded.length > 1 ? this.#recorded[0] : undefined;
  }

  get generation(): number {
    return this.#generation;
  }

  /** Of the newest good document. */
  get wants(): ReadonlyMap<SimName, Want> {
    return this.#wants;
  }

  /** Of the newest good document. */
  get objects(): ReadonlyMap<ObjectName, SimContent> {
    return this.#objects;
  }

  publish(
    wants: ReadonlyMap<SimName, Want>,
    objects: ReadonlyMap<ObjectName, SimContent> = this.#objects,
  ): void {
    this.#wants = wants;
    this.#objects = objects;
    this.#generation += 1;
    this.isRetained = true;
    const resources = [
      ...[...wants.values()].map(({ spec, revision }) => writtenPod(spec, revision)),
      ...[...objects].map(([name, content]) => writtenObject(name, content)),
    ];
    this.onPublish?.(wants);
    const empty = resources.length === 0 ? { allowEmpty: true } : {};
    const more = { policy: this.policy, resources, ...empty };
    this.#sent.push(this.#document(more));
    this.resend();
  }

  /** The newest good document once more, signed by whoever signs now. */
  resend(): void {
    const document = this.#sent.at(-1);
    if (document === undefined) return;
    const message = this.sign?.(document) ?? document;
    this.isRetained = true;
    this.#recorded.push(message);
    this.#broker.publish(TOPIC.desired, message);
  }

  /** The node may have taken another document of this generation: what comes next has to be newer. */
  goOnAfter(generation: number): void {
    if (generation === 0 || generation < this.#generation) return;
    this.#generation = generation;
    this.isRetained = false;
  }

  publishBad(how: BadDocument): void {
    this.isRetained = false;
    const next = this.#generation + 1;
    switch (how) {
      case "stale":
        return this.#send({ generation: this.#generation - 1, resources: [], allowEmpty: true });
      case "rival":
        return this.#send({ labels: { rival: "yes" }, resources: [], allowEmpty: true });
      case "syntax":
        return this.#broker.publish(TOPIC.desired, "{ apiVersion: agent/v1, kind: Desi");
      case "target":
        return this.#send({
          generation: next,
          target: { node: "other" },
          resources: [],
          allowEmpty: true,
        });
      case "nothing":
        return this.#broker.publish(TOPIC.desired, "");
      case "noResources":
        return this.#send({ generation: next, resources: [] });
      case "forbidden":
        return this.#send({ generation: next, resources: [podOf(this.#forbidden())] });
      case "resource":
        return this.#send({ generation: next, resources: [podOf({ containres: [] })] });
      case "object": {
        const bad = spoiledObject("cred", { data: {}, immutable: false }, "value");
        return this.#send({ generation: next, resources: [bad] });
      }
    }
  }

  #send(more: object): void {
    const document = this.#document(more);
    this.#broker.publish(TOPIC.desired, this.sign?.(document) ?? document);
  }

  #document(more: object): object {
    return {
      apiVersion: "agent/v1",
      kind: "DesiredState",
      target: { node: NODE },
      generation: this.#generation,
      ...more,
    };
  }

  /** Where signatures count, pods may have whatever does not give them the node's own files. */
  #forbidden(): object {
    if (this.sign === undefined) return { hostNetwork: true };
    return { volumes: [{ name: "h", hostPath: { path: "/run/agent" } }] };
  }
}

function podOf(spec: object): object {
  const containers = [{ name: "x", image: "local/busybox:1" }];
  return {
    apiVersion: "v1",
    kind: "Pod",
    metadata: { name: "bad" },
    spec: { containers, ...spec },
  };
}
