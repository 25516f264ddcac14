// The curve of expected accuracy against labels.

import { percent } from "./dom.js";

export const curve = (points, width) => {
  const [W, H, L, B, T, R] = [Math.max(300, Math.min(720, width)), 320, 52, 40, 14, 16];
  const svg = (tag, attributes, ...children) => {
    const node = document.createElementNS("http://www.w3.org/2000/svg", tag);
    for (const [name, value] of Object.entries(attributes)) node.setAttribute(name, value);
    node.append(...children);
    return node;
  };
  const most = Math.max(...points.map((each) => each.labels)), least = Math.min(...points.map((each) => each.labels));
  const from = Math.max(0, Math.min(...points.map((each) => Math.floor(each.low * 10) / 10)));
  const x = (labels) => L + (W - L - R) * (most === least ? 0.5 : (labels - least) / (most - least));
  const y = (share) => T + (H - T - B) * (1 - (share - from) / (1 - from || 1));
  const grid = [];
  for (let share = from; share < 1.001; share += 0.1) {
    grid.push(svg("line", { x1: L, x2: W - R, y1: y(share), y2: y(share), stroke: "var(--rule)" }),
      svg("text", { x: L - 8, y: y(share) + 4, "text-anchor": "end" }, `${Math.round(100 * share)} %`));
  }
  const ticks = [...new Set(points.map((each) => each.labels))].filter((_, at, all) => at % Math.ceil(all.length / 10) === 0 || at === all.length - 1);
  grid.push(...ticks.map((n) => svg("text", { x: x(n), y: H - B + 20, "text-anchor": "middle" }, String(n))),
    svg("text", { x: (L + W - R) / 2, y: H - 4, "text-anchor": "middle" }, "labels"));
  const line = points.map((each, at) => `${at ? "L" : "M"}${x(each.labels).toFixed(1)} ${y(each.accuracy).toFixed(1)}`).join("");
  const marks = points.flatMap((each) => [
    svg("line", { x1: x(each.labels), x2: x(each.labels), y1: y(each.low), y2: y(each.high), stroke: "var(--s1)", "stroke-width": 5, "stroke-linecap": "round", opacity: 0.28 }),
    svg("circle", { cx: x(each.labels), cy: y(each.accuracy), r: 4.5, fill: "var(--s1)", class: "point" },
      svg("title", {}, `${each.labels} labels: ${percent(each.accuracy, 1)} (${percent(each.low)} to ${percent(each.high)})`))]);
  const last = points[points.length - 1];
  return svg("svg", { viewBox: `0 0 ${W} ${H}`, role: "img", "aria-label": `Expected accuracy by labels: ${percent(last.accuracy, 1)} with ${last.labels} labels` },
    ...grid, svg("path", { d: line, fill: "none", stroke: "var(--s1)", "stroke-width": 2 }), ...marks);
};
