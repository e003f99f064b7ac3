// The rows of `agent top`, titles first. kubectl: TopCmdPrinter

import { parseQuantity } from "../../api/resource/quantity.ts";
import { compareText } from "../../lib/compare.ts";
import { memberOf, type JsonObject } from "../../lib/json.ts";
import type { Row } from "../terminal-text.ts";

export interface TopOptions {
  readonly allNamespaces?: boolean;
  readonly containers?: boolean;
  readonly sortBy?: "cpu" | "memory";
}

/** In thousandths: of cores and of bytes. */
interface Usage {
  readonly cpu: bigint;
  readonly memory: bigint;
}

interface TopRow extends Usage {
  readonly names: Row;
}

/** `name` "" = all. */
export function podRows(
  pods: readonly JsonObject[],
  name: string,
  { allNamespaces = false, containers = false, sortBy }: TopOptions,
): readonly Row[] {
  const rows = pods
    .filter((pod) => name === "" || metaOf(pod, "name") === name)
    .flatMap((pod): readonly TopRow[] => {
      const listed = memberOf(pod, "containers");
      const used = (Array.isArray(listed) ? listed : []).map((one: unknown) => ({
        container: String(memberOf(one, "name")),
        ...usageOf(one),
      }));
      const names = [...(allNamespaces ? [metaOf(pod, "namespace")] : []), metaOf(pod, "name")];
      if (containers)
        return used.map(({ container, ...usage }) => ({ names: [...names, container], ...usage }));
      const sum = (of: keyof Usage): bigint => used.reduce((all, one) => all + one[of], 0n);
      return [{ names, cpu: sum("cpu"), memory: sum("memory") }];
    });
  const titles = [
    ...(allNamespaces ? ["NAMESPACE"] : []),
    ...(containers ? ["POD", "NAME"] : ["NAME"]),
  ];
  return [
    [...titles, "CPU(cores)", "MEMORY(bytes)"],
    ...rows.toSorted(orderBy(sortBy)).map(({ names, ...usage }) => [...names, ...cellsOf(usage)]),
  ];
}

export function nodeRows(
  metrics: readonly JsonObject[],
  nodes: readonly JsonObject[],
): readonly Row[] {
  const rows = metrics.map((one): Row => {
    const name = metaOf(one, "name");
    const node = nodes.find((other) => metaOf(other, "name") === name);
    const allocatable = memberOf(memberOf(node, "status"), "allocatable");
    const { cpu, memory } = usageOf(one);
    const [cores = "", bytes = ""] = cellsOf({ cpu, memory });
    const share = (used: bigint, of: string): string => percent(used, memberOf(allocatable, of));
    return [name, cores, share(cpu, "cpu"), bytes, share(memory, "memory")];
  });
  return [["NAME", "CPU(cores)", "CPU(%)", "MEMORY(bytes)", "MEMORY(%)"], ...rows];
}

function percent(used: bigint, of: unknown): string {
  const all = parseQuantity(String(of)) ?? 0n;
  return all === 0n ? "<unknown>" : `${(used * 100n) / all}%`;
}

function usageOf(of: unknown): Usage {
  const usage = memberOf(of, "usage");
  const amount = (name: string): bigint => parseQuantity(String(memberOf(usage, name))) ?? 0n;
  return { cpu: amount("cpu"), memory: amount("memory") };
}

function cellsOf({ cpu, memory }: Usage): Row {
  return [`${cpu}m`, `${memory / 1000n / 1024n / 1024n}Mi`];
}

function metaOf(object: unknown, name: string): string {
  const found = memberOf(memberOf(object, "metadata"), name);
  return typeof found === "string" ? found : "";
}

/** The highest first, or by name. */
function orderBy(sortBy: TopOptions["sortBy"]): (a: TopRow, b: TopRow) => number {
  if (sortBy !== undefined) return (a, b) => Number(b[sortBy] - a[sortBy]);
  return (a, b) => compareText(a.names.join("/"), b.names.join("/"));
}
