// What the secured API stores: its certificate authorities, the server's certificate, and who may come.

import { boolean, fieldOf, list, objectType, word, type Decoded } from "../../api/schema/codec.ts";
import { readStored } from "../../api/schema/read-value.ts";
import { storedNumber, storedText } from "../../api/schema/stored-fields.ts";
import { exactText } from "../../api/schema/values.ts";
import { parseJson } from "../../lib/json.ts";

const ACCESS = ["Full", "ReadOnly"] as const;
export type Access = (typeof ACCESS)[number];

/** Times in wall-clock ms. */
const ISSUED = {
  certificate: storedText("PEM."),
  key: storedText("Private key, PEM."),
  notAfter: storedNumber("End of the certificate."),
  renewAt: storedNumber("When its successor is due."),
};

const AUTHORITY = objectType("Authority", { id: storedText("Serial number."), ...ISSUED });
export type Authority = Decoded<typeof AUTHORITY>;

const SERVER = objectType("ServerCertificate", {
  ...ISSUED,
  issuer: storedText("Id of the authority."),
  names: list(exactText, { about: "Names and addresses." }),
});
export type ServerCertificate = Decoded<typeof SERVER>;

const CREDENTIAL = {
  user: storedText("Name of the user."),
  access: fieldOf(word(ACCESS), "ReadOnly")({ about: "What the user may do.", required: true }),
};

const PKI = objectType("PkiState", {
  isOpen: boolean({
    about: "Whether the API is open where the configuration has no listen.",
    default: false,
  }),
  names: list(exactText, { about: "Names that --server has added." }),
  authorities: list(AUTHORITY, { about: "The newest is the first." }),
  server: fieldOf(SERVER)({ about: "Certificate of the server." }),
  certificates: list(
    objectType("UserCertificate", {
      ...CREDENTIAL,
      sha256: storedText("Of the certificate, in hexadecimal digits."),
      notAfter: storedNumber("End of the certificate."),
    }),
    { about: "Client certificates that count." },
  ),
  tokens: list(
    objectType("UserToken", {
      ...CREDENTIAL,
      sha256: storedText("Of the token, in hexadecimal digits."),
    }),
    { about: "Tokens that count." },
  ),
});
export type PkiState = Decoded<typeof PKI>;

export const NO_PKI: PkiState = {
  isOpen: false,
  names: [],
  authorities: [],
  certificates: [],
  tokens: [],
};

export function writePki(state: PkiState): string {
  return `${JSON.stringify(PKI.write(state))}\n`;
}

/** undefined = no such text. */
export function readPki(text: Uint8Array): PkiState | undefined {
  return readStored(PKI, parseJson(text));
}
