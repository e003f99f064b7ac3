// The pods of a simulated world: a few names, a few versions each, everything else thrown by the seed.

import type { MqttConfig } from "../../src/config/config.ts";
import type { RestartPolicy } from "../../src/api/v1/pod.ts";
import type { CallName } from "../fakes/fake-cri-faults.ts";
import type { Program } from "../fakes/fake-cri-world.ts";
import { Mulberry32 } from "../fakes/mulberry32.ts";
import { IMAGE } from "./pod-world.ts";
import {
  throwHooks,
  throwInit,
  throwProbes,
  type SimHooks,
  type SimProbe,
} from "./sim-features.ts";
import { uidOfWritten } from "./sim-manifest.ts";
import { OBJECTS, type ObjectName } from "./sim-objects.ts";
import { hasBadLine } from "./sim-pulls.ts";
import { READS_NOTHING, throwReads, type SimReads, type SimVolume } from "./sim-reads.ts";

export const NAMES = ["web", "db"] as const;
export type SimName = (typeof NAMES)[number];
/** Each pod stands in a file of its name, objects in any. */
export type FileName = SimName | "objects";
export const VERSIONS = 3;
/** On the node from the beginning like IMAGE, but may be gone for a while. */
export const LATER = "later:1";

const SHARED_PORT = 8_090;

/** The exit code of which rules speak. */
const RULED = 42;

export type SimRole = "init" | "sidecar" | "app";

export interface SimContainer {
  readonly name: string;
  readonly role: SimRole;
  readonly image: string;
  readonly program: Program;
  /** Its own; absent = the pod's. */
  readonly restartPolicy?: RestartPolicy;
  readonly probes: readonly SimProbe[];
  readonly hooks: SimHooks;
  /** Exit codes after which it starts again whatever its policy says. */
  readonly rules: readonly number[];
  readonly reads: SimReads;
}

export interface Dependency {
  readonly name: SimName;
  readonly state: "Running" | "Ready";
}

/** One version of one pod, and how its containers behave. */
export interface SimSpec {
  /** `web-2`, for people. */
  readonly key: string;
  readonly uid: string;
  readonly name: SimName;
  readonly restartPolicy: RestartPolicy;
  readonly grace: number;
  readonly hostNetwork: boolean;
  readonly hostPort: number | undefined;
  /** Processors that its first container asks for; absent = none. */
  readonly cpu?: number;
  /** It comes before others of its source. */
  readonly critical?: true;
  readonly activeDeadlineSeconds: number | undefined;
  /** What must be there first, as the annotation says it. */
  readonly dependsOn: Dependency | undefined;
  readonly volume: "none" | "disk" | "memory";
  /** What it shows of objects. */
  readonly volumes: readonly SimVolume[];
  /** Whether containers restart when what they have read changes. */
  readonly followsConfig: boolean;
  /** In the order in which they are written: init containers and sidecars first. */
  readonly containers: readonly SimContainer[];
  /** Share of starts that fail while the world is hostile. */
  readonly startErrors: number;
}

export interface SimTrust {
  /** The node has root keys: signatures count. */
  readonly signed: boolean;
  /** Somebody gives orders. */
  readonly commands: boolean;
}

export interface SimSetup {
  readonly specs: ReadonlyMap<string, SimSpec>;
  /** Claims lie on a disk that may not be there. */
  readonly claimDisk: boolean;
  /** The disk of images fills up, and the agent has brought images before. */
  readonly imageDisk: boolean;
  /** Images have a file system of their own. */
  readonly ownImageFs: boolean;
  /** Pulls are slow, break off or stall. */
  readonly badLine: boolean;
  /** In which file each object stands; empty = nobody reads any. */
  readonly homes: ReadonlyMap<ObjectName, FileName>;
  readonly latencyMs: Partial<Record<CallName, number>>;
  readonly statusLagMs: number;
  readonly tellsExits: boolean;
  /** How long events take. */
  readonly eventLagMs: number;
  /** Whether containers write logs. */
  readonly logs: boolean;
  /** undefined = an agent without a broker. */
  readonly protocolVersion: 4 | 5 | undefined;
  /** Absent = nothing is signed, and nobody gives orders. */
  readonly trust?: SimTrust;
  /** Configured beyond the defaults. */
  readonly mqtt?: Partial<Pick<MqttConfig, "fleet" | "requireSignature">>;
}

