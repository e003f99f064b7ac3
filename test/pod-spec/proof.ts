// Which test shows that a field works.

export interface Proof {
  /** Paths as `agent explain fields` prints them; one that ends with `.*` means everything below it. */
  readonly fields: readonly string[];
  /** `request`: kernel or runtime of the test machine cannot do it, and what is asked of the runtime is compared. */
  readonly proof: "here" | "request";
  /** Path from the root of the repository. */
  readonly test: string;
  /** A piece of the test's title, as its file has it. */
  readonly title: string;
}

/** `below("pod.spec", "hostname", "subdomain")` = both paths in full. */
export function below(parent: string, ...names: readonly string[]): readonly string[] {
  return names.map((name) => `${parent}.${name}`);
}
