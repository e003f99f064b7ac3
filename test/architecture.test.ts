// Who may import whom, what only the edges may touch, and which files only decide. This table is the
// architecture's diagram (DESIGN §2): change it only together with a decision in docs/decisions.

import { describe, expect, test } from "bun:test";
import { readFileSync } from "node:fs";
import { dirname, join, normalize } from "node:path";

/** Every room and its floor. A folder of src/ that is not here fails the test. */
const FLOORS: Readonly<Record<string, number>> = {
  "main.ts": 4,
  cli: 4,
  fleet: 4,
  agent: 4,
  podworkers: 3,
  source: 2,
  runtime: 2,
  image: 2,
  volume: 2,
  pleg: 2,
  prober: 2,
  eviction: 2,
  status: 2,
  upstream: 2,
  server: 2,
  cri: 1,
  containerd: 1,
  mqtt: 1,
  store: 1,
  host: 1,
  api: 0,
  lib: 0,
};

/** The only arrows between rooms of one floor. */
const DOORS: readonly string[] = [
  "pleg → runtime",
  // Both speak gRPC over one containerd socket: the channel, the adapter and the error words are made once.
  "containerd → cri",
  // The entry opens the doors for people; plain data is written with plain mechanisms.
  "main.ts → cli",
  "main.ts → fleet",
  "main.ts → agent",
  // The operator's verbs stand on the same terminal, tables and errors as the others.
  "fleet → cli",
  "api → lib",
];

/** Which rooms may import a package; a package that is not here may be imported nowhere. */
const PACKAGES: Readonly<Record<string, readonly string[]>> = {
  "@grpc/grpc-js": ["cri", "containerd"],
  "@bufbuild/protobuf": ["cri", "containerd", "runtime", "pleg", "image", "agent"],
  "better-sqlite3": ["store"],
  mqtt: ["mqtt"],
  yaml: ["api", "cli"],
  zod: ["api", "source", "store"],
  commander: ["cli", "fleet"],
};

/** Rooms that may use the platform (`node:…`, `bun:…`, `Bun.…`), and single files that may. */
const PLATFORM_ROOMS: readonly string[] = [
  "cri",
  "containerd",
  "mqtt",
  "store",
  "host",
  "server",
  "cli",
  "fleet",
  "agent",
  "main.ts",
];
const PLATFORM_FILES = /^lib\/system-[\w-]+\.ts$/;

/** The one file that reads clocks, sets timers and throws dice. */
const CLOCK_FILE = "lib/system-clock.ts";

/** Files of api/ that are not pure. */
const IMPURE_API: readonly string[] = [];

