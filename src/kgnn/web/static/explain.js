// One graph: its drawing, what was answered about it, and the evidence.

import { byId, make } from "./dom.js";
import { showEvidence } from "./model.js";
import { classButtons, inWords, isTyping, onState, orToast, showAbout, state, who } from "./page.js";
import { get, post, unique } from "./server.js";
import * as stage from "./stage.js";

const { key } = document.body.dataset;
let graph = null, undoable = null;

const show = async () => {
  graph = await get(`/api/graphs/${key}`);
  showAbout(graph);
  if (!byId("paper").firstChild) stage.show(graph.drawing);
  const lines = graph.history.map((each) => make("li", {}, `${each.at.slice(0, 16).replace("T", " ")}, ${each.who}: ${each.kind === "undo" ? "undone" : inWords(each)}`));
  byId("history").replaceChildren(...(lines.length ? lines.reverse() : [make("li", {}, "nothing yet")]));
  buttons();
};
const buttons = () => {
  if (!state || !graph) return;
  byId("classes").replaceChildren(...classButtons((name) => settle("label", name), (name) => graph.answer?.label === name));
  for (const kind of ["unsure", "invalid"]) document.querySelector(`[data-do=${kind}]`).setAttribute("aria-pressed", String(graph.answer?.kind === kind));
  document.querySelector("[data-do=undo]").disabled = !undoable;
};

const settle = async (kind, label = null) => {
  if (!graph) return;
  const action = unique(), answers = [{ graph: key, kind, label, seen: graph.answer?.event ?? 0 }];
  const shown = { source: "explain", opinion: true, evidence: true };
  if (await orToast(post("/api/answers", { action, who: who(), answers, shown }))) undoable = action;
  await orToast(show());
};
const undo = async () => {
  if (!undoable || !await orToast(post("/api/undo", { action: unique(), undone: undoable, who: who() }))) return;
  undoable = null;
  await orToast(show());
};

const actions = { unsure: () => settle("unsure"), invalid: () => settle("invalid"), undo };
document.querySelector(".others").addEventListener("click", (event) => actions[event.target.closest("[data-do]")?.dataset.do]?.());
const keys = { d: actions.unsure, x: actions.invalid, u: undo, ...stage.keys };
document.addEventListener("keydown", (event) => {
  if (isTyping(event) || event.repeat) return;
  const chosen = /^[1-9]$/.test(event.key) && state?.classes[Number(event.key) - 1];
  if (chosen) settle("label", chosen.name);
  else keys[event.key]?.();
});

let asked = null, version = null;
onState((now) => {
  if (version !== now.version) { version = now.version; orToast(show()); }
  if (asked !== now.asked) { asked = now.asked; showEvidence(key); }
});
