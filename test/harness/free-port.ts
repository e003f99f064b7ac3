// A TCP port of loopback that nobody uses at the moment, outside the range that the kernel takes ports of clients from:
// a connection of another test does not take it before its server starts.

const FIRST = 10_000;
const LAST = 32_000;
const MAX_TRIES = 100;

export function freePort(): number {
  for (let tried = 0; tried < MAX_TRIES; tried += 1) {
    const port = FIRST + Math.floor(Math.random() * (LAST - FIRST));
    if (isFree(port)) return port;
  }
  throw new Error(`no free port between ${FIRST} and ${LAST} in ${MAX_TRIES} tries`);
}

function isFree(port: number): boolean {
  try {
    const socket = { data: () => undefined };
    Bun.listen({ hostname: "127.0.0.1", port, socket }).stop(true);
    return true;
  } catch {
    return false;
  }
}
