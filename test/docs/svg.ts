// Draws the pictures of docs/: a few shapes as SVG text, in a light and in a dark theme.

export interface Theme {
  readonly name: "light" | "dark";
  readonly background: string;
  readonly panel: string;
  readonly text: string;
  readonly muted: string;
  readonly line: string;
  readonly accent: string;
  readonly accentSoft: string;
  readonly warn: string;
  readonly other: string;
}

export const THEMES: readonly Theme[] = [
  {
    name: "light",
    background: "#ffffff",
    panel: "#f4f6f8",
    text: "#1f2328",
    muted: "#59636e",
    line: "#d1d9e0",
    accent: "#0b6bcb",
    accentSoft: "#b6d4f3",
    warn: "#c4320a",
    other: "#8250df",
  },
  {
    name: "dark",
    background: "#0d1117",
    panel: "#161b22",
    text: "#e6edf3",
    muted: "#9198a1",
    line: "#30363d",
    accent: "#58a6ff",
    accentSoft: "#1f4a7a",
    warn: "#ff8b5c",
    other: "#bc8cff",
  },
];

const FONT = "system-ui, -apple-system, 'Segoe UI', 'DejaVu Sans', sans-serif";

export interface Picture {
  readonly width: number;
  readonly height: number;
  /** Read aloud instead of the picture. */
  readonly title: string;
  readonly shapes: readonly string[];
}

export function svg({ width, height, title, shapes }: Picture, { background }: Theme): string {
  return [
    `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 ${width} ${height}" width="${width}" height="${height}" role="img" font-family="${FONT}">`,
    `<title>${escaped(title)}</title>`,
    rect({ x: 0, y: 0, width, height }, { fill: background }),
    ...shapes,
    "</svg>",
    "",
  ].join("\n");
}

export interface Box {
  readonly x: number;
  readonly y: number;
  readonly width: number;
  readonly height: number;
}

export interface Paint {
  readonly fill?: string;
  readonly stroke?: string;
  readonly strokeWidth?: number;
  readonly radius?: number;
  readonly dash?: string;
}

export function rect({ x, y, width, height }: Box, paint: Paint): string {
  const place = `x="${number(x)}" y="${number(y)}" width="${number(width)}" height="${number(height)}"`;
  return `<rect ${place} rx="${paint.radius ?? 0}"${painted(paint)}/>`;
}

/** A line through the points; with `arrow` its last point has a head of the stroke's colour. */
export function path(
  points: readonly (readonly [x: number, y: number])[],
  paint: Paint,
  arrow = false,
): string {
  const line = points
    .map(([x, y], index) => `${index === 0 ? "M" : "L"}${number(x)} ${number(y)}`)
    .join(" ");
  const drawn = `<path d="${line}"${painted({ fill: "none", ...paint })}/>`;
  return arrow ? `${drawn}\n${arrowHead(points, paint.stroke ?? "currentColor")}` : drawn;
}

const HEAD_LENGTH = 9;
const HEAD_WIDTH = 4;

function arrowHead(points: readonly (readonly [x: number, y: number])[], colour: string): string {
  const [x, y] = points.at(-1) ?? [0, 0];
  const [fromX, fromY] = points.at(-2) ?? [0, 0];
  const length = Math.hypot(x - fromX, y - fromY);
  const [dx, dy] = [(x - fromX) / length, (y - fromY) / length];
  const [baseX, baseY] = [x - dx * HEAD_LENGTH, y - dy * HEAD_LENGTH];
  const corners = [
    [x, y],
    [baseX - dy * HEAD_WIDTH, baseY + dx * HEAD_WIDTH],
    [baseX + dy * HEAD_WIDTH, baseY - dx * HEAD_WIDTH],
  ];
  const text = corners.map(([cx = 0, cy = 0]) => `${number(cx)},${number(cy)}`).join(" ");
  return `<polygon points="${text}" fill="${colour}"/>`;
}

export interface Lettering {
  readonly size?: number;
  readonly fill: string;
  readonly anchor?: "start" | "middle" | "end";
  readonly weight?: "normal" | "bold";
}

export function text(
  [x, y]: readonly [x: number, y: number],
  written: string,
  { size = 13, fill, anchor = "start", weight = "normal" }: Lettering,
): string {
  return `<text x="${number(x)}" y="${number(y)}" font-size="${size}" text-anchor="${anchor}" font-weight="${weight}" fill="${fill}">${escaped(written)}</text>`;
}

function painted({ fill, stroke, strokeWidth = 1, dash }: Paint): string {
  return [
    fill === undefined ? "" : ` fill="${fill}"`,
    stroke === undefined ? "" : ` stroke="${stroke}" stroke-width="${strokeWidth}"`,
    dash === undefined ? "" : ` stroke-dasharray="${dash}"`,
  ].join("");
}

function number(value: number): string {
  return String(Math.round(value * 10) / 10);
}

function escaped(written: string): string {
  return written.replaceAll("&", "&amp;").replaceAll("<", "&lt;").replaceAll(">", "&gt;");
}
