// What the model says of a graph, and why. What arrives when the box already shows another graph is dropped.

import { byId, make, meters, written } from "./dom.js";
import { state } from "./page.js";
import { get, getText } from "./server.js";

const warning = (error) => make("p", { class: "warning" }, error.message);

export const showEvidence = async (key, box = byId("evidence")) => {
  box.hidden = false;
  box.dataset.graph = key;
  box.replaceChildren(make("p", { class: "note" }, "Measuring the evidence …"));
  const found = await getText(`/api/graphs/${key}/evidence`).then(written, warning);
  if (box.dataset.graph === key) box.replaceChildren(found);
};

const told = (opinion, why) => {
  if (!opinion) return [state?.model ? "The model is looking at the graphs; a moment." : "There is no model yet."];
  return [...meters(opinion.probabilities), why ? make("p", {}, `Asked because: ${why}.`) : "",
    opinion.unlike ? make("p", {}, `Unlike the labeled graphs: ${opinion.unlike}.`) : ""];
};

export const showOpinion = async (key, box, why = "") => {
  box.hidden = false;
  if (box.dataset.graph !== key) box.replaceChildren("…");
  box.dataset.graph = key;
  const found = await get(`/api/graphs/${key}/opinion`).then((opinion) => told(opinion, why), (error) => [warning(error)]);
  if (box.dataset.graph === key) box.replaceChildren(...found);
};