/** What pods read has dice of its own: whoever adds to that changes nothing else. */
export function throwSetup(seed: number): SimSetup {
  const dice = new Mulberry32(seed);
  const objectDice = objectDiceOf(seed);
  const hasObjects = throwHasObjects(objectDice);
  const roomDice = roomDiceOf(seed);
  const criticalDice = criticalDiceOf(seed);
  const specs = NAMES.flatMap((name, slot) =>
    Array.from({ length: VERSIONS }, (_, version) =>
      withReads(
        promoted(
          crowded(throwSpec(dice, { name, slot, version: version + 1 }), roomDice),
          criticalDice,
        ),
        hasObjects,
        objectDice,
      ),
    ),
  );
  const slow = dice.chance(0.5);
  const latencyMs = slow ? throwLatency(dice) : {};
  const pullImage = dice.pick([0, 0, 50, 4_000]);
  return {
    specs: new Map(specs.map((spec) => [spec.uid, spec])),
    claimDisk: hasObjects && objectDice.chance(0.3),
    imageDisk: hasImageDisk(seed),
    ownImageFs: hasOwnImageFs(seed),
    badLine: hasBadLine(seed),
    homes: new Map(hasObjects ? OBJECTS.map(({ name }) => [name, throwHome(objectDice)]) : []),
    latencyMs: { ...latencyMs, pullImage },
    statusLagMs: dice.weighted([
      [0, 12],
      [5, 3],
      [100, 3],
      [900, 3],
      // Longer than the agent remembers an event.
      [45_000, 1],
    ]),
    tellsExits: dice.chance(0.5),
    eventLagMs: dice.weighted([
      [0, 6],
      [20, 2],
      [2_000, 1],
    ]),
    logs: dice.chance(0.5),
    protocolVersion: dice.weighted([
      [5, 6],
      [4, 3],
      [undefined, 1],
    ]),
  };
}

function throwSpec(
  dice: Mulberry32,
  { name, slot, version }: { name: SimName; slot: number; version: number },
): Omit<SimSpec, "uid"> {
  const restartPolicy = dice.weighted<RestartPolicy>([
    ["Always", 5],
    ["OnFailure", 2],
    ["Never", 3],
  ]);
  const count = dice.chance(0.7) ? 1 : 2;
  const image = dice.chance(0.2) ? LATER : IMAGE;
  const grace = dice.pick([0, 1, 2, 5, 30]);
  const init = throwInit(dice, { policy: restartPolicy, image, grace, slot });
  return {
    key: `${name}-${version}`,
    name,
    restartPolicy,
    grace,
    hostNetwork: dice.chance(0.15),
    hostPort: dice.chance(0.2) ? 8_080 + slot : undefined,
    activeDeadlineSeconds: dice.chance(0.1) ? dice.pick([5, 60, 400]) : undefined,
    dependsOn: throwDependency(dice, name),
    volume: dice.weighted([
      ["none", 6],
      ["disk", 2],
      ["memory", 1],
    ]),
    volumes: [],
    followsConfig: true,
    containers: [
      ...init,
      ...Array.from({ length: count }, (_, index) =>
        throwApp(dice, restartPolicy, { index, first: init.length, image, grace, slot }),
      ),
    ],
    startErrors: dice.chance(0.15) ? 0.4 : 0,
  };
}

/** In four worlds of ten not every version of one pod fits beside every version of the other. */
function roomDiceOf(seed: number): Mulberry32 | undefined {
  const dice = new Mulberry32(seed ^ 0x9008);
  return dice.chance(0.4) ? dice : undefined;
}

/** Three of the node's four processors, one port for both, and more patience than the node has. */
function crowded(spec: Omit<SimSpec, "uid">, dice: Mulberry32 | undefined): Omit<SimSpec, "uid"> {
  if (dice === undefined) return spec;
  const cpu = dice.chance(0.6) ? { cpu: 3 } : {};
  const hostPort = dice.chance(0.25) ? SHARED_PORT : spec.hostPort;
  const grace = dice.chance(0.4) ? 40 : spec.grace;
  return { ...spec, ...cpu, hostPort, grace };
}

/** In three worlds of ten there are critical pods. */
function criticalDiceOf(seed: number): Mulberry32 | undefined {
  const dice = new Mulberry32(seed ^ 0xc1712);
  return dice.chance(0.3) ? dice : undefined;
}

function promoted(spec: Omit<SimSpec, "uid">, dice: Mulberry32 | undefined): Omit<SimSpec, "uid"> {
  return dice?.chance(0.4) === true ? { ...spec, critical: true } : spec;
}

/** A stream of its own: no other step of a seed moves. */
export const IMAGE_STREAM = 0x1ba6e;

