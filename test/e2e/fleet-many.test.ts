// An operator of thousands of nodes, and a mosquitto as it comes: its queue for a client holds 1,000 messages.

import { afterAll, expect, test } from "bun:test";

import { agentBinary } from "../harness/agent-process.ts";
import { startBroker } from "../harness/broker.ts";
import { run } from "../harness/run-command.ts";
import { makeTempDirectory } from "../harness/temp-directory.ts";

const NODES = 3_000;
const AT_ONCE = 300;

const temp = makeTempDirectory();
afterAll(() => temp.remove());

function stateOf(): object {
  const time = "2026-11-21T07:59:00Z";
  return { state: "online", session: 7, incarnation: "i1", agent: "1.2.3", time };
}

/** As large as that of a node with a few pods. */
function reportOf(node: string): object {
  const pods = Array.from({ length: 5 }, (_, pod) => ({
    namespace: "default",
    name: `app-${pod}`,
    uid: `00000000-0000-4000-8000-00000000000${pod}`,
    source: "node",
    specHash: "0123456789abcdef",
    phase: "Running",
    ready: "1/1",
    restarts: 0,
    since: "2026-11-21T07:00:00Z",
  }));
  return {
    apiVersion: "agent/v1",
    kind: "ReportedState",
    node,
    incarnation: "i1",
    session: 7,
    seq: 1,
    time: "2026-11-21T07:59:00Z",
    clockTrusted: true,
    desired: [],
    status: {
      conditions: [{ type: "Ready", status: "True" }],
      addresses: [{ type: "InternalIP", address: "192.0.2.7" }],
      nodeInfo: { osImage: "Debian 12" },
    },
    pods,
    rejected: [],
  };
}

test("3,000 nodes are all shown, each with its report", async () => {
  const broker = await startBroker(temp, { persistence: false });
  await using client = await broker.client();
  const names = Array.from({ length: NODES }, (_, index) => `pi-${index}`);
  for (let from = 0; from < NODES; from += AT_ONCE)
    await Promise.all(
      names.slice(from, from + AT_ONCE).flatMap((node) => {
        const topic = `agent/v1/node/${node}`;
        return [
          client.publish(`${topic}/state`, stateOf(), { retain: true }),
          client.publish(`${topic}/reported`, reportOf(node), { retain: true }),
        ];
      }),
    );
  const { code, stdout, stderr } = await run(
    [agentBinary(), "fleet", "get", "nodes", "--url", broker.url],
    { timeout: 90_000 },
  );
  expect({ code, stderr }).toMatchObject({ code: 0 });
  const rows = stdout
    .split("\n")
    .filter((line) => /^pi-\d+ +online +Ready +1\.2\.3 +5 /.test(line));
  expect(rows).toHaveLength(NODES);
  expect(stderr).toContain(`${NODES} nodes answered; a broker`);
  await broker.stop();
}, 180_000);
