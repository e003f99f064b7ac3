// A unit file of systemd → its sections: repeated keys, continued lines, comments. systemd.syntax(7)

/** Values of each key in the order of the file; an empty value clears those before it. */
export type UnitSection = ReadonlyMap<string, readonly string[]>;
export type UnitFile = ReadonlyMap<string, UnitSection>;

export function readUnitFile(text: string): UnitFile {
  const file = new Map<string, Map<string, readonly string[]>>();
  let section: Map<string, readonly string[]> | undefined;
  for (const line of wholeLines(text)) {
    const [, title] = /^\[([^\]]+)\]$/.exec(line) ?? [];
    if (title !== undefined) {
      section = file.get(title) ?? new Map<string, readonly string[]>();
      file.set(title, section);
      continue;
    }
    const equals = line.indexOf("=");
    if (section === undefined || equals < 1) continue;
    const key = line.slice(0, equals).trim();
    const value = line.slice(equals + 1).trim();
    section.set(key, value === "" ? [] : [...(section.get(key) ?? []), value]);
  }
  return file;
}

/** Without comments and blank lines; a backslash at its end continues a line. */
function wholeLines(text: string): readonly string[] {
  const lines: string[] = [];
  let open = "";
  for (const written of text.split(/\r?\n/)) {
    const line = written.trim();
    if (line.startsWith("#") || line.startsWith(";")) continue;
    if (line.endsWith("\\")) open += `${line.slice(0, -1).trimEnd()} `;
    else {
      const whole = (open + line).trim();
      open = "";
      if (whole !== "") lines.push(whole);
    }
  }
  const last = open.trim();
  return last === "" ? lines : [...lines, last];
}
