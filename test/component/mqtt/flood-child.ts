// A process of its own that is only connected, so that a test can see what a hostile broker makes of its memory.

import { MqttjsLink } from "../../../src/mqtt/mqttjs-link.ts";
import { systemClock } from "../../../src/lib/system-clock.ts";
import { optionsFor } from "./link-client.ts";

const [url = "", version = "5"] = process.argv.slice(2);
const stop = new AbortController();
let messages = 0;
let bytes = 0;

const session = await new MqttjsLink(systemClock()).connect(
  optionsFor(url, { clientId: "flooded", protocolVersion: version === "4" ? 4 : 5 }),
  ({ payload }) => {
    messages += 1;
    bytes += payload.length;
  },
  stop.signal,
);
Bun.gc(true);
const before = process.memoryUsage.rss();
await session.subscribe(["flood"]).catch(() => undefined);
process.stdout.write("subscribed\n");

let highest = before;
const look = setInterval(() => (highest = Math.max(highest, process.memoryUsage.rss())), 5);
const limit = setTimeout(() => session.abort(), 8_000);
/** The test ends the flood by closing stdin, or the flood ends the session. */
const told = (async () => {
  for await (const _ of process.stdin);
  return { by: "test", message: "" };
})();
const end = await Promise.race([session.ended, told]);
clearInterval(look);
clearTimeout(limit);
highest = Math.max(highest, process.memoryUsage.rss());
const grewMiB = Math.round((highest - before) / 1024 / 1024);
process.stdout.write(`${JSON.stringify({ messages, bytes, grewMiB, end })}\n`);
process.exit(0);
