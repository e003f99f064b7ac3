// Performs: opens streams of pods over the API on the agent's socket, as kubectl does over the network: SPDY, which the
// agent passes through to the container runtime.

import { connect } from "node:net";
import type { Clock } from "../../lib/clock.ts";
import { memberOf, parseJson } from "../../lib/json.ts";
import { SpdyConnection } from "../../server/stream/spdy/spdy-connection.ts";
import { refusalText, upgrade } from "../../server/stream/upgrade.ts";
import { CliError } from "../exit-codes.ts";
import type { LocalClient } from "../local-client.ts";

export interface PodStream {
  readonly namespace: string;
  readonly pod: string;
  readonly verb: "exec" | "attach" | "portforward";
  readonly query: URLSearchParams;
}

/** The agent asks the runtime twice; each may take 15 s. */
const OPEN_MS = 40_000;
const PROTOCOLS = {
  exec: "v4.channel.k8s.io",
  attach: "v4.channel.k8s.io",
  portforward: "portforward.k8s.io",
} as const;

/** Rejects with CliError: the agent's own sentence if it refuses. */
export async function openStream(
  client: LocalClient,
  { namespace, pod, verb, query }: PodStream,
  clock: Clock,
): Promise<SpdyConnection> {
  const path = client.socket;
  const place = `/api/v1/namespaces/${encodeURIComponent(namespace)}/pods/${encodeURIComponent(pod)}`;
  try {
    const opened = await upgrade({
      connect: () => connect({ path, allowHalfOpen: true }),
      target: `${place}/${verb}?${query.toString()}`,
      headers: [
        ["Host", "agent"],
        ["Connection", "Upgrade"],
        ["Upgrade", "SPDY/3.1"],
        ["X-Stream-Protocol-Version", PROTOCOLS[verb]],
      ],
      clock,
      timeoutMs: OPEN_MS,
    });
    if (opened.response.status === 101)
      return new SpdyConnection(opened.socket, opened.response.rest);
    throw new CliError(messageIn(await refusalText(opened, clock)));
  } catch (thrown) {
    throw thrown instanceof CliError ? thrown : client.unreachable(thrown);
  }
}

/** k8s: the message of a Status; else the text itself. */
function messageIn(text: string): string {
  const message = memberOf(parseJson(text), "message");
  if (typeof message === "string") return message;
  return text === "" ? "the agent refused the stream" : text;
}
