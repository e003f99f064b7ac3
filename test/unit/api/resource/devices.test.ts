import { describe, expect, test } from "bun:test";
import fc from "fast-check";

import {
  deviceErrors,
  deviceResourceError,
  devicesOf,
  isDeviceResource,
  type ContainerDevices,
} from "../../../../src/api/resource/devices.ts";
import { aContainer, aPod } from "../../../fakes/a-pod.ts";

function devices(annotation: string, limits: Record<string, string> = {}): ContainerDevices {
  const annotations: Record<string, string> =
    annotation === "" ? {} : { "agent/devices": annotation };
  const container = aContainer("a", { resources: { limits, requests: {} } });
  return devicesOf(aPod({}, { annotations }), container);
}

const USB = { hostPath: "/dev/ttyUSB0", containerPath: "/dev/ttyUSB0", permissions: "rwm" };
const I2C = { hostPath: "/dev/i2c-1", containerPath: "/dev/i2c-0", permissions: "rw" };

describe("the devices of a container", () => {
  test("are none unless the annotation names them", () => {
    expect(devices("")).toEqual({ devices: [], cdiNames: [] });
  });

  test("come from the pod's annotation, in any spacing", () => {
    expect(devices(" /dev/ttyUSB0 ,/dev/i2c-1:/dev/i2c-0:rw")).toEqual({
      devices: [I2C, USB],
      cdiNames: [],
    });
  });

  test("come from podman's limits", () => {
    const limits = {
      cpu: "1",
      "podman.io/device=/dev/ttyUSB0": "1",
      "podman.io/device=/dev/i2c-1:/dev/i2c-0:wr": "1",
    };
    expect(devices("", limits)).toEqual({ devices: [I2C, USB], cdiNames: [] });
  });

  test("come from podman's requests too, in any number", () => {
    const requests = {
      "podman.io/device=/dev/ttyUSB0": "4",
      "podman.io/device=/dev/i2c-1:/dev/i2c-0:rw": "1",
      "podman.io/device=/dev/snd": "0",
    };
    const limits = { "podman.io/device=/dev/i2c-1:/dev/i2c-0:rw": "2" };
    const container = aContainer("a", { resources: { limits, requests } });
    expect(devicesOf(aPod(), container)).toEqual({ devices: [I2C, USB], cdiNames: [] });
  });

  test("of a limit of nothing are none", () => {
    expect(devices("", { "podman.io/device=/dev/ttyUSB0": "0" }).devices).toEqual([]);
  });

  test("may have permissions without another path", () => {
    expect(devices("/dev/snd:r").devices).toEqual([
      { hostPath: "/dev/snd", containerPath: "/dev/snd", permissions: "r" },
    ]);
  });

  test("may stand elsewhere inside", () => {
    expect(devices("/dev/ttyUSB0:/modem").devices).toEqual([
      { hostPath: "/dev/ttyUSB0", containerPath: "/modem", permissions: "rwm" },
    ]);
  });

  test("of a limit go before those of the pod", () => {
    const limits = { "podman.io/device=/dev/ttyUSB1:/dev/ttyUSB0": "1" };
    expect(devices("/dev/ttyUSB0", limits).devices).toEqual([
      { hostPath: "/dev/ttyUSB1", containerPath: "/dev/ttyUSB0", permissions: "rwm" },
    ]);
  });

  test("with a CDI name are the runtime's to find", () => {
    const limits = { "vendor.com/class=name": "1", "example.com/gpu": "1" };
    expect(devices("", limits)).toEqual({ devices: [], cdiNames: ["vendor.com/class=name"] });
  });

  test("that cannot be read are passed over", () => {
    expect(devices("/etc/passwd,/dev/ttyUSB0").devices).toEqual([USB]);
  });

  test("never reach out of /dev, whatever is written", () => {
    const part = fc.constantFrom("/dev", "/", "..", ".", "x", ":", ",", "rwm", " ", "r", "/etc");
    fc.assert(
      fc.property(fc.array(part, { maxLength: 8 }), (parts) => {
        for (const { hostPath, permissions } of devices(parts.join("")).devices) {
          const [root, dev, ...names] = hostPath.split("/");
          expect([root, dev]).toEqual(["", "dev"]);
          // A name may begin with a dot.
          expect(names.filter((name) => ["", ".", ".."].includes(name))).toEqual([]);
          expect(names).not.toHaveLength(0);
          expect(permissions).toMatch(/^r?w?m?$/);
        }
      }),
    );
  });
});

describe("the annotation", () => {
  test.each(["", "/dev/ttyUSB0", "/dev/a:/dev/b:rwm, /dev/c:rw", "/dev/bus/usb/001"])(
    "may be %j",
    (text) => {
      expect(deviceErrors(text)).toEqual([]);
    },
  );

  const FORM =
    'must be a device such as "/dev/ttyUSB0", "/dev/i2c-1:/dev/i2c-0" or "/dev/x:/dev/y:rw"';
  test.each([
    "ttyUSB0",
    "/dev",
    "/dev/",
    "/etc/passwd",
    "/dev/../etc/passwd",
    "/dev/x:/../y",
    "/dev/x:rwx",
    "/dev/x:rr",
    "/dev/x:",
    "/dev/x:/dev/y:rw:z",
    "/dev/x:rw:/dev/y",
    "/dev/x y",
    "/dev/x\u0000",
  ])("may not be %j", (text) => {
    expect(deviceErrors(text)).toEqual([{ value: text, message: FORM }]);
  });

  test("may not end in a comma", () => {
    expect(deviceErrors("/dev/x,")).toEqual([{ value: "", message: FORM }]);
  });

  test("may not claim a path twice", () => {
    expect(deviceErrors("/dev/x,/dev/y:/dev/x")).toEqual([
      { value: "/dev/y:/dev/x", message: "/dev/x stands here already; keep one of them" },
    ]);
  });

  test("may not name hundreds", () => {
    const text = Array.from({ length: 101 }, (_, index) => `/dev/x${index}`).join(",");
    expect(deviceErrors(text).map(({ message }) => message)).toEqual([
      "must name at most 20 devices; a directory stands for all that are in it",
    ]);
  });
});

describe("the key of a limit", () => {
  test.each([
    ["podman.io/device=/dev/ttyUSB0", true, true],
    ["podman.io/device=/dev/x:/dev/y:rwm", true, true],
    ["podman.io/device=/etc/x", true, false],
    ["podman.io/device=", true, false],
    ["vendor.com/class=name", true, true],
    ["vendor.com/class=", true, false],
    ["class=name", true, false],
    ["cpu", false, false],
    ["vendor.com/gpu", false, false],
  ])("%s: a device %p, and right %p", (resource, isDevice, isRight) => {
    expect(isDeviceResource(resource)).toBe(isDevice);
    if (isDevice) expect(deviceResourceError(resource) === undefined).toBe(isRight);
  });
});
