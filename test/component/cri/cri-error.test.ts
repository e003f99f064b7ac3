import { describe, expect, test } from "bun:test";
import { AgentError } from "../../../src/lib/errors.ts";
import {
  CriError,
  isNameReserved,
  isNetworkNotReady,
  isNotFound,
  isUnimplemented,
} from "../../../src/cri/cri-error.ts";
import { GrpcCode } from "../../../src/lib/grpc-code.ts";

function failure(code: number, details = "x"): CriError {
  return new CriError({ call: "RunPodSandbox", code, details });
}

describe("outcome", () => {
  test.each(Object.entries(GrpcCode))("of %s", (name, code) => {
    const lost = ["CANCELED", "DEADLINE_EXCEEDED", "INTERNAL", "UNAVAILABLE", "DATA_LOSS"];
    expect(failure(code).outcome).toBe(lost.includes(name) ? "unknown" : "refused");
  });
});

test("the reason is the code's name in Kubernetes' spelling", () => {
  expect(failure(GrpcCode.NOT_FOUND).reason).toBe("NotFound");
  expect(failure(GrpcCode.DEADLINE_EXCEEDED).reason).toBe("DeadlineExceeded");
  expect(failure(99).reason).toBe("Unknown");
  expect(failure(GrpcCode.NOT_FOUND, "gone").message).toBe("RunPodSandbox: gone");
});

test("knows containerd's own words", () => {
  const reserved =
    'failed to reserve sandbox name "p_d_u_0": name "p_d_u_0" is reserved for "4ccdd4"';
  const container = 'failed to reserve container name "c_p_d_u_0": name "c_p_d_u_0" is reserved';
  const network =
    'failed to setup network for sandbox "1": cni plugin not initialized: failed to load cni config';
  expect(isNameReserved(failure(GrpcCode.UNKNOWN, reserved))).toBe(true);
  expect(isNameReserved(failure(GrpcCode.UNKNOWN, container))).toBe(true);
  expect(isNameReserved(failure(GrpcCode.UNKNOWN, network))).toBe(false);
  expect(isNetworkNotReady(failure(GrpcCode.UNKNOWN, network))).toBe(true);
  expect(isNetworkNotReady(failure(GrpcCode.UNKNOWN, reserved))).toBe(false);
});

test("an error from elsewhere is none of them", () => {
  const other = new AgentError({ reason: "NotFound", message: "failed to reserve sandbox name" });
  const questions = [isNotFound, isUnimplemented, isNameReserved, isNetworkNotReady];
  for (const question of questions) expect(question(other)).toBe(false);
  expect(isNotFound(failure(GrpcCode.NOT_FOUND))).toBe(true);
  expect(isUnimplemented(failure(GrpcCode.UNIMPLEMENTED))).toBe(true);
  expect(failure(GrpcCode.UNAVAILABLE).outcome).toBe("unknown");
});
