// What is told of a list in which everything is wrong.

import type { Rejection } from "../pod/desired-pod.ts";

/** More would not be read. */
const MAX_TOLD = 100;

/** Of a named object all is kept: whether its last good version goes on hangs on it. */
export function fewErrors(all: readonly Rejection[]): readonly Rejection[] {
  return few(all, { what: "errors", isKept: ({ name }) => name !== undefined });
}

export function fewRefusedKinds(all: readonly Rejection[]): readonly Rejection[] {
  return few(all, { what: "objects of kinds that are not supported", isKept: () => false });
}

interface Choice {
  readonly what: string;
  readonly isKept: (rejection: Rejection) => boolean;
}

/** Only the first hundred of those that need not be kept, and how many more there were. */
function few(all: readonly Rejection[], { what, isKept }: Choice): readonly Rejection[] {
  const others = all.filter((one) => !isKept(one));
  const untold = others[MAX_TOLD];
  if (untold === undefined) return all;
  const { kind: _kind, namespace: _namespace, name: _name, ...place } = untold;
  const told = new Set(others.slice(0, MAX_TOLD));
  const message = `and ${others.length - MAX_TOLD} more ${what}`;
  return [
    ...all.filter((one) => isKept(one) || told.has(one)),
    { ...place, code: "TooMany", path: "", message },
  ];
}
