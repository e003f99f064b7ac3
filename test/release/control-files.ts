// The files by which dpkg knows the package: control, conffiles, checksums, maintainer scripts, and Debian's changelog.

import { createHash } from "node:crypto";

import postinst from "./debian/postinst.sh" with { type: "text" };
import postrm from "./debian/postrm.sh" with { type: "text" };
import preinst from "./debian/preinst.sh" with { type: "text" };
import prerm from "./debian/prerm.sh" with { type: "text" };
import { PACKAGE, type Entry } from "./package-tree.ts";

export interface ControlFacts {
  readonly version: string;
  readonly architecture: "amd64" | "arm64";
  /** `Name <address>` */
  readonly maintainer: string;
  /** Seconds since 1970. */
  readonly time: number;
}

/** The libraries' versions are those whose symbols Bun and SQLite's addon use; the test compares them. */
export const DEPENDS = [
  "containerd (>= 1.6~) | containerd.io (>= 1.6)",
  "libc6 (>= 2.34)",
  "libgcc-s1 (>= 3.0)",
  "libstdc++6 (>= 11)",
] as const;

/** Pods have no network without the plugins, and no ports of the host without iptables. */
const RECOMMENDS = ["ca-certificates", "containernetworking-plugins", "iptables", "runc"] as const;
const SUGGESTS = ["bash-completion", "mosquitto-clients"] as const;

export const MAINTAINER_SCRIPTS = { preinst, postinst, prerm, postrm } as const;

export function controlText(facts: ControlFacts, entries: readonly Entry[]): string {
  return `Package: ${PACKAGE}
Version: ${facts.version}
Architecture: ${facts.architecture}
Maintainer: ${facts.maintainer}
Installed-Size: ${installedKiB(entries)}
Depends: ${DEPENDS.join(", ")}
Recommends: ${RECOMMENDS.join(", ")}
Suggests: ${SUGGESTS.join(", ")}
Section: admin
Priority: optional
Description: runs Kubernetes pods on one machine, without an API server
 A kubelet for devices: it runs pods from manifests in /etc/agent/manifests
 and from MQTT messages through containerd, keeps them running without a
 network, and reports over MQTT what really runs.
 .
 Updates that do not prove themselves are taken back by the node itself, and
 documents can be signed.
`;
}

export function conffilesText(entries: readonly Entry[]): string {
  return entries
    .flatMap((entry) => (entry.type === "File" && entry.isConffile === true ? [entry.path] : []))
    .map((path) => `${path}\n`)
    .join("");
}

/** Conffiles are not in it: dpkg keeps their sums itself. */
export function md5sumsText(entries: readonly Entry[]): string {
  return entries
    .flatMap((entry) => {
      if (entry.type !== "File" || entry.isConffile === true) return [];
      const sum = createHash("md5").update(entry.content).digest("hex");
      return [`${sum}  ${entry.path.slice(1)}\n`];
    })
    .join("");
}

export function changelogText({ version, maintainer, time }: ControlFacts): string {
  return `${PACKAGE} (${version}) stable; urgency=medium

  * What is new stands in /usr/share/doc/${PACKAGE}/CHANGELOG.md.gz.

 -- ${maintainer}  ${debianDate(time)}
`;
}

/** RFC 5322, in UTC. */
function debianDate(time: number): string {
  return new Date(time * 1000).toUTCString().replace("GMT", "+0000");
}

/** As dpkg-gencontrol counts: each file in whole KiB, each directory one. */
function installedKiB(entries: readonly Entry[]): number {
  return entries.reduce(
    (sum, entry) =>
      sum + (entry.type === "Directory" ? 1 : Math.ceil(Buffer.byteLength(entry.content) / 1024)),
    0,
  );
}
