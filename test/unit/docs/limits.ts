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
    input:
      "a [provisioning directory](provisioning.md): entries of it and of each directory in it; all its files together, without image archives; one key or certificate; the record of what was taken",
    bounds: {
      "1000 entries": "provision/read-card.ts MAX_CARD_ENTRIES",
      "16 MiB": "provision/read-card.ts MAX_CARD_BYTES",
      "64 KiB": "provision/judge-card.ts MAX_KEY_BYTES",
      "8 MiB": "provision/take-over.ts MAX_PLAN_BYTES",
    },
    tests: ["component/provision/card-limits.test.ts"],
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
    input:
      "CAs in settings of a document; addresses of a broker; settings that are remembered as undone",
    bounds: {
      "16 KiB": "protocol/remote-settings.ts MAX_CA_BYTES",
      "4 addresses": "protocol/broker-url.ts MAX_URLS",
      "5 settings": "upstream/settings/settings-record.ts MAX_UNDONE",
    },
    tests: [
      "unit/protocol/remote-settings.test.ts",
      "unit/upstream/settings/settings-record.test.ts",
    ],
  },
  {
    input: "the binary of an update of the agent; its signature; its address",
    bounds: {
      "512 MiB": "protocol/agent-release.ts MAX_BINARY_BYTES",
      "64 KiB": "self-update/fetch-binary.ts MAX_SIGNATURE_BYTES",
      "2048 characters": "protocol/agent-release.ts MAX_URL",
    },
    tests: [
      "unit/protocol/agent-release.test.ts",
      "component/host/download-file.test.ts",
      "component/self-update/fetch-binary.test.ts",
    ],
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
    input:
      "streams of pods (`exec`, `attach`, `portforward`) at the same time; one WebSocket message; one control frame of SPDY, one answer of the runtime; the Status of a command; what waits for a reader",
    bounds: {
      "128 of one user": "server/stream/stream-places.ts MAX_OF_USER",
      "256 of all": "server/stream/stream-places.ts MAX_OF_ALL",
      "4 MiB": "server/stream/web-socket.ts MAX_MESSAGE",
      "16 KiB": ["server/stream/spdy/spdy-frames.ts MAX_CONTROL", "lib/http-head.ts MAX_HEAD"],
      "64 KiB": "server/stream/command-channels.ts MAX_STATUS",
      "a data frame of 64 KiB": "server/stream/spdy/spdy-stream.ts MAX_DATA",
    },
    tests: ["component/server/streams.test.ts", "unit/server/stream/spdy-frames.test.ts"],
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
    input: "Jobs of one CronJob at a time; those that have ended and are kept, of each kind",
    bounds: {
      "20 Jobs": "source/workload/cron-decision.ts MAX_ACTIVE_JOBS",
      "20 ended Jobs": "api/workload/job.ts MAX_HISTORY",
    },
    tests: [
      "unit/source/workload/cron-decision.test.ts",
      "unit/source/workload/cron-state.test.ts",
    ],
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
    input: "a Rollout of a group",
    bounds: { "16 KiB": "protocol/rollout-order.ts MAX_ROLLOUT_BYTES" },
    tests: ["component/source-mqtt/staged.test.ts"],
  },
  {
    input:
      "sessions of operators; connections of one; one packet; bytes of a connection that wait; the head of a request; the reason of an end",
    bounds: {
      "10": "command/tunnel-commands.ts MAX_SESSIONS",
      "16": "host/tunnel/tunnel.ts MAX_STREAMS",
      "32 KiB": "protocol/tunnel/frames.ts MAX_FRAME_DATA",
      "256 KiB": "host/tunnel/tunnel-stream.ts STREAM_WINDOW",
      "16 KiB": "lib/http-head.ts MAX_HEAD",
      "256 bytes": "protocol/tunnel/frames.ts MAX_REASON_BYTES",
    },
    tests: ["e2e/fleet-session.test.ts", "unit/protocol/tunnel/reliable.test.ts"],
  },
  {
    input:
      "services of a compose file, units of a Quadlet directory; ports of a range; a file that is taken along",
    bounds: {
      "64": [
        "fleet/import/compose-file.ts MAX_SERVICES",
        "fleet/import/quadlet.ts MAX_UNITS",
        "fleet/import/compose-ports.ts MAX_RANGE",
      ],
      "64 KiB": "fleet/import/import.ts MAX_FILE_BYTES",
    },
    tests: ["unit/fleet/import/words.test.ts"],
  },
  {
    input: "sealed Secrets of a document; keys that one is sealed to",
    bounds: {
      "64": "protocol/sealed-secret.ts MAX_SEALED",
      "512": "protocol/sealed-secret.ts MAX_KEYS",
    },
    tests: ["unit/source/document/sealed.test.ts"],
  },
  {
    input: "values of a label in the metrics of `agent fleet exporter`; one of them",
    bounds: {
      "100 values": "fleet/exporter/fleet-metrics.ts MAX_LABEL_VALUES",
      "64 characters": "fleet/exporter/fleet-metrics.ts MAX_LABEL_LENGTH",
    },
    tests: ["unit/fleet/exporter/fleet-metrics.test.ts"],
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
      "8192 characters": "lib/logger.ts LONGEST_LINE",
      "a burst of 2000": "lib/logger.ts JOURNAL_LIMIT.burst",
      "one a second": "lib/logger.ts JOURNAL_LIMIT.perSecond",
      "1024 characters": "lib/logger.ts UNITS_PER_TOKEN",
    },
    tests: ["unit/lib/logger.test.ts"],
  },
  {
    input:
      "connections of the API over TLS; those without a running request; the time until a first request of a known user, and until the next one",
    bounds: {
      "384": "server/secure/connections.ts TLS_LIMITS.most",
      "128": "server/secure/connections.ts TLS_LIMITS.mostWaiting",
      "10 s": "server/secure/connections.ts PATIENCE_MS",
      "120 s": "server/secure/connections.ts IDLE_MS",
    },
    tests: ["component/server/secure-limits.test.ts"],
  },
  {
    input:
      "TLS handshakes of the API: of one address; of all addresses; addresses that are counted separately",
    bounds: {
      "384 at once": "server/secure/handshake-rate.ts HANDSHAKES.ofAddress.burst",
      "20 a second": "server/secure/handshake-rate.ts HANDSHAKES.ofAddress.perSecond",
      "768": "server/secure/handshake-rate.ts HANDSHAKES.all.burst",
      "50": "server/secure/handshake-rate.ts HANDSHAKES.all.perSecond",
      "256": "server/secure/handshake-rate.ts MAX_ADDRESSES",
    },
    tests: ["component/server/secure-limits.test.ts"],
    notShown: "256 addresses: tests have one",
  },
  {
    input:
      "requests of one user over TLS that run at once; of all read-only users; on the unix socket",
    bounds: {
      "128 requests": "server/access/gate.ts MAX_RUNNING",
      "192 requests": "server/access/gate.ts MAX_READ_ONLY",
      "512 requests": "server/access/gate.ts MAX_LOCAL",
    },
    tests: ["component/server/secure-limits.test.ts"],
    notShown: "512 requests of root: the same lines of code as the 128",
  },
  {
    input: "answers to unknown users",
    bounds: {
      "20 at once": "server/access/gate.ts UNKNOWN.burst",
      "one a second": "server/access/gate.ts UNKNOWN.perSecond",
    },
    tests: ["component/server/secure-limits.test.ts"],
  },
  {
    input:
      "the head of a request; the time for its body; the time in which a client takes no more of a whole answer",
    bounds: {
      "32 KiB": "server/http/http-door.ts MAX_HEADER_BYTES",
      "60 s for a body": "server/http/http-door.ts BODY_MS",
      "60 s for a part": "server/http/write-answer.ts STALL_MS",
    },
    tests: ["component/server/secure-limits.test.ts"],
  },
  {
    input: "an object that is sent to the API",
    bounds: {
      "4 MiB": "api/yaml/text-limits.ts BODY_LIMITS.bytes",
      "10,000 nodes": "api/yaml/text-limits.ts BODY_LIMITS.nodes",
    },
    tests: ["component/server/writing.test.ts"],
  },
  {
    input:
      "certificates and tokens of users; names of `agent kubeconfig --server`; names in the server's certificate",
    bounds: {
      "256 users": "server/secure/pki.ts MAX_CREDENTIALS",
      "16 names": "server/secure/pki.ts MAX_EXTRA_NAMES",
      "64 names": "server/secure/plan-pki.ts MAX_NAMES",
    },
    tests: ["component/server/secure-users.test.ts", "unit/server/secure/plan-pki.test.ts"],
  },
  {
    input: "addresses of `agent ui` that count; their time; sessions of browsers; their time",
    bounds: {
      "16 addresses": "server/access/browser-access.ts MAX_TOKENS",
      "120 s": "server/access/browser-access.ts TOKEN_MS",
      "16 sessions": "server/access/browser-access.ts MAX_SESSIONS",
      "12 hours": "server/access/browser-access.ts SESSION_MS",
    },
    tests: [
      "unit/server/access/browser-access.test.ts",
      "component/server/browser-sessions.test.ts",
    ],
  },
  {
    input:
      "a file of a support bundle; all of them, before compression; one answer of the agent; the log of a container; pods that are explained; logs of containers; manifests; files that are counted below a directory",
    bounds: {
      "4 MiB": "cli/support/bundle.ts MAX_FILE_BYTES",
      "64 MiB": "cli/support/bundle.ts MAX_BUNDLE_BYTES",
      "16 MiB": "cli/support/bundle-context.ts MAX_ANSWER_BYTES",
      "512 KiB": "cli/support/agent-parts.ts MAX_LOG_BYTES",
      "200 pods": "cli/support/agent-parts.ts MAX_PODS",
      "500 logs": "cli/support/agent-parts.ts MAX_LOGS",
      "1,000 manifests": "cli/support/machine-parts.ts MAX_MANIFESTS",
      "100,000 files": "cli/support/machine-parts.ts MAX_COUNTED",
    },
    tests: ["unit/cli/support-bundle.test.ts", "component/cli/support-bundle.test.ts"],
    notShown: "numbers of pods, logs, manifests and files: each ends a loop",
  },
  {
    input: "log lines about unknown users of the API",
    bounds: { "5 at once": "server/access/gate.ts LOGGED.burst" },
    names: ["one in a minute"],
    tests: ["component/server/secure-limits.test.ts"],
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
  {
    input:
      "nodes on the page of `agent fleet ui`; a text, and a list about one node; removed nodes that are remembered; open pages; connections; headers",
    bounds: {
      "50,000 nodes": "fleet/ui/fleet-view.ts MAX_NODES",
      "200 characters": "fleet/ui/node-row.ts MAX_CELL",
      "200 entries": "fleet/ui/node-row.ts MAX_LIST",
      "1000 nodes": "fleet/ui/fleet-view.ts MAX_REMOVED",
      "16 pages": "fleet/ui/ui-server.ts MAX_STREAMS",
      "128 connections": "fleet/ui/ui-server.ts MAX_CONNECTIONS",
      "16 KiB": "fleet/ui/ui-server.ts MAX_HEADER_BYTES",
    },
    tests: ["unit/fleet/ui/fleet-view.test.ts", "component/fleet/ui.test.ts"],
    notShown: "connections and headers: the platform's own bounds",
  },
  {
    input:
      "groups on the page of `agent fleet ui`; steps of a rollout; failed nodes that are named; lines of its history; kept generations that are named; events of a node, and nodes whose events are kept",
    bounds: {
      "200 groups": "fleet/ui/rollouts.ts MAX_GROUPS",
      "20 steps": "fleet/ui/rollout-row.ts MAX_STEPS",
      "100 nodes": "fleet/ui/rollout-row.ts MAX_FAILED",
      "100 lines": "fleet/ui/rollout-log.ts MAX_LOG",
      "20 generations": "fleet/ui/rollouts.ts MAX_KEPT",
      "100 events": "fleet/ui/recent-events.ts MAX_EVENTS",
      "1000 nodes": "fleet/ui/recent-events.ts MAX_EVENT_NODES",
    },
    tests: ["unit/fleet/ui/rollout-row.test.ts"],
    notShown: "groups and kept generations: both are cut from a sorted list",
  },
  {
    input:
      "an order on the page of `agent fleet ui`; actions under way, and the lines of one; logs that are asked for, and the lines and characters of one; a token in a file",
    bounds: {
      "4 KiB": "fleet/ui/ui-server.ts MAX_BODY_BYTES",
      "8 actions": "fleet/ui/rollout-actions.ts MAX_ACTIONS",
      "50 lines": "fleet/ui/rollout-actions.ts MAX_LINES",
      "4 logs": "fleet/ui/node-logs.ts MAX_LOG_COMMANDS",
      "2000 lines": "fleet/ui/node-logs.ts MAX_LOG_LINES",
      "1 MiB": "fleet/ui/node-logs.ts MAX_LOG_LENGTH",
      "16 characters": "fleet/http/token-file.ts MIN_TOKEN_LENGTH",
    },
    tests: ["component/fleet/ui.test.ts"],
    notShown: "actions, lines and logs: orders of a person who has the session",
  },
];

