// Metrics on a real containerd: promtool reads them, a real Prometheus scrapes them, rules and dashboard ask for what is there.

import { afterAll, expect } from "bun:test";
import { mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";

import { spawnDaemon } from "../harness/daemon.ts";
import { eventually } from "../harness/eventually.ts";
import { freePort } from "../harness/free-port.ts";
import { output, run } from "../harness/run-command.ts";
import type { AgentProcess } from "../harness/agent-process.ts";
import { startUnixProxy, type UnixProxy } from "../harness/unix-proxy.ts";
import { getPod } from "./support-a-agent.ts";
import { Stage } from "./support-a-stage.ts";

const MONITORING = join(import.meta.dir, "../../docs/monitoring");
const stage = await Stage.open();
afterAll(async () => {
  await proxy?.[Symbol.asyncDispose]();
  stage.close();
});
const e2e = stage.test;
let agent: AgentProcess;
let proxy: UnixProxy | undefined;
let prometheus: string;

e2e("the agent starts with a pod that is probed", async () => {
  agent = stage.agent();
  const probe = { exec: { command: ["true"] }, periodSeconds: 1 };
  const container = {
    name: "main",
    image: "local/busybox:1",
    command: ["sleep", "1000"],
    livenessProbe: probe,
  };
  const spec = { terminationGracePeriodSeconds: 0, hostNetwork: true, containers: [container] };
  agent.writeManifest("web.yaml", {
    apiVersion: "v1",
    kind: "Pod",
    metadata: { name: "web" },
    spec,
  });
  await agent.startReady();
  const isRunning = async (): Promise<boolean> =>
    (await getPod(agent, "web")).status.phase === "Running";
  await eventually("the pod runs", isRunning, { timeout: 60_000 });
});

e2e("starts of pods and containers are counted, also those that fail", async () => {
  const container = { name: "main", image: "local/busybox:1", command: ["/no/such/program"] };
  agent.writeManifest("broken.yaml", {
    apiVersion: "v1",
    kind: "Pod",
    metadata: { name: "broken" },
    spec: { hostNetwork: true, containers: [container] },
  });
  const failed = (): Promise<number> =>
    sample(
      'kubelet_started_containers_errors_total{container_type="container",code="RunContainerError"}',
    );
  await eventually("a failed start is counted", async () => (await failed()) >= 1, {
    timeout: 60_000,
  });
  expect(await sample('kubelet_started_containers_total{container_type="container"}')).toBe(
    1 + (await failed()),
  );
  expect(await sample("kubelet_started_pods_total")).toBe(2);
  expect(await sample("kubelet_started_pods_errors_total")).toBe(0);
  for (const part of ["sli_", "total_"])
    expect([part, await sample(`kubelet_pod_start_${part}duration_seconds_count`)]).toEqual([
      part,
      1,
    ]);
  // Without a broker too: what runs of a pod is written down.
  expect(await sample("agent_database_written_bytes_total")).toBeGreaterThan(0);
  agent.removeManifest("broken.yaml");
});

e2e("promtool has nothing to say about the metrics", async () => {
  for (const path of ["/metrics", "/metrics/resource", "/metrics/probes"]) {
    const text = await (await agent.api(path)).text();
    expect(text.length).toBeGreaterThan(0);
    const checked = await run(["promtool", "check", "metrics"], { stdin: text });
    // The kubelet's own names break some of promtool's rules of style.
    const errors = `${checked.stdout}${checked.stderr}`
      .split("\n")
      .filter((line) => /error|parse/i.test(line));
    expect([path, errors]).toEqual([path, []]);
  }
});

e2e(
  "a real Prometheus scrapes all of them, with the rules",
  async () => {
    const opened = await startUnixProxy(agent.paths.socket);
    proxy = opened;
    const port = freePort();
    const directory = stage.temp.directory("prometheus");
    mkdirSync(directory, { recursive: true });
    const scrape = (path: string): object => ({
      job_name: path === "/metrics" ? "agent" : `agent${path.replaceAll("/", "-")}`,
      metrics_path: path,
      scrape_interval: "1s",
      static_configs: [{ targets: [`127.0.0.1:${opened.port}`] }],
      relabel_configs: [{ target_label: "job", replacement: "agent" }],
    });
    const config = {
      rule_files: [join(MONITORING, "alerts.yaml")],
      scrape_configs: ["/metrics", "/metrics/resource", "/metrics/probes"].map(scrape),
    };
    writeFileSync(join(directory, "prometheus.yml"), JSON.stringify(config));
    expect(await output(["promtool", "check", "rules", join(MONITORING, "alerts.yaml")])).toContain(
      "SUCCESS",
    );
    const args = [
      `--config.file=${join(directory, "prometheus.yml")}`,
      `--storage.tsdb.path=${join(directory, "data")}`,
      `--web.listen-address=127.0.0.1:${port}`,
    ];
    spawnDaemon(["prometheus", ...args], { temp: stage.temp, logFile: join(directory, "log") });
    prometheus = `http://127.0.0.1:${port}`;
    const has = async (): Promise<boolean> =>
      (await query('prober_probe_total{result="successful"}')).length > 0 &&
      (await query("pod_memory_working_set_bytes")).length > 0 &&
      (await query('agent_pod_ready{pod="web"}')).length > 0;
    await eventually("all metrics are in Prometheus", has, { timeout: 60_000 });
    expect((await query("up == 0")).length).toBe(0);
  },
  120_000,
);

e2e("every query of the rules and of the dashboard is answered", async () => {
  const rules = readFileSync(join(MONITORING, "alerts.yaml"), "utf8");
  const dashboard = JSON.parse(
    readFileSync(join(MONITORING, "grafana-dashboard.json"), "utf8"),
  ) as { readonly panels: readonly { readonly targets: readonly { readonly expr: string }[] }[] };
  const asked = dashboard.panels.flatMap(({ targets }) => targets.map(({ expr }) => expr));
  expect(asked.length).toBeGreaterThan(10);
  for (const expr of asked) await query(expr.replaceAll("$instance", ".*"));
  const names = new Set(`${rules} ${asked.join(" ")}`.match(/\b(?:agent|kubelet|prober|pod)_\w+/g));
  const text = await (await agent.api("/metrics")).text();
  const more = await (await agent.api("/metrics/resource")).text();
  const probes = await (await agent.api("/metrics/probes")).text();
  const shown = `${text}${more}${probes}`;
  // Only a node with a broker or a TLS listener has these, or one on which such a thing has happened.
  const later = /mqtt|outbox|handshakes|errors_total|rollbacks|preemptions/;
  const without = [...names].filter((name) => !later.test(name) && !shown.includes(name));
  expect(without).toEqual([]);
});

e2e("the rules about counters fire when one rises, and are silent while it stands", async () => {
  const series = (name: string, values: string): object => ({
    series: name.replace("}", ',instance="pi"}'),
    values,
  });
  const rises = "0x5 1x300";
  const bucket = "kubelet_pod_start_sli_duration_seconds_bucket";
  const tests = {
    rule_files: [join(MONITORING, "alerts.yaml")],
    evaluation_interval: "1m",
    tests: [
      {
        interval: "1m",
        input_series: [
          series('kubelet_evictions{eviction_signal="memory.available"}', rises),
          // Absent until the first one.
          series('agent_rollbacks_total{reason="CrashLoopBackOff"}', "_x5 1x300"),
          series('agent_outbox_dropped_total{kind="response"}', rises),
          series(`${bucket}{le="10"}`, "0x300"),
          series(`${bucket}{le="20"}`, "0x5 1+1x20 21x300"),
          series(`${bucket}{le="+Inf"}`, "0x5 1+1x20 21x300"),
        ],
        promql_expr_test: [
          {
            at: "20m",
            firing: ["PodsEvicted", "ReportsDropped", "SlowPodStarts", "UpdateRolledBack"],
          },
          { at: "4h", firing: [] },
        ].map(({ at, firing }) => ({
          expr: 'count by (alertname) (ALERTS{alertstate="firing"})',
          eval_time: at,
          exp_samples: firing.map((name) => ({ labels: `{alertname="${name}"}`, value: 1 })),
        })),
      },
    ],
  };
  const directory = stage.temp.directory("rules");
  mkdirSync(directory, { recursive: true });
  const file = join(directory, "rules-test.yaml");
  writeFileSync(file, JSON.stringify(tests));
  const { code, stdout, stderr } = await run(["promtool", "test", "rules", file]);
  expect([code, `${stdout}${stderr}`]).toEqual([0, expect.stringContaining("SUCCESS") as string]);
});

/** The value of this series now; NaN = there is none. */
async function sample(series: string): Promise<number> {
  const text = await (await agent.api("/metrics")).text();
  const line = text.split("\n").find((one) => one.startsWith(`${series} `));
  return Number(line?.slice(series.length + 1) ?? Number.NaN);
}

/** Throws for a query that Prometheus refuses. */
async function query(expr: string): Promise<readonly unknown[]> {
  const url = `${prometheus}/api/v1/query?query=${encodeURIComponent(expr)}`;
  const answer = (await (await fetch(url, { signal: AbortSignal.timeout(10_000) })).json()) as {
    readonly status: string;
    readonly error?: string;
    readonly data?: { readonly result: readonly unknown[] };
  };
  if (answer.status !== "success") throw new Error(`${expr}: ${answer.error}`);
  return answer.data?.result ?? [];
}
