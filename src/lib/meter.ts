// Counts and measures what the agent does, for `/metrics`: plain numbers in memory, with bounded labels.

export type Labels = Readonly<Record<string, string>>;

interface Histogram {
  readonly counts: number[];
  sum: number;
  count: number;
}

export interface MetricFamily {
  readonly name: string;
  readonly help: string;
  readonly type: "counter" | "gauge" | "histogram";
  readonly samples: readonly Sample[];
}

export interface Sample {
  /** `_bucket`, `_sum`, `_count`; "" = the metric itself. */
  readonly suffix: string;
  readonly labels: Labels;
  readonly value: number;
}

/** Prometheus' default buckets, in seconds. */
const SECONDS = [0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10];
/** kubelet: ExponentialBuckets(.005, 2.5, 14) */
const RUNTIME_SECONDS = Array.from({ length: 14 }, (_, index) =>
  Number((0.005 * 2.5 ** index).toFixed(9)),
);
/** kubelet: podStartupDurationBuckets */
const START_SECONDS = [
  0.5, 1, 2, 3, 4, 5, 6, 8, 10, 20, 30, 45, 60, 120, 180, 240, 300, 360, 480, 600, 900, 1200, 1800,
  2700, 3600,
];
/** kubelet: imagePullDurationBuckets */
const PULL_SECONDS = [
  1, 5, 10, 20, 30, 60, 120, 180, 240, 300, 360, 480, 600, 900, 1200, 1800, 2700, 3600,
];

/** Names, labels and buckets are Kubernetes' where it has them. kubelet: pkg/kubelet/metrics/metrics.go */
export const COUNTERS = {
  kubelet_runtime_operations_total: "Calls of the container runtime, by operation.",
  kubelet_runtime_operations_errors_total: "Calls of the container runtime that failed.",
  kubelet_started_pods_total: "Pods that the agent has begun to start.",
  kubelet_started_pods_errors_total: "Starts of pods whose sandbox failed.",
  kubelet_started_containers_total: "Containers that the agent has begun to start.",
  kubelet_started_containers_errors_total: "Starts of containers that failed.",
  kubelet_evictions: "Pods that were evicted, by signal.",
  kubelet_preemptions: "Pods that were stopped to make room for another pod, by what was short.",
  prober_probe_total: "Probes of containers, by their result.",
  agent_rollbacks_total: "Pods whose update was taken back, by the reason of the failure.",
  agent_api_requests_total: "Requests to the API of the node, by verb and code of the answer.",
  agent_written_bytes_total:
    "Bytes that the agent has given to the system to write, by what they are.",
  agent_storage_written_bytes_total:
    "Bytes that the agent's process has sent to the disk, as the kernel counts them.",
  agent_api_handshakes_total: "TLS connections to the API of the node, by what became of them.",
} as const;

export const HISTOGRAMS = {
  kubelet_runtime_operations_duration_seconds: {
    help: "Seconds that calls of the container runtime took.",
    buckets: RUNTIME_SECONDS,
  },
  kubelet_pleg_relist_duration_seconds: {
    help: "Seconds that a complete list of the runtime's pods took.",
    buckets: SECONDS,
  },
  kubelet_pod_worker_duration_seconds: {
    help: "Seconds that one sync, or the stop, of a pod took.",
    buckets: SECONDS,
  },
  kubelet_pod_start_duration_seconds: {
    help: "Seconds from the moment the agent knows a pod until the pod is Running.",
    buckets: START_SECONDS,
  },
  kubelet_pod_start_sli_duration_seconds: {
    help: "Seconds from the moment a pod may start until all its containers run, without pulls and init containers.",
    buckets: START_SECONDS,
  },
  kubelet_pod_start_total_duration_seconds: {
    help: "Seconds from the moment the agent knows a pod until all its containers run, whatever it waits for.",
    buckets: START_SECONDS,
  },
  kubelet_image_pull_duration_seconds: {
    help: "Seconds that pods waited for the pull of an image.",
    buckets: PULL_SECONDS,
  },
} as const;

