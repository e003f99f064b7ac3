// How much longer than usual a test waits.

/** Times as long is waited where everything is slow, such as in an emulator: AGENT_TEST_PATIENCE, 1 by default. */
export const PATIENCE = Number(process.env["AGENT_TEST_PATIENCE"] ?? 1);