/** Files outside api/ that only decide: a room adds its decisions here. */
const PURE: readonly string[] = [
  "agent/command-args.ts",
  "agent/command-explain.ts",
  "agent/command-views.ts",
  "agent/node-events.ts",
  "agent/object-changes.ts",
  "agent/standing-event.ts",
  "agent/trial-health.ts",
  "cli/api-views.ts",
  "cli/event-query.ts",
  "cli/event-table.ts",
  "cli/explain-field.ts",
  "cli/judge-manifests.ts",
  "cli/label-selector.ts",
  "cli/node-table.ts",
  "cli/object-query.ts",
  "cli/object-table.ts",
  "cli/pod-query.ts",
  "cli/pod-state.ts",
  "cli/pod-table.ts",
  "cli/printable.ts",
  "cli/table.ts",
  "fleet/apply-warnings.ts",
  "fleet/bundle-form.ts",
  "fleet/command-answer.ts",
  "fleet/compose-document.ts",
  "fleet/desired-reading.ts",
  "fleet/diff-documents.ts",
  "fleet/fleet-file.ts",
  "fleet/fleet-rows.ts",
  "fleet/fleet-topics.ts",
  "fleet/follow-apply.ts",
  "fleet/judge-apply.ts",
  "fleet/next-version.ts",
  "fleet/node-report.ts",
  "fleet/ulid.ts",
  "fleet/wire-values.ts",
  "host/http-request.ts",
  "image/image-events.ts",
  "image/image-reference.ts",
  "image/pull-failure.ts",
  "image/pull-secrets.ts",
  "lib/allowance.ts",
  "lib/backoff.ts",
  "lib/clock-floor.ts",
  "lib/equal.ts",
  "lib/errors.ts",
  "lib/long-timer.ts",
  "lib/random.ts",
  "lib/result.ts",
  "lib/same-list.ts",
  "mqtt/connect-failure.ts",
  "mqtt/packet-bytes.ts",
  "mqtt/packet-size-guard.ts",
  "pleg/relist.ts",
  "podworkers/admission.ts",
  "podworkers/deadline.ts",
  "podworkers/dependencies.ts",
  "podworkers/disruption.ts",
  "podworkers/log-retention.ts",
  "podworkers/node-affinity.ts",
  "podworkers/plan.ts",
  "prober/http-judgement.ts",
  "prober/probe-answer.ts",
  "prober/probe-state.ts",
  "prober/probe-target.ts",
  "prober/probe-timing.ts",
  "prober/probed-instances.ts",
  "runtime/action-input.ts",
  "runtime/actions.ts",
  "runtime/cgroup-parent.ts",
  "runtime/config-digests.ts",
  "runtime/config-restart.ts",
  "runtime/container-actions.ts",
  "runtime/container-config.ts",
  "runtime/container-devices.ts",
  "runtime/container-mounts.ts",
  "runtime/container-restart.ts",
  "runtime/environment.ts",
  "runtime/expansion.ts",
  "runtime/features.ts",
  "runtime/garbage.ts",
  "runtime/hostname.ts",
  "runtime/hosts-file.ts",
  "runtime/huge-pages.ts",
  "runtime/init-actions.ts",
  "runtime/lifecycle-target.ts",
  "runtime/linux-resources.ts",
  "runtime/log-attempts.ts",
  "runtime/masked-paths.ts",
  "runtime/namespaces.ts",
  "runtime/newest.ts",
  "runtime/observe.ts",
  "runtime/ordered-restart.ts",
  "runtime/pod-action.ts",
  "runtime/pod-cgroup.ts",
  "runtime/pod-dns.ts",
  "runtime/resolv-conf.ts",
  "runtime/runtime-class.ts",
  "runtime/sandbox-config.ts",
  "runtime/sandbox-resources.ts",
  "runtime/seccomp.ts",
  "runtime/security-context.ts",
  "runtime/stop-annotations.ts",
  "runtime/stop-order.ts",
  "runtime/stop-signal.ts",
  "runtime/termination-message.ts",
  "runtime/user-namespaces.ts",
  "runtime/volume-images.ts",
  "runtime/volume-parts.ts",
  "server/answer.ts",
  "server/delete-claim.ts",
  "server/delete-pod.ts",
  "server/events-list.ts",
  "server/object-list.ts",
  "server/object-routes.ts",
  "server/pod-list.ts",
  "server/v1-container.ts",
  "server/v1-pod-spec.ts",
  "server/v1-references.ts",
  "server/v1-shape.ts",
  "server/v1-volume.ts",
  "source/desired-decode.ts",
  "source/desired-images.ts",
  "source/desired-judge.ts",
  "source/desired-membership.ts",
  "source/desired-node-reach.ts",
  "source/desired-notices.ts",
  "source/desired-pod-policy.ts",
  "source/desired-policy.ts",
  "source/desired-refusal.ts",
  "source/desired-requires.ts",
  "source/desired-resources.ts",
  "source/desired-restore.ts",
  "source/desired-signature.ts",
  "source/desired-stale.ts",
  "source/desired-superseded.ts",
  "source/desired-times.ts",
  "source/desired-update-policy.ts",
  "source/desired-version-range.ts",
  "source/desired-version.ts",
  "source/good-copy.ts",
  "source/group-membership.ts",
  "source/last-good-entries.ts",
  "source/manifest-entry.ts",
  "source/manifest-hints.ts",
  "source/manifest-last-good.ts",
  "source/manifest-reading.ts",
  "source/manifest-rebirth.ts",
  "source/manifest-settle.ts",
  "source/manifest-snapshot.ts",
  "source/manifest-state.ts",
  "source/object-access.ts",
  "source/object-config.ts",
  "source/pod-config.ts",
  "source/rollout-pods.ts",
  "source/rollout-trial.ts",
  "source/rollout.ts",
  "source/same-object.ts",
  "source/signature-envelope.ts",
  "source/signature-judge.ts",
  "source/storage-refusal.ts",
  "source/trial-facts.ts",
  "source/trust-bundle-judge.ts",
  "source/trust-keyring.ts",
  "status/conditions.ts",
  "status/container-started.ts",
  "status/container-state.ts",
  "status/container-statuses.ts",
  "status/event-budget.ts",
  "status/facts.ts",
  "status/generate.ts",
  "status/node-status.ts",
  "status/phase.ts",
  "status/starts-again.ts",
  "status/terminated-statuses.ts",
  "upstream/acknowledge.ts",
  "upstream/again.ts",
  "upstream/certificate-conditions.ts",
  "upstream/clock-floor.ts",
  "upstream/coalesce.ts",
  "upstream/command-denials.ts",
  "upstream/command-facts.ts",
  "upstream/command-judge.ts",
  "upstream/command-response.ts",
  "upstream/connect-limits.ts",
  "upstream/event-batch.ts",
  "upstream/first-connect.ts",
  "upstream/node-name.ts",
  "upstream/packets.ts",
  "upstream/pod-health.ts",
  "upstream/pod-line.ts",
  "upstream/reconnect.ts",
  "upstream/report.ts",
  "upstream/reported-state.ts",
  "upstream/rollout-said.ts",
  "upstream/state-message.ts",
  "upstream/suspects.ts",
  "upstream/topics-condition.ts",
  "upstream/wire-text.ts",
  "volume/host-path.ts",
  "volume/huge-pages.ts",
  "volume/projection.ts",
  "volume/volume-kinds.ts",
  "volume/volume-paths.ts",
];

