// A large drawing to zoom and move: by keys, buttons, the wheel and fingers.

import { byId, drawing } from "./dom.js";

const box = byId("stage");
let svg = null, whole = null, view = null;  // view: x, y, width and height of what is seen; whole: of all

const apply = () => svg?.setAttribute?.("viewBox", view.join(" "));
const all = () => { if (whole) { view = [...whole]; apply(); } };
const zoom = (factor, px = 0.5, py = 0.5) => {
  if (!view) return;
  const [x, y, w, h] = view;
  const f = Math.min(Math.max(factor, 0.02 * whole[2] / w), 4 * whole[2] / w);
  view = [x + w * px * (1 - f), y + h * py * (1 - f), w * f, h * f];
  apply();
};
// How much of the drawing a pixel is; the drawing keeps its shape within the box.
const scale = () => { const r = svg.getBoundingClientRect(); return Math.max(view[2] / r.width, view[3] / r.height); };
const move = (dx, dy) => { if (view) { const s = scale(); view[0] -= dx * s; view[1] -= dy * s; apply(); } };
const at = (event) => { const r = svg.getBoundingClientRect(); return [(event.clientX - r.left) / r.width, (event.clientY - r.top) / r.height]; };

box.addEventListener("wheel", (event) => {
  event.preventDefault();
  if (view) zoom(Math.exp(event.deltaY * 0.0015), ...at(event));
}, { passive: false });

const fingers = new Map();
const spread = () => { const [a, b] = [...fingers.values()]; return Math.hypot(a.clientX - b.clientX, a.clientY - b.clientY); };
box.addEventListener("pointerdown", (event) => {
  if (event.target.closest("button")) return;
  fingers.set(event.pointerId, event);
  box.setPointerCapture(event.pointerId);
});
box.addEventListener("pointermove", (event) => {
  const before = fingers.get(event.pointerId);
  if (!before) return;
  if (fingers.size === 2) {
    const wide = spread();
    fingers.set(event.pointerId, event);
    zoom(wide / Math.max(1, spread()), ...at(event));
  } else {
    fingers.set(event.pointerId, event);
    move(event.clientX - before.clientX, event.clientY - before.clientY);
  }
});
for (const name of ["pointerup", "pointercancel"]) box.addEventListener(name, (event) => fingers.delete(event.pointerId));

box.addEventListener("dblclick", all);
box.addEventListener("click", (event) => {
  const wanted = event.target.closest("[data-zoom]")?.dataset.zoom;
  if (wanted) ({ in: () => zoom(0.75), out: () => zoom(1 / 0.75), all })[wanted]();
});

export const keys = { "+": () => zoom(0.75), "=": () => zoom(0.75), "-": () => zoom(1 / 0.75), 0: all };
const arrows = { ArrowLeft: [60, 0], ArrowRight: [-60, 0], ArrowUp: [0, 60], ArrowDown: [0, -60] };
box.addEventListener("keydown", (event) => {
  if (arrows[event.key]) { event.preventDefault(); move(...arrows[event.key]); }
});

export const show = (text) => {
  svg = drawing(text);
  byId("paper").replaceChildren(svg);
  whole = svg.viewBox ? ["x", "y", "width", "height"].map((name) => svg.viewBox.baseVal[name]) : null;
  view = whole && [...whole];
};
