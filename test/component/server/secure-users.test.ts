import { describe, expect, test } from "bun:test";
import { X509Certificate } from "node:crypto";
import { existsSync, mkdirSync, readFileSync, readdirSync, statSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { realFiles } from "../../../src/host/real-files.ts";
import { memberOf } from "../../../src/lib/json.ts";
import { createLogger } from "../../../src/lib/logger.ts";
import { PkiFile } from "../../../src/server/secure/pki-file.ts";
import { NO_PKI } from "../../../src/server/secure/pki-state.ts";
import { VirtualClock } from "../../fakes/fake-clock.ts";
import { CertificateAuthority } from "../../harness/certificates.ts";
import { freePort } from "../../harness/free-port.ts";
import { temporaryDirectories } from "../host/temporary-directories.ts";
import {
  expectUnauthorized,
  nextData,
  openSecure,
  untilClosed,
  type SecureStage,
} from "./secure-stage.ts";

const newDirectory = temporaryDirectories();
const YEAR = 365 * 86_400_000;

describe("the API over TLS", () => {
  test("is used with the certificate of a kubeconfig", async () => {
    using stage = await openSecure({ directory: newDirectory() });
    const admin = await stage.make();
    expect(admin.server).toBe(`https://127.0.0.1:${stage.port}`);
    const response = await stage.get("/version", admin);
    expect(response.status).toBe(200);
    expect(await response.json()).toMatchObject({ major: "1" });
    const certificate = new X509Certificate(admin.cert ?? "");
    expect(certificate.subject).toBe("O=system:masters\nCN=admin");
    expect(certificate.checkIssued(new X509Certificate(admin.ca))).toBe(true);
    expect(certificate.verify(new X509Certificate(admin.ca).publicKey)).toBe(true);
  });

  test.each(["/", "/healthz", "/version", "/api/v1/pods", "/kubeconfig", "/nothing", "/metrics"])(
    "answers 401 to everything else that asks for %s",
    async (path) => {
      const directory = newDirectory();
      using stage = await openSecure({ directory });
      const { ca } = await stage.make();
      const pair = new CertificateAuthority(directory, "foreign").issue("admin", "admin");
      const [cert, key] = [readFileSync(pair.cert, "utf8"), readFileSync(pair.key, "utf8")];
      await expectUnauthorized(await stage.get(path, { ca }));
      await expectUnauthorized(await stage.get(path, { ca, cert, key }));
      await expectUnauthorized(await stage.get(path, { ca, token: "guess" }));
      await expectUnauthorized(await stage.get(path, { ca }, { method: "DELETE" }));
      await expectUnauthorized(await stage.get(path, {}, { headers: { host: "evil.example" } }));
      expect(JSON.parse(stage.lines.at(-1) ?? "")).toMatchObject({
        msg: "refused a request of an unknown user",
        address: "127.0.0.1",
      });
    },
  );

  test("answers 401 to a request for another protocol", async () => {
    using stage = await openSecure({ directory: newDirectory() });
    const client = await stage.tls({});
    const answer = untilClosed(client);
    client.write(
      "GET /api/v1/namespaces/a/pods/b/exec HTTP/1.1\r\nHost: 127.0.0.1\r\nConnection: Upgrade\r\nUpgrade: SPDY/3.1\r\n\r\n",
    );
    expect(await answer).toMatch(/^HTTP\/1\.1 401 Unauthorized\r\n[^]*"reason":"Unauthorized"/);
  });

  test("is used with a token, which is stored only as its sha256", async () => {
    using stage = await openSecure({ directory: newDirectory() });
    const made = await stage.make("user=ci&access=Full&credential=token");
    expect(made.cert).toBeUndefined();
    expect(made.token).toMatch(/^[\w-]{43}$/);
    expect((await stage.get("/version", made)).status).toBe(200);
    const stored = readFileSync(join(stage.stateDir, "pki/pki.json"), "utf8");
    expect(stored).not.toContain(made.token ?? "");
    expect(stored).toContain(new Bun.CryptoHasher("sha256").update(made.token ?? "").digest("hex"));
    expect(stage.lines.join()).not.toContain(made.token ?? "");
  });

  test("has read-only users", async () => {
    let holds = 0;
    const facts = { changeHold: () => ({ type: "Done" as const, isNew: (holds += 1) > 0 }) };
    using stage = await openSecure({ directory: newDirectory(), facts });
    for (const kind of ["", "&credential=token"]) {
      const viewer = await stage.make(`user=viewer&access=ReadOnly${kind}`);
      expect((await stage.get("/api/v1/pods", viewer)).status).toBe(200);
      const hold = await stage.get("/hold", viewer, { method: "POST" });
      expect(hold.status).toBe(403);
      expect(await hold.json()).toMatchObject({ reason: "Forbidden" });
      expect((await stage.get("/api/v1/secrets", viewer)).status).toBe(403);
    }
    expect(holds).toBe(0);
    const admin = await stage.make();
    expect((await stage.get("/hold", admin, { method: "POST" })).status).toBe(200);
    expect((await stage.get("/api/v1/secrets", admin)).status).toBe(200);
    expect(holds).toBe(1);
  });

  test("makes no users, not even for one with all rights", async () => {
    using stage = await openSecure({ directory: newDirectory() });
    const admin = await stage.make();
    const path = "/kubeconfig?user=other&access=Full";
    expect((await stage.get(path, admin, { method: "POST" })).status).toBe(403);
    expect((await stage.get("/kubeconfig?user=admin", admin, { method: "DELETE" })).status).toBe(
      403,
    );
  });

  test("refuses names that lead here from elsewhere, and other web pages", async () => {
    using stage = await openSecure({ directory: newDirectory() });
    const admin = await stage.make();
    const asked = async (headers: Record<string, string>): Promise<number> =>
      (await stage.get("/pods", admin, { headers })).status;
    expect(await asked({ host: "evil.example" })).toBe(421);
    expect(await asked({ host: `raspberrypi.local:${stage.port}` })).toBe(200);
    expect(await asked({ origin: "https://evil.example" })).toBe(403);
    expect(await asked({ "sec-fetch-site": "cross-site" })).toBe(403);
    expect(await asked({ origin: `https://127.0.0.1:${stage.port}` })).toBe(200);
  });
});

describe("without listen in the configuration", () => {
  test("the first kubeconfig opens the API, also after a restart, until it is closed", async () => {
    const directory = newDirectory();
    const port = freePort();
    const fallback = { host: "127.0.0.1", port };
    const options = { directory, port, settings: { listen: undefined, fallback } };
    const listen = async (stage: SecureStage): Promise<unknown> =>
      memberOf(await (await stage.local("/kubeconfig")).json(), "listen");
    const first = await openSecure({ ...options, isClosed: true });
    expect(await listen(first)).toBeUndefined();
    expect(existsSync(join(first.stateDir, "pki"))).toBe(false);
    const refused = await first.local("/kubeconfig?user=a%20b", { method: "POST" });
    expect([refused.status, await listen(first)]).toEqual([409, undefined]);
    const admin = await first.make();
    expect(admin.server).toBe(`https://127.0.0.1:${port}`);
    expect(admin.notes.join()).toContain(`the API is open on 127.0.0.1:${port} from now on`);
    expect((await first.get("/version", admin)).status).toBe(200);
    expect((await first.make()).notes).toEqual([]);
    first[Symbol.dispose]();

    const second = await openSecure(options);
    expect((await second.get("/version", admin)).status).toBe(200);
    const watching = await second.tls(admin);
    const ended = untilClosed(watching);
    expect((await second.local("/kubeconfig/listen", { method: "DELETE" })).status).toBe(200);
    await ended;
    expect(await second.get("/version", admin).catch(() => "refused")).toBe("refused");
    second[Symbol.dispose]();

    using third = await openSecure({ ...options, isClosed: true });
    expect(await listen(third)).toBeUndefined();
    expect(await third.get("/version", admin).catch(() => "refused")).toBe("refused");
    await third.make("user=other&access=Full");
    expect((await third.get("/version", admin)).status).toBe(200);
  });

  test("what the configuration opens is not closed", async () => {
    using stage = await openSecure({ directory: newDirectory() });
    const refused = await stage.local("/kubeconfig/listen", { method: "DELETE" });
    expect(refused.status).toBe(409);
    expect(await refused.text()).toContain("remove it there");
  });
});

describe("a user", () => {
  test("who is revoked is refused from then on, and what runs for it ends", async () => {
    using stage = await openSecure({ directory: newDirectory() });
    const admin = await stage.make();
    const viewer = await stage.make("user=viewer&access=ReadOnly");
    const token = await stage.make("user=viewer&access=ReadOnly&credential=token");
    const [idle, watching, other] = await Promise.all([
      stage.tls(viewer),
      stage.tls(viewer),
      stage.tls(admin),
    ]);
    const request = "GET /api/v1/pods?watch=true HTTP/1.1\r\nHost: localhost\r\n\r\n";
    const ended = untilClosed(watching);
    watching.write(request);
    other.write(request);
    idle.write("GET /healthz HTTP/1.1\r\nHost: localhost\r\n\r\n");
    expect(await nextData(idle)).toStartWith("HTTP/1.1 200");
    expect(await nextData(other)).toStartWith("HTTP/1.1 200");
    await stage.local("/kubeconfig?user=viewer", { method: "DELETE" });
    expect(await ended).toStartWith("HTTP/1.1 200");
    const last = untilClosed(idle);
    idle.write("GET /healthz HTTP/1.1\r\nHost: localhost\r\n\r\n");
    expect(await last).toStartWith("HTTP/1.1 401");
    await expectUnauthorized(await stage.get("/pods", viewer));
    await expectUnauthorized(await stage.get("/pods", token));
    expect((await stage.get("/pods", admin)).status).toBe(200);
    expect(other.destroyed).toBe(false);
    const again = await stage.local("/kubeconfig?user=viewer", { method: "DELETE" });
    expect(again.status).toBe(404);
  });

  test("stays over a restart, and so does the revocation of another", async () => {
    const directory = newDirectory();
    const port = freePort();
    const settings = { listen: { host: "127.0.0.1", port } };
    const first = await openSecure({ directory, settings });
    const [admin, gone] = [await first.make(), await first.make("user=gone&access=Full")];
    await first.local("/kubeconfig?user=gone", { method: "DELETE" });
    first[Symbol.dispose]();
    using second = await openSecure({ directory, settings });
    expect((await second.get("/version", admin)).status).toBe(200);
    await expectUnauthorized(await second.get("/version", gone));
    // Nothing was made anew.
    expect(second.lines.join()).not.toContain("made a");
  });

  test("is listed, without any secret", async () => {
    using stage = await openSecure({ directory: newDirectory() });
    await stage.make();
    await stage.make("user=ci&access=ReadOnly&credential=token");
    const listed = await stage.local("/kubeconfig");
    expect(await listed.json()).toEqual({
      apiVersion: "agent/v1",
      kind: "UserList",
      listen: `127.0.0.1:${stage.port}`,
      items: [
        {
          user: "admin",
          access: "Full",
          credential: "Certificate",
          notAfter: "2027-11-21T08:00:00Z",
        },
        { user: "ci", access: "ReadOnly", credential: "Token" },
      ],
    });
  });

  test.each([
    ["user=a%20b", 'the name "a b" of the user must be at most 63 letters'],
    ["user=system:node", 'must not begin with "system:"'],
    ["", 'the name "" of the user must be'],
    ["user=a&server=http://x", "must be a URL such as https://pi.example:6450"],
  ])("is not made of %s", async (query, message) => {
    using stage = await openSecure({ directory: newDirectory() });
    const response = await stage.local(`/kubeconfig?${query}`, { method: "POST" });
    expect(response.status).toBe(409);
    expect(await response.text()).toContain(message);
  });

  test("is one of 256 at most", async () => {
    const directory = newDirectory();
    const stateDir = join(directory, "state");
    mkdirSync(stateDir);
    const log = createLogger({ clock: new VirtualClock(), level: "error", write: () => undefined });
    const file = new PkiFile(stateDir, { files: realFiles(), log });
    const token = { user: "a", access: "ReadOnly", sha256: "0" } as const;
    file.write({ ...NO_PKI, tokens: Array.from({ length: 255 }, () => token) });
    using stage = await openSecure({ directory });
    await stage.make("user=b&access=Full");
    const refused = await stage.local("/kubeconfig?user=c", { method: "POST" });
    expect(refused.status).toBe(409);
    expect(await refused.text()).toContain("--revoke NAME");
    await stage.local("/kubeconfig?user=a", { method: "DELETE" });
    await stage.make("user=c&access=Full");
  });
});

describe("the files of the authority", () => {
  test("can be read by their owner only", async () => {
    using stage = await openSecure({ directory: newDirectory() });
    await stage.make();
    const directory = join(stage.stateDir, "pki");
    expect(statSync(directory).mode & 0o777).toBe(0o700);
    expect(readdirSync(directory)).toEqual(["pki.json"]);
    expect(statSync(join(directory, "pki.json")).mode & 0o777).toBe(0o600);
  });

  test("that were damaged are moved aside, and users of before are refused", async () => {
    const directory = newDirectory();
    const first = await openSecure({ directory });
    const admin = await first.make();
    const path = join(first.stateDir, "pki/pki.json");
    first[Symbol.dispose]();
    writeFileSync(path, readFileSync(path, "utf8").replace('"admin"', '"root!"'));
    using second = await openSecure({ directory });
    expect(existsSync(`${path}.damaged`)).toBe(true);
    await expectUnauthorized(
      await second.get("/version", { cert: admin.cert ?? "", key: admin.key ?? "" }),
    );
    const again = await second.make();
    expect(again.ca).not.toBe(admin.ca);
    expect((await second.get("/version", again)).status).toBe(200);
  });
});

describe("by a clock", () => {
  test("of 1970 certificates are valid, then and by the clock of a client", async () => {
    const clock = new VirtualClock();
    const built = Date.UTC(2026, 10, 1);
    const settings = { clockFloor: () => built, clockSynchronised: () => false };
    using stage = await openSecure({ directory: newDirectory(), clock, settings });
    const admin = await stage.make();
    const all = [admin.ca, admin.cert ?? ""].map((pem) => new X509Certificate(pem));
    expect(all.map(({ validFrom }) => Date.parse(validFrom))).toEqual([0, 0]);
    expect(all.map(({ validTo }) => new Date(validTo).getUTCFullYear())).toEqual([2036, 2027]);
    // The client's clock is that of today: it verifies the server.
    expect((await stage.get("/version", admin)).status).toBe(200);
  });

  test("that is certain a certificate ends; by another one it does not", async () => {
    let isCertain = false;
    const clock = new VirtualClock();
    const settings = { clockSynchronised: () => isCertain };
    using stage = await openSecure({ directory: newDirectory(), clock, settings });
    const { cert = "", key = "" } = await stage.make();
    clock.stepWall(1.1 * YEAR);
    expect((await stage.get("/version", { cert, key })).status).toBe(200);
    isCertain = true;
    await expectUnauthorized(await stage.get("/version", { cert, key }));
  });

  test("the server's certificate is renewed, and the authority long before its end", async () => {
    const clock = new VirtualClock();
    using stage = await openSecure({ directory: newDirectory(), clock });
    const early = await stage.make("user=early&access=Full&credential=token");
    const served = async (): Promise<X509Certificate> => {
      const client = await stage.tls({});
      const { raw } = client.getPeerCertificate();
      client.destroy();
      return new X509Certificate(raw);
    };
    const first = await served();
    clock.stepWall(0.8 * YEAR);
    await clock.advance(10_000);
    // The client that comes makes it look.
    await served();
    await stage.local("/kubeconfig?user=x", { method: "DELETE" });
    const second = await served();
    expect(second.fingerprint256).not.toBe(first.fingerprint256);
    expect(second.checkIssued(new X509Certificate(early.ca))).toBe(true);
    // Two thirds of ten years: clients of before trust the old authority, new ones both.
    clock.stepWall(6 * YEAR);
    await clock.advance(10_000);
    stage.change();
    const late = await stage.make("user=late&access=Full");
    expect(late.ca.match(/BEGIN CERTIFICATE/g)).toHaveLength(2);
    expect((await stage.get("/version", early)).status).toBe(200);
    expect((await stage.get("/version", late)).status).toBe(200);
    const third = await served();
    expect(third.checkIssued(new X509Certificate(early.ca))).toBe(true);
  });
});

describe("the server's certificate", () => {
  test("has the names and addresses of the node, and is made anew when one comes", async () => {
    const addresses = ["192.0.2.5"];
    const port = freePort();
    const settings = { listen: { host: "0.0.0.0", port }, addresses: () => addresses };
    using stage = await openSecure({ directory: newDirectory(), settings });
    const names = async (): Promise<string> => {
      const client = await stage.tls({});
      const { subjectaltname = "" } = client.getPeerCertificate();
      client.destroy();
      return subjectaltname;
    };
    expect(await names()).toBe(
      "DNS:localhost, IP Address:127.0.0.1, IP Address:0:0:0:0:0:0:0:1, DNS:pi-1, DNS:raspberrypi, DNS:raspberrypi.local, IP Address:192.0.2.5",
    );
    addresses.push("198.51.100.7");
    stage.change();
    await stage.local("/kubeconfig?user=x", { method: "DELETE" });
    expect(await names()).not.toContain("198.51.100.7");
    await stage.clock.advance(5_000);
    stage.change();
    await stage.local("/kubeconfig?user=x", { method: "DELETE" });
    expect(await names()).toContain("IP Address:198.51.100.7");
    const made = await stage.make("user=a&access=Full&server=https://pi.example:7000");
    expect(made.server).toBe("https://pi.example:7000");
    expect(await names()).toContain("DNS:pi.example");
    const headers = { host: "pi.example:7000" };
    expect((await stage.get("/version", made, { headers })).status).toBe(200);
  });

  test("may be one of the configuration, which is read again when it changes", async () => {
    const directory = newDirectory();
    const own = new CertificateAuthority(directory, "own");
    const pair = own.issue("pi", "pi", { altName: "DNS:pi.example,IP:127.0.0.1" });
    const settings = { certificateFiles: { certFile: pair.cert, keyFile: pair.key } };
    using stage = await openSecure({ directory, settings });
    const admin = await stage.make();
    expect(admin.ca).toBe(readFileSync(pair.cert, "utf8"));
    expect(admin.notes).toEqual([]);
    const other = await stage.make("user=a&access=Full&server=https://elsewhere.example");
    expect(other.notes.join()).toContain("may not be valid for https://elsewhere.example:");
    const ca = readFileSync(own.cert, "utf8");
    const headers = { host: "pi.example" };
    expect((await stage.get("/version", { ...admin, ca }, { headers })).status).toBe(200);
    const serial = async (): Promise<string> => {
      const client = await stage.tls({});
      const { serialNumber } = client.getPeerCertificate();
      client.destroy();
      return serialNumber;
    };
    const before = await serial();
    own.issue("pi", "pi", { altName: "DNS:pi.example,IP:127.0.0.1" });
    await stage.clock.advance(5_000);
    stage.change();
    await stage.local("/kubeconfig?user=x", { method: "DELETE" });
    const after = await serial();
    expect(after).not.toBe(before);
    writeFileSync(pair.key, "damaged");
    await stage.clock.advance(5_000);
    stage.change();
    await stage.local("/kubeconfig?user=x", { method: "DELETE" });
    expect(await serial()).toBe(after);
    expect(stage.lines.at(-1)).toContain("the one before is used on");
  });

  test("of the configuration does not hide new addresses of the node", async () => {
    const directory = newDirectory();
    const pair = new CertificateAuthority(directory, "own").issue("pi", "pi");
    const addresses = ["192.0.2.5"];
    const settings = {
      listen: { host: "0.0.0.0", port: freePort() },
      certificateFiles: { certFile: pair.cert, keyFile: pair.key },
      addresses: () => addresses,
    };
    using stage = await openSecure({ directory, settings });
    const { cert = "", key = "" } = await stage.make();
    const asked = async (host: string): Promise<number> =>
      (await stage.get("/pods", { cert, key }, { headers: { host } })).status;
    expect([await asked("192.0.2.5"), await asked("198.51.100.7")]).toEqual([200, 421]);
    addresses.push("198.51.100.7");
    await stage.clock.advance(5_000);
    stage.change();
    expect(await asked("198.51.100.7")).toBe(200);
  });

  test("of the configuration that cannot be used is replaced by the node's own", async () => {
    const certificateFiles = { certFile: "/nonexistent.pem", keyFile: "/nonexistent.key" };
    using stage = await openSecure({ directory: newDirectory(), settings: { certificateFiles } });
    const admin = await stage.make();
    expect((await stage.get("/version", admin)).status).toBe(200);
    expect(stage.lines.join()).toContain("tlsCertFile and tlsPrivateKeyFile cannot be used");
  });
});
