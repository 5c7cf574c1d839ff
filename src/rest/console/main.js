// Shows the view that the address names, and shows it again every few seconds.

import { ask, login, namespace, token } from "./service.js";
import { form, h, input, link, renew } from "./element.js";
import { notice } from "./page.js";
import { overview } from "./overview.js";
import { entity, entityModel, entityModels } from "./entities.js";
import { run, runs } from "./runs.js";
import { definitions } from "./definitions.js";
import { incidents, managers, work } from "./work.js";

const REFRESH_MS = 4000;
// A view that is slow to read is read again after so many times as long.
const REFRESH_TIMES = 10;

// By the first part of the address: its title in the navigation, the list, and one of the list.
const VIEWS = {
  "": { title: "Overview", list: overview },
  entities: { title: "Entities", list: entityModels, one: entityModel },
  entity: { one: entity },
  runs: { title: "Runs", list: runs, one: run },
  definitions: { title: "Definitions", list: definitions },
  work: { title: "Work", list: work },
  managers: { title: "Managers", list: managers },
  incidents: { title: "Incidents", list: incidents },
};

const view = document.getElementById("view");
// The number of the last look, so that an answer that comes late replaces nothing.
let latest = 0;
// When the view is read again.
let timer;
// The address and the namespace of what is shown.
let shown;

