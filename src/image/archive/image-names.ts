// The names that an image of an archive gets: those that the archive gives, and its name by digest.

import { normalizedName, parseImageReference } from "../image-reference.ts";
import { messageOf } from "../../lib/errors.ts";
import { invalidArchive } from "./archive-error.ts";

/** Names of one image. */
export const MAX_NAMES = 100;

/**
 * In full. `written`: names, or `:` and a tag of the repository `baseName`. [] = it has no name. Throws AgentError
 * `InvalidImageArchive`.
 */
export function fullNames(
  written: readonly string[],
  baseName: string | undefined,
): readonly string[] {
  if (written.length > MAX_NAMES)
    throw invalidArchive(`an image in it has more than ${MAX_NAMES} names`);
  const names = written.length === 0 && baseName !== undefined ? [""] : written;
  return [...new Set(names.flatMap((name) => fullName(name, baseName) ?? []))];
}

/** Of the same repository as `name`: what a manifest that names an image by its digest asks for. */
export function nameByDigest(name: string, digest: string): string {
  const { domain, path } = parseImageReference(name);
  return `${domain}/${path}@${digest}`;
}

/** undefined = a tag without a repository. */
function fullName(name: string, baseName: string | undefined): string | undefined {
  const isTag = name === "" || name.startsWith(":");
  if (isTag && baseName === undefined) return undefined;
  const hasTag = /:[^/]*$/.test(baseName ?? "");
  const reference =
    isTag && baseName !== undefined
      ? name === "" || hasTag
        ? baseName
        : `${baseName}${name}`
      : name;
  try {
    const parsed = parseImageReference(reference);
    return normalizedName(parsed);
  } catch (error) {
    throw invalidArchive(`an image in it has an invalid name: ${messageOf(error)}`, error);
  }
}
