// Parses image names and completes short ones. kubelet: parsers.ParseImageName

import { AgentError, messageOf } from "../lib/errors.ts";

export interface ImageReference {
  /** Registry host, with its port if any. */
  readonly domain: string;
  readonly path: string;
  /** Absent only with a digest. */
  readonly tag?: string;
  /** `sha256:<hex>` */
  readonly digest?: string;
  /** As written, with `:latest` if neither tag nor digest was given; sent to the runtime. */
  readonly asked: string;
}

const DEFAULT_DOMAIN = "docker.io";
const COMPONENT = "[a-z0-9]+(?:(?:\\.|_|__|-+)[a-z0-9]+)*";
const PATH = new RegExp(`^${COMPONENT}(?:/${COMPONENT})*$`);
const LABEL = "[a-zA-Z0-9](?:[a-zA-Z0-9-]*[a-zA-Z0-9])?";
const DOMAIN = new RegExp(`^(?:${LABEL}(?:\\.${LABEL})*|\\[[0-9a-fA-F:]+\\])(?::[0-9]+)?$`);
const TAG = /^\w[\w.-]{0,127}$/;
const DIGEST = /^(?:sha256:[0-9a-f]{64}|sha384:[0-9a-f]{96}|sha512:[0-9a-f]{128})$/;
const MAX_NAME = 255;

/** Throws AgentError `InvalidImageName`. */
export function parseImageReference(image: string): ImageReference {
  const { name, tag, digest } = split(image);
  // An image ID, by which nothing can be pulled.
  if (/^[0-9a-f]{64}$/.test(name)) throw invalid(image, "64 hex digits are an ID, not a name");
  const { domain, path } = splitDomain(name);
  if (path !== path.toLowerCase()) throw invalid(image, "a repository name must be lower case");
  if (!PATH.test(path) || !DOMAIN.test(domain)) throw invalid(image, "it is not a repository name");
  if (domain.length + 1 + path.length > MAX_NAME) throw invalid(image, "it is too long");
  if (tag !== undefined && !TAG.test(tag)) throw invalid(image, `"${tag}" is not a tag`);
  if (digest !== undefined && !DIGEST.test(digest))
    throw invalid(image, `"${digest}" is not a digest`);
  const untagged = tag === undefined && digest === undefined;
  return {
    domain,
    path,
    ...(untagged ? { tag: "latest" } : tag === undefined ? {} : { tag }),
    ...(digest === undefined ? {} : { digest }),
    asked: untagged ? `${image}:latest` : image,
  };
}

/** What is wrong with an image name; undefined = nothing. */
export function imageNameError(image: string): string | undefined {
  try {
    parseImageReference(image);
    return undefined;
  } catch (error) {
    return messageOf(error);
  }
}

/** The full form of a reference: `busybox` → `docker.io/library/busybox:latest`. */
export function normalizedName({ domain, path, tag, digest }: ImageReference): string {
  const tagged = tag === undefined ? "" : `:${tag}`;
  return `${domain}/${path}${tagged}${digest === undefined ? "" : `@${digest}`}`;
}

interface Parts {
  readonly name: string;
  readonly tag: string | undefined;
  readonly digest: string | undefined;
}

function split(image: string): Parts {
  const [before = "", ...digests] = image.split("@");
  if (digests.length > 1) throw invalid(image, "it has more than one digest");
  // A colon before the last slash belongs to the registry's port.
  const colon = before.indexOf(":", before.lastIndexOf("/") + 1);
  return {
    name: colon < 0 ? before : before.slice(0, colon),
    tag: colon < 0 ? undefined : before.slice(colon + 1),
    digest: digests[0],
  };
}

// The first part is a registry only if it cannot be a part of a path: Docker's rule.
function splitDomain(name: string): { readonly domain: string; readonly path: string } {
  const slash = name.indexOf("/");
  const first = name.slice(0, Math.max(slash, 0));
  const isDomain = /[.:]/.test(first) || first === "localhost" || first !== first.toLowerCase();
  const domain = isDomain ? first : DEFAULT_DOMAIN;
  const path = isDomain ? name.slice(slash + 1) : name;
  if (domain !== DEFAULT_DOMAIN && domain !== "index.docker.io") return { domain, path };
  const official = !path.includes("/");
  return { domain: DEFAULT_DOMAIN, path: official ? `library/${path}` : path };
}

function invalid(image: string, why: string): AgentError {
  return new AgentError({
    reason: "InvalidImageName",
    message: `cannot use the image name "${image}": ${why}`,
  });
}
