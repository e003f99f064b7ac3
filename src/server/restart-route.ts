// Performs: POST on `/pods/<namespace>/<name>/restart`: restarts the containers of a pod, and answers when they run again.

import { restartRefusal } from "../node/restart-pod.ts";
import { json, namedPod, text } from "./answer.ts";
import type { Answer } from "./http/exchange.ts";
import type { LaterRequest, LaterRoute } from "./later-route.ts";

export const RESTART_ROUTE: LaterRoute = {
  path: /^\/pods\/([^/]+)\/([^/]+)\/restart$/,
  methods: { POST: restart },
  refusal: "this restarts the containers of a pod: use POST, with ?container= for one of them",
};

async function restart({ facts, parts, query, signal }: LaterRequest): Promise<Answer> {
  const pod = namedPod(parts);
  if (pod === undefined) return text(404, "name a pod");
  const outcome = await facts.restart(pod, query.get("container") ?? undefined, signal);
  if (outcome === undefined)
    return text(404, `pods "${pod.name}" not found in namespace "${pod.namespace}"`);
  if (outcome.type !== "Restarted")
    return text(outcome.type === "Timeout" ? 504 : 409, restartRefusal(outcome));
  return json({ apiVersion: "agent/v1", kind: "Restarted", containers: outcome.containers });
}
