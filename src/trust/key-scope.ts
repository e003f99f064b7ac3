// Which nodes and groups the documents and commands of a signing key may address, by its `nodes` and `groups`; its
// `roles`.

import type { SigningKey, SigningRole, PublicKey } from "../protocol/trust-bundle.ts";

/** A key that is limited to some nodes may sign for no group, and the other way round. */
export function scopeOf({ nodes, groups }: SigningKey): Pick<SigningKey, "nodes" | "groups"> {
  if (nodes === undefined && groups === undefined) return {};
  return { nodes: nodes ?? [], groups: groups ?? [] };
}

export function scopeError(key: Signer, role: SigningRole, to: Addressee): string | undefined {
  const { id, roles, nodes, groups } = key;
  if (!roles.includes(role))
    return `key ${id} has the role ${roles.join(", ")}, not ${role}; sign with another key, or publish a TrustBundle that gives it the role`;
  const isInside =
    "node" in to
      ? (nodes?.some((glob) => matchesGlob(glob, to.node)) ?? true)
      : (groups?.includes(to.group) ?? true);
  if (isInside) return undefined;
  const whom = "node" in to ? `node ${to.node}` : `group ${to.group}`;
  return `key ${id} may not sign for ${whom}; sign with another key, or publish a TrustBundle that widens its scope`;
}

/** `*` is any text, also none; every other character is itself. */
export function matchesGlob(glob: string, name: string): boolean {
  const [first = "", ...rest] = glob.split("*");
  const last = rest.pop();
  if (last === undefined) return glob === name;
  if (!name.startsWith(first)) return false;
  let at = first.length;
  for (const part of rest) {
    const found = name.indexOf(part, at);
    if (found < 0) return false;
    at = found + part.length;
  }
  return name.length - last.length >= at && name.endsWith(last);
}

/** A key and its id in signatures. */
export interface RootKey {
  readonly id: string;
  readonly pub: PublicKey;
}

/** With an explicit scope: an absent list means all, an empty one none. */
export type Signer = SigningKey & RootKey;

/** The target of a message: this node, or one of its groups. */
export type Addressee = { readonly node: string } | { readonly group: string };
