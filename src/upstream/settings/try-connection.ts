// Performs: one attempt of a new connection beside the old one: CONNACK, SUBACK of every topic, and PUBACK of a report. The
// session is ended afterwards, whatever came of it; nothing that arrives in it is read.

import type { MqttConfig } from "../../config/mqtt-config.ts";
import type { Edges } from "../../edges.ts";
import { deadline } from "../../lib/clock.ts";
import { AgentError, messageOf, reasonOf } from "../../lib/errors.ts";
import type { MqttMessage, MqttSession } from "../../mqtt/mqtt-link.ts";
import { allowed } from "../connack-limits.ts";
import { trialOptions } from "../link/connect-options.ts";

export interface TrialOptions {
  readonly edges: Pick<Edges, "clock" | "files" | "mqtt">;
  readonly config: MqttConfig;
  readonly clientId: string;
  readonly filters: readonly string[];
  /** The node's report, as it is now. */
  readonly report: MqttMessage;
}

const FILTERS_A_PACKET = 8;
const ANSWER_MS = 30_000;
const FAREWELL_MS = 2_000;
const REFUSED = 0x80;

/**
 * Resolves when the broker has answered everything. Rejects with AgentError: `ConnectRefused`, `CertificateRefused`,
 * `SubscribeRefused` and `ReportRefused` are answers; `ConnectFailed`, `NoAnswer` and others may pass.
 */
export async function tryConnection(options: TrialOptions, signal: AbortSignal): Promise<void> {
  const { edges, report } = options;
  const session = await connect(options, signal);
  try {
    await subscribe(session, options, signal);
    const message = allowed(report, session.ack);
    if (message.qos === 0)
      throw new AgentError({
        reason: "ReportRefused",
        message: "the broker acknowledges no message: its Maximum QoS is 0",
      });
    const code = await answered(() => session.publish(message), "the report", { edges, signal });
    if (code >= REFUSED) throw refused("ReportRefused", `the report on ${report.topic}`, code);
  } finally {
    await farewell(session, edges);
  }
}

/** Each address in turn, with MQTT 3.1.1 where 5 is not spoken. */
async function connect(options: TrialOptions, signal: AbortSignal): Promise<MqttSession> {
  const { edges, config, clientId } = options;
  let last: unknown;
  for (const url of [config.url, ...(config.alternateUrls ?? [])])
    for (const protocolVersion of config.protocolVersion === 5 ? ([5, 4] as const) : ([4] as const))
      try {
        const own = { config: { ...config, url }, files: edges.files, clientId, protocolVersion };
        return await edges.mqtt.connect(trialOptions(own), () => undefined, signal);
      } catch (error) {
        signal.throwIfAborted();
        last = error;
        if (reasonOf(error, "") !== "ProtocolUnsupported") break;
      }
  const message = messageOf(last);
  const reason = /certificate/i.test(message)
    ? "CertificateRefused"
    : reasonOf(last, "ConnectFailed");
  throw new AgentError({ reason, message, cause: last });
}

async function subscribe(
  session: MqttSession,
  { edges, filters }: TrialOptions,
  signal: AbortSignal,
): Promise<void> {
  for (let at = 0; at < filters.length; at += FILTERS_A_PACKET) {
    const some = filters.slice(at, at + FILTERS_A_PACKET);
    const codes = await answered(() => session.subscribe(some), "SUBSCRIBE", { edges, signal });
    const denied = codes.findIndex((code) => code >= REFUSED);
    if (denied >= 0)
      throw refused("SubscribeRefused", `the subscription to ${some[denied]}`, codes[denied] ?? 0);
  }
}

function refused(reason: string, what: string, code: number): AgentError {
  const message = `the broker refuses ${what} (code 0x${code.toString(16)})`;
  return new AgentError({ reason, message });
}

/** A broker that hangs must not hold the trial. */
async function answered<T>(
  ask: () => Promise<T>,
  what: string,
  { edges, signal }: { readonly edges: Pick<Edges, "clock">; readonly signal: AbortSignal },
): Promise<T> {
  using limit = deadline(edges.clock, ANSWER_MS, signal);
  // Awaited here: the deadline holds until the answer is in.
  return await new Promise<T>((resolve, reject) => {
    const stop = (): void =>
      reject(
        new AgentError({
          reason: "NoAnswer",
          message: `the broker does not answer ${what} within ${ANSWER_MS / 1000} s`,
        }),
      );
    limit.signal.addEventListener("abort", stop, { once: true });
    ask().then(resolve, reject);
  });
}

async function farewell(session: MqttSession, { clock }: Pick<Edges, "clock">): Promise<void> {
  const over = new AbortController();
  // An end that fails is an end as well.
  const ended = session.end().catch(() => undefined);
  await Promise.race([ended, clock.sleep(FAREWELL_MS, over.signal)]);
  over.abort();
  session.abort();
}
