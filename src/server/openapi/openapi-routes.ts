// Performs: answers `/openapi/v2` and `/openapi/v3`. A document is made anew for each request: clients keep it, this node
// need not.

import type { ApiRequest, Reply } from "../http/exchange.ts";
import { jsonAnswer, refusal, unknownPath } from "../kube/kube-status.ts";
import {
  openApiDocument,
  openApiIndex,
  swaggerDocument,
  type OpenApiOptions,
} from "./documents.ts";
import { SWAGGER_PROTOBUFS, swaggerBytes } from "./swagger-protobuf.ts";

const V3 = /^\/openapi\/v3(?:\/(.+?))?\/?$/;

/** undefined = another path. */
export function openApiReply(request: ApiRequest, options: OpenApiOptions): Reply | undefined {
  const { url, method } = request;
  const [whole, path] = V3.exec(url.pathname) ?? [];
  const isV2 = /^\/openapi\/v2\/?$/.test(url.pathname);
  if (whole === undefined && !isV2) return undefined;
  if (method !== "GET" && method !== "HEAD")
    return refusal(405, "the documents of OpenAPI can only be read");
  if (isV2) return swagger(request, options);
  if (path === undefined) return jsonAnswer(openApiIndex(options));
  const document = openApiDocument(path, options);
  return document === undefined ? unknownPath() : jsonAnswer(document);
}

function swagger({ header }: ApiRequest, options: OpenApiOptions): Reply {
  const document = swaggerDocument(options);
  if (!wantsProtobuf(header("accept") ?? "")) return jsonAnswer(document);
  const bytes = swaggerBytes(document);
  return {
    status: 200,
    contentType: SWAGGER_PROTOBUFS[0],
    write: async (sink) => sink.write(bytes),
  };
}

const PROTOBUFS: readonly string[] = SWAGGER_PROTOBUFS;
const JSONS: readonly string[] = ["application/json", "application/*", "*/*"];

/** kubectl names both; what stands first counts. */
function wantsProtobuf(accept: string): boolean {
  const types = accept.split(",").map((part) => part.split(";")[0]?.trim() ?? "");
  const first = types.find((type) => PROTOBUFS.includes(type) || JSONS.includes(type));
  return first !== undefined && PROTOBUFS.includes(first);
}
