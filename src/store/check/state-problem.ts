// What is wrong with the agent's own state on the disk, and what would mend it. Types only.

/**
 * `Rebuild`: the database is set aside and made anew from the documents; `Reindex`: only an index is wrong; `Forget`: the row
 * or the file cannot be used and counts as absent anyway; `Reopen`: opening the store mends it.
 */
export type StateRepair =
  | { readonly type: "Rebuild" }
  | { readonly type: "Reindex" }
  | { readonly type: "Reopen" }
  | { readonly type: "ForgetFile" }
  | { readonly type: "ForgetRow"; readonly table: string; readonly rowId: readonly RowKey[] };

export interface RowKey {
  readonly column: string;
  readonly value: string;
}

export interface StateProblem {
  readonly part: "database" | "state";
  /** Path. */
  readonly file: string;
  /** What is the case. */
  readonly what: string;
  /** What `agent fsck --repair` does, or what a person has to do. */
  readonly remedy: string;
  /** Absent = only a person can. */
  readonly repair?: StateRepair;
  /** It could not be looked at; nothing is known to be damaged. */
  readonly isUnchecked?: boolean;
}
