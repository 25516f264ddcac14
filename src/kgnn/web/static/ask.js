// The page of a served model: asks what programs would ask, and draws the answers.

import { byId, drawing, make, meters, percent, written } from "./dom.js";
import { postLines } from "./server.js";

// A line is a graph as JSON, or SMILES and perhaps a name. Without one, the SMILES is the name, as graphs have names all or none;
// of several that are alike, the later ones are counted.
const lines = () => {
  const taken = new Map();
  const asLine = (line) => {
    if (line.startsWith("{")) return line;
    const [smiles, ...name] = line.split(/\s+/);
    if (name.length) return JSON.stringify({ smiles, id: name.join(" ") });
    taken.set(smiles, (taken.get(smiles) ?? 0) + 1);
    return JSON.stringify({ smiles, id: taken.get(smiles) > 1 ? `${smiles} (${taken.get(smiles)})` : smiles });
  };
  return byId("text").value.split(/\r?\n/).map((line) => line.trim()).filter(Boolean).map(asLine);
};

// Below the answer that is asked about.
const explain = async (line, { id, label }, answer) => {
  const box = byId("evidence"), heading = make("h2", {}, `Why ${label}? Evidence for ${id}`);
  answer.after(box);
  box.hidden = false;
  box.replaceChildren(heading, make("p", { class: "note" }, "Measuring the evidence …"));
  box.scrollIntoView({ block: "nearest" });
  const found = await postLines("/explain.html", [line]).then((answered) => answered.text()).then(written,
    (error) => make("p", { class: "warning" }, error.message));
  if (box.firstChild === heading) box.replaceChildren(heading, found);  // another may have been asked about meanwhile
};

const reply = (each, line) => {
  const probable = Object.entries(each.probabilities).sort((a, b) => b[1] - a[1]);
  const set = each.label_set ? make("p", {}, `Labels that it may have: ${each.label_set.join(", ")}.`) : "";
  const novel = each.novelty_reason ? make("p", { class: "warning" }, `Unlike the training graphs: ${each.novelty_reason}.`) : "";
  const answer = make("article", { class: "reply" },
    make("div", {}, each.drawing ? drawing(each.drawing) : ""),
    make("div", {}, make("h2", {}, each.id), make("p", { class: "note" }, each.size),
      make("p", { class: "said" }, make("b", {}, each.label), `, ${percent(each.confidence, 1)}`),
      make("div", { class: "opinion" }, ...meters(probable, 1), set), novel,
      make("button", { type: "button", onclick: () => explain(line, each, answer) }, "Why?")));
  return answer;
};

const submit = async () => {
  const asked = lines();
  byId("problem").hidden = true;
  byId("evidence").hidden = true;
  byId("answers").after(byId("evidence"));
  if (!asked.length) return;
  try {
    const { predictions } = await (await postLines("/predict?drawing=true", asked)).json();
    byId("answers").replaceChildren(...predictions.map((each, at) => reply(each, asked[at])));
  } catch (error) {
    byId("answers").replaceChildren();
    byId("problem").textContent = error.message;
    byId("problem").hidden = false;
  }
};

const take = async (file) => {
  if (!file) return;
  byId("text").value = await file.text();
  await submit();
};
byId("form").addEventListener("submit", (event) => { event.preventDefault(); submit(); });
byId("text").addEventListener("keydown", (event) => { if (event.key === "Enter" && (event.ctrlKey || event.metaKey)) submit(); });
byId("file").addEventListener("change", ({ target }) => take(target.files[0]));
for (const name of ["dragover", "dragleave", "drop"]) {
  document.addEventListener(name, (event) => {
    event.preventDefault();
    document.body.classList.toggle("dropping", name === "dragover");
    if (name === "drop") take(event.dataTransfer.files[0]);
  });
}
