// A child process for event-numbers.test.ts: hands events to a broker without end and says, line by line, under which number.

import { writeSync } from "node:fs";
import { openStore } from "./open-store.ts";

const [stateDir = ""] = process.argv.slice(2);
const { outbox } = openStore(stateDir);
for (let n = 0; ; n += 1) {
  for (const type of ["Normal", "Warning"] as const)
    outbox.events.add({ type, topic: "event", payload: new TextEncoder().encode(`{"at":${n}}`) });
  outbox.events.flush();
  const ids = outbox.nextBatch(10).map(({ id }) => id);
  // The broker has them, whether or not we live to hear it.
  writeSync(1, `${ids.join(" ")}\n`);
  if (n % 3 === 0) outbox.sent(ids);
  else outbox.released();
}
