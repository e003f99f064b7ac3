// Annotations of ours that change how a pod is decoded.

/** Annotations that change how a pod runs and are not built yet: never ignored in silence. */
export const UNBUILT_ANNOTATIONS: ReadonlySet<string> = new Set(
  ["pull-strict"].map((name) => `agent/${name}`),
);
