// The manual page of `agent`, in the macros of man(7), from the table of verbs and the declarations of the configuration.

import { AGENT_CONFIGURATION } from "../../config/config.ts";
import type { Verb } from "../define-verb.ts";
import { EXIT_CODES } from "../exit-codes.ts";
import { CONFIG_FILE, PROGRAM_FLAGS, type Flags } from "../flags.ts";
import { flagMeaning, sentence } from "./flag-meaning.ts";

const ENVIRONMENT: Readonly<Record<string, string>> = {
  AGENT_CONFIG: "The configuration file, where --config names none.",
  AGENT_SOCKET: "The socket of the local API, where --socket names none.",
  AGENT_FLEET: "The file of agent fleet with broker, nodes and groups, where --nodes names none.",
  NO_COLOR: "With any value but the empty one there are no colours, where --color asks for none.",
  TERM: "On a terminal named dumb there are no colours.",
};

/** Fields of the configuration whose default is a place. */
const PLACES = ["staticPodPath", "trustPath", "stateDir", "podLogsDir", "socket"];

const EXAMPLES: readonly (readonly [about: string, command: string])[] = [
  ["Check whether this machine can run pods, and start the agent:", "agent check && agent run"],
  [
    "Write a pod, and wait until it is ready:",
    "agent apply -f web.yaml && agent wait pod/web --for=condition=Ready",
  ],
  ["Show why a pod does not run, and what to do:", "agent explain pod/web"],
  ["Follow what a container writes:", "agent logs web -f --tail 20"],
  ["Check manifests without a node:", "agent validate -R manifests/"],
  [
    "Use kubectl:",
    "agent kubeconfig > agent.kubeconfig && kubectl --kubeconfig agent.kubeconfig get pods",
  ],
  ["Complete command lines in this shell:", "source <(agent completion bash)"],
];

export function manPage(verbs: readonly Verb[]): string {
  const lines = [
    `.\\" Written by its generator, from the tables of the verbs: bun test/docs/draw.ts`,
    `.TH AGENT 1 "" "agent" "User Commands"`,
    // Long flags would tear lines apart that end at one place, and a flag is no word to divide.
    ".ad l",
    ".nh",
    ".SH NAME",
    "agent \\- run pods from manifests and MQTT on this machine, without an API server",
    ".SH SYNOPSIS",
    ".B agent",
    "[\\fIflags\\fR] \\fIverb\\fR [\\fIarguments\\fR]",
    ".SH DESCRIPTION",
    text(
      "agent is a kubelet without an API server: agent run makes the pods of manifest files, of a URL and of signed documents over MQTT run on one machine. All other verbs ask the running agent over its local API, or need none; they have the names, flags and messages of kubectl where it has them.",
    ),
    ".PP",
    text("agent help and agent VERB --help show the same as this page."),
    ".SS Flags of every verb",
    ...flagLines(PROGRAM_FLAGS),
    ".SH VERBS",
    ...verbs.flatMap((verb) => verbLines(verb, "agent")),
    ".SH EXIT STATUS",
    ...Object.entries(EXIT_CODES).flatMap(([code, about]) => entry(bold(code), about)),
    ".PP",
    text(
      "agent exec ends with the exit code of its command, and agent diff with 1 for differences and 2 for a refused object.",
    ),
    ".SH ENVIRONMENT",
    ...Object.entries(ENVIRONMENT).flatMap(([name, about]) => entry(bold(name), about)),
    ".SH FILES",
    ...entry(italic(CONFIG_FILE), "The configuration of the agent; without it, the defaults hold."),
    ...PLACES.flatMap(placeLines),
    ".SH EXAMPLES",
    ...EXAMPLES.flatMap(([about, command]) => [
      ".PP",
      text(about),
      ".PP",
      ".RS 4",
      ".nf",
      text(command),
      ".fi",
      ".RE",
    ]),
    ".SH SEE ALSO",
    "\\fBkubectl\\fR(1), \\fBcontainerd\\fR(8), \\fBmosquitto\\fR(8), \\fBsystemctl\\fR(1)",
    ".PP",
    text(
      "agent explain shows each field of a manifest, agent schema prints JSON Schemas, and docs/ of the source has everything else.",
    ),
  ];
  return `${lines.join("\n")}\n`;
}

function placeLines(field: string): readonly string[] {
  const declared = AGENT_CONFIGURATION.level[field];
  const place = declared?.schema()["default"];
  if (declared === undefined || typeof place !== "string") return [];
  const [what = ""] = declared.about.split(" Default: ");
  return entry(italic(place), `${what} Field ${field} of the configuration.`);
}

function verbLines(verb: Verb, above: string): readonly string[] {
  const { usage, aliases = [], description, flags = {}, verbs = [] } = verb;
  const [name = ""] = usage.split(" ");
  const also = aliases.length === 0 ? "" : ` Also ${aliases.join(", ")}.`;
  return [
    `.SS ${quoted(`${above} ${verbs.length > 0 ? name : usage}`)}`,
    text(`${sentence(description)}.${also}`),
    ...flagLines(flags),
    ...verbs.flatMap((below) => verbLines(below, `${above} ${name}`)),
  ];
}

function flagLines(flags: Flags): readonly string[] {
  return Object.entries(flags).flatMap(([usage, flag]) => {
    const whole = typeof flag === "string" ? { description: flag } : flag;
    return entry(
      bold(usage),
      flagMeaning(whole, (word) => word),
    );
  });
}

/** `title` is in macros already. */
function entry(title: string, about: string): readonly string[] {
  return [".TP", title, text(about)];
}

function bold(words: string): string {
  return `\\fB${escaped(words)}\\fR`;
}

function italic(words: string): string {
  return `\\fI${escaped(words)}\\fR`;
}

function quoted(words: string): string {
  return `"${escaped(words).replaceAll('"', "\\(dq")}"`;
}

/** A line that is no request, whatever it begins with. */
function text(words: string): string {
  return escaped(words).replace(/^(?=[.'])/, "\\&");
}

const ESCAPES: Readonly<Record<string, string>> = {
  "\\": "\\e",
  "-": "\\-",
  "…": "...",
  "→": "\\(->",
  "'": "\\(aq",
  "`": "\\(ga",
  "^": "\\(ha",
  "~": "\\(ti",
};

/** Signs that roff reads, or shows otherwise. */
function escaped(words: string): string {
  return words.replaceAll(/[\\\-…→'`^~]/g, (sign) => ESCAPES[sign] ?? sign);
}
