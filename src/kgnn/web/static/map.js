// The map: a dot for each graph, near those of similar graphs. A click selects one, a rectangle many.

import { byId, make } from "./dom.js";
import { state } from "./page.js";

const NEAR = 14;  // pixels from a dot that still mean it
const FEWEST = 6;  // pixels that make a rectangle
const SHADES = 20;

const canvas = byId("map");
const css = (name) => getComputedStyle(document.documentElement).getPropertyValue(`--${name}`).trim();

// `shown()` is the table, the rows that are found, the names of selected graphs, and what colors them.
export const makeMap = ({ shown, onPick, onRectangle }) => {
  let drag = null;  // the corner where it began, and how far it goes

  const isThere = () => { const { table } = shown(); return Boolean(table && state) && table.x[0] !== null; };
  const place = (row) => {
    const { table } = shown();
    return [(0.5 + 0.47 * table.x[row]) * canvas.clientWidth, (0.5 - 0.47 * table.y[row]) * canvas.clientHeight];
  };

  const coloring = (table, by) => {
    if (by === "label" || by === "prediction") {
      const colors = Object.fromEntries(state.classes.map((each) => [each.name, css(each.color)]));
      return (row) => colors[table[by][row]] ?? css("muted");
    }
    const mixed = Array.from({ length: SHADES + 1 }, (_, at) => `color-mix(in srgb, ${css("s0")} ${100 * at / SHADES}%, ${css("s1")})`);
    return (row) => (table[by][row] === null ? css("muted") : mixed[Math.round(SHADES * table[by][row])]);
  };

  const showLegend = (by) => {
    const key = (color, text) => make("li", { class: `key ${color}` }, text);
    byId("legend").replaceChildren(...(by === "label" || by === "prediction"
      ? [...state.classes.map((each) => key(each.color, each.name)), key("muted", `no ${by}`)]
      : [key("s1", `low ${by}`), key("s0", `high ${by}`)]));
  };

  const draw = () => {
    if (!isThere()) return;
    const { table, rows, selected, by } = shown();
    const ratio = devicePixelRatio || 1, pen = canvas.getContext("2d");
    canvas.width = canvas.clientWidth * ratio;
    canvas.height = canvas.clientHeight * ratio;
    pen.scale(ratio, ratio);
    const color = coloring(table, by), among = new Set(rows), ink = css("ink");
    const radius = Math.max(1.5, Math.min(5.5, 90 / Math.sqrt(table.graph.length)));
    const isLabeled = (row) => table.answer[row] === "label";
    const dot = (row, alpha) => {
      pen.globalAlpha = alpha;
      pen.fillStyle = color(row);
      pen.beginPath();
      pen.arc(...place(row), isLabeled(row) ? 1.25 * radius : radius, 0, 2 * Math.PI);
      pen.fill();
      if (selected.has(table.graph[row])) { pen.strokeStyle = ink; pen.lineWidth = 2; pen.stroke(); }
    };
    table.graph.forEach((_, row) => { if (!among.has(row)) dot(row, 0.08); });
    // Graphs without a label below those with one.
    for (const labeled of [false, true]) for (const row of rows) if (isLabeled(row) === labeled) dot(row, 0.85);
    pen.globalAlpha = 1;
    if (drag) { pen.strokeStyle = css("accent"); pen.setLineDash([5, 4]); pen.strokeRect(drag.x, drag.y, drag.w, drag.h); }
    showLegend(by);
  };

  const nearest = (px, py) => {
    let best = null, least = NEAR ** 2;
    for (const row of shown().rows) {
      const [x, y] = place(row), distance = (x - px) ** 2 + (y - py) ** 2;
      if (distance < least) [best, least] = [row, distance];
    }
    return best;
  };
  const within = ({ x, y, w, h }) => {
    const between = (value, a, b) => value >= Math.min(a, b) && value <= Math.max(a, b);
    return shown().rows.filter((row) => { const [px, py] = place(row); return between(px, x, x + w) && between(py, y, y + h); });
  };

  const at = (event) => { const box = canvas.getBoundingClientRect(); return [event.clientX - box.left, event.clientY - box.top]; };
  canvas.addEventListener("pointerdown", (event) => {
    const [x, y] = at(event);
    drag = { x, y, w: 0, h: 0 };
    canvas.setPointerCapture(event.pointerId);
  });
  canvas.addEventListener("pointermove", (event) => {
    const [x, y] = at(event);
    if (drag) { drag.w = x - drag.x; drag.h = y - drag.y; draw(); return; }
    const { table } = shown(), row = isThere() ? nearest(x, y) : null;
    canvas.title = row === null ? "" : table.name[row];
  });
  canvas.addEventListener("pointerup", (event) => {
    const done = drag;
    drag = null;
    if (!done || !isThere()) return;
    if (Math.abs(done.w) + Math.abs(done.h) >= FEWEST) { onRectangle(within(done), event.shiftKey); return; }
    const row = nearest(done.x, done.y);
    if (row !== null) onPick(row);
  });
  canvas.addEventListener("pointercancel", () => { drag = null; draw(); });
  addEventListener("resize", draw);
  addEventListener("themed", draw);
  matchMedia("(prefers-color-scheme: dark)").addEventListener("change", draw);
  return draw;
};
