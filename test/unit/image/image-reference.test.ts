import { describe, expect, test } from "bun:test";
import { normalizedName, parseImageReference } from "../../../src/image/image-reference.ts";
import { AgentError } from "../../../src/lib/errors.ts";

const HEX = "0123456789abcdef".repeat(4);
const DIGEST = `sha256:${HEX}`;

describe("normalizedName", () => {
  const cases: Record<string, string> = {
    busybox: "docker.io/library/busybox:latest",
    "busybox:1.36": "docker.io/library/busybox:1.36",
    "bitnami/redis": "docker.io/bitnami/redis:latest",
    "docker.io/busybox": "docker.io/library/busybox:latest",
    "index.docker.io/library/busybox": "docker.io/library/busybox:latest",
    "ghcr.io/a/b/c:v1": "ghcr.io/a/b/c:v1",
    "localhost/app": "localhost/app:latest",
    "localhost:5000/app": "localhost:5000/app:latest",
    "127.0.0.1:5000/team/app:2": "127.0.0.1:5000/team/app:2",
    "[::1]:5000/app": "[::1]:5000/app:latest",
    "local/busybox:1": "docker.io/local/busybox:1",
    "Registry/app": "Registry/app:latest",
    "a__b/c-d.e_f": "docker.io/a__b/c-d.e_f:latest",
    [`app@${DIGEST}`]: `docker.io/library/app@${DIGEST}`,
    [`ghcr.io/app:v1@${DIGEST}`]: `ghcr.io/app:v1@${DIGEST}`,
  };
  test.each(Object.entries(cases))("%s", (image, expected) => {
    const full = normalizedName(parseImageReference(image));
    expect(full).toBe(expected);
    expect(normalizedName(parseImageReference(full))).toBe(expected);
  });
});

test("the parts, and what the runtime is asked for", () => {
  expect(parseImageReference("busybox")).toEqual({
    domain: "docker.io",
    path: "library/busybox",
    tag: "latest",
    asked: "busybox:latest",
  });
  expect(parseImageReference(`ghcr.io/app:v1@${DIGEST}`)).toEqual({
    domain: "ghcr.io",
    path: "app",
    tag: "v1",
    digest: DIGEST,
    asked: `ghcr.io/app:v1@${DIGEST}`,
  });
});

describe("what is no image name", () => {
  const cases: Record<string, string> = {
    nothing: "",
    "a space": "busy box",
    "upper case in the path": "docker.io/BusyBox",
    "a URL": "https://ghcr.io/app",
    "an empty tag": "busybox:",
    "a tag with a slash behind a colon": "busybox:a:b",
    "a tag that begins with a dot": "busybox:.1",
    "a tag that is too long": `busybox:${"a".repeat(129)}`,
    "a short digest": "busybox@sha256:0123",
    "a digest of another kind": `busybox@md5:${HEX}`,
    "two digests": `busybox@${DIGEST}@${DIGEST}`,
    "an image ID": HEX,
    "an empty part": "ghcr.io//app",
    "a domain alone": "ghcr.io/",
    "a part that ends in a dash": "app-/x",
    "a name that is too long": `ghcr.io/${"a".repeat(250)}`,
  };
  test.each(Object.entries(cases))("%s", (_, image) => {
    expect(() => parseImageReference(image)).toThrow(AgentError);
    expect(() => parseImageReference(image)).toThrow(`cannot use the image name "${image}": `);
  });
});
