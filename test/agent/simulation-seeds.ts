// Seeds that find bugs which the simulation once found, or was made to find. Each fails when its bug is put back:
// `mutations.ts` keeps the bugs, `bun test/agent/mutate.ts NAME --first SEED --seeds 1` puts one back.

export const FOUND: readonly { readonly seed: number; readonly mutation: string }[] = [
  { seed: 0, mutation: "a full disk crashes the publisher" },
  { seed: 235, mutation: "messages that a full disk rejects stay in flight" },
  { seed: 417, mutation: "a container that never started counts as a restart" },
  { seed: 1120, mutation: "the loss of a sandbox is not persisted" },
  { seed: 158, mutation: "a replacement does not wait for its dependencies" },
  { seed: 179, mutation: "a dependency that ran before the reboot counts as running" },
  { seed: 102, mutation: "a TrustBundle that arrives before the root keys is dropped" },
  { seed: 121, mutation: "a withdrawn command is performed" },
  {
    seed: 420_954,
    mutation: "a restart takes the instance of the order before it for its own",
  },
  { seed: 322_111, mutation: "a good revision of a signed document counts as unsigned" },
  {
    seed: 341_176,
    mutation: "a document waits for the end of a pod that goes on under a held name",
  },
  { seed: 353_841, mutation: "a container is killed by an old look" },
  { seed: 395_372, mutation: "a sidecar starts again by an old look" },
  { seed: 369_534, mutation: "the next process counts time in which a trial stands still" },
  { seed: 367_819, mutation: "an object of a document is certain before the files have synced" },
  { seed: 343_015, mutation: "a pod that lingers is another one in every review" },
  { seed: 403_655, mutation: "a pod that lingered begins again at its end" },
  { seed: 359_702, mutation: "what a file has taken over is still a document's pod" },
  { seed: 359_841, mutation: "a superseded message that a full disk keeps is sent again" },
  {
    seed: 377_138,
    mutation: "a pod that was refused while the runtime was away begins with its return",
  },
  { seed: 377_861, mutation: "what a file's pod replaces takes no room while it stops" },
  {
    seed: 363_858,
    mutation: "a pod that was refused during its first call begins with the next",
  },
  {
    seed: 416_293,
    mutation: "a pod that was refused before its source had synced never begins",
  },
  { seed: 418_474, mutation: "the next life of a pod that has come to its end takes no room" },
  {
    seed: 423_929,
    mutation: "a container that was only made hides the end of the one before it",
  },
  { seed: 433_909, mutation: "an old look brings back a pod that is gone" },
  { seed: 356_318, mutation: "an eviction ends with the process that began it" },
  { seed: 301, mutation: "a log that was rotated just now is cut" },
];
