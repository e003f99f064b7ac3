// Decides what all copies of a prepared image would have in common although each device should have its own.

import type { AgentConfig } from "../../config/config.ts";

export interface SharedFacts {
  readonly config: Pick<AgentConfig, "mqtt" | "nodeName" | "tlsPrivateKeyFile">;
  readonly keepsClaims: boolean;
  readonly keepsId: boolean;
}

export interface SharedPart {
  readonly what: string;
  readonly remedy: string;
}

const BY_CARD = "remove it here, and put one for each device on its card (docs/provisioning.md)";

export function sharedByCopies({
  config,
  keepsClaims,
  keepsId,
}: SharedFacts): readonly SharedPart[] {
  const { mqtt, nodeName, tlsPrivateKeyFile } = config;
  const parts: (SharedPart | undefined)[] = [
    mqtt?.keyFile === undefined
      ? undefined
      : {
          what: `every copy has the client certificate and key of the broker (mqtt.keyFile ${mqtt.keyFile})`,
          remedy: BY_CARD,
        },
    mqtt?.passwordFile === undefined
      ? undefined
      : {
          what: `every copy has the password of the broker (mqtt.passwordFile ${mqtt.passwordFile})`,
          remedy: BY_CARD,
        },
    tlsPrivateKeyFile === undefined
      ? undefined
      : {
          what: `every copy has the key of the API (tlsPrivateKeyFile ${tlsPrivateKeyFile})`,
          remedy: BY_CARD,
        },
    nodeName === undefined || nodeName.includes("${")
      ? undefined
      : {
          what: `every copy has the name ${nodeName} (nodeName), so all but one are DuplicateIdentity`,
          remedy: "write nodeName: ${serial}, or leave it out",
        },
    keepsClaims
      ? { what: "every copy has the data of claims", remedy: "add --claims if it must not" }
      : undefined,
    keepsId
      ? {
          what: "every copy has the machine ID of this image",
          remedy: "add --machine-id, unless the image is given a new one otherwise",
        }
      : undefined,
  ];
  return parts.filter((part) => part !== undefined);
}
