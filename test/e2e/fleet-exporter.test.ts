// `agent fleet exporter`: the compiled program, a real broker, a real Prometheus with the rules and the dashboard of the docs.

import { afterAll, expect, test } from "bun:test";
import { mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";

import { agentBinary } from "../harness/agent-process.ts";
import { startBroker } from "../harness/broker.ts";
import { spawnDaemon } from "../harness/daemon.ts";
import { eventually } from "../harness/eventually.ts";
import { freePort } from "../harness/free-port.ts";
import { output, run } from "../harness/run-command.ts";
import { makeTempDirectory } from "../harness/temp-directory.ts";

const MONITORING = join(import.meta.dir, "../../docs/monitoring");
const RULES = join(MONITORING, "fleet-alerts.yaml");
const temp = makeTempDirectory();
afterAll(() => temp.remove());

const ACK = {
  source: "group/g",
  epoch: "",
  generation: 7,
  digest: "d",
  phase: "Healthy",
  code: 200,
};

test("a real Prometheus scrapes it, and every query of rules and dashboard is answered", async () => {
  const broker = await startBroker(temp);
  await using client = await broker.client();
  for (const [name, state, desired] of [
    ["pi-1", "online", [ACK]],
    ["pi-2", "lost", [{ ...ACK, phase: "RolledBack", code: 424 }]],
  ] as const) {
    const topic = `agent/v1/node/${name}`;
    const birth = { state, session: 7, incarnation: "i1", agent: "1.2.3" };
    await client.publish(`${topic}/state`, birth, { retain: true });
    const time = new Date().toISOString();
    const report = { kind: "ReportedState", time, clockTrusted: true, desired, pods: [] };
    await client.publish(`${topic}/reported`, report, { retain: true });
  }
  const port = freePort();
  const directory = temp.directory("exporter");
  mkdirSync(directory, { recursive: true });
  const listen = ["--listen", `127.0.0.1:${port}`, "--url", broker.url];
  spawnDaemon([agentBinary(), "fleet", "exporter", ...listen], {
    temp,
    logFile: join(directory, "exporter.log"),
  });
  const scraped = async (): Promise<string> =>
    (
      await fetch(`http://127.0.0.1:${port}/metrics`, { signal: AbortSignal.timeout(10_000) })
    ).text();
  await eventually("both nodes are counted", async () => {
    const text = await scraped();
    return /agent_fleet_nodes\{state="online"\} 1/.test(text) && /\{state="lost"\} 1/.test(text);
  });
  const checked = await run(["promtool", "check", "metrics"], { stdin: await scraped() });
  expect({ code: checked.code, said: `${checked.stdout}${checked.stderr}` }).toEqual({
    code: 0,
    said: "",
  });
  expect(await output(["promtool", "check", "rules", RULES])).toContain("SUCCESS");

  const web = freePort();
  const targets = [`127.0.0.1:${port}`];
  const scrape = { job_name: "fleet", scrape_interval: "1s", static_configs: [{ targets }] };
  const config = { rule_files: [RULES], scrape_configs: [scrape] };
  writeFileSync(join(directory, "prometheus.yml"), JSON.stringify(config));
  const args = [
    `--config.file=${join(directory, "prometheus.yml")}`,
    `--storage.tsdb.path=${join(directory, "data")}`,
    `--web.listen-address=127.0.0.1:${web}`,
  ];
  spawnDaemon(["prometheus", ...args], { temp, logFile: join(directory, "log") });
  const query = async (expr: string): Promise<readonly unknown[]> => {
    const url = `http://127.0.0.1:${web}/api/v1/query?query=${encodeURIComponent(expr)}`;
    const response = await fetch(url, { signal: AbortSignal.timeout(10_000) });
    const answer = (await response.json()) as {
      readonly status: string;
      readonly error?: string;
      readonly data?: { readonly result: readonly unknown[] };
    };
    if (answer.status !== "success") throw new Error(`${expr}: ${answer.error}`);
    return answer.data?.result ?? [];
  };
  await eventually(
    "the metrics are in Prometheus",
    async () => (await query("agent_fleet_documents")).length === 2,
    { timeout: 60_000 },
  );
  const dashboard = JSON.parse(readFileSync(join(MONITORING, "grafana-fleet.json"), "utf8")) as {
    readonly panels: readonly { readonly targets: readonly { readonly expr: string }[] }[];
  };
  const asked = dashboard.panels.flatMap(({ targets: of }) => of.map(({ expr }) => expr));
  expect(asked.length).toBeGreaterThan(10);
  for (const expr of asked) await query(expr);
  expect(await query('sum(agent_fleet_documents{code=~"4..|5..",code!="423"}) > 0')).toHaveLength(
    1,
  );

  // Without a broker it says so and nothing else, and comes back with it.
  await broker.stop();
  await eventually("the broker is missed", async () => {
    const text = await scraped();
    return text.includes("agent_fleet_broker_connected 0") && !text.includes("agent_fleet_nodes{");
  });
  await broker.start();
  await eventually(
    "the nodes are back",
    async () => (await scraped()).includes('agent_fleet_nodes{state="online"} 1'),
    { timeout: 60_000 },
  );
}, 240_000);

test("an address that other machines reach needs a token", async () => {
  const args = ["fleet", "exporter", "--listen", "0.0.0.0:9460", "--url", "mqtt://127.0.0.1:1"];
  const { code, stderr } = await run([agentBinary(), ...args]);
  expect(stderr).toContain("add --token-file, or listen on 127.0.0.1");
  expect(code).toBe(2);
});
