import { describe, expect, test } from "bun:test";
import { decodeConfig } from "../../../src/config/config.ts";

const URL_TEXT = "https://fleet.example/manifests.yaml";

function refused(document: object): readonly string[] {
  const result = decodeConfig(document);
  return result.ok ? [] : result.errors.map(({ path, message }) => `${path}: ${message}`);
}

test("manifests come from a URL, with headers, an own CA and a client certificate", () => {
  const fields = {
    staticPodURL: `${URL_TEXT}?site=7`,
    staticPodURLHeader: { Authorization: ["Bearer secret"], "X-Node": ["a", "b"] },
    httpCheckFrequency: "1m",
    staticPodURLCAFile: "/etc/agent/ca.pem",
    staticPodURLCertFile: "/etc/agent/node.pem",
    staticPodURLKeyFile: "/etc/agent/node.key",
  };
  const result = decodeConfig(fields);
  expect(result.ok && result.value).toMatchObject({ ...fields, httpCheckFrequency: 60_000 });
});

test("no URL, and the order to stop what came from one, are two things", () => {
  const urlOf = (document: object) => {
    const result = decodeConfig(document);
    return result.ok ? result.value.staticPodURL : "refused";
  };
  expect(urlOf({})).toBeUndefined();
  expect(urlOf({ staticPodURL: "" })).toBe("");
});

describe("refused is", () => {
  const address = "must be an address such as https://fleet.example/manifests.yaml";
  test.each([
    [
      "a path",
      { staticPodURL: "/etc/manifests" },
      `staticPodURL: Invalid value: "/etc/manifests": ${address}`,
    ],
    [
      "another scheme",
      { staticPodURL: "ftp://a/b" },
      `staticPodURL: Invalid value: "ftp://a/b": ${address}`,
    ],
    [
      "a header of the request's own",
      { staticPodURLHeader: { Host: ["a"] } },
      'staticPodURLHeader.Host: Invalid value: "Host": is set by the agent itself',
    ],
    [
      "a certificate without its key",
      { staticPodURLCertFile: "/a" },
      "staticPodURLKeyFile: Required value: the key of the certificate",
    ],
    [
      "a key without its certificate",
      { staticPodURLKeyFile: "/a" },
      "staticPodURLCertFile: Required value: the certificate of the key",
    ],
  ])("%s", (_case, document, message) => {
    expect(refused(document)).toEqual([message]);
  });

  test("a password in the URL, which is not shown", () => {
    const [error = ""] = refused({ staticPodURL: "https://me:hushed@a/b" });
    expect(error).toContain("use staticPodURLHeader with Authorization");
    expect(error).not.toContain("hushed");
  });

  test("a header that would begin another one, whose value is not shown", () => {
    const [error = ""] = refused({ staticPodURLHeader: { Authorization: ["hushed\r\nHost: b"] } });
    expect(error).toContain("must not contain line breaks");
    expect(error).not.toContain("hushed");
  });
});
