// Counts of a JUnit report, as `bun test --reporter=junit` writes it.

export interface TestCounts {
  readonly passed: number;
  readonly failed: number;
  readonly skipped: number;
}

export const NO_TESTS: TestCounts = { passed: 0, failed: 0, skipped: 0 };

export function addCounts(a: TestCounts, b: TestCounts): TestCounts {
  return {
    passed: a.passed + b.passed,
    failed: a.failed + b.failed,
    skipped: a.skipped + b.skipped,
  };
}

/** Counts `<testcase>` elements: the totals in the head differ between versions of the reporter. */
export function countJUnit(xml: string): TestCounts {
  let counts = NO_TESTS;
  for (const [, body = ""] of xml.matchAll(/<testcase\b[^>]*?(?:\/>|>([\s\S]*?)<\/testcase>)/g)) {
    const failed = /<(failure|error)\b/.test(body);
    const skipped = !failed && /<skipped\b/.test(body);
    counts = addCounts(counts, {
      passed: failed || skipped ? 0 : 1,
      failed: failed ? 1 : 0,
      skipped: skipped ? 1 : 0,
    });
  }
  return counts;
}

/** The one line that CI reads. */
export function summary(counts: TestCounts): string {
  const skipped = counts.skipped > 0 ? `, ${counts.skipped} skipped` : "";
  return `${counts.passed} passed, ${counts.failed} failed${skipped}`;
}
