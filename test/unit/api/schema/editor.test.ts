// What an editor shows of a manifest with the schema of `agent schema`: yaml-language-server itself, without its schema store.

import { expect, test } from "bun:test";
import { TextDocument } from "vscode-languageserver-textdocument";
import { getLanguageService } from "yaml-language-server";

import { jsonSchema } from "../../../../src/cli/schema.ts";
import { fixturesIn } from "../fixture-files.ts";

const FOLDER = "file:///etc/agent/manifests/";

/** By line, what the server reports; it is given only the schema that the first line names. */
async function problems(file: string, word: string): Promise<ReadonlyMap<number, string>> {
  const service = getLanguageService({
    schemaRequestService: (uri) =>
      uri === `${FOLDER}${word}.schema.json`
        ? Promise.resolve(JSON.stringify(jsonSchema(word)))
        : Promise.reject(new Error(`no test knows ${uri}`)),
    workspaceContext: { resolveRelativePath: (path, from) => new URL(path, from).href },
  });
  service.configure({ validate: true, schemas: [], yamlVersion: "1.2" });
  const text = `# yaml-language-server: $schema=${word}.schema.json\n${fixture(file).text}`;
  // The server remembers documents by address, so each test has one of its own.
  const document = TextDocument.create(`${FOLDER}${word}-${file}`, "yaml", 1, text);
  const found = await service.doValidation(document, false);
  // The lines of an editor begin at 0, and the first one is not of the fixture.
  return new Map(
    found.map(({ range, message }) => [
      range.start.line,
      typeof message === "string" ? message : message.value,
    ]),
  );
}

function fixture(file: string) {
  const all = [...fixturesIn("invalid"), ...fixturesIn("valid")];
  const found = all.find((one) => one.file === file);
  if (found === undefined) throw new Error(`there is no fixture ${file}`);
  return found;
}

/** Of the errors that reading reports. */
function linesOfErrors(file: string): readonly number[] {
  const errors = fixture(file).beside("errors") ?? "";
  return [...new Set([...errors.matchAll(/^(\d+):/gm)].map(([, line]) => Number(line)))];
}

test.each([
  ["misspelt-in-the-spec.yaml", "pod"],
  ["misspelt-in-a-container.yaml", "pod"],
  ["volumes-host-path.yaml", "pod"],
  ["config-map-keys.yaml", "configmap"],
  ["ports-numbers.yaml", "manifest"],
  ["kind-misspelt.yaml", "manifest"],
])("the problems of %s stand in the lines of its errors", async (file, word) => {
  const found = await problems(file, word);
  expect([...found.keys()].toSorted((a, b) => a - b)).toEqual([...linesOfErrors(file)]);
});

test("the editor names a misspelt field", async () => {
  const found = await problems("misspelt-in-the-spec.yaml", "pod");
  expect(found.get(5)).toBe("Property hostnetwork is not allowed.");
});

test.each([
  ["sidecar-of-every-field.yaml", "pod"],
  ["unknown-fields-beside-sources.yaml", "pod"],
  ["whole-application.yaml", "manifest"],
  ["several-documents.yaml", "manifest"],
  ["kubectl-get-list.yaml", "manifest"],
])("%s has no problems", async (file, word) => {
  expect([...(await problems(file, word))]).toEqual([]);
});
