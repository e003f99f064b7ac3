// Seeds that have found a bug of the agent, each by what it was. They mean what they say as long as the dice fall alike.

export const FOUND: readonly { readonly seed: number; readonly story: string }[] = [
  { seed: 316, story: "what the broker took while the disk was full kept its topic busy for ever" },
  { seed: 118, story: "a will that came late was the last word" },
  { seed: 20_893, story: "an exit made an old look outweigh a newer one: a good pod was killed" },
  { seed: 1_289, story: "an exit made an old look outweigh a newer one: a Never pod ran twice" },
];
