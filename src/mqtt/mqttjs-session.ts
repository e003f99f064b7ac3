// Performs: one live connection of the MQTT library: every promise settles, at the latest when the connection ends.

import type { IClientPublishOptions, MqttClient, Packet } from "mqtt";

import { AgentError, messageOf } from "../lib/errors.ts";
import { bufferOf } from "./mqttjs-options.ts";
import { codeOf } from "./connect-failure.ts";
import type { ConnectAck, MqttMessage, MqttSession, SessionEnd } from "./mqtt-link.ts";

type Settle<T> = (answer: { readonly value: T } | { readonly error: Error }) => void;

/** Why and when a connection ends: the first recorded cause counts; the close event is the end. */
export class ConnectionEnd {
  readonly ended: Promise<SessionEnd>;
  /** Set once the connection is closed. */
  over: SessionEnd | undefined;
  readonly #resolve: (end: SessionEnd) => void;
  #cause: SessionEnd | undefined;

  constructor() {
    const { promise, resolve } = Promise.withResolvers<SessionEnd>();
    this.ended = promise;
    this.#resolve = resolve;
  }

  note(cause: SessionEnd): void {
    this.#cause ??= cause;
  }

  close(): void {
    this.over ??= this.#cause ?? { by: "broker", message: "the broker closed the connection" };
    this.#resolve(this.over);
  }
}

export class MqttjsSession implements MqttSession {
  readonly ack: ConnectAck;
  readonly ended: Promise<SessionEnd>;
  readonly #client: MqttClient;
  readonly #end: ConnectionEnd;
  readonly #waiting = new Set<(error: Error) => void>();

  constructor(client: MqttClient, ack: ConnectAck, end: ConnectionEnd) {
    this.ack = ack;
    this.ended = end.ended;
    this.#client = client;
    this.#end = end;
    void end.ended.then((over) => {
      for (const fail of this.#waiting) fail(gone(over));
    });
  }

  subscribe(filters: readonly string[], qos: 0 | 1 = 1): Promise<readonly number[]> {
    // Retain as published: a live message keeps its retain flag (a retained command is ignored).
    const rap = this.ack.protocolVersion === 5 ? { rap: true } : {};
    return this.#untilEnd((settle) => {
      this.#client.subscribe([...filters], { qos, ...rap }, (error, _subscriptions, suback) => {
        const granted = suback?.granted.map(Number);
        if (granted?.length === filters.length) settle({ value: granted });
        else settle({ error: error ?? new Error("SUBACK without one code per filter") });
      });
    });
  }

  unsubscribe(filters: readonly string[]): Promise<void> {
    return this.#untilEnd((settle) => {
      // An error means that there was no such subscription.
      this.#client.unsubscribe([...filters], () => settle({ value: undefined }));
    });
  }

  publish(message: MqttMessage): Promise<number> {
    const { topic, payload, qos, retain } = message;
    const options = { qos, retain, ...this.#propertiesOf(message) };
    return this.#untilEnd((settle) => {
      this.#client.publish(topic, bufferOf(payload), options, (error, packet) => {
        const refused = error === undefined || error === null ? undefined : codeOf(error);
        if (refused !== undefined) settle({ value: refused });
        else if (error instanceof Error) settle({ error });
        else settle({ value: qos === 0 ? 0 : reasonCodeOf(packet) });
      });
    });
  }

  #propertiesOf({ correlationData }: MqttMessage): Pick<IClientPublishOptions, "properties"> {
    if (correlationData === undefined || this.ack.protocolVersion !== 5) return {};
    return { properties: { correlationData: bufferOf(correlationData) } };
  }

  async end(): Promise<void> {
    this.#end.note({ by: "us", message: "disconnected" });
    // The library would wait for every PUBACK before DISCONNECT.
    for (const id of Object.keys(this.#client.outgoing))
      this.#client.removeOutgoingMessage(Number(id));
    if (this.#end.over === undefined) this.#client.end(false);
    await this.ended;
  }

  abort(): void {
    this.#end.note({ by: "us", message: "dropped" });
    if (this.#end.over === undefined) this.#client.stream.destroy();
  }

  #untilEnd<T>(start: (settle: Settle<T>) => void): Promise<T> {
    const { over } = this.#end;
    if (over !== undefined) return Promise.reject(gone(over));
    return new Promise<T>((resolve, reject) => {
      const fail = (error: Error): void => {
        this.#waiting.delete(fail);
        reject(error);
      };
      this.#waiting.add(fail);
      start((answer) => {
        if ("error" in answer) return fail(gone({ by: "us", message: messageOf(answer.error) }));
        this.#waiting.delete(fail);
        resolve(answer.value);
      });
    });
  }
}

function gone(end: SessionEnd): AgentError {
  return new AgentError({
    reason: "SessionEnded",
    message: `the connection to the broker is over: ${end.message}`,
  });
}

function reasonCodeOf(packet: Packet | undefined): number {
  return packet?.cmd === "puback" ? (packet.reasonCode ?? 0) : 0;
}
