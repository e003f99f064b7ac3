// The bounds of docs/security.md ("Limits of input") and docs/config-and-secrets.md: where each number stands in the
// source, and which tests show it.

import type { HandKind } from "../../../src/store/start-guard/hand.ts";

export interface Limit {
  /** The row's first cell. */
  readonly input: string;
  /** The words of the bound, and the constant of src/ that is meant: `file NAME`, or `file NAME.key` of an object. */
  readonly bounds: Readonly<Record<string, string | readonly string[]>>;
  /** Digits of the cell that are no bound. */
  readonly names?: readonly string[];
  readonly tests: readonly string[];
  /** A bound that no test shows, and why. */
  readonly notShown?: string;
}

export const LIMITS_OF_FILES: readonly Limit[] = [
  {
    input: "all values of one ConfigMap or Secret",
    bounds: { "1 MiB": "api/v1/object/config-map.ts MAX_DATA_BYTES" },
    tests: ["unit/api/large-manifests.test.ts"],
  },
  {
    input: "a file",
    bounds: {
      "4 MiB": "api/yaml/text-limits.ts FILE_LIMITS.bytes",
      "50,000 nodes": "api/yaml/text-limits.ts FILE_LIMITS.nodes",
      "1000 documents": "api/yaml/text-limits.ts MAX_DOCUMENTS",
    },
    tests: ["unit/api/yaml/yaml-documents.test.ts"],
  },
  {
    input: "the MQTT document, with everything in it",
    bounds: {
      "48 KiB": "api/yaml/text-limits.ts DOCUMENT_LIMITS.bytes",
      "10,000 nodes": "api/yaml/text-limits.ts DOCUMENT_LIMITS.nodes",
    },
    tests: ["unit/api/yaml/yaml-documents.test.ts", "unit/source/document/judge-document.test.ts"],
  },
  {
    input: "maps and lists in each other",
    bounds: { "100 levels": "api/yaml/text-limits.ts MAX_DEPTH" },
    tests: ["unit/api/yaml/yaml-documents.test.ts"],
  },
];