/** Whether the disk of images fills up in the world of this seed. */
export function hasImageDisk(seed: number): boolean {
  return new Mulberry32(seed ^ IMAGE_STREAM).chance(0.4);
}

/** In which worlds something runs short. */
export function hasPressure(seed: number): boolean {
  return seed % 10 === 3 || seed % 10 === 8;
}

/** Whether images have a file system of their own in the world of this seed. */
export function hasOwnImageFs(seed: number): boolean {
  return hasPressure(seed) && imageFsDiceOf(seed).chance(0.5);
}

export function imageFsDiceOf(seed: number): Mulberry32 {
  return new Mulberry32(seed ^ 0xa093);
}

/** Whether anything happens to ConfigMaps and Secrets in the world of this seed. */
export function hasObjects(seed: number): boolean {
  return throwHasObjects(objectDiceOf(seed));
}

function objectDiceOf(seed: number): Mulberry32 {
  return new Mulberry32(seed ^ 0x0b1ec);
}

/** The first throw of its dice. */
function throwHasObjects(dice: Mulberry32): boolean {
  return dice.chance(0.65);
}

function withReads(spec: Omit<SimSpec, "uid">, hasObjects: boolean, dice: Mulberry32): SimSpec {
  if (!hasObjects || dice.chance(0.3)) return { ...spec, uid: uidOfWritten(spec) };
  const { volumes, containers, followsConfig } = throwReads(dice, spec.containers.length);
  const reading: Omit<SimSpec, "uid"> = {
    ...spec,
    volumes,
    followsConfig,
    containers: spec.containers.map((own, index) => ({
      ...own,
      reads: containers[index] ?? READS_NOTHING,
    })),
  };
  return { ...reading, uid: uidOfWritten(reading) };
}

function throwHome(dice: Mulberry32): FileName {
  return dice.weighted<FileName>([
    ["objects", 3],
    ["web", 1],
    ["db", 1],
  ]);
}

/** Now and then a circle. */
function throwDependency(dice: Mulberry32, name: SimName): Dependency | undefined {
  const other = name === "web" ? "db" : "web";
  const has = dice.chance(name === "web" ? 0.2 : 0.03);
  return has ? { name: other, state: dice.pick(["Running", "Ready"]) } : undefined;
}

interface AppFacts {
  readonly index: number;
  /** Its position in the spec less `index`. */
  readonly first: number;
  readonly image: string;
  readonly grace: number;
  readonly slot: number;
}

function throwApp(
  dice: Mulberry32,
  policy: RestartPolicy,
  { index, first, image, grace, slot }: AppFacts,
): SimContainer {
  const program = throwProgram(dice, policy);
  const own = dice.chance(0.2) ? dice.pick(["Always", "OnFailure", "Never"] as const) : undefined;
  const place = { slot, index: first + index };
  return {
    name: "ab".charAt(index),
    role: "app",
    image,
    program,
    ...(own === undefined ? {} : { restartPolicy: own }),
    probes: dice.chance(0.35) ? throwProbes(dice, place) : [],
    hooks: dice.chance(0.25) ? throwHooks(dice, grace, place) : {},
    rules: own !== undefined && dice.chance(0.3) ? [RULED] : [],
    reads: READS_NOTHING,
  };
}

function throwProgram(dice: Mulberry32, policy: RestartPolicy): Program {
  const stopsAfterMs = dice.pick([0, 0, 500, 3_000, Number.POSITIVE_INFINITY]);
  const exits = dice.chance(policy === "Always" ? 0.3 : 0.6);
  if (!exits) return { stopsAfterMs };
  const exitsAfterMs = dice.pick([0, 50, 1_000, 20_000]);
  return { stopsAfterMs, exitsAfterMs, exitCode: dice.pick([0, 1, RULED]) };
}

function throwLatency(dice: Mulberry32): Partial<Record<CallName, number>> {
  return {
    runPodSandbox: dice.pick([0, 80, 700]),
    createContainer: dice.pick([0, 15, 200]),
    startContainer: dice.pick([0, 25, 300]),
    stopContainer: dice.pick([0, 10]),
    stopPodSandbox: dice.pick([0, 30, 400]),
    removePodSandbox: dice.pick([0, 20, 200]),
    removeContainer: dice.pick([0, 10]),
    listPodSandbox: dice.pick([0, 0, 3, 60]),
    listContainers: dice.pick([0, 0, 4, 90]),
    containerStatus: dice.pick([0, 0, 2]),
    podSandboxStatus: dice.pick([0, 0, 5]),
    execSync: dice.pick([0, 30, 700]),
  };
}
