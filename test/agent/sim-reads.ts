// What the dice let pods read of ConfigMaps and Secrets, and how a manifest says it.

import type { Mulberry32 } from "../fakes/mulberry32.ts";
import { CLAIM, READABLE, kindOf, type ObjectName } from "./sim-objects.ts";

/** A variable made of one key. */
export interface SimVariable {
  readonly variable: string;
  readonly object: ObjectName;
  readonly key: string;
  readonly optional: boolean;
}

/** Every key as a variable. */
export interface SimEnvFrom {
  readonly prefix: string;
  readonly object: ObjectName;
  readonly optional: boolean;
}

/** One file or directory of a volume. */
export interface SimPart {
  readonly volume: string;
  readonly path: string;
}

export interface SimReads {
  readonly env: readonly SimVariable[];
  readonly from: readonly SimEnvFrom[];
  readonly parts: readonly SimPart[];
  /** Whole volumes. */
  readonly mounts: readonly string[];
}

/** The file of a volume that shows the pod's label. */
export const LABEL_FILE = "revision";

export const READS_NOTHING: SimReads = { env: [], from: [], parts: [], mounts: [] };

/** One object as files of a volume; without items every key is one. */
export interface SimShown {
  readonly object: ObjectName;
  readonly optional: boolean;
  readonly items: readonly { readonly key: string; readonly path: string }[];
}

export type SimVolume =
  | { readonly name: string; readonly type: "claim"; readonly claim: ObjectName }
  | {
      readonly name: string;
      readonly type: "content";
      readonly projected: boolean;
      readonly shows: readonly SimShown[];
      /** Also the label of the pod that tells its revision. */
      readonly label: boolean;
    };

export type SimContentVolume = Extract<SimVolume, { type: "content" }>;

export interface ThrownReads {
  readonly volumes: readonly SimVolume[];
  /** In the order of the containers. */
  readonly containers: readonly SimReads[];
  /** Whether containers restart for what they have read. */
  readonly followsConfig: boolean;
}

/** For a pod of so many containers. */
export function throwReads(dice: Mulberry32, containers: number): ThrownReads {
  const volumes = throwVolumes(dice);
  return {
    volumes,
    containers: Array.from({ length: containers }, () => throwContainer(dice, volumes)),
    followsConfig: !dice.chance(0.12),
  };
}

function throwVolumes(dice: Mulberry32): readonly SimVolume[] {
  const volumes: SimVolume[] = [];
  if (dice.chance(0.5)) volumes.push(throwContentVolume(dice, "c0"));
  if (dice.chance(0.2)) volumes.push(throwContentVolume(dice, "c1"));
  if (dice.chance(0.25)) volumes.push({ name: "d", type: "claim", claim: CLAIM });
  return volumes;
}

function throwContentVolume(dice: Mulberry32, name: string): SimContentVolume {
  const projected = dice.chance(0.3);
  const objects = projected ? (["conf", "cred"] as const) : [dice.pick(READABLE)];
  const shows = objects.map((object): SimShown => {
    const optional = dice.chance(0.25);
    const keys = optional ? ["a", "b", "c"] : ["a", "b"];
    const hasItems = projected || dice.chance(0.3);
    const items = keys.map((key) => ({ key, path: `${object}/${key}` }));
    return { object, optional, items: hasItems ? items : [] };
  });
  return { name, type: "content", projected, shows, label: projected && dice.chance(0.5) };
}

function throwContainer(dice: Mulberry32, volumes: readonly SimVolume[]): SimReads {
  const env = Array.from({ length: dice.weighted(VARIABLES) }, (_, index): SimVariable => {
    const key = dice.pick(["a", "a", "b", "c"]);
    const optional = key === "c" || dice.chance(0.25);
    return { variable: `E${index}`, object: dice.pick(READABLE), key, optional };
  });
  const from = Array.from({ length: dice.chance(0.2) ? 1 : 0 }, (_, index): SimEnvFrom => {
    const optional = dice.chance(0.3);
    return { prefix: `F${index}_`, object: dice.pick(READABLE), optional };
  });
  const parts: SimPart[] = [];
  const mounts: string[] = [];
  for (const volume of volumes) {
    if (dice.chance(0.3)) parts.push({ volume: volume.name, path: partOf(dice, volume) });
    else if (dice.chance(0.6)) mounts.push(volume.name);
  }
  return { env, from, parts, mounts };
}

const VARIABLES: readonly (readonly [number, number])[] = [
  [0, 4],
  [1, 4],
  [2, 2],
];

function partOf(dice: Mulberry32, volume: SimVolume): string {
  if (volume.type === "claim") return "logs";
  const { items } = dice.pick(volume.shows);
  return items.length === 0 ? dice.pick(["a", "b"]) : dice.pick(items.slice(0, 2)).path;
}

/** `volumes` as the manifest has them. */
export function writtenVolume(volume: SimVolume): object {
  const { name } = volume;
  if (volume.type === "claim") return { name, persistentVolumeClaim: { claimName: volume.claim } };
  if (volume.projected) {
    const objects = volume.shows.map((shown) => writtenSource(shown, true));
    return { name, projected: { sources: volume.label ? [...objects, LABEL_SOURCE] : objects } };
  }
  return { name, ...volume.shows.map((shown) => writtenSource(shown, false))[0] };
}

const LABEL_SOURCE = {
  downwardAPI: {
    items: [{ path: LABEL_FILE, fieldRef: { fieldPath: "metadata.labels['revision']" } }],
  },
};

function writtenSource({ object, optional, items }: SimShown, projected: boolean): object {
  const more = { ...(optional ? { optional } : {}), ...(items.length > 0 ? { items } : {}) };
  if (kindOf(object) === "ConfigMap") return { configMap: { name: object, ...more } };
  return { secret: { ...(projected ? { name: object } : { secretName: object }), ...more } };
}

/** What a container's part of the manifest gets for it. */
export function writtenReads({ env, from }: SimReads): object {
  return {
    ...(env.length === 0 ? {} : { env: env.map(writtenVariable) }),
    ...(from.length === 0 ? {} : { envFrom: from.map(writtenFrom) }),
  };
}

export function writtenMounts({ parts, mounts }: SimReads): readonly object[] {
  return [
    ...mounts.map((name) => ({ name, mountPath: `/whole/${name}` })),
    ...parts.map(({ volume, path }) => ({
      name: volume,
      mountPath: `/part/${volume}`,
      subPath: path,
    })),
  ];
}

function writtenVariable({ variable, object, key, optional }: SimVariable): object {
  const selector = { name: object, key, ...(optional ? { optional } : {}) };
  const field = kindOf(object) === "ConfigMap" ? "configMapKeyRef" : "secretKeyRef";
  return { name: variable, valueFrom: { [field]: selector } };
}

function writtenFrom({ prefix, object, optional }: SimEnvFrom): object {
  const selector = { name: object, ...(optional ? { optional } : {}) };
  const field = kindOf(object) === "ConfigMap" ? "configMapRef" : "secretRef";
  return { prefix, [field]: selector };
}
