import { describe, expect, test } from "bun:test";
import { parseImageReference } from "../../../src/image/image-reference.ts";
import * as keyring from "../../../src/image/keyring.ts";
import { authsOfSecrets, pullSecretsOf } from "../../../src/image/pull-secrets.ts";
import { aPod } from "../../fakes/a-pod.ts";
import { aSecret, localObjects } from "../../fakes/local-objects.ts";

const JSON_TYPE = "kubernetes.io/dockerconfigjson";
const CFG_TYPE = "kubernetes.io/dockercfg";

/** The credentials in secrets that fit an image. */
function credentialsFor(
  image: ReturnType<typeof parseImageReference>,
  secrets: readonly ReturnType<typeof aSecret>[],
) {
  return keyring.credentialsFor(image, authsOfSecrets(secrets));
}

type Auths = Readonly<Record<string, unknown>>;

const login = (username: string) => ({ username, password: `${username}-password` });
const secretOf = (auths: Auths, name = "s") =>
  aSecret(name, { ".dockerconfigjson": JSON.stringify({ auths }) }, JSON_TYPE);

/** The users that are tried, in order. */
function users(image: string, ...secrets: readonly ReturnType<typeof secretOf>[]) {
  return credentialsFor(parseImageReference(image), secrets).map((found) =>
    "username" in found ? found.username : found,
  );
}

describe("credentials fit an image", () => {
  test.each<[string, string, boolean]>([
    ["registry.example.org", "registry.example.org/team/app:1", true],
    ["https://registry.example.org", "registry.example.org/team/app", true],
    ["http://registry.example.org/v2/", "registry.example.org/team/app", true],
    ["registry.example.org/", "registry.example.org/app", true],
    ["registry.example.org/team", "registry.example.org/team/app", true],
    ["https://registry.example.org/v1/team", "registry.example.org/team/app", true],
    ["registry.example.org/team", "registry.example.org/other/app", false],
    ["registry.example.org/team/app", "registry.example.org/team", false],
    ["registry.example.org", "registry.example.org:5000/app", false],
    ["registry.example.org:5000", "registry.example.org:5000/app", true],
    ["registry.example.org:5000", "registry.example.org:5001/app", false],
    ["*.example.org", "registry.example.org/app", true],
    ["*.example.org", "example.org/app", false],
    ["*.example.org", "a.b.example.org/app", false],
    ["*.*.example.org", "a.b.example.org/app", true],
    ["*.example.org:5000/team", "r.example.org:5000/team/app", true],
    ["reg*y.example.org", "registry.example.org/app", true],
    ["reg?.example.org", "reg1.example.org/app", true],
    ["reg?.example.org", "reg12.example.org/app", false],
    ["*a*b.example.org", "xaxxb.example.org/app", true],
    ["*a*b.example.org", "xaxxbc.example.org/app", false],
    ["10.0.0.5:5000", "10.0.0.5:5000/app", true],
    ["docker.io", "busybox", true],
    ["docker.io/library", "busybox:1", true],
    ["https://index.docker.io/v1/", "busybox", true],
    ["https://index.docker.io/v1/", "team/app", true],
    ["https://index.docker.io/v1/", "docker.io/team/app", true],
    ["https://index.docker.io/v1/", "registry.example.org/app", false],
    ["registry.example.org", "busybox", false],
  ])("%s for %s: %p", (location, image, fits) => {
    expect(users(image, secretOf({ [location]: login("u") }))).toEqual(fits ? ["u"] : []);
  });

  test("the longest name first, then as the secrets stand", () => {
    const first = secretOf({ "r.example.org": login("host"), "r.example.org/team": login("team") });
    const second = secretOf({ "r.example.org": login("other"), "*.example.org": login("any") });
    expect(users("r.example.org/team/app", first, second)).toEqual([
      "team",
      "host",
      "other",
      "any",
    ]);
  });

  test("Docker's own name for its hub counts only if nothing else fits", () => {
    const secret = secretOf({
      "index.docker.io": login("hub"),
      "docker.io/team": login("team"),
    });
    expect(users("team/app", secret)).toEqual(["team"]);
    expect(users("busybox", secret)).toEqual(["hub"]);
  });

  test("a pattern of many stars does not take long", () => {
    const host = `${"a".repeat(60)}.example.org`;
    const secret = secretOf({ [`${"*a".repeat(30)}*b.example.org`]: login("u") });
    expect(users(`${host}/app`, secret)).toEqual([]);
  });
});

