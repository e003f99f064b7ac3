// Judges the files of a provisioning directory, each by itself: a broken file keeps only itself from being taken over, and a
// key its certificate, because one of the two alone would end the connection.

import { decodeManifest } from "../api/decode/decode-manifest.ts";
import { decodeText, readDocuments } from "../api/yaml/yaml-documents.ts";
import { decodeConfig, type AgentConfig } from "../config/config.ts";
import { isJsonObject, parseJson } from "../lib/json.ts";
import type { FieldError } from "../lib/result.ts";
import type { Sha256 } from "../lib/system-sha256.ts";
import { targetOf, type Places } from "./card-files.ts";
import type { Card, CardFile, CardRefusal } from "./read-card.ts";

/** What the libraries know of keys and certificates. Each problem is the rest of a sentence that begins with the file. */
export interface KeyEdge {
  readonly sha256: Sha256;
  readonly certificateProblem: (pem: string) => string | undefined;
  readonly keyProblem: (pem: string) => string | undefined;
  readonly isKeyOf: (key: string, certificate: string) => boolean;
  readonly isRootKey: (pem: string) => boolean;
}

export interface GoodFile extends CardFile {
  /** Must not stay where everybody who holds the card can read it. */
  readonly isSecret: boolean;
}

export interface JudgedCard {
  readonly good: readonly GoodFile[];
  readonly refused: readonly CardRefusal[];
  /** Of a good agent.yaml. */
  readonly config: AgentConfig | undefined;
}

interface Problem {
  readonly message: string;
  readonly remedy: string;
}

const SHOWN = 5;
const MAX_KEY_BYTES = 65_536;

export function judgeCard(
  card: Card,
  edge: KeyEdge,
  // Where files belong, with this configuration, or with that of the node if there is none.
  placesWith: (config: AgentConfig | undefined) => Places,
): JudgedCard {
  const judged = card.files.map((file) => ({ file, ...judgeFile(file, edge) }));
  const problems = new Map(
    judged.flatMap(({ file, problem }) => (problem === undefined ? [] : [[file.name, problem]])),
  );
  const config = judged.find((one) => one.config !== undefined)?.config;
  for (const [name, problem] of pairProblems(card.files, problems, {
    edge,
    config,
    places: placesWith(config),
  }))
    problems.set(name, problem);
  return {
    good: judged.flatMap(({ file, isSecret = false }) =>
      problems.has(file.name) ? [] : [{ ...file, isSecret }],
    ),
    refused: [...card.refused, ...[...problems].map(([name, problem]) => ({ name, ...problem }))],
    config,
  };
}

interface Verdict {
  readonly problem?: Problem;
  readonly isSecret?: boolean;
  readonly config?: AgentConfig;
}

function judgeFile(file: CardFile, edge: KeyEdge): Verdict {
  if (file.kind === "Config") return judgeConfig(file);
  if (file.kind === "Manifest") return judgeManifest(file, edge);
  const text = decodeText(file.bytes);
  if (!text.ok) return wrong(textOf(text.errors), "save it as plain text in UTF-8");
  if (file.bytes.length > MAX_KEY_BYTES) return wrong("is too large for what it is", "replace it");
  return judgeText(file, text.value, edge);
}

function judgeText({ kind, name }: CardFile, text: string, edge: KeyEdge): Verdict {
  switch (kind) {
    case "RootKey":
      if (text.includes("PRIVATE KEY-----"))
        return wrong(
          "contains a private key, which must not be stored on a node",
          "remove it, create a new pair, and put only the public key there",
        );
      if (edge.isRootKey(text)) return {};
      return wrong(
        "is not a public Ed25519 key in PEM",
        "put the PEM text of a public Ed25519 key there (openssl pkey -pubout)",
      );
    case "Certificate":
      return judgeCertificate(text, edge);
    case "Key": {
      const problem = edge.keyProblem(text);
      if (problem === undefined) return { isSecret: true };
      return wrong(problem, "put the private key of the certificate there, in PEM");
    }
    case "Password":
      if (text.trim() !== "") return { isSecret: true };
      return wrong("is empty", "write the password of the broker into it, or remove it");
    case "RegistryAuth":
      if (isJsonObject(parseJson(text))) return { isSecret: true };
      return wrong("is no JSON object", "copy a config.json of Docker there");
    case "Config":
    case "Manifest":
      throw new Error(`${name} is judged elsewhere`);
  }
}

