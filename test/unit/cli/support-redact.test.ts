import { describe, expect, test } from "bun:test";
import {
  bundleRedactor,
  isCredentialName,
  secretsIn,
  withoutCredentials,
} from "../../../src/cli/support/redact-bundle.ts";

const none = bundleRedactor(new Set());

describe("text that looks like a credential", () => {
  test.each([
    ["password=hunter2 next", "password=<hidden> next"],
    ['{"db_password":"hunter2","x":1}', '{"db_password":<hidden>","x":1}'],
    [String.raw`{"msg":"{\"token\":\"hunter2\"}"}`, String.raw`{"msg":"{\"token\":<hidden>\"}"}`],
    ["MQTT_PASSWORD: 'hunter2 and more'", "MQTT_PASSWORD: <hidden>'"],
    ["api-key: hunter2", "api-key: <hidden>"],
    ["https://fleet.example/a?token=hunter2&b=1", "https://fleet.example/a?token=<hidden>&b=1"],
    ["mqtts://user:hunter2@broker:8883/x", "mqtts://<hidden>@broker:8883/x"],
    ["postgres://u:p@ss@db/x", "postgres://<hidden>@db/x"],
    ["https://hunter2@example.org", "https://<hidden>@example.org"],
    ["Authorization: Bearer hunter2.abc", "Authorization: <hidden> <hidden>"],
    ["sent Basic aHVudGVyMg==", "sent Basic <hidden>"],
    ["run --password hunter2 --verbose", "run --password <hidden> --verbose"],
    ["run --db-token=hunter2", "run --db-token=<hidden>"],
    ["eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxIn0.c2lnbmF0dXJl", "<hidden>"],
    ["ghp_0123456789012345678901234567890123456", "<hidden>"],
    ["a -----BEGIN RSA PRIVATE KEY-----\nabc\n-----END RSA PRIVATE KEY----- b", "a <hidden> b"],
    ["-----BEGIN PRIVATE KEY-----\nabc that was cut", "<hidden>"],
    ['auth = "aHVudGVyMg=="', 'auth = <hidden>"'],
  ])("%j is hidden", (text, shown) => {
    expect(withoutCredentials(text)).toBe(shown);
    expect(withoutCredentials(withoutCredentials(text))).not.toContain("hunter2");
  });

  test.each([
    "secretName: web-tls",
    "passwordFile: /etc/agent/mqtt-password",
    "pulling docker.io/library/nginx:1.25",
    "tokenExpirationSeconds: 3600",
    "-----BEGIN CERTIFICATE-----\nabc\n-----END CERTIFICATE-----",
    "https://registry.example/v2/",
    "image@sha256:0123",
    'secrets "db" not found in namespace "default"',
    "the passwords of users",
  ])("%j is not", (text) => {
    expect(withoutCredentials(text)).toBe(text);
  });

  test("names of credentials end with their word", () => {
    const names = [
      "DB_PASSWORD",
      "apiToken",
      "token",
      "mqtt.password",
      "client-secret",
      "AWS_SECRET_ACCESS_KEY",
      "Authorization",
    ];
    expect(names.filter((name) => !isCredentialName(name))).toEqual([]);
    const others = [
      "passwordFile",
      "secretName",
      "tokenExpirationSeconds",
      "key",
      "bypass",
      "keyFile",
      "author",
    ];
    expect(others.filter(isCredentialName)).toEqual([]);
  });

  test("takes no time that grows with the square of the text", () => {
    const parts = [
      "a://",
      "--x-",
      "a-",
      "password ",
      "eyJ-",
      "eyJaaaaa.",
      "\\",
      '"token":"\\',
      "xoxb-",
    ];
    for (const part of parts)
      expect(withoutCredentials(part.repeat(100_000)).length).toBeGreaterThan(0);
  });
});

describe("an object", () => {
  test("has no values of Secrets, wherever it stands, and keeps their keys", () => {
    const secret = {
      kind: "Secret",
      metadata: {
        name: "a",
        annotations: { "kubectl.kubernetes.io/last-applied-configuration": "{hunter2}", x: "y" },
      },
      data: { key: "aHVudGVyMg==" },
      stringData: { other: "hunter2", number: 5 },
      stringDate: [{ a: "hunter2" }],
    };
    expect(
      none.json({ kind: "List", items: [secret, { kind: "secret", data: "hunter2" }] }),
    ).toEqual({
      kind: "List",
      items: [
        {
          kind: "Secret",
          metadata: { name: "a", annotations: { x: "y" } },
          data: { key: "<hidden: 12 bytes>" },
          stringData: { other: "<hidden: 7 bytes>", number: "<hidden>" },
          stringDate: [{ a: "<hidden: 7 bytes>" }],
        },
        { kind: "secret", data: "<hidden: 7 bytes>" },
      ],
    });
  });

  test("keeps variables that are settings, and none that is a credential", () => {
    const env = [
      { name: "LOG_LEVEL", value: "debug" },
      { name: "DB_PASSWORD", value: "hunter2" },
      { name: "DB_URL", value: "postgres://u:hunter2@db/x" },
      { name: "X", value: "aB3dE5gH7jK9mN1pQ3sT" },
      { name: "HASH", value: "0123456789abcdef0123456789abcdef" },
      { name: "TOKEN", valueFrom: { secretKeyRef: { name: "a", key: "token" } } },
    ];
    expect(none.json({ env, args: ["--password", "hunter2", "-v"] })).toEqual({
      env: [
        { name: "LOG_LEVEL", value: "debug" },
        { name: "DB_PASSWORD", value: "<hidden: 7 bytes>" },
        { name: "DB_URL", value: "postgres://<hidden>@db/x" },
        { name: "X", value: "<hidden: 20 bytes>" },
        { name: "HASH", value: "<hidden: 32 bytes>" },
        { name: "TOKEN", valueFrom: { secretKeyRef: { name: "a", key: "token" } } },
      ],
      args: ["--password", "<hidden: 7 bytes>", "-v"],
    });
  });
});

describe("known values", () => {
  const value = 'pä"ss/word+1';
  const known = bundleRedactor(new Set([value]));
  test.each([
    ["plain", value],
    ["in JSON", JSON.stringify(value).slice(1, -1)],
    ["base64", Buffer.from(value).toString("base64")],
    ["base64url", Buffer.from(value).toString("base64url")],
    ["URL", encodeURIComponent(value)],
  ])("are hidden in the form %s", (_form, text) => {
    expect(known.text(`before ${text} after`)).toBe("before <hidden> after");
    expect(known.json({ [text]: [text] })).toEqual({ "<hidden>": ["<hidden>"] });
  });

  test("include passwords of a docker configuration", () => {
    const auth = Buffer.from("user:hunter2").toString("base64");
    const config = { auths: { "r.example": { username: "user", password: "other", auth } } };
    expect(secretsIn(JSON.stringify(config))).toEqual(["other", auth, "hunter2"]);
    expect(secretsIn("hunter2")).toEqual([]);
  });
});
