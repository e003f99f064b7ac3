// What the broker learns of a node, and documents sent to it as a person would: with mosquitto_pub.

import type { Ack, PodReport, ReportedState } from "../../src/protocol/reported-state.ts";
import type { Broker } from "../harness/broker.ts";
import type { BrokerClient, Collector } from "../harness/broker-client.ts";
import { eventually } from "../harness/eventually.ts";
import { run } from "../harness/run-command.ts";

/** Birth, farewell and last will. */
export interface State {
  readonly state: "online" | "offline" | "lost";
  readonly incarnation: string;
  readonly session: number;
  readonly protocol: 1;
}

export function topicOf(node: string, leaf: string): string {
  return `agent/v1/node/${node}/${leaf}`;
}

/** Follows the topics of one node. */
export class Upstream {
  readonly node: string;
  readonly client: BrokerClient;
  readonly #collector: Collector;

  private constructor(node: string, client: BrokerClient, collector: Collector) {
    this.node = node;
    this.client = client;
    this.#collector = collector;
  }

  /** Subscribed to everything the node says when it resolves. */
  static async follow(client: BrokerClient, node: string): Promise<Upstream> {
    return new Upstream(node, client, await client.collect(`agent/v1/node/${node}/#`));
  }

  /** Every report so far, in the order of arrival. */
  reports(): readonly ReportedState[] {
    const topic = topicOf(this.node, "reported");
    return this.#collector.messages
      .filter((message) => message.topic === topic && message.payload !== "")
      .map(({ payload }) => reportOf(JSON.parse(payload)));
  }

  /** The node document's acknowledgements, in order. */
  acks(): readonly Ack[] {
    return this.reports().flatMap(
      ({ desired }) => desired.find(({ source }) => source === "node") ?? [],
    );
  }

  /** Waits for an acknowledgement, from now or before, and gives the first one that matches. */
  async ack(what: string, matches: (ack: Ack) => boolean, timeout = 60_000): Promise<Ack> {
    return eventually(`${this.node}: ${what}`, () => this.acks().find(matches), {
      timeout,
      explain: () => `the last acknowledgement: ${JSON.stringify(this.acks().at(-1))}`,
    });
  }

  /** What is retained, as a newcomer would see it. */
  async retainedReport(): Promise<ReportedState> {
    return reportOf(await this.client.retainedJSON(topicOf(this.node, "reported")));
  }

  async retainedState(): Promise<State> {
    return stateOf(await this.client.retainedJSON(topicOf(this.node, "state")));
  }

  async untilState(wanted: State["state"], timeout = 60_000): Promise<State> {
    return eventually(
      `${this.node} is ${wanted} on the broker`,
      async () => {
        const found = await this.retainedState();
        if (found.state !== wanted) throw new Error(JSON.stringify(found));
        return found;
      },
      { timeout, interval: 100 },
    );
  }

  /** The retained status of a pod; undefined = cleared or never there. */
  async podStatus(name: string): Promise<PodReport | undefined> {
    const value = await this.client.retainedJSON(
      topicOf(this.node, `reported/pod/default/${name}`),
    );
    return value === undefined ? undefined : podReportOf(value);
  }
}

export interface DocumentFields {
  readonly generation: number;
  readonly resources: readonly object[];
  readonly [field: string]: unknown;
}

/** A DesiredState for a node; `minReadySeconds` is 0 unless `policy` says otherwise. */
export function desired(node: string, fields: DocumentFields): object {
  return {
    apiVersion: "agent/v1",
    kind: "DesiredState",
    target: { node },
    policy: { minReadySeconds: 0 },
    ...fields,
  };
}

/** `mosquitto_pub -r` to the node's desired topic; text is sent as it is, "" as an empty payload. */
export async function publishDesired(
  broker: Broker,
  node: string,
  payload: object | string,
): Promise<void> {
  const text = typeof payload === "string" ? payload : JSON.stringify(payload);
  const { code, stderr } = await run(
    [
      "mosquitto_pub",
      "-h",
      "127.0.0.1",
      "-p",
      String(broker.port),
      "-q",
      "1",
      "-r",
      "-t",
      topicOf(node, "desired"),
      text === "" ? "-n" : "-s",
    ],
    { stdin: text, timeout: 60_000 },
  );
  if (code !== 0) throw new Error(`mosquitto_pub ended with ${code}: ${stderr}`);
}

function reportOf(value: unknown): ReportedState {
  return checked(value, ["apiVersion", "kind", "node", "seq", "desired", "pods", "rejected"]);
}

function stateOf(value: unknown): State {
  return checked(value, ["state", "incarnation", "session", "protocol"]);
}

function podReportOf(value: unknown): PodReport {
  return checked(value, ["incarnation", "session", "seq", "uid", "specHash", "source", "status"]);
}

/** The tests look at the values of the fields; here only that they are all there. */
function checked<T>(value: unknown, fields: readonly (keyof T & string)[]): T {
  const missing = fields.filter(
    (field) => typeof value !== "object" || value === null || !(field in value),
  );
  if (missing.length > 0) throw new Error(`no ${missing.join(", ")} in ${JSON.stringify(value)}`);
  return value as T;
}
