// Deliberate bugs of whom the node obeys: signatures, keys, bundles, targets, orders.

import type { Mutation } from "./mutations.ts";

const KEY_SCOPE = "src/trust/key-scope.ts";
const SIGNATURE = "src/trust/verify-signature.ts";
const TRUST = "src/trust/trust.ts";
const BUNDLE = "src/trust/judge-trust-bundle.ts";
const DENIALS = "src/command/judge-command.ts";

export const TRUST_MUTATIONS: readonly Mutation[] = [
  {
    name: "a signature over other bytes is accepted",
    file: SIGNATURE,
    search: "keyid === id && verify(pub, bytes, sig));",
    replacement: "keyid === id && (verify(pub, bytes, sig) || bytes.length > 0));",
  },
  {
    name: "key roles are ignored",
    file: KEY_SCOPE,
    search: "if (!roles.includes(role))",
    replacement: "if (roles.length === 0)",
  },
  {
    name: "node patterns of a key are ignored",
    file: KEY_SCOPE,
    search: "(nodes?.some((glob) => matchesGlob(glob, to.node)) ?? true)",
    replacement: "(nodes?.some((glob) => matchesGlob(glob, to.node) || glob !== to.node) ?? true)",
  },
  {
    name: "root keys sign documents although a TrustBundle is in force",
    file: SIGNATURE,
    search: "if (errors.includes(undefined)) return good;",
    replacement: "if (root !== undefined || errors.includes(undefined)) return good;",
  },
  {
    name: "unsigned documents are accepted although signatures are required",
    file: "src/trust/authenticate-document.ts",
    search: 'if (!keyring.required) return { type: "Opened", payload: message, digest };',
    replacement:
      'if (!keyring.required || keyring.unusable === undefined) return { type: "Opened", payload: message, digest };',
  },
  {
    name: "unsigned documents are accepted while no key is usable",
    file: "src/trust/authenticate-document.ts",
    search: 'if (!keyring.required) return { type: "Opened", payload: message, digest };',
    replacement:
      'if (!keyring.required || keyring.unusable !== undefined) return { type: "Opened", payload: message, digest };',
  },
  {
    name: "signatures are required only while keys are present",
    file: TRUST,
    search: "const required = this.#record.required || this.#mustSign || isMeant;",
    replacement: "const required = this.#found.keys.length > 0 || isMeant;",
  },
  {
    name: "a TrustBundle is not persisted",
    file: TRUST,
    search: '      store.write(record);\n    } catch (error) {\n      log.error("a TrustBundle',
    replacement:
      '      store.write({ required: true });\n    } catch (error) {\n      log.error("a TrustBundle',
  },
  {
    name: "an older TrustBundle is accepted",
    file: BUNDLE,
    search: "if (bundle.version < bundleVersion)",
    replacement: "if (bundle.version < 1)",
  },
  {
    name: "a TrustBundle is accepted from any signer",
    file: BUNDLE,
    search: "if (verifiedBy(envelope, roots, verify).length === 0)",
    replacement: "if (verify === undefined)",
  },
  {
    name: "restored keys are not reloaded",
    file: TRUST,
    search: "if (isStuck) this.#retryLater();\n    if (this.#keyring === before) return;",
    replacement: "if (this.#keyring === before) return;\n    if (isStuck) this.#retryLater();",
  },
  {
    name: "rejected documents are not judged again when keys change",
    file: TRUST,
    search: "    this.#onKeysChanged();\n",
    replacement: "",
  },
  {
    name: "a TrustBundle that arrives before the root keys is dropped",
    file: TRUST,
    search: "if (code === 401) this.#unsigned = message;",
    replacement: "",
  },
  {
    name: "documents for other nodes are accepted",
    file: "src/source/document/target.ts",
    search: "else if (target.node !== undefined && target.node !== address.node)",
    replacement: 'else if (target.node !== undefined && address.node === "")',
  },
  {
    name: "documents for other fleets are accepted",
    file: "src/source/document/target.ts",
    search: "if (target.fleet !== undefined && fleet !== undefined && target.fleet !== fleet)",
    replacement: 'if (target.fleet !== undefined && fleet === "")',
  },
  {
    name: "an older generation is accepted",
    file: "src/source/document/epoch-and-generation.ts",
    search: 'if (arrived.generation > stored.generation) return "Newer";',
    replacement: 'if (arrived.generation !== stored.generation) return "Newer";',
  },
  {
    name: "commands of other sessions are obeyed",
    file: DENIALS,
    search: "if (session !== undefined ? session !== facts.session : signed && !ofGroup)",
    replacement: "if (session === undefined && signed && !ofGroup)",
  },
  {
    name: "a repeated command is obeyed again",
    file: DENIALS,
    search: "  const code = codeOf(id);\n  if (code === undefined) return undefined;",
    replacement:
      "  const code = codeOf(id);\n  if (code === undefined || code > 0) return undefined;",
  },
  {
    name: "unsigned commands are obeyed although signatures are required",
    file: "src/command/authenticate-command.ts",
    search: "if (signed || !signaturesRequired || VERBS[verb].open) return undefined;",
    replacement: "if (signed || !signaturesRequired || !VERBS[verb].open) return undefined;",
  },
  {
    name: "commands for other nodes are obeyed",
    file: DENIALS,
    search: "if (node !== undefined && node !== facts.node)",
    replacement: 'if (node !== undefined && facts.node === "")',
  },
  {
    name: "retained commands are obeyed",
    file: DENIALS,
    search: 'if (message.retain) return ignore("it is retained");',
    replacement: 'if (message.topic === "") return ignore("it is retained");',
  },
  {
    name: "a command for one container restarts all containers",
    file: "src/node/restart-pod.ts",
    search: "const wanted = container === undefined ? names : [container];",
    replacement: "const wanted = container === undefined ? names : names.slice();",
  },
  {
    name: "a withdrawn command is performed",
    file: "src/podworkers/perform-actions.ts",
    search: 'if (isWithdrawn(action, syncState)) return "Withdrawn";',
    replacement: "",
  },
  {
    name: "a restart takes the instance of the order before it for its own",
    file: "src/node/restart-pod.ts",
    search: "workers.get(uid)?.isUnsure === true",
    replacement: "until < 0",
  },
  {
    name: "a command is reported as done too early",
    file: "src/node/restart-pod.ts",
    search: "if (successors.length === running.length) {",
    replacement: "if (successors.length <= running.length) {",
  },
  {
    name: "a good revision of a signed document counts as unsigned",
    file: "src/rollout/good-revision.ts",
    search: "copy.signed === true ? { ...first.desired, signed: true } : first.desired,",
    replacement: "first.desired,",
  },
];
