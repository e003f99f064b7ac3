// Amounts as compose files and Quadlets write them → as Kubernetes writes them.

import { plain } from "./words.ts";

const UNITS: Readonly<Record<string, number>> = {
  "": 1,
  b: 1,
  k: 1024,
  m: 1024 ** 2,
  g: 1024 ** 3,
};

/** `512m`, `1g`, `1.5gb`, bytes → a quantity; undefined = no amount. */
export function byteQuantity(written: unknown): string | undefined {
  const [, number = "", unit = ""] =
    /^(\d+(?:\.\d+)?)\s*([bkmg]?)(?:i?b)?$/i.exec(plain(written).trim()) ?? [];
  const bytes = Math.round(Number(number) * (UNITS[unit.toLowerCase()] ?? Number.NaN));
  if (number === "" || !Number.isSafeInteger(bytes) || bytes <= 0) return undefined;
  const mebibytes = bytes / 1024 ** 2;
  return Number.isInteger(mebibytes) ? `${mebibytes}Mi` : plain(bytes);
}

/** `0.5`, `"2"` → `500m`, `2000m`; undefined = no amount. */
export function cpuQuantity(written: unknown): string | undefined {
  const cpus = Number(written);
  return Number.isFinite(cpus) && cpus > 0 ? `${Math.ceil(cpus * 1_000)}m` : undefined;
}

const SECONDS: Readonly<Record<string, number>> = {
  h: 3_600,
  m: 60,
  min: 60,
  s: 1,
  ms: 0.001,
  us: 0.000_001,
};

/** `1m30s`, `10s`, a number of seconds → whole seconds, at least 1 for what is more than 0; undefined = no time. */
export function seconds(written: unknown): number | undefined {
  const text = plain(written).trim();
  if (/^\d+(?:\.\d+)?$/.test(text)) return Math.ceil(Number(text));
  const parts = [...text.matchAll(/(\d+(?:\.\d+)?)\s*(h|min|ms|us|m|s)/g)];
  if (
    parts.length === 0 ||
    parts.map(([whole]) => whole).join("") !== text.replaceAll(/\s+(?=\d)/g, "")
  )
    return undefined;
  const sum = parts.reduce(
    (all, [, n = "0", unit = "s"]) => all + Number(n) * (SECONDS[unit] ?? 0),
    0,
  );
  return Math.ceil(sum);
}
