// The workbench: one module for all of its pages. Nothing here comes from another server, and names
// of graphs and classes only ever become text.

// -- small things ------------------------------------------------------------------------------------

const byId = (id) => document.getElementById(id);
const page = document.body.dataset.page;

const make = (tag, attributes = {}, ...children) => {
  const node = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes)) {
    if (name.startsWith("on")) node.addEventListener(name.slice(2), value);
    else if (value === true) node.setAttribute(name, "");
    else if (value !== false && value !== null && value !== undefined) node.setAttribute(name, value);
  }
  node.append(...children);  // strings become text, never markup
  return node;
};

// Also where pages are not served to this machine alone, and crypto.randomUUID is missing.
const unique = () => Array.from(crypto.getRandomValues(new Uint8Array(12)), (n) => n.toString(16).padStart(2, "0")).join("");

const stored = (kind, name, make) => {
  try {
    const held = kind.getItem(name) ?? make();
    kind.setItem(name, held);
    return held;
  } catch { return make(); }  // no storage, as in some private windows
};
const keep = (name, value) => { try { localStorage.setItem(name, value); } catch { /* no storage */ } };

const percent = (share, digits = 0) => (share === null || share === undefined ? "–" : `${(100 * share).toFixed(digits)} %`);
const counted = (n, word) => `${n.toLocaleString("en")} ${word}${n === 1 ? "" : "s"}`;
const duration = (seconds) => (seconds < 90 ? `${Math.max(1, Math.round(seconds))} s` : `${Math.round(seconds / 60)} min`);

const drawing = (text) => {
  const parsed = new DOMParser().parseFromString(text, "image/svg+xml").documentElement;
  return parsed.nodeName === "svg" ? document.importNode(parsed, true) : document.createTextNode("(no drawing)");
};

class Refused extends Error {
  constructor(status, told) {
    super(told.detail ?? `The server answered ${status}.`);
    this.status = status;
    this.graphs = told.graphs ?? [];
  }
}

const answered = async (response) => {
  if (response.ok) return response.json();
  throw new Refused(response.status, await response.json().catch(() => ({})));
};
const get = async (path) => answered(await fetch(path));
const post = async (path, body) => answered(await fetch(path, {
  method: "POST", headers: { "content-type": "application/json" }, body: JSON.stringify(body) }));

const toast = (text) => {
  const node = make("div", { class: "toast" }, text);
  byId("toasts").append(node);
  setTimeout(() => node.remove(), 6000);
};
// Whether it went well; if not, the page says why.
const orToast = (promise) => promise.then(() => true, (error) => { toast(error.message); return false; });

// -- what all pages have -----------------------------------------------------------------------------

let state = null;
const followers = [];  // called with each new state
const colorOf = (name) => state?.classes.find((each) => each.name === name)?.color ?? "muted";
const who = () => byId("who").value.trim() || document.body.dataset.who;

const showStatus = () => {
  const { labeled, graphs, model, learning } = state;
  const node = byId("status");
  node.classList.remove("off");
  if (learning.is_running) {
    const left = learning.seconds_left ? `, ${duration(learning.seconds_left)} left` : `, ${duration(learning.seconds)} so far`;
    node.replaceChildren(`learning${left} · ${labeled} of ${graphs}`);
  } else {
    const accuracy = model?.accuracy ? [make("b", {}, percent(model.accuracy)), " expected · "] : [];
    node.replaceChildren(...accuracy, `${labeled.toLocaleString("en")} of ${graphs.toLocaleString("en")} labeled`);
  }
  byId("doubts").hidden = !state.suspicious;
  byId("doubts").textContent = state.suspicious;
};

let source = null;
const follow = () => {
  source?.close();
  source = new EventSource("/api/events");
  source.onmessage = (message) => {
    state = JSON.parse(message.data);
    showStatus();
    for (const each of followers) each(state);
  };
  source.onerror = () => {
    byId("status").textContent = "no connection, trying again";
    byId("status").classList.add("off");
    if (source.readyState === EventSource.CLOSED) setTimeout(follow, 2000);
  };
};
// A browser opens six connections to a server in all: windows in the background give theirs back.
document.addEventListener("visibilitychange", () => (document.hidden ? source?.close() : follow()));

