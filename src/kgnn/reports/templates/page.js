"use strict";
(() => {
  const byId = (id) => document.getElementById(id);
  const make = (tag, ...children) => {
    const node = document.createElement(tag);
    node.append(...children);  // strings become text, never markup
    return node;
  };
  const written = (value) => (typeof value === "string" ? value : JSON.stringify(value));
  const terms = (values) => {
    const list = make("dl");
    for (const [name, value] of Object.entries(values)) list.append(make("dt", name), make("dd", written(value)));
    return list;
  };
  const folded = (title, content) => make("details", make("summary", title), content);

  let data = null;  // read when it is first asked for
  const records = () => (data ??= JSON.parse(byId("records").textContent));

  const grid = (headings, values) => {
    const head = make("tr", ...headings.map((name) => make("th", name)));
    const rows = values.map((row) => make("tr", ...row.map((text, i) => make(i ? "td" : "th", text))));
    const box = make("div", make("table", make("thead", head), make("tbody", ...rows)));
    box.className = "scroll";
    return box;
  };

  // Both accuracies and their difference, on the splits that both have.
  const differences = (group, other) => {
    const theirs = new Map(other.runs);  // by split
    const shared = group.runs.filter(([seed]) => theirs.has(seed));
    return grid(["split", "TEST %", `${other.title} %`, "difference"], shared.map(([seed, test]) =>
      [seed, test, theirs.get(seed), (test - theirs.get(seed)).toFixed(1).replace("-", "−")]));
  };

  const show = (group, minus) => {
    const { shared, headings } = records();
    const title = make("h2", group.title);
    title.id = "detail-title";
    const close = make("button", "Close");
    close.type = "button";
    close.className = "close";
    close.addEventListener("click", () => byId("detail").close());
    const changed = Object.keys(group.parameters).length > 0;
    const panel = make("div", close, title, terms(group.facts),
      ...(minus ? [make("h3", `Minus ${minus.title}, with its defaults`), differences(group, minus)] : []),
      make("h3", "Runs"), grid(headings, group.runs),
      make("h3", "Parameters"), changed ? terms(group.parameters) : "All are the defaults.",
      folded("All parameters", terms(shared[group.all_parameters])),
      make("h3", "Commands"), make("pre", group.commands[0]),
      group.commands.length > 1 ? folded("Of every run", make("pre", group.commands.join("\n"))) : "",
      make("h3", "Made with"), ...group.versions.map((at) => terms(shared[at])),
      make("h3", "On"), ...group.machines.map((at) => terms(shared[at])));
    panel.className = "detail";
    byId("detail").replaceChildren(panel);
    byId("detail").showModal();
  };

  document.addEventListener("click", (event) => {
    const button = event.target.closest("[data-group]");
    if (button) show(records().groups[Number(button.dataset.group)], records().groups[Number(button.dataset.minus)]);
    if (event.target === byId("detail")) byId("detail").close();  // beside the panel
  });
  if (byId("hint")) byId("hint").hidden = false;

  const root = document.documentElement;
  const toggle = byId("theme");
  const isDark = () => (root.dataset.theme ?? (matchMedia("(prefers-color-scheme: dark)").matches ? "dark" : "light")) === "dark";
  const remember = (theme) => {
    try { localStorage.setItem("kgnn-theme", theme); } catch { /* a page from a file may have no storage */ }
  };
  const recall = () => {
    try { return localStorage.getItem("kgnn-theme"); } catch { return null; }
  };
  const named = () => { toggle.textContent = isDark() ? "Light" : "Dark"; };
  const recalled = recall();
  if (recalled === "dark" || recalled === "light") root.dataset.theme = recalled;
  toggle.addEventListener("click", () => {
    root.dataset.theme = isDark() ? "light" : "dark";
    remember(root.dataset.theme);
    named();
  });
  toggle.hidden = false;
  named();
})();
