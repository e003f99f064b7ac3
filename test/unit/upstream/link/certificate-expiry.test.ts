import { describe, expect, test } from "bun:test";

import {
  certificateConditions,
  type CertificateFile,
} from "../../../../src/upstream/link/certificate-expiry.ts";

const NOW = Date.parse("2026-11-21T08:00:00Z");
const DAY = 86_400_000;

function cert(...days: readonly number[]): CertificateFile {
  const expiries = days.map((day) => NOW + day * DAY);
  return { field: "mqtt.certFile", path: "/etc/agent/cert.pem", expiries };
}

function ca(...days: readonly number[]): CertificateFile {
  return { ...cert(...days), field: "mqtt.caFile", path: "/etc/agent/ca.pem" };
}

const key: CertificateFile = { field: "mqtt.keyFile", path: "/etc/agent/key.pem", expiries: [] };

function says(files: readonly CertificateFile[], now: number | undefined = NOW): string {
  return certificateConditions(files, now)
    .map(({ type, reason, message }) => `${type} ${reason}: ${message}`)
    .join("\n");
}

describe("CertificateExpiring", () => {
  test("is absent for certificates that are valid for thirty days", () => {
    expect(says([ca(30), cert(30), key])).toBe("");
  });

  test("names file and date in the last thirty days", () => {
    expect(says([ca(900), cert(29.5), key])).toBe(
      "CertificateExpiring ExpiresSoon: mqtt.certFile /etc/agent/cert.pem expires on 2026-12-20T20:00:00Z",
    );
  });

  test("reports an expired certificate", () => {
    expect(says([ca(3), cert(0)])).toBe(
      "CertificateExpiring Expired: mqtt.caFile /etc/agent/ca.pem expires on 2026-11-24T08:00:00Z; " +
        "mqtt.certFile /etc/agent/cert.pem expired on 2026-11-21T08:00:00Z",
    );
  });

  test("counts the first of a client's chain, and the last of several CAs", () => {
    expect(says([cert(400, 10)])).toContain("2026-12-01T08:00:00Z");
    expect(says([ca(-5, 400, 10)])).toBe("");
    expect(says([ca(-5, 10)])).toContain("2026-12-01T08:00:00Z");
  });

  test("is not computed with an unsynchronised clock", () => {
    expect(certificateConditions([cert(-100), ca(-100)], undefined)).toEqual([]);
  });
});

describe("CertificateUnreadable", () => {
  test("names each file that is of no use, by any clock, and its date is not judged", () => {
    const gone = { ...cert(), error: "cannot read /etc/agent/cert.pem: ENOENT" };
    const junk = { ...ca(), error: "holds no certificate in PEM" };
    const expected =
      "CertificateUnreadable FileError: mqtt.certFile: cannot read /etc/agent/cert.pem: ENOENT; " +
      "mqtt.caFile /etc/agent/ca.pem holds no certificate in PEM";
    expect(says([gone, junk])).toBe(expected);
    const [condition, ...more] = certificateConditions([gone, junk], undefined);
    expect(condition).toMatchObject({ type: "CertificateUnreadable", status: "True" });
    expect(more).toEqual([]);
  });
});