/** Constants `MAX_…` that need no row of their own, and why. */
export const NO_ROWS: Readonly<Record<string, readonly string[]>> = {
  "of the local API, whose clients are users of this node": [
    "cli/process-io.ts MAX_WAITING",
    "server/logs/log-start.ts MAX_LINE",
    "server/logs/pod-logs.ts MAX_POLL_MS",
  ],
  "series of one metric, whose labels are names of what runs here": ["lib/meter.ts MAX_SERIES"],
  "what the system's own programs say": ["host/logind/logind.ts MAX_BYTES"],
  "of the API's connections, whose users are authenticated": [],
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
    "api/window/maintenance-window.ts MAX_WINDOWS",
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
  "a request on the local API, whose body has the limits of a manifest file": [
    "cli/write/unified-diff.ts MAX_PAIRS",
    "server/kube/write/field-manager.ts MAX_CONFLICTS",
    "server/kube/write/identify-object.ts MAX_BASE",
    "server/kube/write/judge-object.ts MAX_ROUNDS",
    "server/kube/write/manifest-store.ts MAX_FILE_NAME",
    "server/kube/write/protobuf-body.ts MAX_VARINT_BYTES",
    "server/kube/write/shown-object.ts MAX_WARNING",
    "server/kube/write/shown-object.ts MAX_WARNINGS",
    "server/kube/write/write-options.ts MAX_MANAGER",
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
    "node/identity/identity.ts MAX_BYTES",
    "store/document/documents.ts MAX_BYTES",
    "store/document/rollouts.ts MAX_BYTES",
    "store/check/check-state-files.ts MAX_BYTES",
    "store/run-marker.ts MAX_BYTES",
    "store/sqlite/native-addon.ts MAX_BYTES",
    "store/start-guard/hands-record.ts MAX_BYTES",
    "store/trust-file.ts MAX_BYTES",
    "upstream/link/connect-options.ts MAX_FILE_BYTES",
  ],
  "memory of what has happened; the oldest is forgotten": [
    "server/kube/watch-cache.ts MAX_CHANGES",
    "api/workload/wall-time.ts MAX_FORMATS",
    "status/event-correlator.ts MAX_BUDGETS",
    "store/commands.ts MAX_ROWS",
    "store/start-guard/hand.ts MAX_COUNTED",
    "upstream/report/publish-events.ts MAX_SENT",
  ],
  "a size of the agent's own steps": [
    "server/access/gate.ts MAX_LOGGED",
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
    "upstream/settings/settings-record.ts MAX_STARTS",
    "rollout/pod-health.ts MAX_CRASHES",
    "host/http/download.ts MAX_RETRY_AFTER_S",
    "source/http/manifest-url.ts MAX_BACKOFF_MS",
    "source/file/file-source.ts MAX_REST_MS",
    "source/workload/cron-decision.ts MAX_AHEAD_MS",
    "source/workload/job-state.ts MAX_BACKOFF_MS",
    "api/workload/next-run.ts MAX_SEARCH_MS",
    "source/file/manifest-settle.ts MAX_SETTLE_MS",
  ],
  "files that root writes, or the agent itself": [
    "provision/prepared-mark.ts MAX_PREPARED_BYTES",
    "server/secure/pki-file.ts MAX_BYTES",
    "store/settings-file.ts MAX_BYTES",
    "server/secure/server-certificate.ts MAX_BYTES",
    "server/socket-group.ts MAX_BYTES",
  ],
  "the length of a message about what was bounded before": [
    "node/event-recorder.ts MAX_NOTICES",
    "provision/report.ts MAX_MESSAGE",
  ],
  "a fixed form": [
    "config/listen-config.ts MAX_GROUP",
    "server/secure/plan-pki.ts MAX_AUTHORITIES",
    "host/tree/open-beneath.ts MAX_LINKS",
    "mqtt/packet-guard.ts MAX_LENGTH_BYTES",
    "node/identity/node-name.ts MAX_LENGTH",
    "runtime/cgroup/container-resources.ts MAX_SHARES",
  ],
};

/** Who holds each kind of work, so that two deaths in it are noticed (start-guard), and which tests show it. */
export const HANDS: Readonly<
  Record<HandKind, { readonly holders: readonly string[]; readonly tests: readonly string[] }>
> = {
  Document: {
    holders: ["source/document/document-source.ts", "agent/sync-handler.ts"],
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
