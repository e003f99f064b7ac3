// A compose file → services, with a remark for everything that has no counterpart. https://github.com/compose-spec/compose-spec

import { isJsonObject } from "../../lib/json.ts";
import type { Link } from "./compose-fields.ts";
import type { ComposeFiles } from "./compose-mounts.ts";
import { ServiceReader } from "./compose-service.ts";
import { remarking } from "./service-fields.ts";
import {
  objectNameOf,
  UNKNOWN,
  type Imported,
  type ImportedFile,
  type Remark,
  type Service,
  type Tell,
} from "./service.ts";
import { interpolate, type Variables } from "./words.ts";

export interface ComposeInput {
  /** As YAML gave it. */
  readonly value: unknown;
  readonly variables: Variables;
  readonly files: ComposeFiles;
}

const MAX_SERVICES = 64;
/** Keys of the file that mean nothing here, without a word. */
const TOP_IGNORED = ["version", "name", "services", "volumes", "configs", "secrets"];

export function importCompose({ value, variables, files }: ComposeInput): Imported {
  const remarks: Remark[] = [];
  const tell = remarking(remarks);
  const file = replaced(value, variables, tell);
  const services = isJsonObject(file) ? file["services"] : undefined;
  if (!isJsonObject(file) || !isJsonObject(services)) {
    tell("the file", "has no services: it is no compose file", true);
    return { services: [], files: [], remarks };
  }
  for (const key of Object.keys(file))
    if (!TOP_IGNORED.includes(key) && !key.startsWith("x-"))
      tell(key, TOP[key] ?? UNKNOWN, key === "include");
  const entries = Object.entries(services);
  if (entries.length > MAX_SERVICES)
    tell("services", `only the first ${MAX_SERVICES} are imported`, true);
  const imported: ImportedFile[] = [];
  const links: Link[] = [];
  const all = entries.slice(0, MAX_SERVICES).flatMap(([name, service]) => {
    const reader = new ServiceReader(name, {
      service: isJsonObject(service) ? service : {},
      file,
      variables,
      files,
      tell: (field, message, isError) => tell(`${name}: ${field}`, message, isError),
    });
    const read = reader.read();
    imported.push(...reader.imported);
    links.push(...reader.links);
    return read === undefined ? [] : [read];
  });
  const linked = withLinks(all, links);
  return { services: joined(linked, tell), files: imported, remarks };
}

/** Gives services the names under which others link to them. */
function withLinks(all: readonly Service[], links: readonly Link[]): readonly Service[] {
  return all.map((service) => {
    const added = links.flatMap(({ service: other, alias }) =>
      alias === undefined || objectNameOf(other) !== service.name ? [] : [alias],
    );
    return { ...service, aliases: [...new Set([...service.aliases, ...added])] };
  });
}

/** Services in the network of another one go into its pod. */
function joined(
  all: readonly Service[],
  tell: (place: string, message: string) => void,
): readonly Service[] {
  const known = new Set(all.map(({ name }) => name));
  return all.map((service) => {
    if (service.pod === undefined || known.has(service.pod)) return service;
    tell(
      `${service.name}: network_mode`,
      `there is no service ${service.pod}; it gets a pod of its own`,
    );
    const { pod: _, ...alone } = service;
    return alone;
  });
}

/** All texts with `$NAME` replaced; keys stay. */
function replaced(value: unknown, variables: Variables, tell: Tell): unknown {
  const unset = new Set<string>();
  const walk = (one: unknown, place: string): unknown => {
    if (typeof one === "string") {
      const result = interpolate(one, variables);
      for (const error of result.errors) tell(place, error, true);
      for (const name of result.unset) unset.add(name);
      return result.text;
    }
    if (Array.isArray(one))
      return one.map((item: unknown, index) => walk(item, `${place}[${index}]`));
    if (!isJsonObject(one)) return one;
    return Object.fromEntries(
      Object.entries(one).map(([key, item]) => [
        key,
        walk(item, place === "" ? key : `${place}.${key}`),
      ]),
    );
  };
  const result = walk(value, "");
  if (unset.size > 0)
    tell(
      "variables",
      `${[...unset].join(", ")} ${unset.size === 1 ? "is" : "are"} not set, and empty; set them in .env or the environment`,
    );
  return result;
}

const TOP: Readonly<Record<string, string>> = {
  networks: "pods of a node reach each other; networks separate nothing here",
  include: "is not followed: import each file",
};