const theme = () => document.documentElement.dataset.theme
  ?? (matchMedia("(prefers-color-scheme: dark)").matches ? "dark" : "light");
const setTheme = (name) => { document.documentElement.dataset.theme = name; };
try { if (localStorage.getItem("kgnn-theme")) setTheme(localStorage.getItem("kgnn-theme")); } catch { /* no storage */ }
byId("theme").addEventListener("click", () => {
  setTheme(theme() === "dark" ? "light" : "dark");
  keep("kgnn-theme", theme());
  dispatchEvent(new Event("themed"));
});
byId("who").value = stored(localStorage, "kgnn-who", () => document.body.dataset.who);
byId("who").addEventListener("change", () => keep("kgnn-who", who()));

const cells = (values) => Object.entries(values).flatMap(([name, value]) => [make("dt", {}, name), make("dd", {}, value)]);

const classButtons = (onChoose, pressed = () => false) => state.classes.map((each, at) => make("button",
  { type: "button", class: each.color, "aria-pressed": String(pressed(each.name)), onclick: () => onChoose(each.name) },
  at < 9 ? make("kbd", {}, String(at + 1)) : "", each.name, make("small", {}, each.count.toLocaleString("en"))));

const inWords = (answer) => ({ label: `is ${answer.label}`, unsure: "don't know", invalid: "not a valid graph" })[answer.kind];

// -- a drawing to zoom and move ------------------------------------------------------------------------

const stage = (() => {
  const box = byId("stage");
  if (!box) return null;
  let svg = null, whole = null, view = null;
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
  const keys = { "+": () => zoom(0.75), "=": () => zoom(0.75), "-": () => zoom(1 / 0.75), 0: all };
  const arrows = { ArrowLeft: [60, 0], ArrowRight: [-60, 0], ArrowUp: [0, 60], ArrowDown: [0, -60] };
  box.addEventListener("keydown", (event) => {
    if (arrows[event.key]) { event.preventDefault(); move(...arrows[event.key]); }
  });
  return {
    keys,
    show(text) {
      svg = drawing(text);
      byId("paper").replaceChildren(svg);
      whole = svg.viewBox ? ["x", "y", "width", "height"].map((name) => svg.viewBox.baseVal[name]) : null;
      view = whole && [...whole];
    },
  };
})();

const isTyping = (event) => Boolean(event.target.closest?.("input, select, textarea, dialog"))
  || event.ctrlKey || event.metaKey || event.altKey;

// What arrives when the box already shows another graph is dropped.
const showEvidence = async (key, box = byId("evidence")) => {
  box.hidden = false;
  box.dataset.graph = key;
  box.replaceChildren(make("p", { class: "note" }, "Measuring the evidence …"));
  const response = await fetch(`/api/graphs/${key}/evidence`).catch(() => null);  // no server
  if (!response?.ok) {
    const told = await response?.json().catch(() => null);
    if (box.dataset.graph === key) box.replaceChildren(make("p", { class: "warning" }, told?.detail ?? "There is no evidence: the server did not answer."));
    return;
  }
  const parts = document.createElement("template");
  parts.innerHTML = await response.text();  // written by our own templates, which escape all names
  if (box.dataset.graph === key) box.replaceChildren(parts.content);
};

const showOpinion = async (key, box, why = "") => {
  box.hidden = false;
  if (box.dataset.graph !== key) box.replaceChildren("…");
  box.dataset.graph = key;
  const opinion = await get(`/api/graphs/${key}/opinion`).catch((error) => error);
  if (box.dataset.graph !== key) return;
  if (opinion instanceof Error) { box.replaceChildren(make("p", { class: "warning" }, opinion.message)); return; }
  if (!opinion) { box.replaceChildren(state?.model ? "The model is looking at the graphs; a moment." : "There is no model yet."); return; }
  const rows = opinion.probabilities.slice(0, 8).map(([name, share]) => make("div", { class: "meter" },
    make("span", { title: name }, name), make("progress", { max: 1, value: share, "aria-label": name }), make("output", {}, percent(share))));
  box.replaceChildren(...rows, why ? make("p", {}, `Asked because: ${why}.`) : "",
    opinion.unlike ? make("p", {}, `Unlike the other graphs: ${opinion.unlike}.`) : "");
};

// -- Queue ---------------------------------------------------------------------------------------------

