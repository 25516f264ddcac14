// The page of a served model: asks what programs would ask, and draws the answers.

const byId = (id) => document.getElementById(id);
const make = (tag, attributes = {}, ...children) => {
  const node = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes)) {
    if (name.startsWith("on")) node.addEventListener(name.slice(2), value);
    else node.setAttribute(name, value);
  }
  node.append(...children);  // strings become text, never markup
  return node;
};
const percent = (share) => `${(100 * share).toFixed(1)} %`;
const KIND = "application/x-ndjson";

// A line is a graph as JSON, or SMILES and perhaps a name.
const asLine = (line) => {
  if (line.startsWith("{")) return line;
  const [smiles, ...name] = line.split(/\s+/);
  return JSON.stringify(name.length ? { smiles, id: name.join(" ") } : { smiles });
};
const lines = () => byId("text").value.split(/\r?\n/).map((line) => line.trim()).filter(Boolean).map(asLine);

const ask = async (path, body) => {
  const response = await fetch(path, { method: "POST", headers: { "content-type": KIND }, body });
  if (response.ok) return response;
  const told = await response.json().catch(() => ({}));
  throw new Error(told.detail ?? `The server answered ${response.status}.`);
};

const drawing = (text) => {
  const parsed = new DOMParser().parseFromString(text ?? "", "image/svg+xml").documentElement;
  return parsed.nodeName === "svg" ? document.importNode(parsed, true) : "";
};

const explain = async (line) => {
  const box = byId("evidence");
  box.hidden = false;
  box.replaceChildren(make("p", { class: "note" }, "Measuring the evidence …"));
  box.scrollIntoView({ block: "nearest" });
  try {
    const parts = document.createElement("template");
    parts.innerHTML = await (await ask("/explain.html", line)).text();  // our own template, which escapes all names
    box.replaceChildren(parts.content);
  } catch (error) { box.replaceChildren(make("p", { class: "warning" }, error.message)); }
};

const reply = (each, line) => {
  const bars = Object.entries(each.probabilities).sort((a, b) => b[1] - a[1]).slice(0, 8).map(([name, share]) => make("div", { class: "meter" },
    make("span", { title: name }, name), make("progress", { max: 1, value: share, "aria-label": name }), make("output", {}, percent(share))));
  const set = each.label_set ? make("p", {}, `Labels that it may have: ${each.label_set.join(", ")}.`) : "";
  const novel = each.novelty_reason ? make("p", { class: "warning" }, `Unlike the training graphs: ${each.novelty_reason}.`) : "";
  return make("article", { class: "reply" }, make("div", {}, drawing(each.drawing)),
    make("div", {}, make("h2", {}, each.id), make("p", { class: "note" }, each.size), make("p", { class: "said" }, make("b", {}, each.label), `, ${percent(each.confidence)}`),
      make("div", { class: "opinion" }, ...bars, set), novel, make("button", { type: "button", onclick: () => explain(line) }, "Why?")));
};

const submit = async () => {
  const asked = lines();
  byId("problem").hidden = true;
  byId("evidence").hidden = true;
  if (!asked.length) return;
  try {
    const { predictions } = await (await ask("/predict?drawing=true", asked.join("\n"))).json();
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
