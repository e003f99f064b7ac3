// A compose file of a broker, a registry and Prometheus, with the real programs in its images: imported by the compiled program,
// run by a real agent on a real containerd, and used.

import { expect } from "bun:test";
import { writeFileSync } from "node:fs";
import { join } from "node:path";

import { eventually } from "../harness/eventually.ts";
import { freePort } from "../harness/free-port.ts";
import { importImages } from "../harness/images.ts";
import { programImage } from "../harness/program-images.ts";
import { output } from "../harness/run-command.ts";
import { openStage } from "./support-b-stage.ts";
import { importInto, untilShownReady } from "./support-import.ts";

const { e2e, temp, containerd, agent: makeAgent } = await openStage();

/** Each runs as a user of its own, as their public images do. */
const BROKER_USER = "1883";
const IMAGES = [
  {
    name: "local/broker:1",
    program: "mosquitto",
    command: ["-c", "/mosquitto/config/mosquitto.conf"],
    user: BROKER_USER,
    directories: ["/mosquitto", "/mosquitto/data"],
  },
  { name: "local/registry:1", program: "docker-registry", user: "nobody", command: ["serve"] },
  { name: "local/prometheus:1", program: "prometheus", user: "nobody" },
] as const;

const COMPOSE = `services:
  broker:
    image: local/broker:1
    ports: ["127.0.0.1:\${BROKER_PORT}:1883"]
    volumes: ["./mosquitto.conf:/mosquitto/config/mosquitto.conf:ro", "retained:/mosquitto/data"]
    restart: unless-stopped
    stop_grace_period: 5s
    healthcheck: {test: "nc -w 1 127.0.0.1 1883 < /dev/null", interval: 1s}
  images:
    image: local/registry:1
    command: ["serve", "/etc/registry.yml"]
    configs: [{source: registry, target: /etc/registry.yml}]
    environment: {MAY_DELETE: yes}
    ports: ["127.0.0.1:\${REGISTRY_PORT}:80"]
    volumes: ["blobs:/blobs"]
    restart: always
    stop_grace_period: 1s
    healthcheck: {test: 'test "$$MAY_DELETE" = yes && wget -q -O - http://127.0.0.1:80/v2/', interval: 1s}
  metrics:
    image: local/prometheus:1
    links: ["images:measured"]
    command: --config.file=/etc/prometheus.yml --storage.tsdb.path=/series --web.listen-address=:9090
    volumes: ["./prometheus.yml:/etc/prometheus.yml:ro", "series:/series"]
    ports: ["127.0.0.1:\${METRICS_PORT}:9090"]
    depends_on: {images: {condition: service_healthy}}
    restart: always
    stop_grace_period: 1s
configs:
  registry:
    content: |
      version: 0.1
      storage: {filesystem: {rootdirectory: /blobs}}
      http: {addr: ":80", debug: {addr: ":5001", prometheus: {enabled: true}}}
volumes: {retained: {}, blobs: {}, series: {}}
`;
const BROKER = `listener 1883
allow_anonymous true
persistence true
persistence_location /mosquitto/data/
`;
const SCRAPES = `global: {scrape_interval: 1s}
scrape_configs:
  - {job_name: one, static_configs: [{targets: ["images:5001", "measured:5001", "absent:5001"]}]}
`;
const PODS = ["broker", "images", "metrics"];
/** sha256 of the text hello. */
const HELLO = "sha256:2cf24dba5fb0a30e26e83b2ac5b9e29e1b161e5c1fa7425e73043362938b9824";

e2e(
  "real programs of a compose file find each other, keep what they write and answer",
  async () => {
    const desk = temp.directory("programs-desk");
    const [broker, registry, metrics] = [freePort(), freePort(), freePort()];
    writeFileSync(
      join(desk, ".env"),
      `BROKER_PORT=${broker}\nREGISTRY_PORT=${registry}\nMETRICS_PORT=${metrics}\n`,
    );
    writeFileSync(join(desk, "mosquitto.conf"), BROKER);
    writeFileSync(join(desk, "prometheus.yml"), SCRAPES);
    writeFileSync(join(desk, "compose.yaml"), COMPOSE);
    await importImages(containerd(), temp.directory("program-images"), IMAGES.map(programImage));
    const agent = makeAgent("programs-1", {});
    await importInto(agent, "compose", ["compose", join(desk, "compose.yaml")]);
    await agent.startReady();
    await untilShownReady(agent, PODS);

    const address = `http://127.0.0.1:${registry}/v2/a/blobs/`;
    const begun = await fetch(`${address}uploads/`, { method: "POST" });
    const upload = new URL(begun.headers.get("location") ?? "", address);
    upload.searchParams.set("digest", HELLO);
    const stored = await fetch(upload, { method: "PUT", body: "hello" });
    expect(stored.status).toBe(201);
    expect(await (await fetch(address + HELLO)).text()).toBe("hello");

    const query = encodeURIComponent("up");
    const targets = async (): Promise<Readonly<Record<string, string>>> => {
      const answer = await fetch(`http://127.0.0.1:${metrics}/api/v1/query?query=${query}`);
      const { data } = (await answer.json()) as {
        readonly data: {
          readonly result: readonly {
            readonly metric: { readonly instance: string };
            readonly value: readonly [number, string];
          }[];
        };
      };
      return Object.fromEntries(
        data.result.map(({ metric, value }) => [metric.instance, value[1]]),
      );
    };
    await eventually(
      "Prometheus reads the registry by its name and by its alias, and nothing where nobody is",
      async () => {
        expect(await targets()).toEqual({
          "images:5001": "1",
          "measured:5001": "1",
          "absent:5001": "0",
        });
        return true;
      },
      { timeout: 60_000 },
    );

    const at = ["-h", "127.0.0.1", "-p", `${broker}`, "-t", "kept"];
    await output(["mosquitto_pub", ...at, "-m", "a message", "-r", "-q", "1"]);
    const restarted = await agent.cli("restart", "broker");
    expect(restarted).toMatchObject({ code: 0 });
    await untilShownReady(agent, PODS);
    expect(await output(["mosquitto_sub", ...at, "-C", "1", "-W", "20"])).toBe("a message\n");
    await agent.kill();
  },
  240_000,
);
