// Draws docs/fleet-scale-light.svg and -dark.svg from docs/fleet-scale.json: what grows with the number of nodes, and how.
// After a run: ./build.sh fleet-load --json docs/fleet-scale.json; bun test/docs/draw.ts

import { existsSync, readFileSync } from "node:fs";
import { join, resolve } from "node:path";

import { path, rect, svg, text, THEMES, type Theme } from "../docs/svg.ts";
import type { FleetFigures, FleetResults } from "./results.ts";

const DOCS = resolve(import.meta.dir, "../../docs");
const RESULTS = join(DOCS, "fleet-scale.json");

const WIDTH = 960;
const COLUMNS = 3;
const CELL = { width: 300, height: 190 };
const MARGIN = { left: 44, right: 24, top: 44, bottom: 30 };
const STORM = { top: 420, height: 150 };

interface Curve {
  readonly name: string;
  readonly of: (figures: FleetFigures) => number;
}

interface Chart {
  readonly title: string;
  readonly curves: readonly Curve[];
  readonly budget?: number;
}

const CHARTS: readonly Chart[] = [
  {
    title: "Broker restarted: back, s",
    curves: [
      { name: "half", of: ({ restart }) => restart.half },
      { name: "all", of: ({ restart }) => restart.all },
    ],
  },
  {
    title: "Document accepted by, s",
    curves: [
      { name: "half", of: ({ document }) => document.accepted.half },
      { name: "all", of: ({ document }) => document.accepted.all },
    ],
  },
  {
    title: "… and reported as Healthy, s",
    curves: [
      { name: "half", of: ({ document }) => document.healthy.half },
      { name: "all", of: ({ document }) => document.healthy.all },
    ],
  },
  {
    title: "An operator waits, s",
    curves: [
      { name: "fleet status", of: ({ status }) => status.seconds },
      { name: "a scrape", of: ({ exporter }) => exporter.seconds },
    ],
    budget: 2,
  },
  {
    title: "Memory, MB",
    curves: [
      { name: "fleet status", of: ({ status }) => status.megabytes },
      { name: "broker", of: ({ brokerMegabytes }) => brokerMegabytes },
    ],
    budget: 250,
  },
  {
    title: "Idle node, bytes an hour",
    curves: [{ name: "MQTT", of: ({ idle }) => idle.bytesPerHour }],
  },
];

type Point = readonly [x: number, y: number];

function plot({ figures, machine }: FleetResults, theme: Theme): string {
  const largest = figures.at(-1);
  const shapes = [
    ...CHARTS.flatMap((chart, index) => drawChart(chart, index, { figures, theme })),
    ...(largest === undefined ? [] : storm(largest, theme)),
    text([16, STORM.top + STORM.height + 48], `Measured on ${machine}; nodes without containers.`, {
      fill: theme.muted,
      size: 12,
    }),
  ];
  const title =
    "What grows with the number of nodes on one broker; the table beside it says the same.";
  return svg({ width: WIDTH, height: STORM.top + STORM.height + 64, title, shapes }, theme);
}

interface Drawn {
  readonly figures: readonly FleetFigures[];
  readonly theme: Theme;
}

function drawChart(
  { title, curves, budget }: Chart,
  index: number,
  drawn: Drawn,
): readonly string[] {
  const { figures, theme } = drawn;
  const left = 16 + (index % COLUMNS) * (CELL.width + 12) + MARGIN.left;
  const top = Math.floor(index / COLUMNS) * (CELL.height + 14) + MARGIN.top;
  const width = CELL.width - MARGIN.left - MARGIN.right - 40;
  const height = CELL.height - MARGIN.top - MARGIN.bottom;
  const values = curves.flatMap(({ of }) => figures.map(of));
  const most = niceCeiling(Math.max(...values, budget ?? 0));
  const nodes = figures.map((one) => one.nodes);
  const widest = Math.max(...nodes);
  const at = (count: number, value: number): Point => [
    left + (count / widest) * width,
    top + height - (value / most) * height,
  ];
  const small = { fill: theme.muted, size: 11 } as const;
  const colours = [theme.accent, theme.other];
  return [
    text([left - MARGIN.left + 4, top - 16], title, { fill: theme.text, size: 13, weight: "bold" }),
    rect({ x: left, y: top, width, height }, { fill: theme.panel }),
    text([left - 6, top + 4], `${most}`, { ...small, anchor: "end" }),
    text([left - 6, top + height], "0", { ...small, anchor: "end" }),
    ...nodes.map((count) =>
      text([at(count, 0)[0], top + height + 16], short(count), { ...small, anchor: "middle" }),
    ),
    ...(budget === undefined
      ? []
      : [path([at(0, budget), at(widest, budget)], { stroke: theme.warn, dash: "5 4" })]),
    ...curves.flatMap(({ name, of }, which) => {
      const stroke = colours[which] ?? theme.accent;
      const points = figures.map((one) => at(one.nodes, of(one)));
      const [x, y] = points.at(-1) ?? [0, 0];
      return [
        path(points, { stroke, strokeWidth: 2 }),
        ...points.map(([px, py]) =>
          rect({ x: px - 2.5, y: py - 2.5, width: 5, height: 5 }, { fill: stroke }),
        ),
        text([x + 6, y + (which === 0 ? 4 : -4)], name, { fill: stroke, size: 11 }),
      ];
    }),
  ];
}

function storm({ nodes, restart }: FleetFigures, theme: Theme): readonly string[] {
  const { perSecond } = restart;
  const most = niceCeiling(Math.max(...perSecond));
  const left = 60;
  const width = WIDTH - left - 24;
  const top = STORM.top + 24;
  const height = STORM.height - 24;
  const bar = width / Math.max(1, perSecond.length);
  const small = { fill: theme.muted, size: 11 } as const;
  return [
    text(
      [20, STORM.top + 4],
      `Connections in each second after the broker of ${nodes} nodes is back`,
      {
        fill: theme.text,
        size: 13,
        weight: "bold",
      },
    ),
    rect({ x: left, y: top, width, height }, { fill: theme.panel }),
    text([left - 6, top + 8], `${most}`, { ...small, anchor: "end" }),
    ...perSecond.map((count, second) => {
      const tall = (count / most) * height;
      const box = {
        x: left + second * bar,
        y: top + height - tall,
        width: Math.max(1, bar - 1),
        height: tall,
      };
      return rect(box, { fill: theme.accent });
    }),
    text([left, top + height + 16], "0 s", small),
    text([left + width, top + height + 16], `${perSecond.length} s`, { ...small, anchor: "end" }),
  ];
}

function niceCeiling(value: number): number {
  const unit = 10 ** Math.floor(Math.log10(Math.max(value, 1e-9)));
  const step = [1, 2, 2.5, 5, 10].find((one) => one * unit >= value) ?? 10;
  return Math.round(step * unit * 1_000) / 1_000;
}

function short(count: number): string {
  return count >= 1_000 ? `${count / 1_000}k` : `${count}`;
}

/** The pictures: path and content. */
export function fleetScaleFiles(): ReadonlyMap<string, string> {
  if (!existsSync(RESULTS)) return new Map();
  const results = JSON.parse(readFileSync(RESULTS, "utf8")) as FleetResults;
  return new Map(
    THEMES.map((theme) => [join(DOCS, `fleet-scale-${theme.name}.svg`), plot(results, theme)]),
  );
}