export const LIMITS_OF_INPUT: readonly Limit[] = [
  {
    input: "a manifest file, its objects",
    bounds: {},
    tests: ["unit/api/yaml/yaml-documents.test.ts"],
  },
  {
    input: "an answer of `staticPodURL`, also unpacked; its headers; redirects; its time",
    bounds: {
      "4 MiB": "api/yaml/text-limits.ts FILE_LIMITS.bytes",
      "256 KiB": "host/http/download.ts MAX_HEAD",
      "5 redirects": "host/http/download.ts MAX_REDIRECTS",
      "120 s": "host/http/download.ts TIMEOUT_MS",
    },
    tests: ["component/host/download.test.ts"],
  },
  {
    input: "manifest files that change at once",
    bounds: {
      "64 files": "source/file/manifest-settle.ts READ_AT_ONCE.files",
      "1 MiB": "source/file/manifest-settle.ts READ_AT_ONCE.bytes",
    },
    tests: ["component/source/file-source.test.ts"],
  },
  {
    input: "errors and warnings of a file or document",
    bounds: {
      "100 in full": [
        "api/decode/field-errors.ts MAX_OF_ALL",
        "api/decode/field-errors.ts MAX_FINDINGS",
      ],
    },
    tests: ["unit/api/decode/field-errors.test.ts"],
  },
  {
    input:
      "what `$(NAME)` expands to in a variable, a word of `command` or `args`; all variables, or all words, of a container",
    bounds: {
      "128 KiB": "runtime/cri-config/expansion.ts MAX_EXPANDED",
      "1 MiB": "runtime/cri-config/expansion.ts MAX_TOTAL",
    },
    tests: ["unit/runtime/cri-config/expansion.test.ts"],
  },
  {
    input: "names of pods in a hosts file",
    bounds: { "128 KiB": "runtime/names/pod-names.ts MAX_NAME_BYTES" },
    tests: ["unit/runtime/names/pod-names.test.ts"],
  },
  {
    input:
      "ConfigMaps and Secrets that a container reads at its start only (`env`, `envFrom`, `subPath`), as often as it refers to them; those of a pod",
    bounds: {
      "16 MiB": "api/pod/config-inputs.ts MAX_READ",
      "64 MiB": "runtime/decide/config-digest.ts MAX_TEXTS",
    },
    tests: ["unit/runtime/decide/config-digest.test.ts"],
  },
  {
    input: "a file of `fileKeyRef`; a value in it; all such files of a container",
    bounds: {
      "64 KiB": "runtime/cri-config/env-file.ts MAX_ENV_FILE",
      "32 KiB": "runtime/cri-config/env-file.ts MAX_VALUE",
      "1 MiB": "runtime/cri-config/env-file.ts MAX_ENV_FILES",
    },
    tests: ["unit/runtime/cri-config/env-file.test.ts", "component/runtime/env-file.test.ts"],
  },
  {
    input: "packets of a connection to the broker; its WebSocket frames",
    bounds: {
      "2,000 at once": "upstream/link/connect-options.ts RECEIVE_RATE.burst",
      "200 a second": "upstream/link/connect-options.ts RECEIVE_RATE.perSecond",
      "64 bytes": "mqtt/packet-guard.ts TINY_CHUNK",
      "4 MiB of ours": "mqtt/mqttjs-link.ts MAX_UNSENT",
    },
    names: ["QoS 2"],
    tests: ["unit/mqtt/packet-guard.test.ts", "component/mqtt/hostile.test.ts"],
    notShown: "4 MiB: the kernel takes megabytes of a socket before the first byte waits here",
  },
  {
    input: "unsigned commands about a pod of a file",
    bounds: {},
    tests: ["agent/answers-commands.test.ts"],
  },
  {
    input: "documents for one topic",
    bounds: {
      "10 at once": "source/document/document-source.ts JUDGE_RATE.burst",
      "one a second": "source/document/document-source.ts JUDGE_RATE.perSecond",
    },
    tests: ["component/source-mqtt/mqtt-source.test.ts"],
  },
  {
    input:
      "an image archive: its entries; an extended header; a document in it; images of a list, or layers of an image; names of an image; indexes in indexes; documents that are read; bytes after its end",
    bounds: {
      "20,000 entries": "image/archive/tar-parser.ts MAX_ENTRIES",
      "64 KiB": "image/archive/tar-parser.ts MAX_EXTENDED_HEADER",
      "4 MiB": "image/archive/archive-documents.ts MAX_DOCUMENT",
      "1000 items": "image/archive/archive-documents.ts MAX_ITEMS",
      "100 names": "image/archive/image-names.ts MAX_NAMES",
      "4 levels": "image/archive/oci-layout.ts MAX_DEPTH",
      "3,000 documents": "image/archive/import-archive.ts MAX_DOCUMENTS",
      "1 MiB": "image/archive/import-archive.ts MAX_REST",
    },
    tests: ["unit/image/archive/tar-parser.test.ts", "component/image/import-archive.test.ts"],
  },
  {
    input:
      "links from link to link in an image archive; memory to decompress it; what its blobs leave free on containerd's file system",
    bounds: {
      "8 links": "image/archive/archive-paths.ts MAX_LINKS",
      "8 MiB": "containerd/archive/archive-bytes.ts MAX_ZSTD_MEMORY",
      "64 MiB": "image/archive/bring-archive.ts RESERVE_BYTES",
    },
    tests: ["unit/image/archive/tar-parser.test.ts", "component/containerd/archive-bytes.test.ts"],
  },
  {
    input: "what a `grpc` probe receives",
    bounds: { "64 KiB": "host/probe/probe-grpc.ts MAX_CONNECTION" },
    tests: ["component/host/probe-grpc.test.ts"],
  },
  {
    input: "output of an `exec` probe, of a hook's command",
    bounds: { "1 MiB": "cri/cri-client.ts MAX_OUTPUT" },
    tests: ["component/cri/client.test.ts", "component/runtime/lifecycle-hooks.test.ts"],
  },
  {
    input: "`exec` probes that run at once",
    bounds: {
      "16 of pods of files, 16 of others": "prober/probe-manager.ts EXEC_PLACES.places",
      "4 of one pod": "prober/probe-manager.ts EXEC_PLACES.perOwner",
    },
    tests: ["component/prober/exec-places.test.ts"],
  },
  {
    input: "commands of hooks that run at once",
    bounds: {
      "32 of pods of files, 32 of others": "agent/build-pods.ts HOOK_PLACES.places",
      "16 of one pod": "agent/build-pods.ts HOOK_PLACES.perOwner",
    },
    tests: ["component/runtime/lifecycle-hooks.test.ts", "e2e/attacks.test.ts"],
  },
  {
    input:
      "the files of a ConfigMap, Secret, downward API or projected volume; of all such volumes of a pod",
    bounds: {
      "16 MiB": "volume/projection.ts MAX_CONTENT",
      "64 MiB": "volume/content-volume.ts POD_BYTES",
    },
    tests: ["unit/volume/projection.test.ts"],
    notShown: "64 MiB is the size of the tmpfs, which the kernel holds",
  },
  {
    input:
      "pods of one Job at a time; those that have ended and are kept; completions with an index",
    bounds: {
      "50 at once": "api/workload/job.ts MAX_PARALLEL",
      "5 ended pods": "source/workload/job-state.ts MAX_KEPT",
      "10,000 completions": "api/workload/job.ts MAX_INDEXES",
    },
    tests: ["unit/source/workload/job-state.test.ts", "unit/api/fixtures.test.ts"],
  },
  {
    input: "Jobs of one CronJob at a time",
    bounds: { "20 Jobs": "source/workload/cron-decision.ts MAX_ACTIVE_JOBS" },
    tests: ["unit/source/workload/cron-decision.test.ts"],
  },
  {
    input: "devices, dependencies of a pod",
    bounds: {
      "20 of each": [
        "api/resource/devices.ts MAX_DEVICES",
        "api/pod/pod-annotations.ts MAX_DEPENDENCIES",
      ],
    },
    tests: ["unit/api/resource/devices.test.ts", "unit/api/pod/pod-annotations.test.ts"],
  },
  {
    input: "an MQTT packet",
    bounds: { "256 KiB": "mqtt/packet-guard.ts MAXIMUM_PACKET_SIZE" },
    names: ["3.1.1"],
    tests: ["unit/mqtt/packet-guard.test.ts", "component/mqtt/mqttjs-link.test.ts"],
  },
  {
    input: "a document",
    bounds: { "48 KiB": "protocol/wire-text.ts MAX_PAYLOAD_BYTES" },
    tests: ["unit/source/document/judge-document.test.ts"],
  },
  {
    input: "signatures of one envelope",
    bounds: { "16": "protocol/dsse.ts MAX_SIGNATURES" },
    tests: ["unit/trust/verify-signature.test.ts"],
  },
  {
    input: "commands of senders without a trusted signature",
    bounds: {
      "a burst of 20": "command/rate-limits.ts POLICIES.takenUntrusted.burst",
      "one in 10 s": "command/rate-limits.ts POLICIES.takenUntrusted.perSecond",
    },
    tests: ["component/upstream/commands.test.ts"],
  },
  {
    input: "commands",
    bounds: {
      "a burst of 60": "command/rate-limits.ts POLICIES.taken.burst",
      "2 a second": "command/rate-limits.ts POLICIES.taken.perSecond",
      "32 waiting": "command/command-queue.ts WAITING",
      "4 at work": "command/command-queue.ts AT_WORK",
    },
    tests: ["component/upstream/commands.test.ts"],
  },
  {
    input: "one command; its correlation data",
    bounds: {
      "32 KiB": "command/judge-command.ts MAX_COMMAND_BYTES",
      "256 bytes": "command/judge-command.ts MAX_CORRELATION_BYTES",
    },
    tests: ["unit/command/judge-command.test.ts"],
  },
  {
    input: "an answer to a command",
    bounds: {
      "32 KiB a part": "command/response.ts MAX_PART_BYTES",
      "64 parts": "command/response.ts MAX_PARTS",
    },
    tests: ["unit/command/response.test.ts"],
  },
  {
    input: "logs followed over MQTT at once",
    bounds: { "8": "command/log-lease.ts MAX_LEASES" },
    tests: ["component/command/command-logs.test.ts"],
  },
  {
    input: "signed changes in one session",
    bounds: { "1,000": "command/rate-limits.ts MAX_SIGNED_CHANGES" },
    tests: ["component/upstream/commands.test.ts"],
  },
  {
    input: "log lines about refused messages",
    bounds: {
      "a burst of 20": "lib/refusal-log.ts LINES.burst",
      "one in 10 s": "lib/refusal-log.ts LINES.perSecond",
    },
    tests: ["component/source-mqtt/refusal-log.test.ts"],
  },
  {
    input: "all log lines of the agent",
    bounds: {
      "a burst of 2000": "lib/logger.ts JOURNAL_LIMIT.burst",
      "one a second": "lib/logger.ts JOURNAL_LIMIT.perSecond",
    },
    tests: ["unit/lib/logger.test.ts"],
  },
  {
    input: "a log over MQTT",
    bounds: {
      "10 minutes": "command/log-lease.ts MAX_LEASE_SECONDS",
      "1 MiB": "command/log-lease.ts MAX_LEASE_BYTES",
      "64 KiB": "command/log-lease.ts METERED_LEASE_BYTES",
      "16 kB a second": "command/log-lease.ts MAX_BATCH_BYTES",
      "4,096 characters": "command/log-lease.ts MAX_LINE",
    },
    tests: ["component/upstream/log-lease.test.ts", "component/command/command-logs.test.ts"],
  },
  {
    input: "the answer of an HTTP probe",
    bounds: {
      "10 KiB of body": "host/probe/probe-http.ts MAX_BODY",
      "256 KiB of headers": "host/probe/probe-http.ts MAX_HEAD",
      "512 KiB of anything": "host/probe/probe-http.ts MAX_ANSWER",
      "10 redirects": "host/probe/probe-http-request.ts MAX_REQUESTS",
    },
    tests: ["component/host/probe-http.test.ts", "unit/host/probe/probe-http-request.test.ts"],
  },
  {
    input: "the answer of a gRPC probe, the output of a command probe",
    bounds: {
      "10 KiB": ["host/probe/probe-grpc.ts MAX_ANSWER", "prober/probe-result.ts MAX_OUTPUT"],
    },
    tests: ["component/host/probe-grpc.test.ts", "unit/prober/probe-result.test.ts"],
  },
  {
    input: "a termination message",
    bounds: {
      "4 KiB": "runtime/observe/termination-message.ts MESSAGE_BYTES",
      "12 KiB": "runtime/observe/termination-message.ts POD_BYTES",
    },
    tests: [
      "unit/runtime/observe/termination-message.test.ts",
      "unit/runtime/observe/termination-share.test.ts",
    ],
  },
  {
    input: "events of one object",
    bounds: {
      "a burst of 25": "status/event-correlator.ts EVENT_BUDGET.burst",
      "one in 5 minutes": "status/event-correlator.ts EVENT_BUDGET.perSecond",
      "500 different events": "status/event-correlator.ts CAPACITY",
    },
    tests: ["component/status/event-correlator.test.ts", "unit/status/event-budget.test.ts"],
  },
  {
    input: "events that wait for the broker",
    bounds: {
      "5,000 Warning": "store/outbox/event-ring.ts DEFAULT_CAPS.Warning",
      "5,000 Normal": "store/outbox/event-ring.ts DEFAULT_CAPS.Normal",
    },
    tests: ["component/store/outbox.test.ts"],
  },
  {
    input: "answers that wait for the broker",
    bounds: {
      "1,000": "store/outbox/responses.ts MAX_ROWS",
      "4 MiB": "store/outbox/responses.ts MAX_BYTES",
    },
    tests: ["component/store/commands.test.ts"],
    notShown: "4 MiB: only the rows are counted in a test",
  },
  {
    input: "depth of a directory tree in a volume",
    bounds: {
      "200 to open": "host/tree/open-beneath.ts MAX_DEPTH",
      "250,000 to give to `fsGroup`": "host/tree/walk-tree.ts MAX_DEPTH",
      "64 held open": "host/tree/remove-tree.ts MAX_DEPTH",
    },
    tests: ["component/volume/sub-path.test.ts", "component/host/large-trees.test.ts"],
    notShown: "250,000: a test makes some thousands only",
  },
  {
    input: "files in a directory of a volume",
    bounds: {
      "4 KiB of names": "host/tree/read-directory.ts PIECE_BYTES",
      "256 files in a step": "host/tree/walk-tree.ts STEP_ENTRIES",
    },
    tests: ["component/host/large-trees.test.ts"],
  },
  {
    input: "time of a call on a volume's file system that hangs; calls that hang",
    bounds: {
      "10 s": "host/helper-process.ts SILENT_MS",
      "4 for files and their pods, 4 for others": "host/helper-process.ts HELPERS.places",
      "2 of one mount": "host/helper-process.ts HELPERS.perMount",
    },
    tests: ["component/volume/remote-volumes.test.ts", "component/host/helper-process.test.ts"],
  },
];

