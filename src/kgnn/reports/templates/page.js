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
  const fixed = (value, digits) => (value === null ? "–" : value.toFixed(digits));

  let data = null;  // read when it is first asked for
  const records = () => (data ??= JSON.parse(byId("records").textContent));
  const names = ["split", "TEST %", "VAL %", "without twins %", "in label set %", "set size", "ECE", "Brier",
    "CPU s", "MiB", "finished (UTC)"];
  const [COMMAND, VERSIONS, MACHINE] = [11, 12, 13];  // of a split, after these

  const grid = (headings, values) => {
    const head = make("tr", ...headings.map((name) => make("th", name)));
    const rows = values.map((row) => make("tr", ...row.map((text, i) => make(i ? "td" : "th", String(text)))));
    const box = make("div", make("table", make("thead", head), make("tbody", ...rows)));
    box.className = "scroll";
    return box;
  };

  const percent = (share) => (share === null ? null : 100 * share);
  const splitTable = (splits) => grid(names, splits.map(
    ([seed, test, val, alone, coverage, size, ece, brier, seconds, memory, finished]) => [
      seed, fixed(test, 1), fixed(val, 1), fixed(alone, 1), fixed(coverage, 1), fixed(size, 2),
      fixed(percent(ece), 1), fixed(brier, 3), fixed(seconds, 1), fixed(memory, 0),
      finished.slice(0, 16).replace("T", " ")]));

  // Both accuracies and their difference, on the splits that both have.
  const differences = (group, other) => {
    const theirs = new Map(other.splits.map(([seed, test]) => [seed, test]));
    const shared = group.splits.filter(([seed]) => theirs.has(seed));
    return grid(["split", "TEST %", `${other.title} %`, "difference"], shared.map(([seed, test]) =>
      [seed, fixed(test, 1), fixed(theirs.get(seed), 1), fixed(test - theirs.get(seed), 1).replace("-", "−")]));
  };

  const distinct = (splits, column) => [...new Set(splits.map((split) => split[column]))];

  const show = (group, minus) => {
    const { shared } = records();
    const [labeled, unlabeled, val, test] = group.sizes;
    const title = make("h2", group.title);
    title.id = "detail-title";
    const close = make("button", "Close");
    close.type = "button";
    close.className = "close";
    close.addEventListener("click", () => byId("detail").close());
    const several = group.splits.length > 1;
    const changed = Object.keys(group.parameters).length > 0;
    const panel = make("div", close, title,
      terms({
        [group.metric]: fixed(group.mean, 2) + (several
          ? ` ± ${fixed(group.std, 2)} over ${group.splits.length} runs; 95 % interval of the mean ± ${fixed(group.interval, 2)} (t over runs, corrected for the overlap of splits)` : ""),
        protocol: group.protocol,
        labels: group.labels_in_words,
        graphs: `${labeled} labeled, ${unlabeled} unlabeled, ${val} VAL, ${test} TEST`,
      }),
      ...(minus ? [make("h3", `Minus ${minus.title}, with its defaults`), differences(group, minus)] : []),
      make("h3", "Runs"), splitTable(group.splits),
      make("h3", "Parameters"),
      changed ? terms(group.parameters) : "All are the defaults.",
      folded("All parameters", terms(shared[group.all_parameters])),
      make("h3", "Commands"),
      make("pre", group.splits[0][COMMAND]),
      several ? folded("Of every run", make("pre", group.splits.map((split) => split[COMMAND]).join("\n"))) : "",
      make("h3", "Made with"),
      ...distinct(group.splits, VERSIONS).map((at) => terms(shared[at])),
      make("h3", "On"),
      ...distinct(group.splits, MACHINE).map((at) => terms(shared[at])));
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
