// Decides, without any node, what a node would say of manifests: one text alone, then all of them together.

import { decodeConfig } from "../api/config-decode.ts";
import type { Sha256 } from "../api/decode-context.ts";
import { decodeObject } from "../api/decode-object.ts";
import type { Rejection } from "../api/desired-pod.ts";
import { isJsonObject } from "../api/field-reader.ts";
import { claimsConflict, hostPortClaims } from "../api/host-ports.ts";
import { podName, type Pod } from "../api/pod.ts";
import { readDocuments, type YamlDocument } from "../api/yaml-documents.ts";

export interface PlacedPod {
  readonly pod: Pod;
  readonly file: string;
  /** Index of its document in the file. */
  readonly document: number;
  /** Line of its name, where known. */
  readonly line: number | undefined;
}

export interface Judgement {
  /** How many documents there are. */
  readonly documents: number;
  /** `file#document` of those a node would refuse. */
  readonly invalid: ReadonlySet<string>;
  readonly pods: readonly PlacedPod[];
  readonly errors: readonly Rejection[];
  readonly warnings: readonly Rejection[];
}

export interface NamedText {
  /** Its path, as a person would write it. */
  readonly file: string;
  readonly text: string;
}

/** Everything wrong with one file. An agent's own configuration is judged as such. Never throws. */
export function judgeText({ file, text }: NamedText, sha256: Sha256): Judgement {
  const { documents, errors } = readDocuments(text);
  const judged = documents.map((document) => judgeDocument(document, file, sha256));
  const broken = errors.map((error): Rejection => ({ source: "file", ref: file, ...error }));
  return sum([
    ...judged,
    {
      documents: broken.length > 0 ? 1 : 0,
      invalid: new Set(broken.length > 0 ? [`${file}#broken`] : []),
      pods: [],
      errors: broken,
      warnings: [],
    },
  ]);
}

function judgeDocument(document: YamlDocument, file: string, sha256: Sha256): Judgement {
  if (isJsonObject(document.value) && document.value["kind"] === "AgentConfiguration")
    return judgeConfig(document, file);
  const object = decodeObject(document.value, {
    source: "file",
    ref: file,
    sourceRef: `${file}#${document.index}`,
    // Offline every node is the right one.
    nodeName: wantedNode(document.value),
    sha256,
    locate: document.locate,
  });
  const errors = [...object.errors, ...object.refusedKinds];
  return {
    documents: 1,
    invalid: new Set(errors.length > 0 ? [`${file}#${document.index}`] : []),
    pods: object.pods.map(({ desired }) => ({
      pod: desired.pod,
      file,
      document: document.index,
      line: document.locate(["metadata", "name"])?.line,
    })),
    errors,
    warnings: object.notices,
  };
}

function judgeConfig(document: YamlDocument, file: string): Judgement {
  const decoded = decodeConfig(document.value, {
    etcResolvConf: undefined,
    locate: (keys) => document.locate(keys),
  });
  const errors = decoded.ok ? [] : decoded.errors;
  return {
    documents: 1,
    invalid: new Set(errors.length > 0 ? [`${file}#${document.index}`] : []),
    pods: [],
    errors: errors.map((error) => ({ source: "file", ref: file, ...error })),
    warnings: [],
  };
}

function wantedNode(value: unknown): string {
  const spec = isJsonObject(value) ? value["spec"] : undefined;
  const node = isJsonObject(spec) ? spec["nodeName"] : undefined;
  return typeof node === "string" ? node : "";
}

/** All files as if they lay in one directory: each name once, each host port once. */
export function judgeTogether(alone: readonly Judgement[]): Judgement {
  const whole = sum(alone);
  const clashes = [...duplicates(whole.pods), ...portConflicts(whole.pods)];
  const spoilt = clashes.map(({ placed }) => `${placed.file}#${placed.document}`);
  const errors = [...whole.errors, ...clashes.map(clashError)];
  return { ...whole, errors, invalid: new Set([...whole.invalid, ...spoilt]) };
}

function duplicates(pods: readonly PlacedPod[]): readonly Clash[] {
  const first = new Map<string, PlacedPod>();
  return pods.flatMap((placed): readonly Clash[] => {
    const name = podName(placed.pod);
    const earlier = first.get(name);
    if (earlier === undefined) {
      first.set(name, placed);
      return [];
    }
    const message = `pod ${name} is also in ${placeOf(earlier)}, which wins`;
    return [{ placed, code: "DuplicatePod", path: "metadata.name", message }];
  });
}

function portConflicts(pods: readonly PlacedPod[]): readonly Clash[] {
  return pods.flatMap((placed, index) =>
    pods.slice(0, index).flatMap((other): readonly Clash[] => {
      if (podName(other.pod) === podName(placed.pod)) return [];
      const theirs = hostPortClaims(other.pod);
      const claim = hostPortClaims(placed.pod).find((mine) =>
        theirs.some((claimed) => claimsConflict(mine, claimed)),
      );
      if (claim === undefined) return [];
      const port = `host port ${claim.hostPort}/${claim.protocol}`;
      const message = `${port} is also wanted by pod ${podName(other.pod)} in ${placeOf(other)}`;
      return [{ placed, code: "HostPortConflict", path: claim.path, message }];
    }),
  );
}

interface Clash extends Pick<Rejection, "code" | "path" | "message"> {
  readonly placed: PlacedPod;
}

function clashError({ placed, code, path, message }: Clash): Rejection {
  const { name, namespace } = placed.pod.metadata;
  const line = placed.line === undefined ? {} : { line: placed.line };
  return {
    source: "file",
    ref: placed.file,
    kind: "Pod",
    namespace,
    name,
    code,
    path,
    message,
    ...line,
  };
}

function placeOf({ file, line }: PlacedPod): string {
  return line === undefined ? file : `${file}:${line}`;
}

function sum(judgements: readonly Judgement[]): Judgement {
  return {
    documents: judgements.reduce((total, { documents }) => total + documents, 0),
    invalid: new Set(judgements.flatMap(({ invalid }) => [...invalid])),
    pods: judgements.flatMap(({ pods }) => pods),
    errors: judgements.flatMap(({ errors }) => errors),
    warnings: judgements.flatMap(({ warnings }) => warnings),
  };
}
