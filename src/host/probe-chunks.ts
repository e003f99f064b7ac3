// The chunked transfer coding of HTTP/1.1, as far as a probe reads it. Text is latin1: one unit is one byte.

/** More than any size line or trailer that means well. */
const MAX_LINE = 4096;

export class ChunkedBody {
  #expects: "Size" | "Data" | "DataEnd" | "Trailer" | "Nothing" = "Size";
  /** Bytes of the present chunk that are still to come. */
  #left = 0;
  /** A line that is not complete yet. */
  #line = "";
  readonly #append: (text: string) => void;

  constructor(append: (text: string) => void) {
    this.#append = append;
  }

  /** Decodes what came; `Malformed` is for ever. */
  push(text: string): "More" | "Done" | "Malformed" {
    let at = 0;
    while (at < text.length) {
      if (this.#expects === "Nothing") return "Done";
      if (this.#expects === "Data") {
        const piece = text.slice(at, at + this.#left);
        this.#append(piece);
        at += piece.length;
        this.#left -= piece.length;
        if (this.#left === 0) this.#expects = "DataEnd";
        continue;
      }
      const newline = text.indexOf("\n", at);
      this.#line += newline < 0 ? text.slice(at) : text.slice(at, newline);
      if (this.#line.length > MAX_LINE) return "Malformed";
      if (newline < 0) return "More";
      at = newline + 1;
      if (!this.#takeLine(this.#line.replace(/\r$/, ""))) return "Malformed";
      this.#line = "";
    }
    return this.#expects === "Nothing" ? "Done" : "More";
  }

  #takeLine(line: string): boolean {
    if (this.#expects === "DataEnd") {
      this.#expects = "Size";
      return line === "";
    }
    if (this.#expects === "Trailer") {
      if (line === "") this.#expects = "Nothing";
      return true;
    }
    const size = /^([0-9a-f]{1,12})[ \t]*(?:;.*)?$/i.exec(line)?.[1];
    if (size === undefined) return false;
    this.#left = Number.parseInt(size, 16);
    this.#expects = this.#left === 0 ? "Trailer" : "Data";
    return true;
  }
}
