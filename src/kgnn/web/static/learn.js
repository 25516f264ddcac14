// Learning: a click, progress, the curve, and files of labels.

import { curve } from "./curve.js";
import { byId, counted, duration, make, percent } from "./dom.js";
import { onState, orToast, who } from "./page.js";
import { post, postTable } from "./server.js";

byId("learn").addEventListener("click", () => orToast(post("/api/learn", {})));
byId("stop").addEventListener("click", () => orToast(post("/api/learn/stop", {})));
byId("import").addEventListener("change", async ({ target }) => {
  const [file] = target.files;
  if (!file) return;
  try {
    const told = await postTable(`/labels.csv?who=${encodeURIComponent(who())}`, file);
    const parts = [`${counted(told.added, "label")} added.`];
    if (told.differing.length) parts.push(`${counted(told.differing.length, "graph")} kept another answer: ${told.differing.slice(0, 5).join(", ")}.`);
    if (told.unknown.length) parts.push(`${counted(told.unknown.length, "id")} of no graph: ${told.unknown.slice(0, 5).join(", ")}.`);
    byId("imported").textContent = parts.join(" ");
  } catch (error) { byId("imported").textContent = error.message; }
  target.value = "";
});

let drawn = "";
onState(({ learning, lacking, every, new: fresh, curve: points, advice }) => {
  byId("learn").disabled = learning.is_running || Boolean(lacking);
  byId("stop").hidden = byId("running").hidden = !learning.is_running;
  const more = every && fresh < every ? `; it learns by itself after ${counted(every - fresh, "more answer")}` : "";
  byId("new").textContent = lacking || `${counted(fresh, "answer")} since the last fit${more}.`;
  if (learning.is_running) {
    byId("progress").value = learning.total ? learning.done / learning.total : 0;
    byId("what").textContent = `${learning.what}, ${duration(learning.seconds)} so far`;
    byId("left").textContent = learning.seconds_left ? `about ${duration(learning.seconds_left)} left` : "";
  }
  byId("failure").hidden = !learning.failure;
  byId("failure").textContent = learning.failure;
  byId("advice").hidden = !advice;
  byId("advice").textContent = advice;
  if (drawn === JSON.stringify(points)) return;
  drawn = JSON.stringify(points);
  byId("curve").replaceChildren(points.length ? curve(points, byId("curve").clientWidth)
    : make("p", { class: "note" }, "No model has been judged yet: that takes a few labels of each class."));
  byId("models").replaceChildren(...[...points].reverse().map((each) => make("tr", {}, make("th", { scope: "row" }, String(each.labels)),
    make("td", {}, percent(each.accuracy, 1)), make("td", {}, `${percent(each.low)} to ${percent(each.high)}`))));
});
