import { describe, expect, test } from "bun:test";
import fc from "fast-check";
import {
  NO_PKI,
  readPki,
  writePki,
  type PkiState,
} from "../../../../src/server/secure/pki-state.ts";
import {
  authorityLifetime,
  certificateLifetime,
  certifiable,
  isAuthorityDue,
  isServerDue,
  serverAuthority,
  withoutEnded,
} from "../../../../src/server/secure/plan-pki.ts";

const YEAR = 365 * 86_400_000;

function authority(id: string, madeAt: number) {
  return { id, certificate: "", key: "", ...authorityLifetime(madeAt) };
}

function server(madeAt: number, issuer: string, names: readonly string[]) {
  return {
    certificate: "",
    key: "",
    issuer,
    names,
    ...certificateLifetime(madeAt, authority("", madeAt)),
  };
}

describe("the authority", () => {
  test("is due if there is none, and at two thirds of its life", () => {
    expect(isAuthorityDue(NO_PKI, 0)).toBe(true);
    const state = { ...NO_PKI, authorities: [authority("a", 0)] };
    expect(isAuthorityDue(state, 6.6 * YEAR)).toBe(false);
    expect(isAuthorityDue(state, 6.7 * YEAR)).toBe(true);
    expect(
      isAuthorityDue(
        { ...state, authorities: [authority("b", 6.7 * YEAR), ...state.authorities] },
        6.7 * YEAR,
      ),
    ).toBe(false);
  });

  test("signs the server's certificate until it does not outlive that", () => {
    const authorities = [authority("new", 6.7 * YEAR), authority("old", 0)];
    expect(serverAuthority({ authorities }, 6.7 * YEAR)?.id).toBe("old");
    expect(serverAuthority({ authorities }, 8.9 * YEAR)?.id).toBe("old");
    expect(serverAuthority({ authorities }, 9.1 * YEAR)?.id).toBe("new");
    expect(serverAuthority({ authorities: [] }, 0)).toBeUndefined();
  });

  test("stays few, however often the clock leaps", () => {
    fc.assert(
      fc.property(fc.array(fc.integer({ min: 0, max: 1000 })), (leaps) => {
        let state: PkiState = NO_PKI;
        for (const years of leaps) {
          const now = years * YEAR;
          if (isAuthorityDue(state, now))
            state = {
              ...state,
              authorities: [authority(String(years), now), ...state.authorities],
            };
          state = withoutEnded(state, undefined);
        }
        expect(state.authorities.length).toBeLessThanOrEqual(4);
      }),
    );
  });
});

describe("the server's certificate", () => {
  const authorities = [authority("a", 0)];
  const state = { ...NO_PKI, authorities, server: server(0, "a", ["localhost", "10.0.0.1"]) };
  const cases: Readonly<Record<string, readonly [PkiState, number, readonly string[], boolean]>> = {
    "is due if there is none": [{ ...NO_PKI, authorities }, 0, [], true],
    "is not due while it fits": [state, 0, ["localhost", "10.0.0.1"], false],
    "is not due for an address that is gone": [state, 0, ["localhost"], false],
    "is due for a new address": [state, 0, ["localhost", "10.0.0.2"], true],
    "is not due before two thirds of its life": [state, 0.66 * YEAR, ["localhost"], false],
    "is due at two thirds of its life": [state, 0.67 * YEAR, ["localhost"], true],
    "is due if its authority is gone": [
      { ...state, authorities: [authority("b", 0)] },
      0,
      ["localhost"],
      true,
    ],
  };
  test.each(Object.entries(cases))("%s", (_sentence, [given, now, names, expected]) => {
    expect(isServerDue(given, { now, names })).toBe(expected);
  });

  test("holds so many names at most, and is not due for more", () => {
    const names = Array.from({ length: 100 }, (_, index) => `10.0.0.${index}`);
    const full = { ...state, server: server(0, "a", certifiable(names)) };
    expect(full.server.names.length).toBe(64);
    expect(isServerDue(full, { now: 0, names })).toBe(false);
  });

  test("does not outlive its authority", () => {
    const old = authority("a", 0);
    expect(certificateLifetime(9.5 * YEAR, old).notAfter).toBe(old.notAfter);
    expect(certificateLifetime(0, old).notAfter).toBe(YEAR);
  });
});

test("what has ended is dropped by a clock that is certain only, and never the newest authority", () => {
  const certificate = { user: "a", access: "Full", sha256: "c", notAfter: YEAR } as const;
  const state: PkiState = {
    ...NO_PKI,
    authorities: [authority("new", 0), authority("old", -5 * YEAR)],
    certificates: [certificate, { ...certificate, notAfter: 90 * YEAR }],
  };
  expect(withoutEnded(state, undefined)).toBe(state);
  const after = withoutEnded(state, 20 * YEAR);
  expect(after.authorities.map(({ id }) => id)).toEqual(["new"]);
  expect(after.certificates.map(({ notAfter }) => notAfter)).toEqual([90 * YEAR]);
});

test("what is stored is read again", () => {
  const state: PkiState = {
    isOpen: true,
    names: ["pi.example"],
    authorities: [authority("a", 0)],
    server: server(0, "a", ["localhost"]),
    certificates: [{ user: "a", access: "Full", sha256: "c", notAfter: 1 }],
    tokens: [{ user: "b", access: "ReadOnly", sha256: "t" }],
  };
  const encoder = new TextEncoder();
  expect(readPki(encoder.encode(writePki(state)))).toEqual(state);
  expect(readPki(encoder.encode(writePki(NO_PKI)))).toEqual(NO_PKI);
  expect(readPki(encoder.encode("{}"))).toEqual(NO_PKI);
  for (const wrong of [
    "",
    "[]",
    '{"tokens":[{}]}',
    '{"tokens":[{"user":"a","access":"All","sha256":"b"}]}',
  ])
    expect(readPki(encoder.encode(wrong))).toBeUndefined();
});
