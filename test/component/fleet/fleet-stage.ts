// `agent fleet` against a broker in memory on virtual time: what it prints, how it ends, what it leaves on the broker.

import { expect } from "bun:test";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { Terminal } from "../../../src/cli/process-io.ts";
import { PLAIN } from "../../../src/cli/terminal/palette.ts";
import { runCli } from "../../../src/cli/program.ts";
// The verbs load these when they are asked for, which takes real time that no virtual clock sees.
import "../../../src/fleet/document/apply.ts";
import "../../../src/fleet/send-command.ts";
import { fleetVerbsOf } from "../../../src/fleet/fleet-verbs.ts";
import "../../../src/fleet/forget.ts";
import "../../../src/fleet/get.ts";
import "../../../src/fleet/rollout/rollout.ts";
import "../../../src/fleet/rollout/rollout-status.ts";
import "../../../src/fleet/seal/keys.ts";
import "../../../src/fleet/seal/seal.ts";
import "../../../src/fleet/session/logs.ts";
import "../../../src/fleet/session/open-session.ts";
import "../../../src/fleet/trust/publish-bundle.ts";
import type { MqttMessage } from "../../../src/mqtt/mqtt-link.ts";
import { VirtualClock } from "../../fakes/fake-clock.ts";
import { FakeBroker } from "../../fakes/fake-mqtt-broker.ts";
import { matchesFilter } from "../../harness/broker-client.ts";

/** Knows wildcards, as most brokers do. */
class WildcardBroker extends FakeBroker {
  protected override matches(filter: string, topic: string): boolean {
    return matchesFilter(filter, topic);
  }

  protected override retainedFor(filter: string): readonly MqttMessage[] {
    const topics = this.retainedTopics("").filter((topic) => this.matches(filter, topic));
    return topics.flatMap((topic) => super.retainedFor(topic));
  }
}

export interface Ended {
  readonly code: number;
  readonly stdout: string;
  readonly stderr: string;
}

export class FleetStage implements Disposable {
  readonly clock = new VirtualClock();
  readonly began = this.clock.monotonic();
  readonly broker: FakeBroker;
  readonly directory = mkdtempSync(join(tmpdir(), "agent-fleet-"));
  /** What was printed on standard output, and when: ms since the stage was made. */
  readonly printed: { readonly at: number; readonly text: string }[] = [];
  interrupt = new AbortController();
  input = "";
  isInteractive = false;
  #dice = 0;

  constructor({ wildcards = true }: { readonly wildcards?: boolean } = {}) {
    this.broker = wildcards ? new WildcardBroker(this.clock) : new FakeBroker(this.clock);
  }

  [Symbol.dispose](): void {
    rmSync(this.directory, { recursive: true });
  }

  file(name: string, content: string): string {
    const path = join(this.directory, name);
    writeFileSync(path, content);
    return path;
  }

  /** Runs one verb to its end; `during` happens once it has begun, at each of the given ms. */
  async run(
    argv: readonly string[],
    during: Readonly<Record<number, () => void>> = {},
  ): Promise<Ended> {
    const out = { stdout: "", stderr: "" };
    const terminal: Terminal = {
      out: (text) => {
        out.stdout += text;
        this.printed.push({ at: this.clock.monotonic() - this.began, text });
      },
      err: (text) => void (out.stderr += text),
      isTerminal: true,
      palette: PLAIN,
      isErrTerminal: false,
      columns: undefined,
      isInteractive: this.isInteractive,
      environment: {},
      clock: this.clock,
      interrupted: () => this.interrupt.signal,
      readInput: () => Promise.resolve(new TextEncoder().encode(this.input)),
      outBytes: () => undefined,
      drained: () => Promise.resolve(),
      readLine: () => Promise.resolve(this.input),
    };
    const random = {
      next: () => 0.5,
      hex: (length: number) => (this.#dice++).toString(16).padStart(length * 2, "0"),
    };
    const link = this.broker.link();
    const state = { code: undefined as number | undefined };
    const ended = runCli({
      argv: ["fleet", ...argv],
      version: "1.2.3",
      terminal,
      loadAgent: () => Promise.reject(new Error("the agent was loaded")),
      loadFleet: () =>
        Promise.resolve({
          fleetVerbs: (terminal) => fleetVerbsOf({ terminal, link, random }),
        }),
    }).then((code) => (state.code = code));
    for (let at = 0; state.code === undefined && at < 2_000_000; at += 100) {
      during[at]?.();
      await this.clock.advance(100);
    }
    if (state.code === undefined) throw new Error(`did not end; so far: ${JSON.stringify(out)}`);
    return { code: await ended, ...out };
  }

  /** The same with the broker named. */
  fleet(command: string, during: Readonly<Record<number, () => void>> = {}): Promise<Ended> {
    return this.run([...command.split(" "), "--url", "mqtt://broker.test"], during);
  }

  state(node: string, state = "online", session = 7): void {
    const topic = `agent/v1/node/${node}/state`;
    this.broker.publish(topic, { state, incarnation: "i1", session, agent: "1.2.3", protocol: 1 });
  }

  report(node: string, fields: Readonly<Record<string, unknown>> = {}): void {
    this.broker.publish(`agent/v1/node/${node}/reported`, {
      apiVersion: "agent/v1",
      kind: "ReportedState",
      node,
      incarnation: "i1",
      session: 7,
      seq: 1,
      time: "2026-11-21T07:59:00Z",
      clockTrusted: true,
      desired: [],
      status: {
        conditions: [{ type: "Ready", status: "True" }],
        addresses: [{ type: "InternalIP", address: "192.0.2.7" }],
        nodeInfo: { osImage: "Debian 12" },
      },
      pods: [],
      rejected: [],
      ...fields,
    });
  }

  /** What lies on the node's topic of desired state. */
  desired(node: string): Record<string, unknown> {
    const text = this.broker.retained(`agent/v1/node/${node}/desired`) ?? "null";
    return JSON.parse(text) as Record<string, unknown>;
  }
}

/** Matches a text with this in it. */
export function containing(part: string): string {
  return expect.stringContaining(part) as string;
}

/** Matches a text of this form. */
export function matching(form: RegExp): string {
  return expect.stringMatching(form) as string;
}

export function anAck(fields: Readonly<Record<string, unknown>> = {}): object {
  return {
    source: "node",
    epoch: "",
    generation: 1,
    observedGeneration: 1,
    digest: "sha256:old",
    signed: false,
    phase: "Healthy",
    code: 200,
    since: "2026-11-21T07:00:00Z",
    ...fields,
  };
}

export const POD = `apiVersion: v1
kind: Pod
metadata: {name: web}
spec:
  containers: [{name: main, image: "registry.test/web:1"}]
`;

export const SECRET = `apiVersion: v1
kind: Secret
metadata: {name: login}
stringData: {password: sesame}
`;
