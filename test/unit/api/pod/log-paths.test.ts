import { expect, test } from "bun:test";
import {
  containerLogPath,
  parsePodLogDirectory,
  podLogDirectory,
} from "../../../../src/api/pod/log-paths.ts";

const pod = { namespace: "default", name: "web", uid: "6f0c-1" };

test("a container's log lies where Kubernetes has it", () => {
  const directory = podLogDirectory("/var/log/pods/", pod);
  expect(`${directory}/${containerLogPath("nginx", 3)}`).toBe(
    "/var/log/pods/default_web_6f0c-1/nginx/3.log",
  );
});

test("a directory is named after its pod", () => {
  const entry = podLogDirectory("", pod).slice(1);
  expect(parsePodLogDirectory(entry)).toEqual(pod);
});

test.each(["", "web", "default_web", "default_web_6f0c_x", "__", "_web_6f0c"])(
  "%j is no pod's directory",
  (entry) => expect(parsePodLogDirectory(entry)).toBeUndefined(),
);
