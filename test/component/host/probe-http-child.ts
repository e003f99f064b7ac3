// Asks two servers of the loopback, one of them over TLS, from a process with an environment of its own.

import { httpGet } from "../../../src/host/probe/probe-http.ts";
import { systemClock } from "../../../src/lib/system-clock.ts";

for (const [index, scheme] of (["HTTP", "HTTPS"] as const).entries()) {
  const port = Number(process.argv[2 + index]);
  const request = { scheme, host: "127.0.0.1", port, path: "/", headers: [] };
  const { status } = await httpGet(systemClock(), request, { timeoutMs: 10_000 });
  console.log(`${scheme} ${status}`);
}
