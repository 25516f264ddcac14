// Making elements, drawings and words. Names of graphs and classes only ever become text.

export const byId = (id) => document.getElementById(id);

export const make = (tag, attributes = {}, ...children) => {
  const node = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes)) {
    if (name.startsWith("on")) node.addEventListener(name.slice(2), value);
    else if (value === true) node.setAttribute(name, "");
    else if (value !== false && value !== null && value !== undefined) node.setAttribute(name, value);
  }
  node.append(...children);  // strings become text, never markup
  return node;
};

export const drawing = (text) => {
  const parsed = new DOMParser().parseFromString(text ?? "", "image/svg+xml").documentElement;
  return parsed.nodeName === "svg" ? document.importNode(parsed, true) : document.createTextNode("(no drawing)");
};

// What our own templates have written, which escape all names.
export const written = (html) => {
  const parts = document.createElement("template");
  parts.innerHTML = html;
  return parts.content;
};

export const percent = (share, digits = 0) => (share === null || share === undefined ? "–" : `${(100 * share).toFixed(digits)} %`);
export const counted = (n, word) => `${n.toLocaleString("en")} ${word}${n === 1 ? "" : "s"}`;
export const duration = (seconds) => (seconds < 90 ? `${Math.max(1, Math.round(seconds))} s` : `${Math.round(seconds / 60)} min`);

// A bar for each of the most probable classes.
const MOST_CLASSES = 8;
export const meters = (probabilities, digits = 0) => probabilities.slice(0, MOST_CLASSES).map(([name, share]) => make("div", { class: "meter" },
  make("span", { title: name }, name),
  make("progress", { max: 1, value: share, "aria-label": name }),
  make("output", {}, percent(share, digits))));
