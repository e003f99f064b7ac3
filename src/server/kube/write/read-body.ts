// Performs: reads the object that a request sends: JSON or YAML, within limits of its own.

import { BODY_LIMITS } from "../../../api/yaml/text-limits.ts";
import { readDocuments } from "../../../api/yaml/yaml-documents.ts";
import { reasonOf } from "../../../lib/errors.ts";
import { isJsonObject, type JsonObject } from "../../../lib/json.ts";
import { grouped } from "../../../lib/short-text.ts";
import type { Answer, ApiRequest } from "../../http/exchange.ts";
import { refusal } from "../kube-status.ts";
import { PROTOBUF, readProtobuf } from "./protobuf-body.ts";

export type Body =
  | { readonly ok: true; readonly object: JsonObject }
  | { readonly ok: false; readonly answer: Answer };

const OBJECT_TYPES: readonly string[] = ["application/json", "application/yaml", PROTOBUF];

/** `types`: media types that are read. An empty body is an empty object if it may be. */
export async function readBody(
  request: ApiRequest,
  { types = OBJECT_TYPES, mayBeEmpty = false } = {},
): Promise<Body> {
  const type = mediaTypeOf(request);
  if (type !== "" && !types.includes(type)) return refused(415, unsupported(type, types));
  let bytes: Uint8Array;
  try {
    bytes = await request.body(BODY_LIMITS.bytes);
  } catch (error) {
    if (reasonOf(error, "") !== "BodyTooLarge") throw error;
    return refused(413, `the body has more than ${grouped(BODY_LIMITS.bytes)} bytes`);
  }
  if (bytes.length === 0 && mayBeEmpty) return { ok: true, object: {} };
  return type === PROTOBUF ? protobufBody(bytes) : textBody(bytes);
}

function protobufBody(bytes: Uint8Array): Body {
  const object = readProtobuf(bytes);
  if (object.ok) return { ok: true, object: object.value };
  return refused(415, object.errors.map(({ message }) => message).join("; "));
}

function textBody(bytes: Uint8Array): Body {
  const { documents, errors } = readDocuments(bytes, BODY_LIMITS);
  const [error] = errors;
  if (error !== undefined) {
    const place = error.line === undefined ? "" : ` (line ${error.line})`;
    return refused(400, `${error.message.replace(/^the file /, "the body ")}${place}`);
  }
  const [document, second] = documents;
  if (second !== undefined) return refused(400, "the body has several objects; send one at a time");
  if (!isJsonObject(document?.value)) return refused(400, "the body is no object");
  return { ok: true, object: document.value };
}

/** Without parameters, in lower case; "" = not given. */
export function mediaTypeOf({ header }: Pick<ApiRequest, "header">): string {
  return (header("content-type") ?? "").split(";")[0]?.trim().toLowerCase() ?? "";
}

function unsupported(type: string, types: readonly string[]): string {
  return `the body of the request was in an unknown format (${type}) - accepted media types include: ${types.join(", ")}`;
}

function refused(code: number, message: string): Body {
  return { ok: false, answer: refusal(code, message) };
}
