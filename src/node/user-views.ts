// What `/kubeconfig` answers, as far as the command reads it.

import { fieldOf, integer, listOf, objectType } from "../api/schema/codec.ts";
import { exactText } from "../api/schema/values.ts";
import { isView, TEXT } from "./api-views.ts";

const MAYBE_TEXT = fieldOf(exactText)({ about: "Read by this command." });

export interface KubeconfigView {
  readonly config: object;
  readonly notes: readonly string[];
}

export interface UsersView {
  /** undefined = the API over TLS is closed. */
  readonly listen?: string;
  readonly items: readonly {
    readonly user: string;
    readonly access: string;
    readonly credential: string;
    readonly notAfter?: string;
  }[];
}

/** An address of the page that works once. */
export interface BrowserAddressView {
  readonly url: string;
  /** Until it is void. */
  readonly seconds: number;
  readonly notes: readonly string[];
}

const REQUIRED = { about: "Read by this command.", required: true, keep: true } as const;
const KUBECONFIG = objectType("Kubeconfig", {
  config: fieldOf(objectType("Config", {}))(REQUIRED),
  notes: fieldOf(listOf(exactText), [])(REQUIRED),
});
const BROWSER_ADDRESS = objectType("BrowserAddress", {
  url: TEXT,
  seconds: integer(REQUIRED),
  notes: fieldOf(listOf(exactText), [])(REQUIRED),
});
const USER = objectType("User", {
  user: TEXT,
  access: TEXT,
  credential: TEXT,
  notAfter: MAYBE_TEXT,
});
const USERS = objectType("UserList", {
  listen: MAYBE_TEXT,
  items: fieldOf(listOf(USER), [])(REQUIRED),
});

export const isKubeconfig = isView<KubeconfigView>(KUBECONFIG);
export const isBrowserAddress = isView<BrowserAddressView>(BROWSER_ADDRESS);
export const isUsers = isView<UsersView>(USERS);
