// Performs: `/metrics`, `/metrics/resource` and `/metrics/probes` for Prometheus. Nothing is measured until it asks.

import type { Answer } from "../http/exchange.ts";
import type { LaterRequest, LaterRoute } from "../later-route.ts";
import { EXPOSITION_TYPE, expositionOf } from "./exposition.ts";
import { nodeMetrics } from "./node-metrics.ts";
import { resourceMetrics } from "./resource-metrics.ts";
import type { MetricFamily } from "../../lib/meter.ts";

const PROBES = "prober_probe_total";

export const METRICS_ROUTES: readonly LaterRoute[] = [
  route("/metrics", ({ facts }) =>
    Promise.resolve([
      ...(facts.meter()?.families() ?? []).filter(({ name }) => name !== PROBES),
      ...nodeMetrics({
        pods: facts.pods(),
        desired: facts.desired(),
        node: facts.node(),
        version: facts.version().version,
        isHealthy: facts.healthProblems().length === 0,
        link: facts.linkFacts(),
        databaseBytes: facts.databaseBytes(),
      }),
    ]),
  ),
  route("/metrics/resource", async ({ facts }) =>
    resourceMetrics(await facts.summary(true).catch(() => undefined)),
  ),
  route("/metrics/probes", ({ facts }) =>
    Promise.resolve((facts.meter()?.families() ?? []).filter(({ name }) => name === PROBES)),
  ),
];

function route(
  path: string,
  read: (request: LaterRequest) => Promise<readonly MetricFamily[]>,
): LaterRoute {
  return {
    listed: path,
    path: new RegExp(`^${path}$`),
    methods: {
      GET: async (request): Promise<Answer> => {
        const body = expositionOf(await read(request));
        return { status: 200, contentType: EXPOSITION_TYPE, body };
      },
    },
    refusal: `${path} can only be read: use GET or HEAD`,
  };
}
