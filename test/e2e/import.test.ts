// A compose file and a directory of Quadlet, imported by the compiled program, run by a real agent on a real containerd.

import { expect } from "bun:test";
import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";

import { freePort } from "../harness/free-port.ts";
import { openStage } from "./support-b-stage.ts";
import { importInto, untilShownReady } from "./support-import.ts";

const { e2e, temp, agent: makeAgent } = await openStage();

e2e(
  "what ran under Compose and Podman runs, is ready and is reached",
  async () => {
    const desk = temp.directory("import-desk");
    const port = freePort();
    writeFileSync(join(desk, ".env"), `PORT=${port}\nWORD=hello\n`);
    writeFileSync(join(desk, "index.html"), "a page\n");
    writeFileSync(
      join(desk, "compose.yaml"),
      `services:
  web:
    image: local/busybox:1
    command: sh -c 'cp /site/index.html /data/; echo $$WORD > /data/word; exec httpd -f -p 8080 -h /data'
    environment: {WORD: "\${WORD}"}
    ports: ["127.0.0.1:\${PORT}:8080"]
    volumes: ["data:/data", "./index.html:/site/index.html:ro"]
    restart: always
    stop_grace_period: 1s
    healthcheck: {test: "wget -q -O - http://127.0.0.1:8080/word", interval: 1s}
  reader:
    image: local/busybox:1
    command: ["sh", "-c", "until wget -q -O /tmp/page http://web:8080/; do sleep 1; done; exec sleep 3600"]
    depends_on: {web: {condition: service_healthy}}
    restart: always
    stop_grace_period: 1s
    healthcheck: {test: ["CMD", "grep", "a page", "/tmp/page"], interval: 1s}
volumes: {data: {}}
`,
    );
    const units = join(desk, "units");
    mkdirSync(units);
    writeFileSync(
      join(units, "box.container"),
      `[Container]
Image=local/busybox:1
Exec=sh -c \\
  'test "$A" = "two words" && exec sleep 3600'
Environment="A=two words"
HealthCmd=true
HealthInterval=1s
StopTimeout=1

[Service]
Restart=always
`,
    );
    const agent = makeAgent("import-1", {});
    await importInto(agent, "compose", ["compose", join(desk, "compose.yaml")]);
    await importInto(agent, "quadlet", ["quadlet", units]);
    await agent.startReady();
    await untilShownReady(agent, ["web", "reader", "box"]);
    const word = await fetch(`http://127.0.0.1:${port}/word`);
    expect(await word.text()).toBe("hello\n");
    await agent.kill();
  },
  240_000,
);