describe("an entry", () => {
  const of = (entry: unknown) =>
    credentialsFor(parseImageReference("r.org/app"), [secretOf({ "r.org": entry })]);
  const base64 = (text: string) => new TextEncoder().encode(text).toBase64();

  test.each<[string, unknown, readonly unknown[]]>([
    ["of user and password", login("u"), [login("u")]],
    ["in one word", { auth: base64("u:pass:word") }, [{ username: "u", password: "pass:word" }]],
    [
      "in one word without padding",
      { auth: base64("u:p").replaceAll("=", "") },
      [{ username: "u", password: "p" }],
    ],
    [
      "twice: the word counts",
      { ...login("x"), auth: base64("u:p") },
      [{ username: "u", password: "p" }],
    ],
    [
      "with an identity token",
      { auth: base64("u:p"), identitytoken: "t" },
      [{ identityToken: "t" }],
    ],
    ["with a token of the registry", { registrytoken: "t" }, [{ registryToken: "t" }]],
    ["with an empty word", { ...login("u"), auth: "" }, [login("u")]],
    ["that is no base64", { auth: "***" }, []],
    ["without a colon", { auth: base64("user") }, []],
    ["without a user", { username: "", password: "" }, []],
    ["that is no object", "u:p", []],
    ["that is null", null, []],
  ])("%s", (_, entry, expected) => expect(of(entry)).toEqual(expected as never));
});

describe("secrets of a pod", () => {
  const pod = aPod({ imagePullSecrets: ["old", "gone", "new"] });
  const config = JSON.stringify({ "r.org": login("old") });

  test("are taken in its order; what is not there is named", () => {
    const objects = localObjects({
      secrets: { new: { ".dockercfg": config }, old: { ".dockercfg": config } },
      type: CFG_TYPE,
    });
    const { secrets, unusable } = pullSecretsOf(pod, objects);
    expect(secrets.map(({ metadata }) => metadata.name)).toEqual(["old", "new"]);
    expect(unusable).toEqual(["gone"]);
  });

  test("that are named twice are read once", () => {
    const objects = localObjects({ secrets: { s: { ".dockercfg": config } }, type: CFG_TYPE });
    const pod = aPod({ imagePullSecrets: ["s", "gone", "s", "gone"] });
    const { secrets, unusable } = pullSecretsOf(pod, objects);
    expect(secrets).toHaveLength(1);
    expect(unusable).toEqual(["gone"]);
  });

  test("of the old form are read too", () => {
    const secret = aSecret("old", { ".dockercfg": config }, CFG_TYPE);
    expect(credentialsFor(parseImageReference("r.org/app"), [secret])).toEqual([login("old")]);
  });

  test.each<[string, string, Record<string, string>]>([
    ["of another type", "Opaque", { ".dockercfg": config }],
    ["without their key", JSON_TYPE, { ".dockercfg": config }],
    ["that are no JSON", CFG_TYPE, { ".dockercfg": "{" }],
    ["that are no object", JSON_TYPE, { ".dockerconfigjson": "[]" }],
    ["without auths", JSON_TYPE, { ".dockerconfigjson": "{}" }],
  ])("%s hold no credentials", (_, type, data) => {
    const objects = localObjects({ secrets: { new: data }, type });
    const { secrets, unusable } = pullSecretsOf(aPod({ imagePullSecrets: ["new"] }), objects);
    expect(unusable).toEqual(["new"]);
    expect(credentialsFor(parseImageReference("r.org/app"), secrets)).toEqual([]);
  });
});
