// What a person may do with a rollout that has begun, and what they saw when they decided.

export const ROLLOUT_CHANGES = ["pause", "resume", "undo"] as const;
export type RolloutChange = (typeof ROLLOUT_CHANGES)[number];

export interface SeenRollout {
  readonly generation: number;
  /** Absent = however far it is. */
  readonly percent?: number;
}
