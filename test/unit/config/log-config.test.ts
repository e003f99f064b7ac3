import { describe, expect, test } from "bun:test";
import { decodeConfig } from "../../../src/config/config.ts";
import { nodeLogsLimit } from "../../../src/config/log-config.ts";

function decoded(document: object) {
  const result = decodeConfig(document);
  if (!result.ok) throw new Error(JSON.stringify(result.errors));
  return result.value;
}

function refused(document: object): readonly string[] {
  const result = decodeConfig(document);
  return result.ok
    ? []
    : result.errors.map(
        ({ path, message }) => `${path}: ${message.replace(/^Invalid value: [^:]*: /, "")}`,
      );
}

describe("the configuration of logs", () => {
  test("is read in bytes and milliseconds", () => {
    const config = decoded({
      containerLogMaxSize: "5Mi",
      containerLogMaxFiles: 3,
      containerLogMaxWorkers: 2,
      containerLogMonitorInterval: "5s",
      podLogsMaxSize: "30M",
      nodeLogsMaxSize: "1Gi",
    });
    expect(config).toMatchObject({
      containerLogMaxSize: 5 * 1024 ** 2,
      containerLogMaxFiles: 3,
      containerLogMaxWorkers: 2,
      containerLogMonitorInterval: 5000,
      podLogsMaxSize: 30_000_000,
      nodeLogsMaxSize: { type: "Bytes", bytes: 1024 ** 3 },
    });
  });

  test.each([
    [{ containerLogMaxSize: "1Ki" }, "containerLogMaxSize: must be at least 4Ki"],
    [{ containerLogMaxSize: "-1" }, "containerLogMaxSize: must be greater than or equal to 0"],
    [{ containerLogMaxFiles: 1 }, "containerLogMaxFiles: must be between 2 and 1000, inclusive"],
    [{ containerLogMonitorInterval: "1s" }, "containerLogMonitorInterval: must be at least 3s"],
    [{ containerLogMaxWorkers: 0 }, "containerLogMaxWorkers: must be between 1 and 64, inclusive"],
    [{ podLogsMaxSize: 4096 }, "podLogsMaxSize: must be at least 1Mi"],
    [{ nodeLogsMaxSize: "0%" }, "nodeLogsMaxSize: must be between 1% and 99%"],
    [{ nodeLogsMaxSize: "12Ki" }, "nodeLogsMaxSize: must be at least 1Mi"],
  ])("refuses %j", (document, message) => {
    expect(refused(document)).toEqual([message]);
  });

  test("limits all logs to a share of the disk, if its size is known", () => {
    const { nodeLogsMaxSize } = decoded({});
    expect(nodeLogsLimit(nodeLogsMaxSize, 4e9)).toBe(4e8);
    expect(nodeLogsLimit(nodeLogsMaxSize, undefined)).toBe(Number.POSITIVE_INFINITY);
    expect(nodeLogsLimit({ type: "Bytes", bytes: 5 }, 4e9)).toBe(5);
  });
});
