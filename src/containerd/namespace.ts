// The tenant of containerd that its CRI plugin owns; containerd reads it from a header of each call.

export const CRI_NAMESPACE = "k8s.io";

export const CRI_NAMESPACE_HEADERS = { "containerd-namespace": CRI_NAMESPACE } as const;
