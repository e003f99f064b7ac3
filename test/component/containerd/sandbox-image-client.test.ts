import { expect, test } from "bun:test";
import type { CriClient } from "../../../src/cri/cri-client.ts";
import { CriError } from "../../../src/cri/cri-error.ts";
import { sandboxImageClient } from "../../../src/containerd/sandbox-image-client.ts";
import { GrpcCode } from "../../../src/lib/grpc-code.ts";

const MISSING =
  'failed to start sandbox "1": failed to get sandbox image "registry.example/pause:3.10": failed to pull image: no such host';

/** Refuses with `details` until the pause image was imported; what was done, in order. */
function runtime(details: string) {
  const done: string[] = [];
  let isHere = false;
  const runPodSandbox: CriClient["runPodSandbox"] = async () => {
    done.push("run");
    if (isHere) return "id";
    throw new CriError({ call: "RunPodSandbox", code: GrpcCode.UNKNOWN, details });
  };
  const cri = sandboxImageClient({ runPodSandbox }, async (image) => {
    done.push(image);
    isHere = true;
  });
  return { cri, done };
}

test("imports the sandbox image that containerd misses under the name it asks for, and tries again", async () => {
  const { cri, done } = runtime(MISSING);
  expect(await cri.runPodSandbox({ config: {} })).toBe("id");
  expect(done).toEqual(["run", "registry.example/pause:3.10", "run"]);
});

test("leaves other failures alone", async () => {
  const { cri, done } = runtime("cni plugin not initialized");
  const error = await cri.runPodSandbox({ config: {} }).catch(String);
  expect(error).toContain("cni plugin not initialized");
  expect(done).toEqual(["run"]);
});
