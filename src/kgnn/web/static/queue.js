// The queue: one graph at a time, answered by keys. The next graphs are here before they are asked about.

import { byId, counted } from "./dom.js";
import { showEvidence, showOpinion } from "./model.js";
import { classButtons, inWords, isTyping, onState, showAbout, state, stored, toast, who } from "./page.js";
import { Refused, post, unique } from "./server.js";
import * as stage from "./stage.js";

const AHEAD = 5;
const mine = stored(sessionStorage, "kgnn-window", unique);
const skipped = new Set();
const past = [];  // what was done here, for undo
let ahead = [], current = null, isFetching = false, isEmpty = false, advisor = null;
let seen = { opinion: false, evidence: false }, since = performance.now();
let unsaved = 0, failing = false;

const showSaved = () => {
  byId("saved").textContent = failing ? "not saved yet, trying again" : unsaved ? "saving …" : past.length ? "saved" : "";
  byId("saved").classList.toggle("bad", failing);
};

// Sent until the server has it; what arrives twice is recorded once, by its action.
const send = async (path, body) => {
  unsaved += 1;
  showSaved();
  try {
    for (let wait = 300; ; wait = Math.min(2 * wait, 5000)) {
      try {
        const told = await post(path, body);
        failing = false;
        return told;
      } catch (error) {
        if (error instanceof Refused && error.status < 500) throw error;
        failing = true;
        showSaved();
        await new Promise((done) => setTimeout(done, wait));
      }
    }
  } finally {
    unsaved -= 1;
    showSaved();
  }
};
addEventListener("beforeunload", (event) => { if (unsaved) event.preventDefault(); });

const fetchAhead = async () => {
  if (isFetching || ahead.length >= AHEAD) return;
  isFetching = true;
  const known = [...(current ? [current] : []), ...ahead].map((card) => card.graph);
  const settled = past.filter((each) => !each.isSaved && each.card).map((each) => each.card.graph);
  try {
    const without = [...new Set([...known, ...settled, ...skipped])];
    let found = await post("/api/next", { window: mine, n: AHEAD + 1 - known.length + 1, without });
    if (!found.length && skipped.size && !known.length) {  // nothing else is left: what was skipped comes again
      skipped.clear();
      found = await post("/api/next", { window: mine, n: AHEAD, without: known });
    }
    const there = new Set([...known, ...ahead.map((card) => card.graph), current?.graph]);
    ahead.push(...found.filter((card) => !there.has(card.graph)));
    isEmpty = !found.length;
  } catch (error) {
    setTimeout(fetchAhead, 2000);
    return;
  } finally {
    isFetching = false;
  }
  if (!current) advance();
};

const show = (card) => {
  current = card;
  since = performance.now();
  seen = { opinion: false, evidence: false };
  byId("opinion").hidden = byId("evidence").hidden = true;
  for (const each of ["opinion", "evidence"]) document.querySelector(`[data-do=${each}]`).setAttribute("aria-expanded", "false");
  const isDone = !card && isEmpty && !skipped.size;
  byId("done").hidden = !isDone;
  byId("desk").hidden = isDone;
  if (!card) { byId("name").textContent = "…"; return; }
  stage.show(card.drawing);
  showAbout(card);
  byId("paper").classList.remove("swap");
  requestAnimationFrame(() => byId("paper").classList.add("swap"));
};

const advance = () => { show(ahead.shift() ?? null); fetchAhead(); };

const tellLast = (text) => { byId("last").textContent = text; };

const answer = (kind, label = null) => {
  if (!current) return;
  const card = current, action = unique();
  const shown = { ...seen, seconds: Math.round((performance.now() - since) / 100) / 10, source: "queue", why: card.why.slice(0, 200) };
  const done = { action, card, isSaved: false };
  past.push(done);
  advance();
  tellLast(`${card.name}: ${inWords({ kind, label })}. Press u to undo.`);
  done.sent = send("/api/answers", { action, who: who(), shown, answers: [{ graph: card.graph, kind, label, seen: card.seen ?? 0 }] })
    .then(() => { done.isSaved = true; })
    .catch((error) => {
      past.splice(past.indexOf(done), 1);
      toast(error.status === 409 ? `Somebody else has answered about ${card.name}; that answer stays.` : error.message);
    });
};

