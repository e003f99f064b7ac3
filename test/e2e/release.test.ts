// The Debian package of the built binary: what is in it, and its life by dpkg in a root of its own, with stubs for systemd.

import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { createHash } from "node:crypto";
import {
  copyFileSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import { basename, dirname, join, resolve } from "node:path";

import { agentBinary } from "../harness/agent-process.ts";
import { output, run } from "../harness/run-command.ts";
import { testWhenAvailable } from "../harness/skip-reasons.ts";
import { makeTempDirectory } from "../harness/temp-directory.ts";
import {
  checksums,
  componentsOf,
  releaseOf,
  TARGETS,
  type Target,
} from "../release/make-release.ts";
import { DEPENDS } from "../release/control-files.ts";
import type { SpdxDocument } from "../release/sbom.ts";
import { PackageRoot } from "./support-p-package-root.ts";

const REPOSITORY = resolve(import.meta.dir, "../..");
const TARGET: Target = process.arch === "arm64" ? "linux-arm64" : "linux-x64";
const MAPS = join(dirname(agentBinary()), `maps-${TARGET}`);
const TIME = 1_795_000_000;
const MINUTES = 60_000;
/** Nothing is missing. */
const AVAILABLE = {} as never;
const temp = makeTempDirectory();
afterAll(() => temp.remove());

/** The release that is built, and one before it, whose program is a few bytes. */
let release: { readonly package: string; readonly sbom: string };
let older: string;
/** A program that can do nothing, but fails only where it should install something. */
const small = join(temp.directory("small"), "agent");

function build(
  binary: string,
  version: string,
  name: string,
  time = TIME,
): ReturnType<typeof releaseOf> {
  return releaseOf(
    { target: TARGET, binary, maps: MAPS },
    { version, tag: `v${version}`, time },
    { directory: temp.directory(name), compression: "gzip" },
  );
}

beforeAll(async () => {
  writeFileSync(small, '#!/bin/sh\n[ "$1" != install ]\n', { mode: 0o755 });
  older = (await build(small, "0.1.0", "older", TIME - 1000)).package;
  release = await build(agentBinary(), "0.2.0", "release");
}, 2 * MINUTES);

describe("a package", () => {
  test("has its fields", async () => {
    const field = async (name: string): Promise<string> =>
      (await output(["dpkg-deb", "-f", release.package, name])).trim();
    expect(basename(release.package)).toBe(`agent_0.2.0_${TARGETS[TARGET]}.deb`);
    expect(await field("Package")).toBe("agent");
    expect(await field("Version")).toBe("0.2.0");
    expect(await field("Architecture")).toBe(TARGETS[TARGET]);
    expect(await field("Depends")).toContain("containerd (>= 1.6~) | containerd.io");
    expect(await field("Recommends")).toContain("containernetworking-plugins, iptables");
    const size = Number(await field("Installed-Size"));
    expect(size).toBeGreaterThan(statSync(agentBinary()).size / 1024);
  });

  test("puts each file where Debian has it, of root, with its mode and the time of the commit", async () => {
    const listed = await output(["env", "TZ=UTC", "dpkg-deb", "-c", release.package]);
    const lines = listed.trimEnd().split("\n");
    const stamp = new Date(TIME * 1000).toISOString().slice(0, 16).replace("T", " ");
    const entries = new Map<string, string>();
    for (const line of lines) {
      const [mode = "", owner, , day, hour, path = ""] = line.split(/\s+/);
      expect([path, owner, `${day} ${hour}`]).toEqual([path, "root/root", stamp]);
      entries.set(path.replace(/^\./, ""), mode);
    }
    for (const [path, mode] of Object.entries({
      "/usr/bin/agent": "-rwxr-xr-x",
      "/usr/lib/agent/agent-launch": "-rwxr-xr-x",
      "/usr/lib/agent/package": "-rw-r--r--",
      "/usr/lib/systemd/system/agent.service": "-rw-r--r--",
      "/etc/agent/agent.yaml": "-rw-r--r--",
      "/etc/agent/manifests/": "drwxr-xr-x",
      "/etc/agent/images/": "drwxr-xr-x",
      "/etc/agent/trust.d/": "drwxr-xr-x",
      "/usr/share/man/man1/agent.1.gz": "-rw-r--r--",
      "/usr/share/bash-completion/completions/agent": "-rw-r--r--",
      "/usr/share/zsh/vendor-completions/_agent": "-rw-r--r--",
      "/usr/share/fish/vendor_completions.d/agent.fish": "-rw-r--r--",
      "/usr/share/doc/agent/copyright": "-rw-r--r--",
      "/usr/share/doc/agent/changelog.gz": "-rw-r--r--",
      "/usr/share/doc/agent/sbom.spdx.json": "-rw-r--r--",
      "/usr/share/doc/agent/examples/hello.yaml": "-rw-r--r--",
    }))
      expect([path, entries.get(path)]).toEqual([path, mode]);
    const outside = [...entries.keys()].filter((path) => !/^\/(usr|etc)?(\/|$)/.test(path));
    expect(outside).toEqual([]);
    expect((await output(["dpkg-deb", "-I", release.package, "conffiles"])).trim()).toBe(
      "/etc/agent/agent.yaml",
    );
  });

  test("ships a configuration that no version changes: an upgrade would ask a person about it", () => {
    const root = join(temp.directory("conffile"), "root");
    Bun.spawnSync(["dpkg-deb", "-x", older, root]);
    const sum = createHash("sha256").update(readFileSync(join(root, "etc/agent/agent.yaml")));
    expect(sum.digest("hex")).toBe(
      "661aa32e621f3c5d75e6354bb490944591da109fb05f654c472ab2d4f8cc9324",
    );
  });

  test("has the same bytes when it is built again elsewhere, whatever the umask is", async () => {
    const before = process.umask(0o077);
    try {
      const again = (await build(small, "0.1.0", "again", TIME - 1000)).package;
      expect(readFileSync(again).equals(readFileSync(older))).toBe(true);
    } finally {
      process.umask(before);
    }
  });

  test("says nowhere in its program where it was built", async () => {
    const found = await run(["grep", "-acF", REPOSITORY, agentBinary()]);
    expect(found).toMatchObject({ code: 1, stdout: "0\n" });
  });

  test("depends on the libraries whose symbols its program uses", async () => {
    const addons = ["linux-x64", "linux-arm64"].map((name) =>
      join(REPOSITORY, `node_modules/better-sqlite3/prebuilds/${name}.node`),
    );
    const wanted = await output([
      "grep",
      "-aohE",
      "GLIBC(XX)?_[0-9]+(\\.[0-9]+)+",
      agentBinary(),
      ...addons,
    ]);
    const newest = (prefix: string): string | undefined =>
      wanted
        .split("\n")
        .filter((name) => name.startsWith(prefix))
        .map((name) => name.slice(prefix.length))
        .toSorted(new Intl.Collator("en", { numeric: true }).compare)
        .at(-1);
    expect(`libc6 (>= ${newest("GLIBC_")})`).toBe(DEPENDS.find((one) => one.startsWith("libc6 "))!);
    // GCC 11.
    expect(newest("GLIBCXX_")).toBe("3.4.29");
    expect(DEPENDS).toContain("libstdc++6 (>= 11)");
  });

  test("has examples that are valid, with an image that can be pulled", async () => {
    const root = join(temp.directory("examples"), "root");
    Bun.spawnSync(["dpkg-deb", "-x", older, root]);
    const directory = join(root, "usr/share/doc/agent/examples");
    const paths = readdirSync(directory).map((name) => join(directory, name));
    expect(paths.length).toBeGreaterThan(5);
    for (const path of paths) expect(readFileSync(path, "utf8")).not.toContain("local/");
    expect(await run([agentBinary(), "validate", ...paths])).toMatchObject({ code: 0 });
  });

  test("has maintainer scripts for every shell", async () => {
    const directory = temp.directory("scripts");
    await output(["dpkg-deb", "-e", release.package, directory]);
    for (const name of ["preinst", "postinst", "prerm", "postrm"])
      for (const shell of [["dash"], ["bash", "--posix"]])
        expect(await run([...shell, "-n", join(directory, name)])).toEqual({
          code: 0,
          stdout: "",
          stderr: "",
        });
  });

  const lintian = Bun.which("lintian");
  testWhenAvailable(lintian === null ? { unavailable: "lintian is not installed" } : AVAILABLE)(
    "has no errors for lintian, and each finding that is overridden is there",
    async () => {
      const found = await run(
        ["lintian", "--allow-root", "--display-info", "--fail-on", "error", release.package],
        { timeout: 2 * MINUTES },
      );
      expect(found.stdout.split("\n").filter((line) => /^E:|unused-override/.test(line))).toEqual(
        [],
      );
      expect(found).toMatchObject({ code: 0, stderr: "" });
    },
    2 * MINUTES,
  );

  test("has checksums that sha256sum reads", async () => {
    const directory = temp.directory("sums");
    const paths = [release.package, release.sbom].map((path) => {
      const to = join(directory, basename(path));
      copyFileSync(path, to);
      return to;
    });
    writeFileSync(join(directory, "SHA256SUMS"), checksums(paths));
    const checked = (): Promise<{ readonly code: number }> =>
      run(["sh", "-c", 'cd "$1" && sha256sum -c --strict SHA256SUMS', "sh", directory]);
    expect(await checked()).toMatchObject({ code: 0 });
    writeFileSync(paths[1]!, "{}");
    expect(await checked()).toMatchObject({ code: 1 });
  });
});

describe("what is in the binary", () => {
  test("is a valid SPDX document about this binary", () => {
    const document = JSON.parse(readFileSync(release.sbom, "utf8")) as SpdxDocument;
    expect(document).toMatchObject({
      spdxVersion: "SPDX-2.3",
      dataLicense: "CC0-1.0",
      SPDXID: "SPDXRef-DOCUMENT",
      name: `agent-0.2.0-${TARGET}`,
      creationInfo: { created: new Date(TIME * 1000).toISOString().replace(".000", "") },
    });
    expect(URL.parse(document.documentNamespace)?.hash).toBe("");
    expect(document.creationInfo.creators[0]).toMatch(/^Tool: \S/);
    const ids = new Set(document.packages.map(({ SPDXID }) => SPDXID));
    expect(ids.size).toBe(document.packages.length);
    for (const one of document.packages) {
      expect(one.SPDXID).toMatch(/^SPDXRef-[A-Za-z0-9.-]+$/);
      expect(one.name).not.toBe("");
      expect([one.name, one.licenseDeclared]).not.toEqual([one.name, "NOASSERTION"]);
      for (const field of ["downloadLocation", "licenseConcluded", "copyrightText"] as const)
        expect(one[field]).not.toBe("");
      expect(one.filesAnalyzed).toBe(false);
    }
    for (const { spdxElementId, relatedSpdxElement } of document.relationships) {
      expect(ids.has(relatedSpdxElement)).toBe(true);
      expect(spdxElementId === document.SPDXID || ids.has(spdxElementId)).toBe(true);
    }
    expect(document.relationships).toHaveLength(document.packages.length);
    const [root] = document.packages;
    const sum = createHash("sha256").update(readFileSync(agentBinary())).digest("hex");
    expect(root!.checksums).toEqual([{ algorithm: "SHA256", checksumValue: sum }]);
  });

  test("is each dependency that the source imports, and Bun, at the versions that are built", () => {
    const { dependencies } = JSON.parse(readFileSync(join(REPOSITORY, "package.json"), "utf8")) as {
      readonly dependencies: Readonly<Record<string, string>>;
    };
    const found = new Map(componentsOf(MAPS).map(({ name, version }) => [name, version]));
    for (const [name, version] of Object.entries(dependencies))
      expect([name, found.get(name)]).toEqual([name, version]);
    expect(found.get("Bun")).toBe(Bun.version);
    // Only for tests and the build.
    for (const name of ["fast-check", "oxlint", "playwright-core"])
      expect(found.has(name)).toBe(false);
  });

  test("stands in the copyright file with the licences' texts", () => {
    const root = join(temp.directory("copyright"), "root");
    Bun.spawnSync(["dpkg-deb", "-x", older, root]);
    const text = readFileSync(join(root, "usr/share/doc/agent/copyright"), "utf8");
    for (const { name, version, text: license } of componentsOf(MAPS)) {
      expect(text).toContain(version === "NOASSERTION" ? `* ${name}\n` : `* ${name} ${version}\n`);
      if (license !== undefined && !license.includes("Apache License"))
        expect(text).toContain(license.replaceAll("\r", ""));
    }
  });
});

describe("by dpkg", () => {
  const separate = Bun.spawnSync(["unshare", "--mount", "--pid", "--fork", "true"]);
  const inRoot = testWhenAvailable(
    separate.success
      ? AVAILABLE
      : { unavailable: "namespaces cannot be made (unshare): dpkg is not run" },
  );
  let root: PackageRoot;
  const NETWORK = "etc/cni/net.d/10-agent.conflist";
  beforeAll(async () => {
    root = await PackageRoot.open(temp.directory("machine"));
  });

  inRoot(
    "an older version is installed, enabled and started; its program that fails does not fail dpkg",
    async () => {
      const done = await root.dpkg(["-i", older]);
      expect(done).toMatchObject({ code: 0 });
      expect(root.asked()).toEqual([
        "deb-systemd-helper unmask agent.service",
        "deb-systemd-helper --quiet was-enabled agent.service",
        "deb-systemd-helper enable agent.service",
        "systemctl --system daemon-reload",
        "deb-systemd-invoke start agent.service",
      ]);
      for (const path of ["manifests", "images", "trust.d"])
        expect(readdirSync(root.at(`etc/agent/${path}`))).toEqual([]);
      expect(root.has(NETWORK)).toBe(false);
      expect(done.stderr).toContain(
        'the network for the pods was not set up; "agent install" tries',
      );
    },
  );

  inRoot(
    "an upgrade restarts it, asks nothing, keeps what is written, and says that a self-updated version ends",
    async () => {
      root.write("etc/agent/agent.yaml", "logLevel: debug\n");
      root.write("etc/agent/manifests/web.yaml", "kind: Pod\n");
      root.write("var/lib/agent/agent.db", "state");
      const place = "var/lib/agent/self-update";
      const { size, mtimeMs } = statSync(root.at("usr/bin/agent"));
      root.write(`${place}/versions/0.9.0-1234/beside`, `${size}-${Math.floor(mtimeMs / 1000)}\n`);
      symlinkSync("versions/0.9.0-1234", root.at(`${place}/current`));
      // The same file again: nobody has asked for another version.
      const same = await root.dpkg(["-i", older]);
      expect(same).toMatchObject({ code: 0 });
      expect(same.stdout).not.toContain("self-update");
      root.asked();
      const done = await root.dpkg(["-i", release.package]);
      expect(done).toMatchObject({ code: 0 });
      expect(done.stdout).toContain(
        "from now on the version of this package runs, no longer 0.9.0-1234, which had come by self-update",
      );
      expect(root.asked()).toEqual([
        "deb-systemd-helper unmask agent.service",
        "deb-systemd-helper --quiet was-enabled agent.service",
        "deb-systemd-helper enable agent.service",
        "systemctl --system daemon-reload",
        "deb-systemd-invoke restart agent.service",
      ]);
      expect(root.text("etc/agent/agent.yaml")).toBe("logLevel: debug\n");
      expect(root.text("etc/agent/manifests/web.yaml")).toBe("kind: Pod\n");
      expect(root.text("var/lib/agent/agent.db")).toBe("state");
      expect(root.text(NETWORK)).toContain("10.88.0.0/16");
      expect(readFileSync(root.at("usr/bin/agent")).equals(readFileSync(agentBinary()))).toBe(true);
      const verified = await root.dpkg(["--verify", "agent"]);
      expect(verified.stdout.trim()).toBe("??5?????? c /etc/agent/agent.yaml");
    },
  );

  inRoot("the launcher of the package lets the version go that came by self-update", async () => {
    const launcher = root.text("usr/lib/agent/agent-launch");
    expect(launcher).toContain("\ninstalled=/usr/bin/agent\nplace=/var/lib/agent/self-update\n");
    expect(root.text("usr/lib/systemd/system/agent.service")).toContain(
      "\nExecStart=/usr/lib/agent/agent-launch run\n",
    );
    const before = statSync(root.at("usr/bin/agent"));
    const script = launcher
      .replace("installed=/usr/bin/agent", `installed=${root.at("usr/bin/agent")}`)
      .replace("place=/var/lib/agent", `place=${root.at("var/lib/agent")}`);
    const at = join(temp.directory("launcher"), "agent-launch");
    writeFileSync(at, script, { mode: 0o755 });
    const started = await run([at, "version"]);
    expect(started.stdout).toMatch(/^agent \d/);
    expect(started.stderr).toContain("was replaced since versions/0.9.0-1234 came");
    expect(root.has("var/lib/agent/self-update/current")).toBe(false);
    expect(statSync(root.at("usr/bin/agent")).ino).toBe(before.ino);
  });

  inRoot(
    "a service that does not start does not fail the package, and one that is disabled stays so",
    async () => {
      root.write("fails/deb-systemd-invoke", "");
      root.write("fails/deb-systemd-helper", "");
      const done = await root.dpkg(["-i", release.package]);
      expect(done).toMatchObject({ code: 0 });
      expect(done.stderr).toContain('"systemctl status agent" and "agent check" say why');
      expect(root.asked()).toContain("deb-systemd-helper update-state agent.service");
      Bun.spawnSync(["rm", "-r", root.at("fails")]);
      expect((await root.dpkg(["-s", "agent"])).stdout).toContain("Status: install ok installed");
    },
  );

  inRoot(
    "agent install leaves the package's files alone, writes fields, and refuses another binary",
    async () => {
      const agent = (...args: readonly string[]): ReturnType<typeof run> =>
        run([agentBinary(), ...args, "--root", root.path], { timeout: MINUTES });
      const files = [
        "usr/bin/agent",
        "usr/lib/agent/agent-launch",
        "usr/lib/systemd/system/agent.service",
      ];
      const inodes = (): readonly number[] => files.map((path) => statSync(root.at(path)).ino);
      const before = inodes();
      expect(await agent("install")).toEqual({
        code: 0,
        stdout: "the package agent 0.2.0 has installed the agent: there is nothing to do\n",
        stderr: "",
      });
      expect((await agent("install", "--broker", "mqtt://broker.example")).stdout).toBe(
        `replaced the configuration, ${root.at("etc/agent/agent.yaml")}\n`,
      );
      expect(root.text("etc/agent/agent.yaml")).toContain("url: mqtt://broker.example");
      expect([root.has("usr/local"), root.has("etc/systemd")]).toEqual([false, false]);
      expect(inodes()).toEqual(before);
      const gone = await agent("uninstall", "--yes", "--purge");
      expect(gone).toMatchObject({ code: 1, stdout: "" });
      expect(gone.stderr).toContain('"apt remove agent" takes it away');
      expect(inodes()).toEqual(before);
      const other = join(temp.directory("other-root"), "machine");
      mkdirSync(join(other, "usr/bin"), { recursive: true });
      mkdirSync(join(other, "usr/lib/agent"), { recursive: true });
      copyFileSync(small, join(other, "usr/bin/agent"));
      writeFileSync(join(other, "usr/lib/agent/package"), "agent 0.1.0\n");
      const refused = await run([agentBinary(), "install", "--root", other]);
      expect(refused).toMatchObject({ code: 1, stdout: "" });
      expect(refused.stderr).toContain("belongs to the package agent 0.1.0");
      expect(refused.stderr).toContain("agent self-update");
      expect(readdirSync(other)).toEqual(["usr"]);
    },
  );

  inRoot(
    "a removal stops the service and keeps configuration, manifests, state and network",
    async () => {
      root.asked();
      const done = await root.dpkg(["--remove", "agent"]);
      expect(done).toMatchObject({ code: 0 });
      expect(done.stdout).toContain('pods that run now run on; "agent shutdown"');
      expect(root.asked()).toEqual([
        "deb-systemd-invoke stop agent.service",
        "systemctl --system daemon-reload",
      ]);
      for (const path of [
        "usr/bin/agent",
        "usr/lib/agent",
        "usr/lib/systemd",
        "usr/share/doc/agent",
      ])
        expect([path, root.has(path)]).toEqual([path, false]);
      for (const path of [
        "etc/agent/agent.yaml",
        "etc/agent/manifests/web.yaml",
        "var/lib/agent/agent.db",
        NETWORK,
      ])
        expect([path, root.has(path)]).toEqual([path, true]);
    },
  );

  inRoot("a purge under running pods keeps their state, and what is mounted into it", async () => {
    root.write("host/data", "of the device");
    root.write("var/lib/agent/pods/1234/volumes/x/.keep", "");
    const bind = `mount --bind "$1/host" "$1/var/lib/agent/pods/1234/volumes/x"`;
    const done = await root.dpkg(["--purge", "agent"], bind);
    expect(done).toMatchObject({ code: 0 });
    expect(done.stderr).toContain("/var/lib/agent stays, because pods still use it");
    expect(root.text("host/data")).toBe("of the device");
    expect(root.text("var/lib/agent/agent.db")).toBe("state");
    expect(root.has("etc/agent")).toBe(false);
  });

  inRoot("a purge without pods removes everything but what others have written", async () => {
    root.write("usr/local/bin/agent", "");
    const again = await root.dpkg(["-i", release.package]);
    expect(again).toMatchObject({ code: 0 });
    expect(again.stderr).toContain(
      "/usr/local/bin/agent is found before the program of this package",
    );
    root.write("etc/cni/net.d/20-other.conflist", "{}\n");
    root.asked();
    const done = await root.dpkg(["--purge", "agent"]);
    expect(done.code).toBe(0);
    expect(done.stderr.split("\n").filter((line) => !line.startsWith("dpkg: "))).toEqual([""]);
    expect(done.stdout).toContain("agent fleet forget NODE");
    expect(root.asked()).toContain("deb-systemd-helper purge agent.service");
    for (const path of ["etc/agent", "var/lib/agent", NETWORK])
      expect([path, root.has(path)]).toEqual([path, false]);
    expect(readdirSync(root.at("etc/cni/net.d"))).toEqual(["20-other.conflist"]);
  });

  inRoot("an agent that agent install has put there is not covered up", async () => {
    await run([agentBinary(), "install", "--root", root.path]);
    const refused = await root.dpkg(["-i", release.package]);
    expect(refused.code).toBe(1);
    expect(refused.stderr).toContain("/usr/local/bin/agent uninstall --yes");
    expect(root.has("usr/bin/agent")).toBe(false);
    expect((await run([agentBinary(), "uninstall", "--yes", "--root", root.path])).code).toBe(0);
    expect(await root.dpkg(["-i", release.package])).toMatchObject({ code: 0 });
  });

  inRoot(
    "an image is filled from outside: nothing is started, and nothing of this machine is touched",
    async () => {
      const image = await PackageRoot.open(temp.directory("image"));
      mkdirSync(image.at("outside"));
      for (const name of ["systemctl", "deb-systemd-helper", "deb-systemd-invoke"])
        writeFileSync(
          image.at(`outside/${name}`),
          `#!/bin/sh\necho "${name} $*" >>${image.at("asked")}\n`,
          { mode: 0o755 },
        );
      expect(await image.dpkgFromOutside(["-i", release.package])).toMatchObject({ code: 0 });
      expect(image.asked().filter((line) => !line.startsWith("deb-systemd-helper"))).toEqual([]);
      expect(image.has(NETWORK)).toBe(true);
      expect(await image.dpkgFromOutside(["--purge", "agent"])).toMatchObject({ code: 0 });
      expect([image.has("etc/agent"), image.has("usr/bin/agent")]).toEqual([false, false]);
    },
  );
});
