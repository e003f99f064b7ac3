// Performs: builds the source of manifests from an HTTP server. Its last good copies share their tables with those of files.

import type { SourceSnapshot } from "../api/pod/desired-pod.ts";
import type { AgentConfig } from "../config/config.ts";
import type { Edges } from "../edges.ts";
import { HttpSource, type HttpSourceOptions } from "../source/http/http-source.ts";
import { isUrlPath } from "../source/http/manifest-url.ts";
import type { WorkGuard } from "../store/start-guard/start-guard.ts";
import type { Store } from "../store/store.ts";

interface ManifestUrlOptions {
  readonly edges: Edges;
  readonly config: AgentConfig;
  readonly nodeName: string;
  readonly guard: WorkGuard;
  readonly emit: (snapshot: SourceSnapshot) => void;
}

type LastGood = HttpSourceOptions["lastGood"];

/** Set when a valid answer was stored. */
const SYNCED = "http.synced";

/** Whether there is a URL, or pods of an earlier one may run. */
export function hasManifestUrl({
  edges: { store },
  config: { staticPodURL },
}: Pick<ManifestUrlOptions, "edges" | "config">): boolean {
  return (staticPodURL ?? "") !== "" || store.meta.get(SYNCED) !== undefined;
}

export function buildManifestUrl(options: ManifestUrlOptions): HttpSource | undefined {
  if (!hasManifestUrl(options)) return undefined;
  const { edges, config, nodeName, guard, emit } = options;
  const { meta } = edges.store;
  return new HttpSource({
    ...edges,
    config,
    nodeName,
    clusterDNS: config.clusterDNS.length > 0,
    guard,
    lastGood: lastGoodWhere(edges.store, isUrlPath),
    synced: {
      get: () => meta.get(SYNCED) !== undefined,
      set: () => meta.set(SYNCED, "true", "full"),
    },
    emit,
  });
}

export function lastGoodOfFiles(store: Store): LastGood {
  return lastGoodWhere(store, (path) => !isUrlPath(path));
}

function lastGoodWhere({ lastGood }: Store, isMine: (path: string) => boolean): LastGood {
  return {
    load: () => {
      const { copies, lost } = lastGood.load();
      const mine = <T extends { readonly path: string }>(rows: readonly T[]): readonly T[] =>
        rows.filter(({ path }) => isMine(path));
      return { copies: mine(copies), lost: mine(lost) };
    },
    save: (changes) => lastGood.save(changes),
  };
}
