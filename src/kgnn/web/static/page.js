// What all pages of the workbench have: news of the project, the bar on top, buttons of classes.

import { byId, duration, make, percent } from "./dom.js";

export const toast = (text) => {
  const node = make("div", { class: "toast" }, text);
  byId("toasts").append(node);
  setTimeout(() => node.remove(), 6000);
};
// Whether it went well; if not, the page says why.
export const orToast = (promise) => promise.then(() => true, (error) => { toast(error.message); return false; });

export const stored = (kind, name, first) => {
  try {
    const held = kind.getItem(name) ?? first();
    kind.setItem(name, held);
    return held;
  } catch { return first(); }  // no storage, as in some private windows
};
const keep = (name, value) => { try { localStorage.setItem(name, value); } catch { /* no storage */ } };

// -- the state of the project, as the server tells it

export let state = null;
const followers = [];
export const onState = (follower) => followers.push(follower);

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
follow();

// -- light or dark, and who is at the keyboard

const theme = () => document.documentElement.dataset.theme
  ?? (matchMedia("(prefers-color-scheme: dark)").matches ? "dark" : "light");
const setTheme = (name) => { document.documentElement.dataset.theme = name; };
try { if (localStorage.getItem("kgnn-theme")) setTheme(localStorage.getItem("kgnn-theme")); } catch { /* no storage */ }
byId("theme").addEventListener("click", () => {
  setTheme(theme() === "dark" ? "light" : "dark");
  keep("kgnn-theme", theme());
  dispatchEvent(new Event("themed"));
});

export const who = () => byId("who").value.trim() || document.body.dataset.who;
byId("who").value = stored(localStorage, "kgnn-who", () => document.body.dataset.who);
byId("who").addEventListener("change", () => keep("kgnn-who", who()));

export const isTyping = (event) => Boolean(event.target.closest?.("input, select, textarea, dialog"))
  || event.ctrlKey || event.metaKey || event.altKey;

// -- a graph and its classes

export const colorOf = (name) => state?.classes.find((each) => each.name === name)?.color ?? "muted";

export const inWords = (answer) => ({ label: `is ${answer.label}`, unsure: "don't know", invalid: "not a valid graph" })[answer.kind];

export const classButtons = (onChoose, pressed = () => false) => state.classes.map((each, at) => make("button",
  { type: "button", class: each.color, "aria-pressed": String(pressed(each.name)), onclick: () => onChoose(each.name) },
  at < 9 ? make("kbd", {}, String(at + 1)) : "", each.name, make("small", {}, each.count.toLocaleString("en"))));

export const showAbout = ({ name, size, summarized, cells }) => {
  byId("name").textContent = name;
  byId("size").textContent = size + (summarized ? ", drawn in groups of nodes" : "");
  byId("cells").replaceChildren(...Object.entries(cells).flatMap(([name, value]) => [make("dt", {}, name), make("dd", {}, value)]));
};
