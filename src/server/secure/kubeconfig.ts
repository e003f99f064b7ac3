// A kubeconfig: how kubectl and every client library reach this node. client-go: clientcmd api/v1.Config

export interface KubeconfigParts {
  /** Of the cluster and the context. */
  readonly nodeName: string;
  readonly server: string;
  /** PEM; undefined = those of the client's system. */
  readonly authorities: string | undefined;
  readonly user: string;
  readonly credential:
    | { readonly type: "Certificate"; readonly certificate: string; readonly key: string }
    | { readonly type: "Token"; readonly token: string };
}

export function kubeconfig({
  nodeName,
  server,
  authorities,
  user,
  credential,
}: KubeconfigParts): object {
  const name = `${user}@${nodeName}`;
  return {
    apiVersion: "v1",
    kind: "Config",
    clusters: [
      {
        name: nodeName,
        cluster: {
          server,
          ...(authorities === undefined
            ? {}
            : { "certificate-authority-data": base64(authorities) }),
        },
      },
    ],
    users: [{ name, user: userOf(credential) }],
    contexts: [{ name, context: { cluster: nodeName, user: name } }],
    "current-context": name,
  };
}

function userOf(credential: KubeconfigParts["credential"]): object {
  switch (credential.type) {
    case "Certificate":
      return {
        "client-certificate-data": base64(credential.certificate),
        "client-key-data": base64(credential.key),
      };
    case "Token":
      return { token: credential.token };
  }
}

function base64(text: string): string {
  return new TextEncoder().encode(text).toBase64();
}

/** As the common name of a certificate; `system:` is Kubernetes' own. */
export function userNameError(name: string): string | undefined {
  if (/^system:/i.test(name)) return 'must not begin with "system:", which is reserved';
  return /^[A-Za-z0-9](?:[\w.@:-]{0,61}[A-Za-z0-9])?$/.test(name)
    ? undefined
    : "must be at most 63 letters, digits, '-', '_', '.', '@' or ':', with a letter or digit at both ends";
}