function place() {
  const [path, query = ""] = location.hash.replace(/^#\/?/, "").split("?");
  const said = Object.fromEntries(new URLSearchParams(query));
  try {
    const [name, ...parts] = path.split("/").map(decodeURIComponent);
    return { name, parts, query: said };
  } catch {
    // Not a path that was encoded.
    return { name: path, parts: [], query: said };
  }
}

function loginForm(reason) {
  return [
    h("h1", {}, "Log in"),
    h("p", {}, reason),
    h("p", { class: "faint" }, "With a client of this service. The token is kept until this browser tab is closed."),
    form(
      [
        ["id", "Client id", input("", { required: true, autocomplete: "username" })],
        ["secret", "Client secret", input("", { required: true, type: "password", autocomplete: "current-password" })],
      ],
      "Log in",
      ({ id, secret }) => login(id, secret).then(begin, (error) => notice(error.message)),
    ),
    h("p", { class: "faint" }, "Or with a token of an identity provider that this service trusts:"),
    form([["bearer", "Token", input("", { required: true, type: "password" })]], "Use it", ({ bearer }) => {
      try {
        token.set(bearer.trim().replace(/^Bearer\s+/i, ""));
      } catch (error) {
        return notice(error.message);
      }
      begin();
    }),
  ];
}

async function content({ name, parts, query }) {
  const known = VIEWS[name];
  const render = parts.length ? known?.one : known?.list;
  if (!render) return h("p", {}, "There is no such page. ", link([], "Back to the overview"), ".");
  return render(parts, query);
}

// What names an element in the eyes of a person, so that the same one has the focus again.
const nameOf = (element) => element.dataset.key ?? element.getAttribute("href") ?? element.textContent;

// Moves forms to where an equal one is: what was typed in them stays.
function keepForms(from, to) {
  const known = [...(from.querySelectorAll?.("form") ?? [])];
  for (const form of to.querySelectorAll?.("form") ?? []) {
    const at = known.findIndex((other) => other.isEqualNode(form));
    if (at < 0) continue;
    const [kept] = known.splice(at, 1);
    renew(kept, form);
    form.replaceWith(kept);
  }
}

// Replaces the parts of the view that changed: the others keep where they are scrolled to, and what was
// typed. Of another view nothing is kept.
function replace(next, isSame) {
  const opened = new Set([...view.querySelectorAll("details[open]")].map((part) => part.dataset.key));
  for (const part of next.querySelectorAll("details")) part.open = opened.has(part.dataset.key);
  const reached = () => [...view.querySelectorAll("a, button, summary")];
  const focused = view.contains(document.activeElement) ? nameOf(document.activeElement) : undefined;
  const active = document.activeElement;
  const [before, after] = [[...view.childNodes], [...next.childNodes]];
  if (isSame && before.length === after.length) {
    after.forEach((part, at) => {
      if (part.isEqualNode(before[at])) renew(before[at], part);
      else {
        keepForms(before[at], part);
        before[at].replaceWith(part);
      }
    });
  } else {
    if (isSame) keepForms(view, next);
    view.replaceChildren(...next.childNodes);
  }
  // What was moved has lost it.
  if (isSame && active !== document.activeElement && view.contains(active)) active.focus({ preventScroll: true });
  if (isSame && focused && !view.contains(document.activeElement))
    reached().find((part) => nameOf(part) === focused)?.focus({ preventScroll: true });
}

// Shows the view; again, if a person does not need it as it is, or has seen that it is not so any more.
async function show({ isAgain = false, isOutdated = false } = {}) {
  const number = ++latest;
  const at = place();
  const what = JSON.stringify([at, namespace.get()]);
  const begun = performance.now();
  let parts;
  let needsLogin = false;
  clearTimeout(timer);
  try {
    parts = await content(at);
  } catch (error) {
    needsLogin = error.needsLogin;
    if (needsLogin) parts = loginForm(error.message);
    // What is shown is better than nothing.
    else if (isAgain) notice(error.message);
    else parts = [h("h1", {}, "Request failed"), h("p", {}, error.message)];
    if (needsLogin) document.getElementById("caller").replaceChildren();
  }
  if (number !== latest) return;
  const isKept = !parts || (isAgain && !isOutdated && isBusy());
  // The form to log in needs no other look, and keeps the reason that it gives.
  if (isKept || !needsLogin) timer = setTimeout(refresh, Math.max(REFRESH_MS, REFRESH_TIMES * (performance.now() - begun)));
  if (isKept) return;
  replace(h("main", {}, parts), what === shown);
  shown = what;
  document.title = `${view.querySelector("h1")?.textContent ?? "Console"} · Interlock`;
  for (const part of document.querySelectorAll("nav a")) {
    if (part.dataset.view === at.name) part.setAttribute("aria-current", "page");
    else part.removeAttribute("aria-current");
  }
}

async function showCaller() {
  const caller = document.getElementById("caller");
  try {
    const { userAccountInfo } = await ask("AccountGetRequest");
    const logout = token.get() && h("button", { click: () => (token.forget(), location.reload()) }, "Log out");
    caller.replaceChildren(`${userAccountInfo.userName} `, logout || "");
  } catch {
    caller.replaceChildren();
  }
}

// A form that somebody fills in, a button under the pointer, a selection and a hidden page are left as
// they are.
function isBusy() {
  const isFocused = ["INPUT", "TEXTAREA", "SELECT"].includes(document.activeElement?.tagName);
  const isEdited =
    [...view.querySelectorAll("input, textarea")].some((field) => field.value !== field.defaultValue) ||
    [...view.querySelectorAll("option")].some((option) => option.selected !== option.defaultSelected);
  // What is about to be clicked does not move.
  const isAimedAt = view.querySelector("button:hover") !== null;
  return document.hidden || isFocused || isEdited || isAimedAt || !getSelection().isCollapsed;
}

document.getElementById("nav").append(
  ...Object.entries(VIEWS)
    .filter(([, known]) => known.title)
    .map(([name, known]) => h("a", { href: `#/${name}`, "data-view": name }, known.title)),
  h("a", { href: "docs" }, "API"),
);
addEventListener("hashchange", () => {
  scrollTo(0, 0);
  show();
});
addEventListener("interlock-changed", () => show());
addEventListener("interlock-refused", () => show({ isAgain: true, isOutdated: true }));

function refresh() {
  if (isBusy()) timer = setTimeout(refresh, REFRESH_MS);
  else show({ isAgain: true });
}

const within = document.getElementById("namespace");
within.value = namespace.get() ?? "";
within.addEventListener("change", () => {
  namespace.set(within.value.trim());
  show();
});

function begin() {
  notice("");
  return show().then(showCaller);
}
begin();
