// Draws docs/flow-light.svg and -dark.svg: how a manifest or a document becomes containers, and what goes back.

import { path, rect, svg, text, type Theme } from "./svg.ts";

const WIDTH = 900;
const HEIGHT = 330;
const BOX_WIDTH = 144;
const BOX_HEIGHT = 54;

interface Station {
  /** Centre of the box. */
  readonly at: readonly [x: number, y: number];
  readonly name: string;
  readonly about: string;
  /** Part of the agent; the others are its neighbours. */
  readonly own: boolean;
}

const STATIONS = {
  files: { at: [90, 50], name: "manifests/*.yaml", about: "on the disk", own: false },
  broker: { at: [90, 250], name: "MQTT broker", about: "retained messages", own: false },
  merge: { at: [300, 110], name: "merge", about: "files win over MQTT", own: true },
  loop: { at: [470, 110], name: "sync loop", about: "one order of events", own: true },
  workers: { at: [640, 110], name: "pod workers", about: "one for each pod", own: true },
  containerd: { at: [810, 110], name: "containerd", about: "CRI and its events", own: false },
  status: { at: [640, 250], name: "pod status", about: "what is true", own: true },
  outbox: { at: [385, 250], name: "outbox", about: "SQLite", own: true },
} as const satisfies Readonly<Record<string, Station>>;

export function flowPicture(theme: Theme): string {
  const frame = { x: 215, y: 22, width: 510, height: HEIGHT - 44 };
  const title =
    "Manifests and MQTT documents are merged; the sync loop gives each pod to its worker; the worker calls containerd; the pod status goes through the outbox to the broker.";
  const shapes = [
    rect(frame, { fill: theme.panel, stroke: theme.line, radius: 10 }),
    text([frame.x + frame.width - 14, HEIGHT - 34], "agent", {
      fill: theme.muted,
      anchor: "end",
      weight: "bold",
    }),
    ...arrows(theme),
    ...Object.values(STATIONS).flatMap((station) => drawn(station, theme)),
  ];
  return svg({ width: WIDTH, height: HEIGHT, title, shapes }, theme);
}

function arrows(theme: Theme): readonly string[] {
  const { files, broker, merge, loop, workers, containerd, status, outbox } = STATIONS;
  const [halfWidth, halfHeight] = [BOX_WIDTH / 2, BOX_HEIGHT / 2];
  const paint = { stroke: theme.muted, strokeWidth: 1.8 };
  const arrow = (...points: readonly (readonly [number, number])[]): string =>
    path(points, paint, true);
  const label = (x: number, y: number, written: string): string =>
    text([x, y], written, { fill: theme.muted, size: 12, anchor: "middle" });
  const beside = (from: Station, to: Station): string =>
    arrow([from.at[0] + halfWidth, from.at[1]], [to.at[0] - halfWidth, to.at[1]]);
  const loopTop = loop.at[1] - halfHeight;
  const eventsY = 52;
  return [
    arrow(
      [files.at[0] + halfWidth, files.at[1]],
      [merge.at[0] - 40, files.at[1]],
      [merge.at[0] - 40, merge.at[1] - halfHeight],
    ),
    arrow(
      [broker.at[0], broker.at[1] - halfHeight],
      [broker.at[0], merge.at[1] + 12],
      [merge.at[0] - halfWidth, merge.at[1] + 12],
    ),
    label(broker.at[0] + 62, 176, "desired documents"),
    beside(merge, loop),
    beside(loop, workers),
    beside(workers, containerd),
    arrow(
      [containerd.at[0], containerd.at[1] - halfHeight],
      [containerd.at[0], eventsY],
      [loop.at[0], eventsY],
      [loop.at[0], loopTop],
    ),
    label((loop.at[0] + containerd.at[0]) / 2 - 30, eventsY - 8, "events, and a slow relist"),
    arrow([workers.at[0], workers.at[1] + halfHeight], [status.at[0], status.at[1] - halfHeight]),
    arrow([status.at[0] - halfWidth, status.at[1]], [outbox.at[0] + halfWidth, outbox.at[1]]),
    arrow(
      [outbox.at[0] - halfWidth, outbox.at[1] + 14],
      [broker.at[0] + halfWidth, broker.at[1] + 14],
    ),
    label(266, broker.at[1] + 34, "reported, events"),
  ];
}

function drawn({ at: [x, y], name, about, own }: Station, theme: Theme): readonly string[] {
  const box = { x: x - BOX_WIDTH / 2, y: y - BOX_HEIGHT / 2, width: BOX_WIDTH, height: BOX_HEIGHT };
  const stroke = own ? theme.accent : theme.muted;
  return [
    rect(box, { fill: theme.background, stroke, strokeWidth: 1.5, radius: 8 }),
    text([x, y - 3], name, { fill: theme.text, size: 14, anchor: "middle", weight: "bold" }),
    text([x, y + 15], about, { fill: theme.muted, size: 12, anchor: "middle" }),
  ];
}