/** Constants `MAX_…` that need no row of their own, and why. */
export const NO_ROWS: Readonly<Record<string, readonly string[]>> = {
  "what the system's own programs say": ["host/logind/logind.ts MAX_BYTES"],
  "between two looks, not a bound of input": ["image/archive/bring-archive.ts MAX_LOOK_MS"],
  "a rule for the value of a field, in a file or document that is bounded as a whole": [
    "api/pod/pod-annotations.ts MAX_BACKOFF_MS",
    "api/pod/update-annotations.ts MAX_SECONDS",
    "api/resource/devices.ts MAX_PATH",
    "api/resource/quantity.ts MAX_DIGITS",
    "api/resource/quantity.ts MAX_UNITS",
    "api/schema/values.ts MAX_INT32",
    "api/v1/container-ports.ts MAX_PORT",
    "api/v1/dns.ts MAX_NAMESERVERS",
    "api/v1/dns.ts MAX_SEARCH_CHARACTERS",
    "api/v1/dns.ts MAX_SEARCH_PATHS",
    "api/v1/key-and-field-refs.ts MAX_FILE_KEY",
    "api/v1/key-and-field-refs.ts MAX_MODE",
    "api/v1/metadata.ts MAX_ANNOTATION_BYTES",
    "api/v1/pod-spec.ts MAX_KERNEL_NAME",
    "api/v1/restart-rules.ts MAX_EXIT_CODE",
    "api/v1/restart-rules.ts MAX_RULES",
    "api/v1/restart-rules.ts MAX_VALUES",
    "api/v1/security-context.ts MAX_APP_ARMOR_PROFILE",
    "api/validation/keys-and-paths.ts MAX_CONFIG_KEY",
    "api/validation/keys-and-paths.ts MAX_PATH",
    "api/validation/keys-and-paths.ts MAX_PATH_NAME",
    "api/validation/sysctls.ts MAX_NAME",
    "api/validation/validate-names.ts MAX_MATCHED",
    "api/validation/validate-names.ts MAX_NAME",
    "api/validation/validate-names.ts MAX_PORT_NAME",
    "api/validation/validate-names.ts MAX_SUBDOMAIN",
    "api/validation/validate-pod.ts MAX_HOST_NAME",
    "api/workload/cron-schedule.ts MAX_SCHEDULE",
    "api/workload/job.ts MAX_COUNT",
    "api/workload/pod-failure-policy.ts MAX_RULES",
    "api/workload/pod-failure-policy.ts MAX_VALUES",
    "api/yaml/text-limits.ts MAX_DIRECTIVE",
    "command/judge-command.ts MAX_GROUP_TTL_SECONDS",
    "command/judge-command.ts MAX_TTL_SECONDS",
    "command/run-verb.ts MAX_ELEMENT",
    "command/verbs.ts MAX_TAIL",
    "image/image-reference.ts MAX_NAME",
    "protocol/desired-state.ts MAX_EPOCH_LENGTH",
    "protocol/mqtt-topics.ts MAX_GROUPS",
    "protocol/mqtt-topics.ts MAX_TOPIC_BYTES",
    "runtime/cri-config/container-sub-paths.ts MAX_PATH",
    "runtime/cri-config/pod-dns.ts MAX_DOMAIN",
    "runtime/cri-config/pod-dns.ts MAX_SEARCHES",
    "runtime/cri-config/pod-dns.ts MAX_SEARCH_CHARACTERS",
    "runtime/cri-config/pod-dns.ts MAX_SERVERS",
    "runtime/cri-config/pod-hosts.ts MAX_FQDN",
    "runtime/cri-config/pod-hosts.ts MAX_HOSTNAME",
    "host/http/download.ts MAX_VALIDATOR",
    "runtime/names/pod-names.ts MAX_LINE_BYTES",
    "source/document/resources.ts MAX_LISTS",
    "source/policy/pod-policy.ts MAX_GRACE_SECONDS",
  ],
  "shortens what is shown of a text that is bounded where it arrives": [
    "api/decode/decode-context.ts MAX_REJECTIONS",
    "api/decode/decoded-item.ts MAX_WORD",
    "api/decode/decode-pod.ts MAX_SHOWN",
    "api/decode/field-errors.ts MAX_MESSAGE",
    "api/decode/field-errors.ts MAX_SHOWN",
    "api/decode/field-path.ts MAX_STEP",
    "api/decode/field-reader.ts MAX_SHOWN",
    "api/yaml/yaml-documents.ts MAX_ERRORS",
    "api/yaml/yaml-documents.ts MAX_MESSAGE",
    "api/yaml/yaml-value.ts MAX_PROBLEMS",
    "api/yaml/yaml-value.ts MAX_SHOWN_KEY",
    "fleet/document/diff.ts MAX_SHOWN",
    "lib/suggest.ts MAX_LENGTH",
    "protocol/wire-text.ts MAX_TEXT_BYTES",
    "runtime/observe/termination-message.ts MAX_QUOTED",
    "runtime/observe/termination-message.ts MAX_RUNTIME_MESSAGE",
    "source/document/refusal.ts MAX_REJECTIONS",
    "status/event-correlator.ts MAX_MESSAGE",
    "status/event-correlator.ts MAX_SIMILAR",
    "trust/verify-signature.ts MAX_TYPE",
  ],
  "a file that root writes, or the agent itself": [
    "host/root-keys.ts MAX_BYTES",
    "host/root-keys.ts MAX_FILES",
    "node/identity.ts MAX_BYTES",
    "store/document/documents.ts MAX_BYTES",
    "store/document/rollouts.ts MAX_BYTES",
    "store/sqlite/native-addon.ts MAX_BYTES",
    "store/start-guard/hands-record.ts MAX_BYTES",
    "store/trust-file.ts MAX_BYTES",
    "upstream/link/connect-options.ts MAX_FILE_BYTES",
  ],
  "memory of what has happened; the oldest is forgotten": [
    "status/event-correlator.ts MAX_BUDGETS",
    "store/commands.ts MAX_ROWS",
    "store/start-guard/hand.ts MAX_COUNTED",
    "upstream/report/publish-events.ts MAX_SENT",
  ],
  "a size of the agent's own steps": [
    "command/log-follower.ts MAX_BYTES",
    "upstream/publish-packets.ts MAX_BATCH_BYTES",
  ],
  "what the runtime, which is root, may answer": ["cri/grpc-connection.ts MAX_MESSAGE"],
  "a time of the agent's own": [
    "config/config.ts MAX_BACKOFF_MS",
    "containerd/containerd-events.ts MAX_WAIT_MS",
    "containerd/pause-image.ts MAX_RETRY_MS",
    "lib/system-clock.ts MAX_TIMER_MS",
    "prober/run-probe.ts MAX_TRIES",
    "rollout/pod-health.ts MAX_CRASHES",
    "host/http/download.ts MAX_RETRY_AFTER_S",
    "source/http/manifest-url.ts MAX_BACKOFF_MS",
    "source/file/file-source.ts MAX_REST_MS",
    "source/workload/cron-decision.ts MAX_AHEAD_MS",
    "source/workload/job-state.ts MAX_BACKOFF_MS",
    "source/workload/next-run.ts MAX_SEARCH_MS",
    "source/file/manifest-settle.ts MAX_SETTLE_MS",
  ],
  "a fixed form": [
    "host/tree/open-beneath.ts MAX_LINKS",
    "mqtt/packet-guard.ts MAX_LENGTH_BYTES",
    "node/node-name.ts MAX_LENGTH",
    "runtime/cgroup/container-resources.ts MAX_SHARES",
  ],
};

/** Who holds each kind of work, so that two deaths in it are noticed (start-guard), and which tests show it. */
export const HANDS: Readonly<
  Record<HandKind, { readonly holders: readonly string[]; readonly tests: readonly string[] }>
> = {
  Document: {
    holders: ["source/document/document-source.ts", "agent/agent.ts"],
    tests: ["component/source-mqtt/guarded-documents.test.ts", "agent/start-guard.test.ts"],
  },
  File: {
    holders: [
      "source/file/manifest-files.ts",
      "source/file/manifest-last-good.ts",
      "source/http/http-source.ts",
    ],
    tests: ["component/source/guarded-files.test.ts", "component/source/http-source.test.ts"],
  },
  Pod: {
    holders: ["podworkers/pod-worker.ts", "podworkers/pod-replacement.ts", "agent/build-pods.ts"],
    tests: ["agent/guarded-pods.test.ts"],
  },
  Removal: {
    holders: ["podworkers/pod-terminator.ts"],
    tests: ["agent/guarded-pods.test.ts", "component/node/housekeeping.test.ts"],
  },
};
