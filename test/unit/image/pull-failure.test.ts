import { expect, test } from "bun:test";
import { CriError } from "../../../src/cri/cri-error.ts";
import { pullFailure, type PullFailure } from "../../../src/image/pull-failure.ts";
import { GrpcCode } from "../../../src/lib/grpc-code.ts";

const head = 'failed to pull and unpack image "r.test/forbidden/not-found:1": failed to resolve';

const cases: Record<string, readonly [code: number, details: string, PullFailure]> = {
  "the runtime answers NotFound": [GrpcCode.NOT_FOUND, `${head}: not found`, "NotFound"],
  "the runtime answers PermissionDenied": [GrpcCode.PERMISSION_DENIED, "no", "Denied"],
  "the runtime answers Unauthenticated": [GrpcCode.UNAUTHENTICATED, "no", "Denied"],
  "the registry denies": [
    GrpcCode.UNKNOWN,
    "pull access denied, repository does not exist or may require authorization: server message: insufficient_scope: authorization failed",
    "Denied",
  ],
  "HTTP 401": [
    GrpcCode.UNKNOWN,
    "failed to fetch anonymous token: unexpected status from GET request to https://a/token: 401 Unauthorized",
    "Denied",
  ],
  "HTTP 403": [GrpcCode.UNKNOWN, "unexpected status code https://r/v2/: 403 Forbidden", "Denied"],
  "HTTP 404": [GrpcCode.UNKNOWN, "unexpected status code https://r/v2/: 404 Not Found", "NotFound"],
  "HTTP 429": [
    GrpcCode.UNKNOWN,
    "unexpected status from HEAD request to https://r/v2/: 429 Too Many Requests",
    "Unreachable",
  ],
  "HTTP 503": [
    GrpcCode.UNKNOWN,
    "unexpected status code https://r:404/v2/: 503 Service Unavailable",
    "Unreachable",
  ],
  "no DNS, whatever the repository is called": [
    GrpcCode.UNKNOWN,
    `${head}: failed to do request: Head "https://r.test/v2": dial tcp: lookup r.test: no such host`,
    "Unreachable",
  ],
  "no DNS for the token service": [
    GrpcCode.UNKNOWN,
    'failed to authorize: failed to fetch anonymous token: Get "https://a/": dial tcp: lookup a: i/o timeout',
    "Unreachable",
  ],
  "connection refused": [GrpcCode.UNKNOWN, "connect: connection refused", "Unreachable"],
  "a connection that broke under way": [
    GrpcCode.UNKNOWN,
    "failed to copy: read tcp 10.0.0.1:1->10.0.0.2:443: read: connection reset by peer",
    "Unreachable",
  ],
  "a certificate that is not valid yet, because the clock is wrong": [
    GrpcCode.UNKNOWN,
    "failed to do request: x509: certificate has expired or is not yet valid",
    "Unreachable",
  ],
  "the runtime gave up a pull without progress": [
    GrpcCode.CANCELED,
    "context canceled",
    "Unreachable",
  ],
  "the runtime is away": [
    GrpcCode.UNAVAILABLE,
    "no connection to unix:///run/containerd/containerd.sock: connect ENOENT",
    "Runtime",
  ],
  "the runtime went away under way": [GrpcCode.INTERNAL, "stream was reset", "Runtime"],
  "what had arrived was lost, which says nothing about the registry": [
    GrpcCode.NOT_FOUND,
    'failed to pull and unpack image "r.test/app:1": failed to extract layer sha256:ab: failed to get reader from content store: content digest sha256:cd: not found',
    "Other",
  ],
  "a blob that the registry does not have": [
    GrpcCode.NOT_FOUND,
    "failed to copy: httpReadSeeker: failed open: content at https://r.test/v2/app/blobs/sha256:cd not found: not found",
    "NotFound",
  ],
  "the disk is full": [GrpcCode.UNKNOWN, "write /var/lib/x: no space left on device", "Other"],
};

test.each(Object.entries(cases))("%s", (_, [code, details, expected]) => {
  expect(pullFailure(new CriError({ call: "PullImage", code, details }))).toBe(expected);
});

test("what is no answer of the runtime is something else", () => {
  expect(pullFailure(new Error("connection refused"))).toBe("Other");
});