/** Time and randomness that come in as `Clock` and `Random`. */
const CLOCK_WORDS: Readonly<Record<string, RegExp>> = {
  "Date.now": /\bDate\.now\b/,
  "new Date()": /\bnew Date(?:\(\s*\)|\s*[;,)])/,
  "performance.now": /\bperformance\.now\b/,
  setTimeout: /\bsetTimeout\b/,
  setInterval: /\bsetInterval\b/,
  "AbortSignal.timeout": /\bAbortSignal\.timeout\b/,
  "Bun.sleep": /\bBun\.(?:sleep|nanoseconds)\b/,
  "process.hrtime": /\bprocess\.(?:hrtime|uptime)\b/,
  "Math.random": /\bMath\.random\b/,
  randomUUID: /\brandomUUID\b/,
  getRandomValues: /\b(?:getRandomValues|randomBytes|randomInt)\b/,
};

const IMPURE_WORDS: Readonly<Record<string, RegExp>> = {
  await: /\bawait\b/,
  "process.": /\bprocess\./,
};

const PLATFORM_WORD = /\bBun\./;

interface SourceFile {
  /** Below src/, with `/`. */
  readonly path: string;
  readonly text: string;
}

interface Rules {
  readonly impureApi: readonly string[];
  readonly pure: readonly string[];
}

/** Every violation as a sentence; [] = the tree is as designed. */
function violations(files: readonly SourceFile[], rules: Rules): readonly string[] {
  const found: string[] = [];
  const graph = new Map<string, readonly string[]>();
  for (const file of files) {
    const imports = importsOf(file.text);
    graph.set(
      file.path,
      imports.flatMap((specifier) => localTarget(file.path, specifier) ?? []),
    );
    found.push(...imports.flatMap((specifier) => importViolation(file.path, specifier) ?? []));
    found.push(...wordViolations(file, rules));
  }
  const paths = new Set(files.map((file) => file.path));
  const missing = rules.pure.filter((path) => !paths.has(path));
  return [
    ...found,
    ...missing.map((path) => `${path}: listed as pure, but not there`),
    ...cycles(graph),
  ];
}

