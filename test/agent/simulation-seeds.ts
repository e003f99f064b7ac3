// Seeds that find bugs which the simulation once found, or was made to find. Each fails when its bug is put back:
// `mutations.ts` keeps the bugs, `bun test/agent/mutate.ts NAME --first SEED --seeds 1` puts one back.

export const FOUND: readonly { readonly seed: number; readonly mutation: string }[] = [
  { seed: 103, mutation: "a full disk ends the publisher" },
  { seed: 235, mutation: "what a full disk kept stays in flight" },
  { seed: 75, mutation: "one that never started is a restart" },
  { seed: 144, mutation: "a lost sandbox is forgotten" },
  { seed: 158, mutation: "who is replaced waits for nobody" },
  { seed: 179, mutation: "what ran before a reboot is there" },
  { seed: 102, mutation: "a bundle that comes before the root keys is lost" },
  { seed: 263, mutation: "an order outlives its answer" },
];
