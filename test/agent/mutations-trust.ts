// Deliberate bugs of whom the node obeys: signatures, keys, bundles, targets, orders.

import type { Mutation } from "./mutations.ts";

const KEY_SCOPE = "src/trust/key-scope.ts";
const SIGNATURE = "src/trust/signature-judge.ts";
const TRUST = "src/trust/trust.ts";
const BUNDLE = "src/trust/trust-bundle-judge.ts";
const DENIALS = "src/command/judge-command.ts";

export const TRUST_MUTATIONS: readonly Mutation[] = [
  {
    name: "a signature of anything is one of this",
    file: SIGNATURE,
    search: "keyid === id && verify(pub, bytes, sig));",
    replacement: "keyid === id && (verify(pub, bytes, sig) || bytes.length > 0));",
  },
  {
    name: "who may sign one thing may sign all",
    file: KEY_SCOPE,
    search: "if (!roles.includes(role))",
    replacement: "if (roles.length === 0)",
  },
  {
    name: "a key of some nodes speaks to all",
    file: KEY_SCOPE,
    search: "(nodes?.some((glob) => matchesGlob(glob, to.node)) ?? true)",
    replacement: "(nodes?.some((glob) => matchesGlob(glob, to.node) || glob !== to.node) ?? true)",
  },
  {
    name: "roots sign on beside a bundle",
    file: SIGNATURE,
    search: "if (errors.includes(undefined)) return good;",
    replacement: "if (root !== undefined || errors.includes(undefined)) return good;",
  },
  {
    name: "plain documents count beside keys",
    file: "src/trust/open-document.ts",
    search: 'if (!keyring.required) return { type: "Opened", payload: message, digest };',
    replacement:
      'if (!keyring.required || keyring.unusable === undefined) return { type: "Opened", payload: message, digest };',
  },
  {
    name: "plain documents count while no key can be used",
    file: "src/trust/open-document.ts",
    search: 'if (!keyring.required) return { type: "Opened", payload: message, digest };',
    replacement:
      'if (!keyring.required || keyring.unusable !== undefined) return { type: "Opened", payload: message, digest };',
  },
  {
    name: "signatures are required while there are keys",
    file: TRUST,
    search: "const required = this.#record.required || this.#mustSign || isMeant;",
    replacement: "const required = this.#found.keys.length > 0 || isMeant;",
  },
  {
    name: "a bundle counts in the present process only",
    file: TRUST,
    search: '      store.write(record);\n    } catch (error) {\n      log.error("a TrustBundle',
    replacement:
      '      store.write({ required: true });\n    } catch (error) {\n      log.error("a TrustBundle',
  },
  {
    name: "an older bundle counts again",
    file: BUNDLE,
    search: "if (bundle.version < bundleVersion)",
    replacement: "if (bundle.version < 1)",
  },
  {
    name: "anybody signs bundles",
    file: BUNDLE,
    search: "if (verifiedBy(envelope, roots, verify).length === 0)",
    replacement: "if (verify === undefined)",
  },
  {
    name: "keys that are there again are not looked for",
    file: TRUST,
    search:
      "if (isStuck && this.#retry === undefined) this.#retryLater();\n    if (this.#keyring === before) return;",
    replacement: "if (this.#keyring === before) return;\n    if (isStuck) this.#retryLater();",
  },
  {
    name: "what was refused stays refused under other keys",
    file: TRUST,
    search: "    this.#onKeysChanged();\n",
    replacement: "",
  },
  {
    name: "a bundle that comes before the root keys is lost",
    file: TRUST,
    search: "if (code === 401) this.#unsigned = message;",
    replacement: "",
  },
  {
    name: "documents of other nodes count",
    file: "src/source/document/version.ts",
    search: "else if (target.node !== undefined && target.node !== address.node)",
    replacement: 'else if (target.node !== undefined && address.node === "")',
  },
  {
    name: "documents of other fleets count",
    file: "src/source/document/version.ts",
    search: "if (target.fleet !== undefined && fleet !== undefined && target.fleet !== fleet)",
    replacement: 'if (target.fleet !== undefined && fleet === "")',
  },
  {
    name: "any other generation is a newer one",
    file: "src/source/document/version.ts",
    search: 'if (arrived.generation > stored.generation) return "Newer";',
    replacement: 'if (arrived.generation !== stored.generation) return "Newer";',
  },
  {
    name: "orders of other sessions count",
    file: DENIALS,
    search: "if (session !== undefined ? session !== facts.session : signed && !ofGroup)",
    replacement: "if (session === undefined && signed && !ofGroup)",
  },
  {
    name: "an order counts each time it comes",
    file: DENIALS,
    search: "  const code = codeOf(id);\n  if (code === undefined) return undefined;",
    replacement:
      "  const code = codeOf(id);\n  if (code === undefined || code > 0) return undefined;",
  },
  {
    name: "unsigned orders count beside keys",
    file: DENIALS,
    search: "if (signed || !signaturesRequired || VERBS[verb].open) return undefined;",
    replacement: "if (signed || !signaturesRequired || !VERBS[verb].open) return undefined;",
  },
  {
    name: "orders for other nodes count",
    file: DENIALS,
    search: "if (node !== undefined && node !== facts.node)",
    replacement: 'if (node !== undefined && facts.node === "")',
  },
  {
    name: "retained orders count",
    file: "src/command/judge-message.ts",
    search: 'if (message.retain) return ignore("it is retained");',
    replacement: 'if (message.topic === "") return ignore("it is retained");',
  },
  {
    name: "an order for one container is one for all",
    file: "src/command/pod-commands.ts",
    search: "const wanted = container === undefined ? names : [container];",
    replacement: "const wanted = container === undefined ? names : names.slice();",
  },
  {
    name: "an order outlives its answer",
    file: "src/podworkers/perform-actions.ts",
    search: 'if (isWithdrawn(action, syncState)) return "Withdrawn";',
    replacement: "",
  },
  {
    name: "an order is done before it is",
    file: "src/command/pod-commands.ts",
    search: "if (successors.length === running.length) {",
    replacement: "if (successors.length <= running.length) {",
  },
];
