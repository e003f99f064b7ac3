// The local API of an agent, as a table of answers on a unix socket.

import type { Rejection } from "../../../src/api/pod/desired-pod.ts";
import type { EventView, NodeView, PodView } from "../../../src/cli/api-views.ts";

export interface FakeAgent extends Disposable {
  readonly socket: string;
  pods: readonly PodView[];
  rejected: readonly Rejection[];
  events: readonly EventView[];
  node: NodeView | undefined;
  /** Answers that replace the ones above, by path. */
  readonly answers: Map<string, (request: Request) => Response | Promise<Response>>;
}

export function startFakeAgent(socket: string): FakeAgent {
  const agent: Omit<FakeAgent, typeof Symbol.dispose> = {
    socket,
    pods: [],
    rejected: [],
    events: [],
    node: undefined,
    answers: new Map(),
  };
  const server = Bun.serve({
    unix: socket,
    fetch: (request) => {
      const { pathname } = new URL(request.url);
      const answer = agent.answers.get(pathname);
      if (answer !== undefined) return answer(request);
      switch (pathname) {
        case "/pods":
          return Response.json({ apiVersion: "v1", kind: "PodList", items: agent.pods });
        case "/rejected":
          return Response.json(agent.rejected);
        case "/events":
          return Response.json({ apiVersion: "v1", kind: "EventList", items: agent.events });
        case "/node":
          return Response.json(agent.node);
        case "/version":
          return Response.json({ version: "9.9.9" });
        case "/healthz":
          return new Response("ok");
        default:
          return new Response("no such path", { status: 404 });
      }
    },
  });
  return Object.assign(agent, { [Symbol.dispose]: () => void server.stop(true) });
}
