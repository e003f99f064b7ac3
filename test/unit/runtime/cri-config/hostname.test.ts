import { describe, expect, test } from "bun:test";
import type { PodSpec } from "../../../../src/api/v1/pod-spec.ts";
import { kernelHostname, podHostname } from "../../../../src/runtime/cri-config/pod-hosts.ts";
import { aPod } from "../../../fakes/a-pod.ts";

const DOMAIN = "cluster.local";
const of = (spec: Partial<PodSpec>, name = "web") => aPod(spec, { name, namespace: "shop" });

describe("a pod is called", () => {
  const cases: Record<string, [Partial<PodSpec>, string, string]> = {
    "by its name": [{}, "web", ""],
    "by its own host name": [{ hostname: "front" }, "front", ""],
    "in its subdomain": [{ subdomain: "sub" }, "web", "sub.shop.svc.cluster.local"],
    "under both": [{ hostname: "front", subdomain: "sub" }, "front", "sub.shop.svc.cluster.local"],
    "as hostnameOverride alone says": [
      { hostname: "front", subdomain: "sub", hostnameOverride: "db.plant.example" },
      "db.plant.example",
      "",
    ],
  };

  test.each(Object.entries(cases))("%s", (_, [spec, hostname, domain]) => {
    expect(podHostname(of(spec), DOMAIN)).toEqual({ hostname, domain });
  });

  test("without a domain of the cluster there is none of the pod", () => {
    expect(podHostname(of({ subdomain: "sub" }), "")).toEqual({ hostname: "web", domain: "" });
  });

  test("by what fits into 63 characters of its name", () => {
    expect(podHostname(of({}, "a".repeat(63)), "").hostname).toBe("a".repeat(63));
    expect(podHostname(of({}, "b".repeat(70)), "").hostname).toBe("b".repeat(63));
  });

  test("never with a dash or a dot at the end", () => {
    expect(podHostname(of({}, `${"a".repeat(60)}-.-b`), "").hostname).toBe("a".repeat(60));
  });
});

describe("the hostname of the kernel is", () => {
  const full = { subdomain: "sub", setHostnameAsFQDN: true };

  test("the short name", () => {
    expect(kernelHostname(of({ subdomain: "sub" }), DOMAIN)).toBe("web");
  });

  test("the full name if the pod asks for it", () => {
    expect(kernelHostname(of(full), DOMAIN)).toBe("web.sub.shop.svc.cluster.local");
  });

  test("the short name if there is no full one", () => {
    expect(kernelHostname(of({ setHostnameAsFQDN: true }), DOMAIN)).toBe("web");
    expect(kernelHostname(of(full), "")).toBe("web");
  });

  test("nothing on the host's network, however long the name would be", () => {
    const spec = { ...full, hostNetwork: true, hostname: "h".repeat(63) };
    expect(kernelHostname(of(spec), DOMAIN)).toBe("");
  });

  test("all 64 characters of hostnameOverride", () => {
    const hostnameOverride = `${"h".repeat(60)}.abc`;
    expect(kernelHostname(of({ hostnameOverride, subdomain: "sub" }), DOMAIN)).toBe(
      hostnameOverride,
    );
  });

  test("a full name of 64 characters, and none of 65", () => {
    const rest = ".sub.shop.svc.cluster.local".length;
    const fits = "h".repeat(64 - rest);
    expect(kernelHostname(of({ ...full, hostname: fits }), DOMAIN)).toHaveLength(64);
    expect(() => kernelHostname(of({ ...full, hostname: `${fits}h` }), DOMAIN)).toThrow(
      `failed to construct FQDN from pod hostname and cluster domain, FQDN ${fits}h.sub.shop.svc.cluster.local is too long (64 characters is the max, 65 characters requested)`,
    );
  });
});
