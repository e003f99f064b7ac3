// Judges files that decide what this node does or that hold what others must not read, and what is written in them.

import { ownerProblem } from "../../host/file-owner.ts";
import { noticesOf, type ProvisionReport } from "../../provision/report.ts";
import { broken, doubtful, fine, orFine, type Finding } from "./finding.ts";

export interface FileFacts {
  /** The field of the configuration. */
  readonly what: string;
  readonly path: string;
  readonly owner: number;
  /** Permission bits. */
  readonly mode: number;
}

const READABLE_BY_OTHERS = 0o077;

/** A file with a secret: only its owner may read it. */
export function judgeSecretFile({ what, path, owner, mode }: FileFacts, user: number): Finding {
  const bits = (mode & 0o777).toString(8).padStart(4, "0");
  const wrong = ownerProblem(path, { owner, mode }, user);
  if (wrong !== undefined) return broken(`${what} ${path} ${wrong.what}`, wrong.remedy);
  if ((mode & READABLE_BY_OTHERS) !== 0)
    return doubtful(
      `${what} ${path} holds a secret and can be read by others (mode ${bits})`,
      `chmod 600 ${path}`,
    );
  return fine(`${what} ${path} can be read by its owner only`);
}

/** A file or directory that decides what runs: only root may change it. */
export function judgeDecidingFile({ what, path, owner, mode }: FileFacts, user: number): Finding {
  const wrong = ownerProblem(path, { owner, mode }, user);
  if (wrong === undefined) return fine(`only root may change ${what} ${path}`);
  return broken(
    `${what} ${path} ${wrong.what}: who can write there decides what this node runs`,
    wrong.remedy,
  );
}

const DAY_MS = 86_400_000;
const SOON_MS = 30 * DAY_MS;

export interface CertificateFacts {
  /** `the certificate of the broker`, `mqtt.certFile /etc/…`. */
  readonly what: string;
  /** Wall-clock milliseconds. */
  readonly expiries: readonly number[];
}

/** By the clock of this machine. */
export function judgeCertificate({ what, expiries }: CertificateFacts, now: number): Finding {
  const first = Math.min(...expiries);
  if (!Number.isFinite(first)) return broken(`${what} holds no certificate`, "replace it");
  const day = new Date(first).toISOString().slice(0, 10);
  if (first <= now)
    return broken(`${what} has expired on ${day} by this machine's clock`, "renew it");
  const days = Math.floor((first - now) / DAY_MS);
  if (first - now < SOON_MS)
    return doubtful(`${what} expires in ${days} days (${day})`, "renew it");
  return fine(`${what} is valid until ${day}`);
}

export interface TrustFacts {
  readonly path: string;
  readonly keys: number;
  readonly problems: readonly string[];
  /** mqtt.requireSignature, if there is a broker. */
  readonly mustBeSigned: boolean;
}

export function judgeTrust({ path, keys, problems, mustBeSigned }: TrustFacts): readonly Finding[] {
  // Each is a sentence with its remedy after the last semicolon.
  const wrong = problems.map((problem) => {
    const at = problem.lastIndexOf("; ");
    return at < 0
      ? broken(problem, "correct it")
      : broken(problem.slice(0, at), problem.slice(at + 2));
  });
  if (keys === 0 && mustBeSigned)
    wrong.push(
      broken(
        `mqtt.requireSignature is set and ${path} has no key: no document is accepted`,
        `put the public key of the fleet into ${path}/root.pub`,
      ),
    );
  if (wrong.length > 0) return wrong;
  if (keys === 0) return [fine(`no key in ${path}: documents need no signature`)];
  return [fine(`${keys} ${keys === 1 ? "key" : "keys"} in ${path}`)];
}

export interface ManifestFacts {
  readonly path: string;
  readonly files: number;
  /** `file:line:column: field: message`. */
  readonly errors: readonly string[];
  readonly warnings: readonly string[];
}

/** Of each kind. */
const SHOWN = 5;

export function judgeManifests(facts: ManifestFacts): readonly Finding[] {
  const { path, files, errors, warnings } = facts;
  const remedy = `correct it, and check it with agent validate ${path}`;
  const findings = [
    ...errors.slice(0, SHOWN).map((error) => broken(error, remedy)),
    ...rest(errors.length, "errors", remedy, broken),
    ...warnings.slice(0, SHOWN).map((warning) => doubtful(warning, remedy)),
    ...rest(warnings.length, "warnings", remedy, doubtful),
  ];
  if (findings.length > 0) return findings;
  return [fine(`${files} ${files === 1 ? "file" : "files"} in ${path}, all valid`)];
}

function rest(
  count: number,
  what: string,
  remedy: string,
  make: (message: string, remedy: string) => Finding,
): readonly Finding[] {
  return count > SHOWN ? [make(`${count - SHOWN} more ${what} in manifests`, remedy)] : [];
}

/** `report`: what the next start would do; undefined = there is no such directory. */
export function judgeProvisioning(
  directories: readonly string[],
  report: ProvisionReport | undefined,
): readonly Finding[] {
  if (report === undefined)
    return [fine(`nothing is to be taken over: no ${directories.join(", no ")}`)];
  const { directory, taken } = report;
  const problems = noticesOf({ ...report, taken: [] }).map(({ level, message, remedy = AGAIN }) =>
    level === "error" ? broken(message, remedy) : doubtful(message, remedy),
  );
  const pending = taken.map(({ name, target }) =>
    doubtful(
      `${directory}/${name} is not taken over yet; it becomes ${target}`,
      "start the agent again (systemctl restart agent); no pod is restarted",
    ),
  );
  return orFine([...problems, ...pending], `everything in ${directory} is taken over`);
}

const AGAIN = "correct it, and start the agent again";