/** A file with certificate and key is both. */
function judgeCertificate(text: string, edge: KeyEdge): Verdict {
  const hasKey = text.includes("PRIVATE KEY-----");
  const problem = edge.certificateProblem(text) ?? (hasKey ? edge.keyProblem(text) : undefined);
  if (problem !== undefined) return wrong(problem, "put a certificate in PEM there");
  return { isSecret: hasKey };
}

function judgeConfig({ bytes }: CardFile): Verdict {
  const remedy = "correct it and start the agent again; agent config print --config FILE checks it";
  const { documents, errors } = readDocuments(bytes);
  const broken = errors.filter(({ code }) => code !== "Empty");
  if (broken.length > 0) return wrong(textOf(broken), remedy);
  const [document, second] = documents;
  if (second !== undefined)
    return wrong("contains several documents; a configuration file has exactly one", remedy);
  const config = decodeConfig(
    document?.value ?? {},
    document === undefined ? {} : { locate: document.locate },
  );
  return config.ok ? { config: config.value } : wrong(textOf(config.errors), remedy);
}

function judgeManifest({ bytes, name }: CardFile, { sha256 }: KeyEdge): Verdict {
  const remedy = "correct it and start the agent again; agent validate -f FILE checks it";
  const text = decodeText(bytes);
  if (!text.ok) return wrong(textOf(text.errors), remedy);
  const decoded = decodeManifest(text.value, {
    source: "file",
    ref: name,
    nodeName: undefined,
    // What the node's own configuration decides is judged when the file is read there.
    clusterDNS: true,
    sha256,
  });
  if (decoded.errors.length > 0) return wrong(textOf(decoded.errors), remedy);
  return { isSecret: decoded.objects.some(({ desired }) => desired.object.kind === "Secret") };
}

function wrong(message: string, remedy: string): Verdict {
  return { problem: { message, remedy } };
}

/** `line 3: mqtt.url: must be …; …`. */
function textOf(errors: readonly FieldError[]): string {
  const lines = errors.slice(0, SHOWN).map(({ line, path, message }) => {
    const where = [line === undefined ? "" : `line ${line}`, path].filter((part) => part !== "");
    return [...where, message].join(": ");
  });
  const rest = errors.length - lines.length;
  return [...lines, ...(rest > 0 ? [`${rest} more errors`] : [])].join("; ");
}

interface PairFacts {
  readonly edge: KeyEdge;
  readonly config: AgentConfig | undefined;
  readonly places: Places;
}

/** Of keys whose certificate is there as well: by the configuration, else by the same name. */
function pairProblems(
  files: readonly CardFile[],
  problems: ReadonlyMap<string, Problem>,
  facts: PairFacts,
): readonly (readonly [name: string, problem: Problem])[] {
  return files
    .filter(({ kind }) => kind === "Key")
    .flatMap((key): readonly (readonly [string, Problem])[] => {
      const certificate = certificateOf(key, files, facts);
      if (certificate === undefined) return [];
      const [badKey, badCertificate] = [problems.has(key.name), problems.has(certificate.name)];
      if (badKey && badCertificate) return [];
      if (badKey) return [[certificate.name, partnerProblem(key.name)]];
      if (badCertificate) return [[key.name, partnerProblem(certificate.name)]];
      const [own, other] = [key, certificate].map(({ bytes }) => new TextDecoder().decode(bytes));
      if (facts.edge.isKeyOf(own ?? "", other ?? "")) return [];
      const remedy = "put the certificate and the key of the same request there";
      return [
        [key.name, { message: `is not the key of ${certificate.name}`, remedy }],
        [certificate.name, { message: `is not the certificate of ${key.name}`, remedy }],
      ];
    });
}

function partnerProblem(name: string): Problem {
  return { message: `belongs to ${name}, which is refused`, remedy: `correct ${name}` };
}

function certificateOf(
  key: CardFile,
  files: readonly CardFile[],
  { config, places }: PairFacts,
): CardFile | undefined {
  const certificates = files.filter(({ kind }) => kind === "Certificate");
  const { certFile, keyFile } = config?.mqtt ?? {};
  if (certFile !== undefined && keyFile === targetOf("Key", key.name, places)) {
    const named = certificates.find(
      ({ name }) => targetOf("Certificate", name, places) === certFile,
    );
    if (named !== undefined) return named;
  }
  const stem = key.name.slice(0, -".key".length);
  return certificates.find(({ name }) => name === `${stem}.crt` || name === `${stem}.pem`);
}
