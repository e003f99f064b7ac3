// Which nodes the search and the choice of a state leave, in the order of their names.

/** What `key=value` compares beside groups and labels. */
const COLUMNS = ["name", "state", "version", "phase", "ready"];

/** A row with the text that words are looked for in, made once for each change. */
export function searchable(row) {
  const words = [row.name, row.state, row.version, row.phase, ...row.troubles, ...row.labels];
  return { ...row, text: words.join(" ").toLowerCase() };
}

/** The rows that have all words and the state, in the order given. */
export function selectedRows(rows, written, state) {
  const words = written.toLowerCase().split(/\s+/).filter(Boolean);
  if (words.length === 0 && state === "") return rows;
  return rows.filter((row) => isState(row, state) && words.every((word) => hasWord(row, word)));
}

function isState(row, state) {
  if (state === "") return true;
  if (state === "trouble") return row.isTrouble;
  return (row.state === "online") === (state === "online");
}

function hasWord(row, word) {
  const at = word.indexOf("=");
  if (at < 0) return row.text.includes(word);
  const [key, value] = [word.slice(0, at), word.slice(at + 1)];
  if (key === "group" && row.groups.some((group) => group.toLowerCase() === value)) return true;
  if (COLUMNS.includes(key) && String(row[key]).toLowerCase() === value) return true;
  return row.labels.some((label) => label.toLowerCase() === word);
}
