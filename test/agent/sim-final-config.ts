// What containers must have read, and volumes must show, when every trouble has ended.

import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { ANNOTATION } from "../../src/api/pod/labels.ts";
import { contentDirectory } from "../../src/volume/volume-paths.ts";
import type { FakeContainer } from "../fakes/fake-cri-world.ts";
import { waits } from "./sim-final-pods.ts";
import { follows } from "./sim-judge-config.ts";
import { leak } from "./sim-leaks.ts";
import { sha256 } from "./sim-manifest.ts";
import { filesWith, sameFiles } from "./sim-rendering.ts";
import { LABEL_FILE, type SimContentVolume } from "./sim-reads.ts";
import type { SimContainer, SimSpec } from "./sim-specs.ts";
import { filesShown } from "./sim-volumes.ts";
import type { SimWorld } from "./sim-world.ts";

const PATIENT_SECONDS = 3600;
const HEARD_MS = 40_000;

export function wrongConfig(world: SimWorld): string | undefined {
  // What was taken back reads what was there when it was good.
  const pods = world
    .desired()
    .filter((spec) => !waits(world, spec) && !world.rollouts.isOpen(spec.name));
  return (
    first(pods.flatMap((spec) => spec.containers.map((own) => wrongRead(world, spec, own)))) ??
    first(pods.map((spec) => wrongVolumes(world, spec))) ??
    lostClaim(world) ??
    leak(world)
  );
}

/** Of a container that runs and starts anew for what it reads: in force now. */
function wrongRead(world: SimWorld, spec: SimSpec, own: SimContainer): string | undefined {
  const { config, ledger } = world.judge;
  const newest = ledger.newest(spec.uid, own.name);
  if (newest === undefined || !ledger.isAlive(newest) || !mustFollow(world, spec, own))
    return undefined;
  const [read, now] = [config.hasRead(newest), config.wouldRead(spec, own, world.readerOf(spec))];
  if (read === now || now === undefined) return undefined;
  return `${ledger.nameOf(newest)} has read ${read}, not ${now}`;
}

/** Digests of a key that is lost tell nothing any more. */
export function mustFollow(world: SimWorld, spec: SimSpec, own: SimContainer): boolean {
  const newest = world.judge.ledger.newest(spec.uid, own.name);
  return follows(spec, own) && newest !== undefined && makerOf(newest) === keyId(world);
}

function makerOf({ config }: FakeContainer): string | undefined {
  return config.annotations[ANNOTATION.configDigest]?.split(":")[1];
}

function keyId({ machine }: SimWorld): string {
  return sha256(readFileSync(join(machine.state, "secret.key"))).slice(0, 8);
}

export function wrongVolumes(world: SimWorld, spec: SimSpec): string | undefined {
  const [sandbox] = world.judge.ledger.sandboxesOf(spec.uid);
  // Those of a pod that has ended are of the time of its end.
  if (sandbox?.ready !== true || world.process.lostEverything) return undefined;
  const volumes = spec.volumes.filter((volume) => volume.type === "content");
  return first(volumes.map((volume) => wrongVolume(world, spec, volume)));
}

function wrongVolume(world: SimWorld, spec: SimSpec, volume: SimContentVolume): string | undefined {
  const { machine, truth } = world;
  const content = contentDirectory(machine.state, spec.uid);
  if (!machine.mounts.isMemory(content)) return `${spec.key} has ${volume.name} on the disk`;
  const root = join(content, volume.name);
  const wanted = new Map<string, string>();
  for (const shown of volume.shows) {
    const files = filesWith(shown, truth.content(shown.object, world.readerOf(spec)));
    // What is gone stays shown.
    if (files === undefined) return undefined;
    for (const [path, text] of files) wanted.set(path, text);
  }
  if (volume.label) wanted.set(LABEL_FILE, `r${world.revisionOf(spec)}`);
  const shown = filesShown(root);
  if (sameFiles(shown, wanted)) return undefined;
  const [is, should] = [shown, wanted].map((files) => JSON.stringify([...files]));
  return `${volume.name} of ${spec.key} shows ${is}, not ${should}`;
}

/** `uids` have gone. */
export function leftMount({ machine }: SimWorld, uids: ReadonlySet<string>): string | undefined {
  const left = machine.mounts.points.find((point) =>
    point.split("/").some((part) => uids.has(part)),
  );
  return left === undefined ? undefined : `${left} is still mounted`;
}

export function lostClaim({ machine }: SimWorld): string | undefined {
  const lost = [...machine.kept].find((path) => !existsSync(path));
  return lost === undefined ? undefined : `${lost} was removed from its claim`;
}

function first(all: readonly (string | undefined)[]): string | undefined {
  return all.find((one) => one !== undefined);
}

/** Where programs take their grace periods to the end, a short deadline takes an edit back, and rightly. */
export async function asksForPatience({ authority, machine, policy }: SimWorld): Promise<void> {
  if (authority.wants.size === 0) return;
  authority.policy = { ...policy, progressDeadlineSeconds: PATIENT_SECONDS };
  authority.publish(authority.wants);
  await machine.clock.advance(HEARD_MS);
}
