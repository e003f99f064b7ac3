// Which version of the agent itself a document asks for, and the statement that signs one binary of it.

import {
  fieldOf,
  objectType,
  oneOf,
  text,
  checked,
  textField,
  type Decoded,
} from "../api/schema/codec.ts";
import { readValue } from "../api/schema/read-value.ts";
import { between, exactText } from "../api/schema/values.ts";
import { parseJson } from "../lib/json.ts";
import { failed, type Result } from "../lib/result.ts";

/** Of a binary; several times the size of any so far. */
export const MAX_BINARY_BYTES = 512 * 1024 * 1024;
/** A version is part of a file's name. */
const VERSION = /^[0-9A-Za-z][0-9A-Za-z.+~_-]{0,63}$/;
const DIGEST = /^[0-9a-f]{64}$/;
const MAX_URL = 2048;

export const PLATFORMS = ["linux-arm64", "linux-x64"] as const;
export type Platform = (typeof PLATFORMS)[number];

export function versionError(version: string): string | undefined {
  return VERSION.test(version)
    ? undefined
    : "must be a version such as 1.4.0, of letters, digits and . + ~ _ -, at most 64 characters";
}

/** Whether a binary can be downloaded from there: undefined, or what is wrong. */
export function binaryUrlError(written: string): string | undefined {
  if (written.length > MAX_URL) return `must have at most ${MAX_URL} characters`;
  const url = URL.parse(written);
  if (url === null || !["http:", "https:"].includes(url.protocol))
    return "must be an http or https address";
  return url.username === "" && url.password === ""
    ? undefined
    : "must not contain a user or a password";
}

/** Of a sha256 without its prefix: undefined, or what is wrong. */
export function digestError(written: string): string | undefined {
  return DIGEST.test(written) ? undefined : "must be 64 hexadecimal digits in lower case";
}

const version = textField(checked(exactText, versionError));
const sha256 = textField(checked(text, digestError));
const size = fieldOf(between(1, MAX_BINARY_BYTES), 0);

const ARTIFACT = objectType("AgentArtifact", {
  url: textField(checked(text, binaryUrlError))({
    about: "Address of the binary, http or https.",
    required: true,
  }),
  sha256: sha256({ about: "Its sha256 in hexadecimal digits.", required: true }),
  size: size({ about: "Its size in bytes.", required: true }),
});
export type AgentArtifact = Decoded<typeof ARTIFACT>;

const ARTIFACTS = objectType("AgentArtifacts", {
  "linux-arm64": fieldOf(ARTIFACT)({ about: "For 64-bit ARM." }),
  "linux-x64": fieldOf(ARTIFACT)({ about: "For x86-64." }),
});

export const AGENT_UPDATE = objectType("AgentUpdate", {
  version: version({
    about: "Version that the node shall run, as agent version prints it.",
    required: true,
  }),
  artifacts: fieldOf(ARTIFACTS)({
    about: "The binary of each platform; that of the node must be among them.",
    default: {},
  }),
});
export type AgentUpdate = Decoded<typeof AGENT_UPDATE>;

/** The payload of a signed release, which lies beside the binary as `NAME.sig`. */
export const AGENT_RELEASE = objectType("AgentRelease", {
  version: version({ about: "Version of the binary.", required: true }),
  platform: oneOf(PLATFORMS, { about: "What it runs on.", required: "linux-arm64 or linux-x64" }),
  sha256: sha256({ about: "Its sha256 in hexadecimal digits.", required: true }),
  size: size({ about: "Its size in bytes.", required: true }),
});
export type AgentRelease = Decoded<typeof AGENT_RELEASE>;

/** Never throws, whatever the bytes are. */
export function decodeAgentRelease(payload: Uint8Array): Result<AgentRelease> {
  const value = parseJson(payload);
  if (value === undefined)
    return failed([{ path: "", code: "Invalid", message: "the release is no JSON" }]);
  return readValue(AGENT_RELEASE, value, { unknownFields: "warn" });
}

/** undefined = no binary is made for such machines. */
export function platformOf(arch: string): Platform | undefined {
  if (["arm64", "aarch64"].includes(arch)) return "linux-arm64";
  return ["x64", "amd64", "x86_64"].includes(arch) ? "linux-x64" : undefined;
}
