// Labels that the model doubts, each beside the graphs that speak against it.

import { byId, counted, drawing, make, percent } from "./dom.js";
import { inWords, onState, orToast, toast, who } from "./page.js";
import { get, post, unique } from "./server.js";

const doubt = (each) => {
  const settle = async (kind, label) => {
    try {
      await post("/api/answers", { action: unique(), who: who(), answers: [{ graph: each.graph, kind, label, seen: each.seen }],
        shown: { source: "check", opinion: true, evidence: true } });
      toast(`${each.name}: ${inWords({ kind, label })}.`);
      card.remove();
    } catch (error) {
      toast(error.message);
      if (error.status === 409) card.remove();  // somebody else has settled it
    }
  };
  const near = each.contradicting.map((other) => make("figure", {}, drawing(other.drawing),
    make("figcaption", { class: "note" }, other.name, make("br"), `similarity ${other.similarity.toFixed(2)}`)));
  const card = make("article", { class: "doubt" },
    make("h2", {}, make("a", { href: `/explain/${each.graph}` }, each.name)),
    make("p", { class: "note" }, `Labeled ${each.given}. Without this label the model says ${each.likely}, ${percent(each.confidence)}.`),
    make("div", { class: "sides" }, make("div", {}, make("h3", {}, `labeled ${each.given}`), drawing(each.drawing)),
      make("div", {}, make("h3", {}, `most like it, labeled ${each.likely}`), make("div", { class: "near" }, ...near))),
    make("div", { class: "row" },
      make("button", { type: "button", onclick: () => settle("label", each.given) }, `Keep ${each.given}`),
      make("button", { type: "button", onclick: () => settle("label", each.likely) }, `Change to ${each.likely}`),
      make("button", { type: "button", onclick: () => settle("unsure", null) }, "Don't know")));
  return card;
};

let looked = null;
onState(async ({ asked, model, suspicious }) => {
  byId("told").textContent = suspicious
    ? `${counted(suspicious, "label")} may be wrong: a model that was fitted without them says otherwise, with confidence. The model may be wrong, too.`
    : model ? "No label is suspicious. Labels that a model contradicts with confidence, when it was fitted without them, come here."
      : "There is no model yet. Labels that it contradicts come here.";
  if (looked === asked) return;
  looked = asked;
  await orToast(get("/api/doubts").then((doubts) => byId("doubted").replaceChildren(...doubts.map(doubt))));
});