export type CounterName = keyof typeof COUNTERS;
export type HistogramName = keyof typeof HISTOGRAMS;

/** Series of one metric; further ones are not counted apart. */
const MAX_SERIES = 2_000;

export class Meter {
  readonly #counters = new Map<CounterName, Map<string, { labels: Labels; value: number }>>();
  readonly #histograms = new Map<HistogramName, Map<string, { labels: Labels; data: Histogram }>>();

  count(name: CounterName, labels: Labels = {}, by = 1): void {
    const series = this.#counters.get(name) ?? new Map<string, { labels: Labels; value: number }>();
    this.#counters.set(name, series);
    const key = keyOf(labels);
    const found = series.get(key);
    if (found !== undefined) found.value += by;
    else if (series.size < MAX_SERIES) series.set(key, { labels, value: by });
  }

  /** `seconds`: of one duration. */
  observe(name: HistogramName, seconds: number, labels: Labels = {}): void {
    const series =
      this.#histograms.get(name) ?? new Map<string, { labels: Labels; data: Histogram }>();
    this.#histograms.set(name, series);
    const key = keyOf(labels);
    const { buckets } = HISTOGRAMS[name];
    const found = series.get(key) ?? { labels, data: emptyHistogram(buckets.length) };
    if (!series.has(key) && series.size >= MAX_SERIES) return;
    series.set(key, found);
    const { data } = found;
    const bucket = buckets.findIndex((bound) => seconds <= bound);
    if (bucket >= 0) data.counts[bucket] = (data.counts[bucket] ?? 0) + 1;
    data.sum += seconds;
    data.count += 1;
  }

  /** Of all series. */
  sum(name: CounterName): number {
    return [...(this.#counters.get(name)?.values() ?? [])].reduce(
      (sum, { value }) => sum + value,
      0,
    );
  }

  /** By the value of one label. */
  byLabel(name: CounterName, label: string): ReadonlyMap<string, number> {
    const sums = new Map<string, number>();
    for (const { labels, value } of this.#counters.get(name)?.values() ?? [])
      sums.set(labels[label] ?? "", (sums.get(labels[label] ?? "") ?? 0) + value);
    return sums;
  }

  /** Series with these labels are forgotten: their object is gone. */
  forget(name: CounterName, labels: Labels): void {
    const series = this.#counters.get(name);
    const wanted = Object.entries(labels);
    for (const [key, one] of series ?? [])
      if (wanted.every(([label, value]) => one.labels[label] === value)) series?.delete(key);
  }

  families(): readonly MetricFamily[] {
    const counters = [...this.#counters].map(([name, series]): MetricFamily => ({
      name,
      help: COUNTERS[name],
      type: "counter",
      samples: [...series.values()].map((one) => ({ suffix: "", ...one })),
    }));
    const histograms = [...this.#histograms].map(([name, series]): MetricFamily => ({
      name,
      help: HISTOGRAMS[name].help,
      type: "histogram",
      samples: [...series.values()].flatMap((one) => histogramSamples(name, one)),
    }));
    return [...counters, ...histograms];
  }
}

function keyOf(labels: Labels): string {
  return Object.values(labels).join("\0");
}

function emptyHistogram(buckets: number): Histogram {
  return { counts: Array.from({ length: buckets }, () => 0), sum: 0, count: 0 };
}

function histogramSamples(
  name: HistogramName,
  { labels, data }: { readonly labels: Labels; readonly data: Histogram },
): readonly Sample[] {
  let below = 0;
  const buckets = HISTOGRAMS[name].buckets.map((bound, index): Sample => {
    below += data.counts[index] ?? 0;
    return { suffix: "_bucket", labels: { ...labels, le: String(bound) }, value: below };
  });
  return [
    ...buckets,
    { suffix: "_bucket", labels: { ...labels, le: "+Inf" }, value: data.count },
    { suffix: "_sum", labels, value: data.sum },
    { suffix: "_count", labels, value: data.count },
  ];
}
