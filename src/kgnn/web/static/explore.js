// All graphs: filters, a list of small drawings beside the map, and labels for many at once.

import { byId, counted, drawing, make, percent } from "./dom.js";
import { makeMap } from "./map.js";
import { colorOf, inWords, onState, orToast, toast, who } from "./page.js";
import { get, getText, post, unique } from "./server.js";

const PAGE = 60;  // tiles that are added at a time
const DISAGREE = 0.2;  // probability that the networks put on different classes
const ORDERS = { confidence: 1, novelty: -1, disagreement: -1, nodes: -1 };  // from the least, or from the most
const IN_TABLE = ["nodes", "edges", "answer", "label", "prediction", "confidence", "disagreement", "novelty", "unlike", "suspicious", "x", "y"];

const form = byId("filters");
const wanted = (name) => form.elements[name].value;
const selected = new Set();  // names of graphs, by content
let table = null;  // of all graphs, by column
let rows = [];  // of the table that are found, in order
let shown = 0;  // of these, in the list
let anchor = null, undoable = null;

// -- what is found

const isFound = (row) => {
  const name = wanted("name").toLowerCase(), answer = wanted("answer"), prediction = wanted("prediction");
  if (name && !table.name[row].toLowerCase().includes(name)) return false;
  if (answer === "none" ? table.answer[row] : answer.startsWith("=") ? table.label[row] !== answer.slice(1) : answer && table.answer[row] !== answer) return false;
  if (prediction && table.prediction[row] !== prediction.slice(1)) return false;
  const confidence = table.confidence[row], least = wanted("least"), most = wanted("most");
  if (least !== "" && !(confidence !== null && 100 * confidence >= Number(least))) return false;
  if (most !== "" && !(confidence !== null && 100 * confidence <= Number(most))) return false;
  return { "": true, novel: table.unlike[row] !== null, disagree: table.disagreement[row] > DISAGREE,
    suspicious: table.suspicious[row] !== null, selected: selected.has(table.graph[row]) }[wanted("only")];
};

const find = () => {
  rows = table.graph.map((_, row) => row).filter(isFound);
  const order = wanted("order");
  if (order === "name") rows.sort((a, b) => table.name[a].localeCompare(table.name[b], "en", { numeric: true }));
  else if (order) rows.sort((a, b) => ORDERS[order] * ((table[order][a] ?? 0) - (table[order][b] ?? 0)));
};

// -- the list

// Drawings of tiles are fetched when they come into view.
const drawings = new IntersectionObserver((entries) => {
  for (const { target, isIntersecting } of entries) {
    if (!isIntersecting) continue;
    drawings.unobserve(target);
    getText(`/api/graphs/${target.dataset.graph}/drawing.svg`).then((text) => target.replaceChildren(drawing(text)), () => {});
  }
}, { rootMargin: "300px" });

const told = (row) => {
  const answer = table.answer[row], likely = table.suspicious[row], parts = [];
  if (answer === "label") parts.push(make("span", { class: `tag ${colorOf(table.label[row])}` }, table.label[row]));
  else if (answer) parts.push({ unsure: "don't know", invalid: "not valid" }[answer]);
  const said = likely ? `suspicious: model says ${likely}` : table.prediction[row] ? `model: ${table.prediction[row]}, ${percent(table.confidence[row])}` : "";
  if (said) parts.push(...(parts.length ? [make("br")] : []), said);
  return parts.length ? parts : ["no answer"];
};
const tile = (row) => {
  const key = table.graph[row], name = table.name[row], place = make("div", { class: "place", "data-graph": key });
  drawings.observe(place);
  const box = make("input", { type: "checkbox", "aria-label": `Select ${name}`, "data-row": row });
  box.checked = selected.has(key);
  return make("figure", { class: "tile", "data-row": row }, place,
    make("figcaption", {}, box, make("a", { href: `/explain/${key}`, title: name }, name), ...told(row)));
};
const showMore = () => {
  byId("grid").append(...rows.slice(shown, shown + PAGE).map(tile));
  shown = Math.min(rows.length, shown + PAGE);
  byId("more").hidden = shown >= rows.length;
};
const showList = () => {
  shown = 0;
  byId("grid").replaceChildren();
  showMore();
};
new IntersectionObserver(([{ isIntersecting }]) => { if (isIntersecting) showMore(); }, { rootMargin: "600px" }).observe(byId("more"));
byId("more").addEventListener("click", showMore);

const update = () => {
  if (!table) return;
  find();
  showList();
  byId("found").textContent = rows.length === table.graph.length ? counted(rows.length, "graph") : `${rows.length.toLocaleString("en")} of ${counted(table.graph.length, "graph")}`;
  showSelection();
};
let timer = 0;
form.addEventListener("input", () => { clearTimeout(timer); timer = setTimeout(update, 120); });
form.addEventListener("submit", (event) => event.preventDefault());

