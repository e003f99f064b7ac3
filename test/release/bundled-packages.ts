// Performs: finds what is really in a binary: the npm packages whose files its source maps name, and what no map shows.

import { existsSync, readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";

export interface Component {
  readonly name: string;
  readonly version: string;
  /** SPDX expression; `NOASSERTION` = it names none. */
  readonly license: string;
  /** Where it comes from. */
  readonly home: string;
  /** purl; absent = it has none. */
  readonly purl?: string;
  /** Its own text of the licence, with the holders of the copyright; absent = it brings none. */
  readonly text?: string;
  /** The licence is what its makers say of it, and was not compared with each of its files. */
  readonly isHearsay?: boolean;
}

interface PackageFile {
  readonly name: string;
  readonly version: string;
  readonly license?: unknown;
  readonly repository?: string | { readonly url?: string };
}

const PACKAGE_OF_SOURCE = /(?:^|\/)(node_modules\/.*)$/;
const PACKAGE_DIRECTORY = /^(.*\bnode_modules\/(?:@[^/]+\/)?[^/]+)\//;
const LICENSE_FILE = /^(licen[cs]e|copying|notice)/i;

/** `root`: of this repository; `maps`: the directory of the binary's source maps. Sorted by name and version. */
export function bundledPackages(root: string, maps: string): readonly Component[] {
  const directories = new Set<string>();
  for (const name of readdirSync(maps).filter((one) => one.endsWith(".map"))) {
    const { sources } = JSON.parse(readFileSync(join(maps, name), "utf8")) as {
      readonly sources: readonly string[];
    };
    for (const source of sources) {
      const [, path = ""] = PACKAGE_OF_SOURCE.exec(source) ?? [];
      const [, directory] = PACKAGE_DIRECTORY.exec(path) ?? [];
      if (directory !== undefined) directories.add(directory);
    }
  }
  if (directories.size === 0) throw new Error(`the source maps in ${maps} name no npm package`);
  const found = [...directories].map((directory) => npmPackage(join(root, directory)));
  return found.toSorted((a, b) => compare(`${a.name} ${a.version}`, `${b.name} ${b.version}`));
}

function compare(a: string, b: string): number {
  return a < b ? -1 : a > b ? 1 : 0;
}

function npmPackage(directory: string): Component {
  const file = JSON.parse(readFileSync(join(directory, "package.json"), "utf8")) as PackageFile;
  const texts = readdirSync(directory).filter((name) => LICENSE_FILE.test(name));
  const text = texts
    .toSorted()
    .map((name) => readFileSync(join(directory, name), "utf8").trim())
    .join("\n\n");
  const { name, version } = file;
  return {
    name,
    version,
    license: typeof file.license === "string" ? withoutBrackets(file.license) : "NOASSERTION",
    home: homeOf(file),
    purl: `pkg:npm/${name.replace("@", "%40")}@${version}`,
    ...(text === "" ? {} : { text }),
  };
}

function withoutBrackets(expression: string): string {
  return expression.replace(/^\((.*)\)$/, "$1");
}

function homeOf({ name, repository }: PackageFile): string {
  const given = typeof repository === "string" ? repository : (repository?.url ?? "");
  if (given === "") return `npm ${name}`;
  const url = given.replace(/^git\+/, "").replace(/^git:/, "https:");
  return /^[\w.-]+\/[\w.-]+$/.test(url) ? `https://github.com/${url}` : url;
}

/** What the runtime is made of, at the versions that the Bun which builds it names. */
export function bunParts(
  versions: Readonly<Record<string, string | undefined>>,
): readonly Component[] {
  const unknown = Object.keys(versions).filter(
    (name) => !(name in BUN_PARTS) && !NO_PARTS.includes(name),
  );
  if (unknown.length > 0)
    throw new Error(
      `Bun has parts that bundled-packages.ts does not know; add them with their licences: ${unknown.join(", ")}`,
    );
  return Object.entries(BUN_PARTS).map(([key, part]) => ({
    ...part,
    version: versions[key] ?? "NOASSERTION",
    isHearsay: true,
  }));
}

type Part = Pick<Component, "name" | "license" | "home">;

/** Compatible versions that are named, not code that is linked. */
const NO_PARTS: readonly string[] = ["node", "v8", "modules", "napi", "unicode", "openssl"];

/** By the name in `process.versions`; those that are not named there follow. Licences as Bun's own page says them. */
const BUN_PARTS: Readonly<Record<string, Part>> = {
  bun: { name: "Bun", license: "MIT", home: "https://github.com/oven-sh/bun" },
  webkit: {
    name: "WebKit and JavaScriptCore",
    license: "LGPL-2.1-or-later AND BSD-2-Clause",
    home: "https://github.com/oven-sh/WebKit",
  },
  boringssl: {
    name: "BoringSSL",
    license: "Apache-2.0 AND ISC AND OpenSSL",
    home: "https://github.com/oven-sh/boringssl",
  },
  libarchive: { name: "libarchive", license: "BSD-2-Clause", home: "https://www.libarchive.org" },
  llhttp: { name: "llhttp", license: "MIT", home: "https://github.com/nodejs/llhttp" },
  mimalloc: { name: "mimalloc", license: "MIT", home: "https://github.com/microsoft/mimalloc" },
  picohttpparser: {
    name: "picohttpparser",
    license: "MIT",
    home: "https://github.com/h2o/picohttpparser",
  },
  uwebsockets: {
    name: "uWebSockets",
    license: "Apache-2.0",
    home: "https://github.com/uNetworking/uWebSockets",
  },
  usockets: {
    name: "uSockets",
    license: "Apache-2.0",
    home: "https://github.com/uNetworking/uSockets",
  },
  zig: { name: "Zig standard library", license: "MIT", home: "https://ziglang.org" },
  zlib: { name: "zlib", license: "Zlib", home: "https://www.zlib.net" },
  tinycc: { name: "TinyCC", license: "LGPL-2.1-or-later", home: "https://repo.or.cz/tinycc.git" },
  lolhtml: {
    name: "lol-html",
    license: "BSD-3-Clause",
    home: "https://github.com/cloudflare/lol-html",
  },
  ares: { name: "c-ares", license: "MIT", home: "https://c-ares.org" },
  libdeflate: {
    name: "libdeflate",
    license: "MIT",
    home: "https://github.com/ebiggers/libdeflate",
  },
  lshpack: { name: "ls-hpack", license: "MIT", home: "https://github.com/litespeedtech/ls-hpack" },
  zstd: { name: "Zstandard", license: "BSD-3-Clause", home: "https://github.com/facebook/zstd" },
  uv: { name: "libuv", license: "MIT", home: "https://libuv.org" },
  icu: { name: "ICU", license: "Unicode-3.0", home: "https://icu.unicode.org" },
  sqlite: { name: "SQLite of Bun", license: "blessing", home: "https://sqlite.org" },
  typescript: {
    name: "TypeScript",
    license: "Apache-2.0",
    home: "https://github.com/microsoft/TypeScript",
  },
  brotli: { name: "Brotli", license: "MIT", home: "https://github.com/google/brotli" },
  simdutf: {
    name: "simdutf",
    license: "Apache-2.0 OR MIT",
    home: "https://github.com/simdutf/simdutf",
  },
  highway: {
    name: "Highway",
    license: "Apache-2.0 OR BSD-3-Clause",
    home: "https://github.com/google/highway",
  },
  libjpeg: {
    name: "libjpeg-turbo",
    license: "IJG AND BSD-3-Clause",
    home: "https://libjpeg-turbo.org",
  },
  libbase64: {
    name: "libbase64",
    license: "BSD-2-Clause",
    home: "https://github.com/aklomp/base64",
  },
};

/** What lies in the binary beside packages and runtime. `root`: of this repository. */
export function otherParts(root: string): readonly Component[] {
  const sqlite = join(root, "node_modules/better-sqlite3/deps/sqlite3/sqlite3.h");
  const text = existsSync(sqlite) ? readFileSync(sqlite, "utf8") : "";
  const [, version = "NOASSERTION"] = /#define SQLITE_VERSION\s+"([\d.]+)"/.exec(text) ?? [];
  const apache = { version: "NOASSERTION", license: "Apache-2.0", isHearsay: true } as const;
  return [
    {
      name: "SQLite of better-sqlite3",
      version,
      license: "blessing",
      home: "https://sqlite.org",
      isHearsay: true,
    },
    {
      ...apache,
      name: "containerd protocol files",
      home: "https://github.com/containerd/containerd",
    },
    {
      ...apache,
      name: "Kubernetes CRI protocol files",
      home: "https://github.com/kubernetes/cri-api",
    },
  ];
}