const IMPORTS = [
  /^\s*(?:import|export)\b[^;'"]*?\bfrom\s*["']([^"']+)["']/gm,
  /^\s*import\s*["']([^"']+)["']/gm,
  /\bimport\s*\(\s*["']([^"']+)["']/g,
];

function importsOf(text: string): readonly string[] {
  return IMPORTS.flatMap((pattern) => [...text.matchAll(pattern)].map((match) => match[1] ?? ""));
}

function roomOf(path: string): string {
  return path.split("/")[0] ?? path;
}

function localTarget(from: string, specifier: string): string | undefined {
  return specifier.startsWith(".") ? normalize(join(dirname(from), specifier)) : undefined;
}

function importViolation(path: string, specifier: string): string | undefined {
  const room = roomOf(path);
  const floor = FLOORS[room];
  if (floor === undefined) return `${path}: the room ${room} is on no floor`;
  const target = localTarget(path, specifier);
  if (target === undefined) return packageViolation(path, specifier);
  if (target === "../package.json") return undefined;
  if (target.startsWith("../node_modules/"))
    return packageViolation(path, target.slice("../node_modules/".length));
  const to = roomOf(target);
  const toFloor = FLOORS[to];
  if (toFloor === undefined) return `${path}: imports ${specifier}, which is in no room`;
  if (room === to || toFloor < floor) return undefined;
  if (toFloor === floor && DOORS.includes(`${room} → ${to}`)) return undefined;
  return `${path}: ${room} must not import ${to} (${specifier})`;
}

function packageViolation(path: string, specifier: string): string | undefined {
  const room = roomOf(path);
  if (/^(?:node|bun):|^bun$/.test(specifier)) {
    if (PLATFORM_ROOMS.includes(room) || PLATFORM_FILES.test(path)) return undefined;
    return `${path}: only the edges and the doors may import ${specifier}`;
  }
  // The SQLite addon hides behind the one import condition.
  if (specifier.startsWith("#"))
    return room === "store" ? undefined : `${path}: only store may import ${specifier}`;
  const name = specifier
    .split("/")
    .slice(0, specifier.startsWith("@") ? 2 : 1)
    .join("/");
  const rooms = PACKAGES[name];
  if (rooms?.includes(room) === true) return undefined;
  if (rooms === undefined) return `${path}: the package ${name} is not in the table`;
  return `${path}: ${room} must not import ${name}, only ${rooms.join(", ")}`;
}

function wordViolations(file: SourceFile, rules: Rules): readonly string[] {
  const code = withoutComments(file.text);
  const found: string[] = [];
  const room = roomOf(file.path);
  const pure =
    rules.pure.includes(file.path) || (room === "api" && !rules.impureApi.includes(file.path));
  if (file.path !== CLOCK_FILE) found.push(...wordsIn(code, CLOCK_WORDS));
  if (pure) found.push(...wordsIn(code, IMPURE_WORDS));
  const platform = PLATFORM_ROOMS.includes(room) || PLATFORM_FILES.test(file.path);
  if ((pure || !platform) && PLATFORM_WORD.test(code)) found.push("Bun.");
  if (pure && importsOf(file.text).some((specifier) => /^(?:node|bun):/.test(specifier)))
    found.push("node:");
  return found.map((word) => `${file.path}: must not use ${word}${pure ? " (pure)" : ""}`);
}

function wordsIn(code: string, words: Readonly<Record<string, RegExp>>): readonly string[] {
  return Object.entries(words).flatMap(([word, pattern]) => (pattern.test(code) ? [word] : []));
}

const transpiler = new Bun.Transpiler({ loader: "ts", deadCodeElimination: false });

/** The transpiler drops comments and types; what it keeps is what runs. */
function withoutComments(text: string): string {
  return transpiler.transformSync(text);
}

/** Each import cycle once, as the way round. */
function cycles(graph: ReadonlyMap<string, readonly string[]>): readonly string[] {
  const done = new Set<string>();
  const found: string[] = [];
  const visit = (path: string, way: readonly string[]): void => {
    const start = way.indexOf(path);
    if (start >= 0) found.push(`import cycle: ${[...way.slice(start), path].join(" → ")}`);
    if (start >= 0 || done.has(path)) return;
    for (const next of graph.get(path) ?? []) visit(next, [...way, path]);
    done.add(path);
  };
  for (const path of graph.keys()) visit(path, []);
  return found;
}

function readTree(): readonly SourceFile[] {
  const root = join(import.meta.dir, "../src");
  return [...new Bun.Glob("**/*.ts").scanSync({ cwd: root })]
    .filter((path) => !path.split("/").includes("gen"))
    .toSorted()
    .map((path) => ({ path, text: readFileSync(join(root, path), "utf8") }));
}

describe("the tree", () => {
  const files = readTree();

  test("is as designed", () => {
    expect(violations(files, { impureApi: IMPURE_API, pure: PURE })).toEqual([]);
  });

  test("is really read", () => {
    const paths = files.map((file) => file.path);
    expect(paths).toContain("main.ts");
    expect(paths).toContain("api/pod.ts");
    expect(paths.filter((path) => path.includes("/gen/"))).toEqual([]);
  });
});

describe("the checker", () => {
  const check = (tree: Readonly<Record<string, string>>, rules: Partial<Rules> = {}) =>
    violations(
      Object.entries(tree).map(([path, text]) => ({ path, text })),
      { impureApi: [], pure: [], ...rules },
    );

  const cases: Readonly<Record<string, readonly [path: string, text: string, expected: string[]]>> =
    {
      "lets arrows point down": ["podworkers/a.ts", 'import { b } from "../runtime/b.ts";', []],
      "refuses an arrow that points up": [
        "runtime/a.ts",
        'import { b } from "../podworkers/b.ts";',
        ["runtime/a.ts: runtime must not import podworkers (../podworkers/b.ts)"],
      ],
      "refuses a neighbour of the same floor": [
        "status/a.ts",
        'import type { B } from "../runtime/b.ts";',
        ["status/a.ts: status must not import runtime (../runtime/b.ts)"],
      ],
      "opens the door from pleg to runtime": [
        "pleg/a.ts",
        'import { b } from "../runtime/b.ts";',
        [],
      ],
      "keeps that door closed the other way": [
        "runtime/a.ts",
        'export { b } from "../pleg/b.ts";',
        ["runtime/a.ts: runtime must not import pleg (../pleg/b.ts)"],
      ],
      "sees an import over several lines": [
        "lib/a.ts",
        'import {\n  b,\n  type C,\n} from "../api/b.ts";',
        ["lib/a.ts: lib must not import api (../api/b.ts)"],
      ],
      "sees a dynamic import": [
        "cli/a.ts",
        'const { run } = await import("../agent/agent.ts");',
        ["cli/a.ts: cli must not import agent (../agent/agent.ts)"],
      ],
      "sees a type written as an import": [
        "lib/a.ts",
        'export const b: import("../api/b.ts").B = 1;',
        ["lib/a.ts: lib must not import api (../api/b.ts)"],
      ],
      "refuses a room that is on no floor": [
        "misc/a.ts",
        'import { b } from "../lib/b.ts";',
        ["misc/a.ts: the room misc is on no floor"],
      ],
      "keeps gRPC at the edge": [
        "runtime/a.ts",
        'import { Client } from "@grpc/grpc-js";',
        ["runtime/a.ts: runtime must not import @grpc/grpc-js, only cri, containerd"],
      ],
      "keeps SQLite in the store, deep imports too": [
        "agent/a.ts",
        'import Database from "better-sqlite3/linux-x64";',
        ["agent/a.ts: agent must not import better-sqlite3, only store"],
      ],
      "refuses an unknown package": [
        "cli/a.ts",
        'import pad from "left-pad";',
        ["cli/a.ts: the package left-pad is not in the table"],
      ],
      "refuses the platform above the edges": [
        "source/a.ts",
        'import { readFileSync } from "node:fs";',
        ["source/a.ts: only the edges and the doors may import node:fs"],
      ],
      "refuses Bun above the edges": [
        "image/a.ts",
        "export const a = Bun.file('x');",
        ["image/a.ts: must not use Bun."],
      ],
      "refuses a bare timer anywhere": [
        "host/a.ts",
        "setTimeout(() => {}, 5);",
        ["host/a.ts: must not use setTimeout"],
      ],
      "refuses the wall clock in any spelling": [
        "store/a.ts",
        "export const a = [Date.now(), new Date(), new Date];",
        ["store/a.ts: must not use Date.now", "store/a.ts: must not use new Date()"],
      ],
      "lets a given time be formatted": ["store/a.ts", "export const a = new Date(5);", []],
      "does not read comments": ["host/a.ts", "// no Date.now() here\nexport const a = 1;", []],
      "lets the one clock file do all that": [
        "lib/system-clock.ts",
        "setTimeout(() => {}, 1);",
        [],
      ],
      "refuses an await in api": [
        "api/a.ts",
        "export async function f() { await g(); }",
        ["api/a.ts: must not use await (pure)"],
      ],
      "refuses the process in api": [
        "api/a.ts",
        "export const a = process.env;",
        ["api/a.ts: must not use process. (pure)"],
      ],
    };

  test.each(Object.entries(cases))("%s", (_sentence, [path, text, expected]) => {
    expect(check({ [path]: text })).toEqual(expected);
  });

  test("holds a listed file of another room to purity", () => {
    const tree = { "cli/a.ts": 'import { b } from "node:fs";\nexport const c = await b();' };
    expect(check(tree)).toEqual([]);
    expect(check(tree, { pure: ["cli/a.ts"] })).toEqual([
      "cli/a.ts: must not use await (pure)",
      "cli/a.ts: must not use node: (pure)",
    ]);
  });

  test("lets a listed file of api be impure, but not read the clock", () => {
    const tree = { "api/a.ts": "export const a = await Date.now();" };
    expect(check(tree, { impureApi: ["api/a.ts"] })).toEqual(["api/a.ts: must not use Date.now"]);
  });

  test("misses a listed pure file that has gone", () => {
    expect(check({}, { pure: ["runtime/actions.ts"] })).toEqual([
      "runtime/actions.ts: listed as pure, but not there",
    ]);
  });

  test("finds an import cycle, of types too", () => {
    const tree = {
      "lib/a.ts": 'import { b } from "./b.ts";',
      "lib/b.ts": 'import type { C } from "./c.ts";',
      "lib/c.ts": 'export { a } from "./a.ts";',
    };
    expect(check(tree)).toEqual(["import cycle: lib/a.ts → lib/b.ts → lib/c.ts → lib/a.ts"]);
  });
});