// -- selection, in the list and on the map

const toggle = (row, on = !selected.has(table.graph[row])) => { selected[on ? "add" : "delete"](table.graph[row]); };
const drawMap = makeMap({
  shown: () => ({ table, rows, selected, by: wanted("color") }),
  onPick: (row) => { toggle(row); showSelection(); },
  onRectangle: (within, isMore) => {
    if (!isMore) selected.clear();
    for (const row of within) toggle(row, true);
    const isSelected = (row) => selected.has(table.graph[row]);
    rows = [...rows.filter(isSelected), ...rows.filter((row) => !isSelected(row))];  // what was selected is seen first
    showList();
    showSelection();
  },
});
const showSelection = () => {
  byId("bulk").hidden = !selected.size && !undoable;
  byId("selected").textContent = `${selected.size.toLocaleString("en")} selected`;
  byId("bulk-undo").hidden = !undoable;
  for (const box of byId("grid").querySelectorAll("input")) box.checked = selected.has(table.graph[box.dataset.row]);
  drawMap();
};
byId("grid").addEventListener("click", (event) => {
  if (event.target.closest("a")) return;
  const row = Number(event.target.closest(".tile")?.dataset.row ?? -1);
  if (row < 0) return;
  const on = !selected.has(table.graph[row]);
  const [from, to] = [rows.indexOf(anchor ?? row), rows.indexOf(row)];
  if (event.shiftKey && from >= 0) for (const each of rows.slice(Math.min(from, to), Math.max(from, to) + 1)) toggle(each, on);
  else toggle(row, on);
  anchor = row;
  showSelection();
});
byId("select-all").addEventListener("click", () => { for (const row of rows) toggle(row, true); showSelection(); });
byId("unselect").addEventListener("click", () => { selected.clear(); undoable = null; showSelection(); });

// -- labels for all that are selected

const label = async (kind, name = null) => {
  if (!selected.size) return;
  const seen = new Map(table.graph.map((key, row) => [key, table.seen[row]]));
  const answers = [...selected].map((graph) => ({ graph, kind, label: name, seen: seen.get(graph) }));
  const action = unique();
  try {
    await post("/api/answers", { action, who: who(), answers, shown: { source: "explore", opinion: true } });
    undoable = action;
    toast(`${counted(answers.length, "graph")}: ${inWords({ kind, label: name })}.`);
    selected.clear();
  } catch (error) {
    toast(error.status === 409 ? `${error.message} Nothing was changed; look at them again.` : error.message);
  }
  await orToast(load());
};
byId("bulk").addEventListener("click", (event) => {
  const kind = event.target.closest("[data-bulk]")?.dataset.bulk;
  if (kind) label(kind);
});
byId("bulk-undo").addEventListener("click", async () => {
  if (!await orToast(post("/api/undo", { action: unique(), undone: undoable, who: who() }))) return;
  undoable = null;
  await orToast(load());
});

// -- the table as CSV

const cell = (value) => {
  const text = value === null || value === undefined ? "" : String(value);
  return /[",\n\r]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text;
};
byId("csv").addEventListener("click", () => {
  const lines = [["id", ...IN_TABLE], ...rows.map((row) => ["name", ...IN_TABLE].map((name) => table[name][row]))];
  const url = URL.createObjectURL(new Blob([lines.map((each) => each.map(cell).join(",")).join("\n"), "\n"], { type: "text/csv" }));
  make("a", { href: url, download: "graphs.csv" }).click();
  setTimeout(() => URL.revokeObjectURL(url), 10000);
});

// -- news

const load = async () => {
  table = await get("/api/table");
  for (const name of ["answer", "prediction"]) {
    const chosen = form.elements[name], value = chosen.value;
    for (const old of chosen.querySelectorAll('option[value^="="]')) old.remove();
    chosen.append(...table.classes.map((each) => make("option", { value: `=${each}` }, each)));
    chosen.value = value;
  }
  update();
};

let version = null;
onState(({ version: now, asked, has_map: hasMap, classes }) => {
  byId("bulk-classes").replaceChildren(...classes.map((each) => make("button", { type: "button", class: `tag ${each.color}`, onclick: () => label("label", each.name) }, each.name)));
  byId("map-told").textContent = hasMap ? "Similar graphs are close together. Drag a rectangle to select." : "The map is being drawn …";
  if (version === `${now} ${asked} ${hasMap}`) return;
  version = `${now} ${asked} ${hasMap}`;
  orToast(load());
});