const undo = async () => {
  const done = past.pop();
  if (!done) { tellLast("There is nothing to undo in this window."); return; }
  if (current) ahead.unshift(current);
  skipped.delete(done.card.graph);
  show(done.card);
  tellLast(`${done.card.name}: ${done.action ? "the answer is undone" : "back again"}.`);
  if (!done.action) return;
  await done.sent;
  await send("/api/undo", { action: unique(), undone: done.action, who: who() }).catch((error) => toast(error.message));
};

const skip = () => {
  if (!current) return;
  skipped.add(current.graph);
  past.push({ action: null, card: current, isSaved: true });
  tellLast(`${current.name}: skipped.`);
  advance();
};

const fold = (name, open) => {
  const box = byId(name), button = document.querySelector(`[data-do=${name}]`);
  if (!current) return;
  if (!box.hidden) { box.hidden = true; button.setAttribute("aria-expanded", "false"); return; }
  seen[name] = true;
  button.setAttribute("aria-expanded", "true");
  open(current.graph, box, current.why).catch((error) => toast(error.message));
};

const actions = {
  unsure: () => answer("unsure"), invalid: () => answer("invalid"), skip, undo,
  opinion: () => fold("opinion", showOpinion),
  evidence: () => { fold("evidence", showEvidence); if (!byId("evidence").hidden) byId("evidence").scrollIntoView({ block: "nearest" }); },
  help: () => byId("help").showModal(),
};
document.querySelector(".others").addEventListener("click", (event) => {
  const button = event.target.closest("[data-do]");
  if (button) { actions[button.dataset.do](); button.blur(); }
});
byId("help").addEventListener("click", (event) => { if (event.target.closest(".close")) byId("help").close(); });
byId("new-class").addEventListener("submit", async (event) => {
  event.preventDefault();
  const name = byId("class-name").value.trim();
  if (!name) return;
  byId("class-name").value = "";
  byId("class-name").blur();  // the next key is for the graph
  try {
    await post("/api/classes", { name, who: who() });
  } catch (error) {
    toast(error.message);
    byId("class-name").value = name;
  }
});
const keys = {
  d: actions.unsure, x: actions.invalid, " ": skip, u: undo, o: actions.opinion, e: actions.evidence, "?": actions.help,
  n: () => byId("class-name").focus(), ...stage.keys,
};
document.addEventListener("keydown", (event) => {
  if (event.target.id === "class-name" && event.key === "Escape") event.target.blur();
  if (isTyping(event) || (event.key === " " && event.target.closest?.("button, a"))) return;
  const chosen = state?.classes[Number(event.key) - 1];
  if (/^[1-9]$/.test(event.key) && chosen && !event.repeat) { event.preventDefault(); answer("label", chosen.name); }
  else if (keys[event.key] && !(event.repeat && "ux d".includes(event.key))) { event.preventDefault(); keys[event.key](); }
});

onState(({ classes, graphs, labeled, unsure, invalid, asked }) => {
  const settled = labeled + unsure + invalid;
  byId("count").textContent = `${settled.toLocaleString("en")} of ${counted(graphs, "graph")}`;
  byId("share").value = graphs ? settled / graphs : 0;
  const drawn = JSON.stringify(classes);
  if (byId("classes").dataset.drawn !== drawn) {
    byId("classes").replaceChildren(...classButtons((name) => { answer("label", name); document.activeElement.blur(); }));
    byId("classes").dataset.drawn = drawn;
  }
  if (!current) fetchAhead();  // somebody else may have undone an answer
  if (!classes.length) tellLast("Make a class first: press n, type its name, press Enter.");
  if (asked !== advisor) {  // a new model asks for other graphs; the one on the screen stays
    advisor = asked;
    ahead = [];
    isEmpty = false;
    fetchAhead();
    if (current && !byId("opinion").hidden) showOpinion(current.graph, byId("opinion"), current.why);
  }
});
fetchAhead();