const queue = () => {
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
    const isDone = !card && isEmpty;
    byId("done").hidden = !isDone;
    byId("desk").hidden = isDone;
    if (!card) { byId("name").textContent = "…"; return; }
    stage.show(card.drawing);
    byId("name").textContent = card.name;
    byId("size").textContent = card.size + (card.summarized ? ", drawn in groups of nodes" : "");
    byId("cells").replaceChildren(...cells(card.cells));
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

  followers.push(({ classes, graphs, labeled, unsure, invalid, asked }) => {
    const settled = labeled + unsure + invalid;
    byId("count").textContent = `${settled.toLocaleString("en")} of ${counted(graphs, "graph")}`;
    byId("share").value = graphs ? settled / graphs : 0;
    const drawn = JSON.stringify(classes);
    if (byId("classes").dataset.drawn !== drawn) {
      byId("classes").replaceChildren(...classButtons((name) => { answer("label", name); document.activeElement.blur(); }));
      byId("classes").dataset.drawn = drawn;
    }
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
};

// -- Learn ---------------------------------------------------------------------------------------------

const curve = (points, width) => {
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

const learn = () => {
  byId("learn").addEventListener("click", () => orToast(post("/api/learn", {})));
  byId("stop").addEventListener("click", () => orToast(post("/api/learn/stop", {})));
  byId("import").addEventListener("change", async ({ target }) => {
    const [file] = target.files;
    if (!file) return;
    try {
      const told = await answered(await fetch(`/labels.csv?who=${encodeURIComponent(who())}`, { method: "POST", headers: { "content-type": "text/csv" }, body: file }));
      const parts = [`${counted(told.added, "label")} added.`];
      if (told.differing.length) parts.push(`${counted(told.differing.length, "graph")} kept another answer: ${told.differing.slice(0, 5).join(", ")}.`);
      if (told.unknown.length) parts.push(`${counted(told.unknown.length, "id")} of no graph: ${told.unknown.slice(0, 5).join(", ")}.`);
      byId("imported").textContent = parts.join(" ");
    } catch (error) { byId("imported").textContent = error.message; }
    target.value = "";
  });
  let drawn = "";
  followers.push(({ learning, lacking, every, new: fresh, curve: points, advice }) => {
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
};

// -- Explore -------------------------------------------------------------------------------------------

const explore = () => {
  const PAGE = 60;
  const NOVEL = 0.2, DISAGREE = 0.2;
  const form = byId("filters"), canvas = byId("map");
  let table = null, rows = [], shown = 0, anchor = null, undoable = null, version = null;
  const selected = new Set();

  const option = (name) => make("option", { value: `=${name}` }, name);
  const wanted = (name) => form.elements[name].value;
  const scores = { confidence: 1, novelty: -1, disagreement: -1, nodes: -1 };

  const matches = (row) => {
    const answer = wanted("answer"), prediction = wanted("prediction"), only = wanted("only");
    if (wanted("name") && !table.name[row].toLowerCase().includes(wanted("name").toLowerCase())) return false;
    if (answer === "none" ? table.answer[row] : answer.startsWith("=") ? table.label[row] !== answer.slice(1) : answer && table.answer[row] !== answer) return false;
    if (prediction && table.prediction[row] !== prediction.slice(1)) return false;
    const confidence = table.confidence[row];
    if (wanted("least") !== "" && !(confidence !== null && 100 * confidence >= Number(wanted("least")))) return false;
    if (wanted("most") !== "" && !(confidence !== null && 100 * confidence <= Number(wanted("most")))) return false;
    return { "": true, novel: table.novelty[row] > NOVEL, disagree: table.disagreement[row] > DISAGREE,
      suspicious: table.suspicious[row] !== null, selected: selected.has(table.graph[row]) }[only];
  };

  // The drawings of tiles are fetched when they come into view.
  const eager = new IntersectionObserver((entries) => {
    for (const { target, isIntersecting } of entries) {
      if (!isIntersecting) continue;
      eager.unobserve(target);
      fetch(`/api/graphs/${target.dataset.graph}/drawing.svg`).then((r) => r.text()).then((text) => target.replaceChildren(drawing(text))).catch(() => {});
    }
  }, { rootMargin: "300px" });

  const tag = (text, name) => make("span", { class: `tag ${colorOf(name)}` }, text);
  const told = (row) => {
    const parts = [];
    if (table.answer[row]) parts.push(table.answer[row] === "label" ? tag(table.label[row], table.label[row]) : { unsure: "don't know", invalid: "not valid" }[table.answer[row]]);
    if (table.suspicious[row]) parts.push(make("br"), `suspicious: model says ${table.suspicious[row]}`);
    else if (table.prediction[row]) parts.push(...(parts.length ? [make("br")] : []), `model: ${table.prediction[row]}, ${percent(table.confidence[row])}`);
    return parts.length ? parts : ["no answer"];
  };
  const tile = (row) => {
    const key = table.graph[row], place = make("div", { class: "place", "data-graph": key });
    eager.observe(place);
    const box = make("input", { type: "checkbox", "aria-label": `Select ${table.name[row]}`, "data-row": row });
    box.checked = selected.has(key);
    return make("figure", { class: "tile", "data-row": row }, place,
      make("figcaption", {}, box, make("a", { href: `/explain/${key}`, title: table.name[row] }, table.name[row]), ...told(row)));
  };
  const showMore = () => {
    byId("grid").append(...rows.slice(shown, shown + PAGE).map(tile));
    shown = Math.min(rows.length, shown + PAGE);
    byId("more").hidden = shown >= rows.length;
  };
  new IntersectionObserver(([{ isIntersecting }]) => { if (isIntersecting) showMore(); }, { rootMargin: "600px" }).observe(byId("more"));
  byId("more").addEventListener("click", showMore);

  const update = () => {
    if (!table) return;
    rows = table.graph.map((_, row) => row).filter(matches);
    const order = wanted("order");
    if (order === "name") rows.sort((a, b) => table.name[a].localeCompare(table.name[b], "en", { numeric: true }));
    else if (order) rows.sort((a, b) => scores[order] * ((table[order][a] ?? 0) - (table[order][b] ?? 0)));
    shown = 0;
    byId("grid").replaceChildren();
    showMore();
    byId("found").textContent = rows.length === table.graph.length ? counted(rows.length, "graph") : `${rows.length.toLocaleString("en")} of ${counted(table.graph.length, "graph")}`;
    showSelection();
  };

  // -- the map
  const css = (name) => getComputedStyle(document.documentElement).getPropertyValue(`--${name}`).trim();
  const shade = (share) => `color-mix(in srgb, ${css("s0")} ${Math.round(100 * share)}%, ${css("s1")})`;
  let drag = null;
  const coloring = () => {
    const by = wanted("color");
    if (by === "label" || by === "prediction") {
      const colors = Object.fromEntries(state.classes.map((each) => [each.name, css(each.color)]));
      return (row) => colors[table[by][row]] ?? css("muted");
    }
    const mixed = Array.from({ length: 21 }, (_, at) => shade(at / 20));
    return (row) => (table[by][row] === null ? css("muted") : mixed[Math.round(20 * table[by][row])]);
  };
  const spot = (row, size) => [(0.5 + 0.47 * table.x[row]) * size, (0.5 - 0.47 * table.y[row]) * size];
  const drawMap = () => {
    if (!table || !state || table.x[0] === null) return;
    const ratio = devicePixelRatio || 1, size = canvas.clientWidth, high = canvas.clientHeight;
    canvas.width = size * ratio;
    canvas.height = high * ratio;
    const pen = canvas.getContext("2d");
    pen.scale(ratio, ratio);
    const color = coloring(), among = new Set(rows), r = Math.max(1.5, Math.min(5.5, 90 / Math.sqrt(table.graph.length)));
    const dot = (row, alpha) => {
      const [x, y] = [spot(row, size)[0], spot(row, high)[1]];
      pen.globalAlpha = alpha;
      pen.fillStyle = color(row);
      pen.beginPath();
      pen.arc(x, y, table.answer[row] === "label" ? 1.25 * r : r, 0, 7);
      pen.fill();
      if (selected.has(table.graph[row])) { pen.strokeStyle = css("ink"); pen.lineWidth = 2; pen.stroke(); }
    };
    table.graph.forEach((_, row) => { if (!among.has(row)) dot(row, 0.08); });
    // Graphs without a label below those with one.
    for (const labeled of [false, true]) rows.forEach((row) => { if ((table.answer[row] === "label") === labeled) dot(row, 0.85); });
    pen.globalAlpha = 1;
    if (drag) { pen.strokeStyle = css("accent"); pen.setLineDash([5, 4]); pen.strokeRect(drag.x, drag.y, drag.w, drag.h); }
    const by = wanted("color"), key = (color, text) => make("li", { class: `key ${color}` }, text);
    byId("legend").replaceChildren(...(by === "label" || by === "prediction" ? [...state.classes.map((each) => key(each.color, each.name)), key("muted", `no ${by}`)]
      : [key("s1", `low ${by}`), key("s0", `high ${by}`)]));
  };
  const onMap = (event) => { const box = canvas.getBoundingClientRect(); return [event.clientX - box.left, event.clientY - box.top]; };
  const nearest = (px, py) => {
    let best = null, least = 14 ** 2;
    for (const row of rows) {
      const d = (spot(row, canvas.clientWidth)[0] - px) ** 2 + (spot(row, canvas.clientHeight)[1] - py) ** 2;
      if (d < least) [best, least] = [row, d];
    }
    return best;
  };
  canvas.addEventListener("pointerdown", (event) => { const [x, y] = onMap(event); drag = { x, y, w: 0, h: 0 }; canvas.setPointerCapture(event.pointerId); });
  canvas.addEventListener("pointermove", (event) => {
    const [x, y] = onMap(event);
    if (drag) { drag.w = x - drag.x; drag.h = y - drag.y; drawMap(); return; }
    const row = table && table.x[0] !== null ? nearest(x, y) : null;
    canvas.title = row === null ? "" : table.name[row];
  });
  canvas.addEventListener("pointerup", (event) => {
    if (!drag || !table || table.x[0] === null) return;
    const { x, y, w, h } = drag, within = (value, a, b) => value >= Math.min(a, b) && value <= Math.max(a, b);
    drag = null;
    if (Math.abs(w) + Math.abs(h) < 6) {
      const row = nearest(x, y);
      if (row !== null) toggle(row);
    } else {
      if (!event.shiftKey) selected.clear();
      for (const row of rows) if (within(spot(row, canvas.clientWidth)[0], x, x + w) && within(spot(row, canvas.clientHeight)[1], y, y + h)) selected.add(table.graph[row]);
      const first = rows.filter((row) => selected.has(table.graph[row])), rest = rows.filter((row) => !selected.has(table.graph[row]));
      rows = [...first, ...rest];  // what was selected is seen first
      shown = 0;
      byId("grid").replaceChildren();
      showMore();
    }
    showSelection();
  });
  addEventListener("resize", drawMap);
  addEventListener("themed", drawMap);
  matchMedia("(prefers-color-scheme: dark)").addEventListener("change", drawMap);

  // -- selection
  const showSelection = () => {
    byId("bulk").hidden = !selected.size && !undoable;
    byId("selected").textContent = `${selected.size.toLocaleString("en")} selected`;
    byId("bulk-undo").hidden = !undoable;
    for (const box of byId("grid").querySelectorAll("input")) box.checked = selected.has(table.graph[box.dataset.row]);
    drawMap();
  };
  const toggle = (row, on = !selected.has(table.graph[row])) => { selected[on ? "add" : "delete"](table.graph[row]); };
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
  byId("select-all").addEventListener("click", () => { for (const row of rows) selected.add(table.graph[row]); showSelection(); });
  byId("unselect").addEventListener("click", () => { selected.clear(); undoable = null; showSelection(); });

  const label = async (kind, name = null) => {
    if (!selected.size) return;
    const place = new Map(table.graph.map((key, row) => [key, row]));
    const answers = [...selected].map((graph) => ({ graph, kind, label: name, seen: table.seen[place.get(graph)] }));
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
    const columns = ["name", "nodes", "edges", "answer", "label", "prediction", "confidence", "disagreement", "novelty", "suspicious", "x", "y"];
    const lines = [["id", ...columns.slice(1)], ...rows.map((row) => columns.map((name) => table[name][row]))];
    const url = URL.createObjectURL(new Blob([lines.map((each) => each.map(cell).join(",")).join("\n"), "\n"], { type: "text/csv" }));
    make("a", { href: url, download: "graphs.csv" }).click();
    setTimeout(() => URL.revokeObjectURL(url), 10000);
  });

  const load = async () => {
    table = await get("/api/table");
    for (const name of ["answer", "prediction"]) {
      const chosen = form.elements[name], value = chosen.value;
      for (const old of chosen.querySelectorAll('option[value^="="]')) old.remove();
      chosen.append(...table.classes.map(option));
      chosen.value = value;
    }
    update();
  };
  let timer = 0;
  form.addEventListener("input", () => { clearTimeout(timer); timer = setTimeout(update, 120); });
  form.addEventListener("submit", (event) => event.preventDefault());
  followers.push(({ version: now, asked, has_map, classes }) => {
    byId("bulk-classes").replaceChildren(...classes.map((each) => make("button", { type: "button", class: "tag " + each.color, onclick: () => label("label", each.name) }, each.name)));
    byId("map-told").textContent = has_map ? "Similar graphs are close together. Drag a rectangle to select." : "The map is being drawn …";
    if (version !== `${now} ${asked} ${has_map}`) {
      version = `${now} ${asked} ${has_map}`;
      orToast(load());
    }
  });
};

// -- Check ---------------------------------------------------------------------------------------------

const check = () => {
  const doubt = (each) => {
    const settle = async (kind, label) => {
      try {
        await post("/api/answers", { action: unique(), who: who(), answers: [{ graph: each.graph, kind, label, seen: each.seen }],
          shown: { source: "check", opinion: true, evidence: true } });
        toast(`${each.name}: ${inWords({ kind, label })}.`);
      } catch (error) { toast(error.message); }
      card.remove();
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
  followers.push(async ({ asked, model, suspicious }) => {
    byId("told").textContent = suspicious
      ? `${counted(suspicious, "label")} may be wrong: a model that was fitted without them says otherwise, with confidence. The model may be wrong, too.`
      : model ? "No label is suspicious. Labels that a model contradicts with confidence, when it was fitted without them, come here."
        : "There is no model yet. Labels that it contradicts come here.";
    if (looked === asked) return;
    looked = asked;
    try {
      byId("doubted").replaceChildren(...(await get("/api/doubts")).map(doubt));
    } catch (error) { toast(error.message); }
  });
};

// -- one graph -----------------------------------------------------------------------------------------

const explain = () => {
  const { key } = document.body.dataset;
  let graph = null;
  const show = async () => {
    graph = await get(`/api/graphs/${key}`);
    byId("name").textContent = graph.name;
    byId("size").textContent = graph.size + (graph.summarized ? ", drawn in groups of nodes" : "");
    byId("cells").replaceChildren(...cells(graph.cells));
    if (!byId("paper").firstChild) stage.show(graph.drawing);
    const lines = graph.history.map((each) => make("li", {}, `${each.at.slice(0, 16).replace("T", " ")}, ${each.who}: ${each.kind === "undo" ? "undone" : inWords(each)}`));
    byId("history").replaceChildren(...(lines.length ? lines.reverse() : [make("li", {}, "nothing yet")]));
    buttons();
  };
  const settle = async (kind, label = null) => {
    const answers = [{ graph: key, kind, label, seen: graph.answer?.event ?? 0 }];
    await orToast(post("/api/answers", { action: unique(), who: who(), answers, shown: { source: "explain", opinion: true, evidence: true } }));
    await orToast(show());
  };
  const buttons = () => {
    if (!state || !graph) return;
    byId("classes").replaceChildren(...classButtons((name) => settle("label", name), (name) => graph.answer?.label === name));
    for (const button of document.querySelectorAll("[data-do]")) button.setAttribute("aria-pressed", String(graph.answer?.kind === button.dataset.do));
  };
  document.querySelector(".others").addEventListener("click", (event) => {
    const kind = event.target.closest("[data-do]")?.dataset.do;
    if (kind) settle(kind);
  });
  document.addEventListener("keydown", (event) => { if (!isTyping(event) && stage.keys[event.key]) stage.keys[event.key](); });
  let asked = null, version = null;
  followers.push((now) => {
    if (version !== now.version) { version = now.version; orToast(show()); }
    if (asked !== now.asked) { asked = now.asked; showEvidence(key); }
  });
};

({ queue, learn, explore, check, explain })[page]?.();
follow();
