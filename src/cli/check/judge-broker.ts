// Judges whether the broker can be reached, and whether it accepts this node.

import type { BrokerAnswer } from "./probe-broker.ts";
import type { LoginAnswer } from "./probe-login.ts";
import { broken, fine, type Finding } from "./finding.ts";
import { judgeCertificate } from "./judge-files.ts";

/** What helps, by a part of the error. */
const REMEDIES: readonly (readonly [RegExp, string])[] = [
  [
    /ENOTFOUND|EAI_AGAIN|getaddrinfo|resolve/i,
    "check the name in mqtt.url and the name service (resolvectl)",
  ],
  [/ECONNREFUSED|refused|Failed to connect/i, "start the broker, or correct the port in mqtt.url"],
  [/expired/i, "renew the certificate of the broker, and check the clock of this machine"],
  [/not yet valid/i, "correct the clock of this machine"],
  [/altname|does not match|hostname/i, "use a name in mqtt.url that the broker's certificate has"],
  [
    /self.signed|issuer|verify|unable to get/i,
    "set mqtt.caFile to the CA that has signed the broker's certificate",
  ],
  [
    /certificate required|bad certificate|handshake/i,
    "set mqtt.certFile and mqtt.keyFile to a certificate that the broker accepts",
  ],
  [/ENOENT|EACCES/, "correct mqtt.caFile, mqtt.certFile or mqtt.keyFile"],
];

export function judgeBroker(answer: BrokerAnswer, now: number): readonly Finding[] {
  const { address } = answer;
  if (answer.type === "Failed") {
    const { message } = answer;
    const remedy =
      REMEDIES.find(([pattern]) => pattern.test(message))?.[1] ??
      "check mqtt.url, the network and the firewall";
    return [broken(`no connection to the broker ${address}: ${message}`, remedy)];
  }
  const connected = fine(`the broker ${address} can be reached`);
  if (answer.expires === undefined) return [connected];
  const what = "the certificate of the broker";
  return [connected, judgeCertificate({ what, expiries: [answer.expires] }, now)];
}

/** Of a broker that can be reached. */
export function judgeLogin(answer: LoginAnswer): Finding {
  if (answer === undefined) return fine("the broker accepts this node's credentials");
  return broken(
    `the broker does not accept this node: ${answer.message}`,
    "correct mqtt.username and mqtt.passwordFile, or mqtt.certFile and mqtt.keyFile, or the users of the broker",
  );
}
