// The budgets of the agent, and what the kubelet 1.36 (standalone, same machine and containerd; medians, ± 15 %) needs for the same.

import type { Labels } from "./report.ts";

export const BUDGETS = {
  one: {
    what: "manifest in place → running",
    budget: "≤ 1.10 ×",
    limit: 1.1,
    kubelet: "1.25 × (150 ms against 120)",
    kubeletRange: [1.25, 1.25],
  },
  rich: {
    what: "the same, 5 volumes and 20 variables",
    budget: "≤ 1.10 ×",
    limit: 1.1,
    kubelet: "–",
  },
  manyStart: {
    what: "50 manifests → all running",
    budget: "≤ 1.15 ×",
    limit: 1.15,
    kubelet: "1.3–1.4 × (5.1 s against 3.5–3.9)",
    kubeletRange: [1.3, 1.4],
  },
  manyRemove: {
    what: "50 removed → all gone",
    budget: "≤ 1.20 ×",
    limit: 1.2,
    kubelet: "1.4–2.1 × (3.9–6 s against 2.75; twice 43 s)",
    kubeletRange: [1.4, 2.1],
  },
  edit: {
    what: "manifest replaced → new running",
    budget: "≤ 1.20 ×",
    limit: 1.2,
    kubelet: "14 s (11–14 s; the calls take 0.25)",
    kubeletRange: [44, 56],
  },
  crash: {
    what: "container exits → replaced",
    budget: "≤ 1.30 ×",
    limit: 1.3,
    kubelet: "0.6–0.95 s (the calls take 0.05)",
    kubeletRange: [12, 19],
  },
  mqtt: {
    what: "MQTT published → running",
    budget: "≤ 1.10 × + trip",
    limit: 1.1,
    kubelet: "–",
  },
  ready: {
    what: "manifest in place → Ready, by a probe",
    budget: "–",
    kubelet: "–",
  },
  start: {
    what: "process starts → 50 pods known",
    budget: "≤ 0.5 s",
    limit: 500,
    kubelet: "0.90 s",
    kubeletRange: [900, 900],
  },
  cpu: {
    what: "own CPU, idle, 50 pods",
    budget: "≤ 0.3 % of a core",
    limit: 0.3,
    kubelet: "2.5 %",
    kubeletRange: [2.5, 2.5],
  },
  containerd: {
    what: "containerd's CPU above its own",
    budget: "≤ 0.1 % of a core",
    limit: 0.1,
    kubelet: "0.4 %",
    kubeletRange: [0.4, 0.4],
  },
  rssEmpty: {
    what: "RSS (anonymous), 0 pods",
    budget: "≤ 75 MB (≤ 35)",
    limit: 75,
    kubelet: "82 at 10",
    kubeletRange: [82, 82],
  },
  rssFull: {
    what: "RSS (anonymous), 50 pods",
    budget: "≤ 90 MB (≤ 35)",
    limit: 90,
    kubelet: "103 (47)",
    kubeletRange: [103, 103],
  },
  anonymous: {
    what: "anonymous memory, 50 pods",
    budget: "≤ 35 MB",
    limit: 35,
    kubelet: "47",
    kubeletRange: [47, 47],
  },
  probes: {
    what: "own CPU, 200 HTTP probes a second",
    budget: "≤ 10 % of a core",
    limit: 10,
    kubelet: "–",
  },
  written: {
    what: "written to disk, idle",
    budget: "0 outside logs",
    limit: 0,
    kubelet: "0.7–1.5 MB an hour",
  },
  upstream: {
    what: "upstream traffic, idle",
    budget: "≤ 1 kB a minute",
    limit: 1_000,
    kubelet: "–",
  },
  link: {
    what: "idle line, a minute",
    budget: "≤ 1 kB of MQTT",
    limit: 1_000,
    kubelet: "–",
  },
} as const satisfies Readonly<Record<string, Labels>>;
