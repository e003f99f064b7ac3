// What the page knows of its command: whether it may change anything, and the commands to type if it may not.

import type { ActionFlags } from "./rollout-actions.ts";

export interface AboutPage {
  /** There is no key to sign with. */
  readonly isReadOnly: boolean;
  /** Flags that lead to the same broker and history, as a person types them. */
  readonly flags: string;
}

type Flags = Pick<
  ActionFlags,
  | "url"
  | "username"
  | "passwordFile"
  | "caFile"
  | "certFile"
  | "keyFile"
  | "topicRoot"
  | "nodes"
  | "history"
  | "key"
>;

const WRITTEN: Readonly<Partial<Record<keyof Flags, string>>> = {
  nodes: "--nodes",
  url: "--url",
  username: "--username",
  passwordFile: "--password-file",
  caFile: "--ca-file",
  certFile: "--cert-file",
  keyFile: "--key-file",
  topicRoot: "--topic-root",
};

export function aboutPage(flags: Flags): AboutPage {
  const given = Object.entries(WRITTEN).flatMap(([name, flag]) => {
    const value: unknown = flags[name as keyof Flags];
    return typeof value === "string" ? [`${flag} ${quoted(value)}`] : [];
  });
  return { isReadOnly: (flags.key ?? []).length === 0, flags: given.join(" ") };
}

/** For a shell. */
function quoted(value: string): string {
  return /^[\w./:@%+=-]+$/.test(value) ? value : `'${value.replaceAll("'", `'\\''`)}'`;
}
