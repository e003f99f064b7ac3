// The link to `agent fleet ui`: a session for the token, requests, and the stream of changes.

import { at, wait } from "./elements.js";

/** Kept for this origin: a cookie alone goes to every port of its host. */
const KEY = "agent-session-key";
const SILENT = "agent fleet ui does not answer; start it again";

/** Exchanges the token for a session. Throws what is wrong with it. */
export async function begin(token) {
  const headers = { authorization: `Bearer ${token}` };
  const { key } = await (await good(fetch("/api/session", { method: "POST", headers }))).json();
  localStorage.setItem(KEY, key);
}

/** Throws an Error with what the command says. */
export async function ask(path, options = {}) {
  const headers = { ...options.headers, [KEY]: localStorage.getItem(KEY) ?? "" };
  return good(fetch(path, { ...options, headers }));
}

export function order(path, body) {
  const headers = { "content-type": "application/json" };
  return ask(path, { method: "POST", headers, body: JSON.stringify(body) });
}

async function good(asked) {
  const answer = await asked.catch(() => {
    throw new Error(SILENT);
  });
  if (answer.ok) return answer;
  const error = new Error((await answer.text()).trim());
  error.status = answer.status;
  throw error;
}

/** Calls `take` with each change, for as long as the page is open. */
export async function follow(take) {
  for (;;) {
    try {
      await untilShown();
      const { body } = await ask("/api/nodes", { signal: whileShown.signal });
      setTrouble("");
      at("door").hidden = true;
      await readAll(body, take);
      setTrouble(SILENT);
    } catch (error) {
      if (!document.hidden) {
        const isOut = error.status === 401;
        at("door").hidden = !isOut;
        setTrouble(isOut ? "" : error.message);
      }
    }
    await wait(2000);
  }
}

/** A browser has six connections to an origin, which all its tabs share. */
let whileShown = new AbortController();

document.addEventListener("visibilitychange", () => {
  if (document.hidden) whileShown.abort();
  else whileShown = new AbortController();
});

async function untilShown() {
  while (document.hidden)
    await new Promise((resolve) =>
      document.addEventListener("visibilitychange", resolve, { once: true }),
    );
}

async function readAll(body, take) {
  const reader = body.pipeThrough(new TextDecoderStream()).getReader();
  for (let rest = ""; ;) {
    const { done, value } = await reader.read().catch(() => ({ done: true }));
    if (done) return;
    const parts = (rest + value).split("\n\n");
    rest = parts.pop();
    for (const part of parts) take(JSON.parse(part.slice("data: ".length)));
  }
}

export function setTrouble(text) {
  at("link").textContent = text;
}

/** For who has the token in a file. */
at("door").addEventListener("submit", (event) => {
  event.preventDefault();
  const field = at("token");
  begin(field.value.trim()).then(
    () => location.reload(),
    () => setTrouble("this is not the token"),
  );
});
