// A child process for kill.test.ts: writes without end and says, line by line, what the store has acknowledged.

import { writeSync } from "node:fs";
import { sha256 } from "../../../src/lib/system-sha256.ts";
import { openStore } from "./open-store.ts";

const [stateDir = "", from = "0"] = process.argv.slice(2);
const store = openStore(stateDir);
writeSync(1, "ready 0\n");
for (let n = Number(from); ; n += 1) {
  const payload = new TextEncoder().encode(`payload ${n}`.repeat(50));
  store.documents.accept({
    source: "mqtt:node",
    epoch: "e",
    generation: n,
    digest: `sha256:${sha256(payload)}`,
    payload,
    observedGeneration: 0,
    acceptedAt: n,
  });
  writeSync(1, `document ${n}\n`);
  store.removals.begin([{ uid: `uid-${n}`, namespace: "n", name: "p", why: "Deleted" }]);
  writeSync(1, `removal ${n}\n`);
  store.outbox.put({ kind: "pod", topic: `pod/${n % 5}`, payload, qos: 1, retain: true });
  writeSync(1, `put ${n}\n`);
  const expiresAt = Number.MAX_SAFE_INTEGER;
  const answer = new TextEncoder().encode(`answer ${n}`);
  store.responses.add([{ topic: "response", payload: answer, expiresAt }], n);
  writeSync(1, `response ${n}\n`);
  writeSync(1, `session ${store.incarnation.nextSession()}\n`);
}
