// What every view is made of. Texts of the service become text nodes, never HTML.

import { act, address, progress } from "./page.js";
import { url } from "./service.js";

// A function is what an event of that name does. It is a property of the element, so that `renew` finds it.
export function h(tag, attributes = {}, ...children) {
  const element = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes)) {
    if (value === undefined || value === false) continue;
    if (typeof value === "function") element[`on${name}`] = value;
    else element.setAttribute(name, value === true ? "" : String(value));
  }
  element.append(...children.flat(Infinity).filter((child) => child !== undefined && child !== null && child !== false));
  return element;
}

// Gives an element, and those in it, what events of an equal element do: it looks the same, and may act
// on something else.
export function renew(element, equal) {
  const within = [equal, ...(equal.querySelectorAll?.("*") ?? [])];
  [element, ...(element.querySelectorAll?.("*") ?? [])].forEach((part, at) => {
    part.onclick = within[at].onclick;
    part.onsubmit = within[at].onsubmit;
  });
}

export const link = (parts, text, query) => h("a", { href: address(parts, query) }, text);

export const help = (topic, text) => h("a", { href: url(`/help/${topic}.md`) }, text);

// A button that does what `name` says, after the question if there is one. `of` is what it is about where
// several have the same text.
export const button = (text, name, does, { question, of } = {}) =>
  h("button", { "data-key": name, "aria-label": of && `${text} ${of}`, ...progress(name), click: () => act(name, does, { question }) }, text);

export const time = (instant) =>
  instant ? h("time", { datetime: instant, title: instant }, new Date(instant).toLocaleString()) : "–";

const GOOD = ["completed", "live", "healthy", "enabled", "done"];
const BAD = ["failed", "timed_out", "not live", "unhealthy", "disabled", "error", "expired"];

export function badge(text) {
  const kind = GOOD.includes(text) ? "good" : BAD.includes(text) ? "bad" : "plain";
  return h("span", { class: `badge ${kind}` }, text ?? "–");
}

// How many characters of a document are shown at first: a browser lays out more of them for seconds.
const JSON_CHARACTERS = 1 << 18;

// The link that shows whole what a view has shortened.
export const whole = (parts, query) => link(parts, "Show all", { ...query, whole: "true" });

// A document, of which the address of the view says whether it is shown whole.
export function json(value, parts, query) {
  const text = JSON.stringify(value, null, 2) ?? "–";
  if (query.whole || text.length <= JSON_CHARACTERS) return h("pre", {}, text);
  const note = `The first ${JSON_CHARACTERS} of ${text.length} characters are shown. `;
  return [h("pre", {}, shortened(text, JSON_CHARACTERS)), h("p", { class: "faint" }, note, whole(parts, query))];
}

// A part that is closed at first; what a person opens stays open when the view is shown again.
export const folded = (title, ...children) => h("details", { "data-key": title }, h("summary", {}, title), ...children);

// The beginning of a text: whole characters.
export function shortened(text, length) {
  const characters = Array.from(text.slice(0, 2 * length + 2));
  return characters.length > length ? `${characters.slice(0, length).join("")}…` : text;
}

// The beginning of a value, in one line.
export const excerpt = (value, length = 120) => shortened(typeof value === "string" ? value : (JSON.stringify(value) ?? ""), length);

export function table(columns, rows, empty = "None.") {
  if (!rows.length) return h("p", { class: "empty" }, empty);
  const head = h("tr", {}, columns.map((column) => h("th", { scope: "col" }, column || h("span", { class: "unseen" }, "Actions"))));
  const body = rows.map((row) => h("tr", {}, row.map((cell) => h("td", {}, cell === "" ? "–" : (cell ?? "–")))));
  return h("div", { class: "scroll" }, h("table", {}, h("thead", {}, head), h("tbody", {}, body)));
}

export const facts = (pairs) =>
  h(
    "dl",
    {},
    pairs
      .filter(([, value]) => value !== undefined && value !== null && value !== "")
      .map(([name, value]) => [h("dt", {}, name), h("dd", {}, value)]),
  );

export const section = (title, ...children) => h("section", {}, h("h2", {}, title), ...children);

// What an empty page of a list says: with a filter others may follow.
export const none = (text, pagination) => (pagination?.nextCursor ? "No matches on this page; see the next page." : text);

// The link to the next page of a list, and to its first. A view with several lists has the cursor of
// each under a key of its own.
export const pages = (parts, query, pagination, key = "cursor") =>
  h(
    "p",
    { class: "pages" },
    query[key] && link(parts, "First page", { ...query, [key]: undefined }),
    pagination?.nextCursor && link(parts, "Next page", { ...query, [key]: pagination.nextCursor }),
  );

// A form whose fields are named and whose values go to `submit`, with what says whether they are still
// those. It is as it was at first again when that has done something, unless another value was typed
// meanwhile. `key` is that of the action, if it is one; it names the form, too.
export function form(fields, button, submit, key = undefined) {
  return h(
    "form",
    {
      "data-key": key,
      submit: (event) => {
        event.preventDefault();
        const sent = event.target;
        const values = () => JSON.stringify([...new FormData(sent)]);
        const typed = values();
        const isAsSent = () => values() === typed;
        Promise.resolve(submit(Object.fromEntries(new FormData(sent)), isAsSent)).then((isDone) => isDone && isAsSent() && sent.reset());
      },
    },
    fields.map(([name, label, control]) => {
      control.setAttribute("name", name);
      return h("label", {}, label, control);
    }),
    h("button", key ? progress(key) : {}, button),
  );
}

export const input = (value, attributes = {}) => h("input", { value: value ?? "", ...attributes });

// What was chosen before stays a choice, also if it is none any more.
export function choice(values, chosen = values[0][0]) {
  const all = values.some(([value]) => value === chosen) ? values : [...values, [chosen, chosen]];
  return h("select", {}, all.map(([value, text]) => h("option", { value, selected: value === chosen }, text)));
}
