import { expect, test } from "bun:test";
import { commandEnd } from "../../../../src/cli/stream/command-status.ts";

const causes = [{ reason: "ExitCode", message: "3" }];

test.each([
  ["a success", { status: "Success" }, { type: "Exited", code: 0 }],
  [
    "an exit code",
    { status: "Failure", reason: "NonZeroExitCode", details: { causes } },
    { type: "Exited", code: 3 },
  ],
  [
    "a command that is not there",
    { status: "Failure", reason: "InternalError", message: "no such file" },
    { type: "Failed", message: "no such file" },
  ],
  [
    "an exit code that is none",
    { status: "Failure", reason: "NonZeroExitCode", message: "odd", details: { causes: [] } },
    { type: "Failed", message: "odd" },
  ],
])("%s", (_sentence, status, expected) => {
  expect(commandEnd(JSON.stringify(status))).toEqual(expected as never);
});

test("a connection that ended before is no success", () => {
  expect(commandEnd("")).toMatchObject({ type: "Failed" });
});
