import { expect, test } from "bun:test";
import fc from "fast-check";
import { parseEnvFile } from "../../../src/runtime/cri-config/env-file.ts";

test("an env file has the values that a shell reads of it", async () => {
  const name = fc.stringMatching(/^[A-Z_][A-Z0-9_]{0,5}$/).map((text) => `E_${text}`);
  const value = fc.string({
    unit: fc.constantFrom(...'ab $(){}#="\\\n\t;&|'.split("")),
    maxLength: 12,
  });
  const variables = fc.uniqueArray(fc.tuple(name, value), {
    selector: ([one]) => one,
    maxLength: 6,
  });
  await fc.assert(
    fc.asyncProperty(variables, async (written) => {
      const text = written.map(([one, of]) => `${one}='${of}'\n`).join("");
      const print = written.map(([one]) => `printf '%s\\0' "$${one}"`).join("; ");
      const shell = Bun.spawn(["sh", "-c", `${text}\n${print || ":"}`]);
      const shown = (await new Response(shell.stdout).text()).split("\0").slice(0, -1);
      const { values } = parseEnvFile(new TextEncoder().encode(text));
      expect([...values.values()]).toEqual(shown);
    }),
    { numRuns: 40 },
  );
});
