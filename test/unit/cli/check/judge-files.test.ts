import { describe, expect, test } from "bun:test";
import { judgeBroker } from "../../../../src/cli/check/judge-broker.ts";
import {
  judgeCertificate,
  judgeDecidingFile,
  judgeManifests,
  judgeSecretFile,
  judgeTrust,
} from "../../../../src/cli/check/judge-files.ts";

const DAY = 86_400_000;

describe("permissions", () => {
  const file = { what: "mqtt.keyFile", path: "/etc/agent/key.pem", owner: 0, mode: 0o600 };
  test.each([
    [{}, "ok", undefined],
    [{ mode: 0o640 }, "warning", "chmod 600 /etc/agent/key.pem"],
    [{ mode: 0o644 }, "warning", "chmod 600 /etc/agent/key.pem"],
    [{ mode: 0o620 }, "error", "chmod go-w /etc/agent/key.pem"],
    [{ owner: 1000 }, "error", "chown root: /etc/agent/key.pem && chmod go-w /etc/agent/key.pem"],
  ] as const)("of a secret %p", (more, level, remedy) => {
    const finding = judgeSecretFile({ ...file, ...more }, 0);
    expect([finding.level, finding.remedy]).toEqual([level, remedy]);
  });

  test.each([
    [{ mode: 0o755 }, "ok"],
    [{ mode: 0o775 }, "error"],
    [{ mode: 0o777 }, "error"],
    [{ mode: 0o755, owner: 33 }, "error"],
  ] as const)("of what decides %p", (more, level) => {
    expect(judgeDecidingFile({ ...file, ...more }, 0).level).toBe(level);
  });

  test("the user that runs the agent may own its files", () => {
    expect(judgeDecidingFile({ ...file, owner: 1000 }, 1000).level).toBe("ok");
  });
});

test.each([
  [400, "ok", "valid until"],
  [29, "warning", "expires in 29 days"],
  [0, "error", "has expired"],
  [-3, "error", "has expired"],
] as const)("a certificate that expires in %p days", (days, level, part) => {
  const now = Date.parse("2026-01-01T00:00:00Z");
  const finding = judgeCertificate(
    { what: "it", expiries: [now + 900 * DAY, now + days * DAY] },
    now,
  );
  expect(finding.level).toBe(level);
  expect(finding.message).toContain(part);
});

test("a file without a certificate", () => {
  expect(judgeCertificate({ what: "it", expiries: [] }, 0).level).toBe("error");
});

describe("trust", () => {
  const facts = { path: "/t", keys: 1, problems: [], mustBeSigned: true };
  test.each([
    [{}, ["ok"]],
    [{ keys: 0, mustBeSigned: false }, ["ok"]],
    [{ keys: 0 }, ["error"]],
    [{ problems: ["/t/a.pub is not a key; put one there"] }, ["error"]],
  ] as const)("%p", (more, levels) => {
    expect(judgeTrust({ ...facts, ...more }).map(({ level }) => level)).toEqual([...levels]);
  });

  test("the remedy of a problem is its last part", () => {
    expect(judgeTrust({ ...facts, problems: ["a; b; do this"] })).toEqual([
      { level: "error", message: "a; b", remedy: "do this" },
    ]);
  });
});

test("manifests: five errors and five warnings at most, and how many more there are", () => {
  const errors = Array.from({ length: 7 }, (_, index) => `e${index}`);
  const findings = judgeManifests({ path: "/m", files: 9, errors, warnings: ["w"] });
  expect(findings.map(({ level, message }) => `${level} ${message}`)).toEqual([
    "error e0",
    "error e1",
    "error e2",
    "error e3",
    "error e4",
    "error 2 more errors in manifests",
    "warning w",
  ]);
  expect(judgeManifests({ path: "/m", files: 1, errors: [], warnings: [] })[0]?.message).toBe(
    "1 file in /m, all valid",
  );
});

describe("the broker", () => {
  const failed = (message: string) =>
    judgeBroker({ type: "Failed", address: "mqtts://b:8883", message }, 0)[0]?.remedy;
  test.each([
    ["getaddrinfo ENOTFOUND b", "name service"],
    ["connect ECONNREFUSED 127.0.0.1:8883", "start the broker"],
    ["certificate has expired", "renew"],
    ["self signed certificate in certificate chain", "mqtt.caFile"],
    ["Hostname/IP does not match certificate's altnames", "use a name"],
    ["it does not answer", "firewall"],
  ])("that cannot be reached: %s", (message, part) => {
    expect(failed(message)).toContain(part);
  });

  test("with a certificate, and without", () => {
    const connected = { type: "Connected", address: "a" } as const;
    const levels = (expires: number | undefined) =>
      judgeBroker({ ...connected, expires }, 0).map(({ level }) => level);
    expect(levels(undefined)).toEqual(["ok"]);
    expect(levels(300 * DAY)).toEqual(["ok", "ok"]);
    expect(levels(DAY)).toEqual(["ok", "warning"]);
  });
});
