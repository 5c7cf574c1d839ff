// Shows the view that the address names, and shows it again every few seconds.

import { Unanswered, ask, token } from "./service.js";
import { h, link, renew } from "./element.js";
import { address, go, markProgress, namespace, notice } from "./page.js";
import { isBusy } from "./attention.js";
import { askToLogin, isLoginOpen } from "./login.js";
import { arrive, enter } from "./scroll.js";
import { overview } from "./overview.js";
import { entity, entityModel, entityModels } from "./entities.js";
import { run, runs } from "./runs.js";
import { definitions } from "./definitions.js";
import { incidents, managers, work } from "./work.js";

const REFRESH_MS = 4000;
// A view that is slow to read is read again after so many times as long.
const REFRESH_TIMES = 10;
// When another view is replaced by a word that it is being read, and when that takes too long.
const LOADING_MS = 500;
const SLOW_MS = 10_000;

// By the first part of the address: its title in the navigation, the list, and one of the list; or the
// view in the navigation that it belongs to.
const VIEWS = {
  "": { title: "Overview", list: overview },
  entities: { title: "Entities", list: entityModels, one: entityModel },
  entity: { one: entity, within: "entities" },
  runs: { title: "Runs", list: runs, one: run },
  definitions: { title: "Definitions", list: definitions },
  work: { title: "Work", list: work },
  managers: { title: "Managers", list: managers },
  incidents: { title: "Incidents", list: incidents },
};

const view = document.getElementById("view");
const callerPlace = document.getElementById("caller");
const namespaceField = document.getElementById("namespace");
// The number of the last look, so that an answer that comes late replaces nothing.
let latest = 0;
// When the view is read again.
let timer;
// What happens while a look is not answered.
let waits = [];
// The address of what is shown, when it was read, and whether it is what was asked for.
let shown = { isGood: false };
// Whether the view of another address is about to be shown, which then gets the focus, except the first.
let isArriving = true;
// Who is logged in, and the tenant if others may be shown in other tabs.
let caller;
let tenant;

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

async function content({ name, parts, query }) {
  const known = VIEWS[name];
  const render = parts.length ? known?.one : known?.list;
  return (await render?.(parts, query)) ?? [h("h1", {}, "Not found"), h("p", {}, "There is no such page. ", link([], "Back to the overview"), ".")];
}

// What names an element in the eyes of a person, so that the same one has the focus again.
const nameOf = (element) => element.dataset.key ?? element.getAttribute("href") ?? element.textContent;

// What a form asks for: the same under the same name, whatever is proposed. Extensions of browsers give
// its elements further attributes.
const shapeOf = (form) =>
  form.dataset.key ??
  JSON.stringify([form.textContent, [...form.querySelectorAll("input, textarea")].map((field) => [field.name, field.defaultValue])]);

// Moves forms to where one that asks for the same is: what was typed in them stays.
function keepForms(from, to) {
  const known = [...(from.querySelectorAll?.("form") ?? [])];
  for (const form of to.querySelectorAll?.("form") ?? []) {
    const at = known.findIndex((other) => shapeOf(other) === shapeOf(form));
    if (at < 0) continue;
    const [kept] = known.splice(at, 1);
    kept.onsubmit = form.onsubmit;
    form.replaceWith(kept);
  }
}

// Replaces the parts of the view that changed: the others keep where they are scrolled to, and what was
// typed. Of another view nothing is kept.
function replace(next, isSame) {
  // What was navigated to gets the focus.
  next.querySelector("h1")?.setAttribute("tabindex", "-1");
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

// Says that what is shown may be old, and why.
function warn(text) {
  const element = document.getElementById("stale");
  if (element.textContent !== text) element.textContent = text;
}

function entitle() {
  document.title = [view.querySelector("h1")?.textContent ?? "Console", tenant, "Interlock"].filter(Boolean).join(" · ");
}

// Marks in the header where one is; its links stay in the namespace.
function mark({ name }) {
  document.getElementById("home").setAttribute("href", address([]));
  for (const part of document.querySelectorAll("nav a[data-view]")) {
    part.setAttribute("href", address([part.dataset.view]));
    if (part.dataset.view === (VIEWS[name]?.within ?? name)) part.setAttribute("aria-current", "page");
    else part.removeAttribute("aria-current");
  }
  if (document.activeElement !== namespaceField) namespaceField.value = namespace.get() ?? "";
}

// Says that a view is being read, if that takes some time.
function wait(at, what) {
  waits.forEach(clearTimeout);
  const isSame = what === shown.what;
  const since = isSame && shown.isGood ? `; what is shown is as of ${shown.since.toLocaleTimeString()}` : "";
  waits = [setTimeout(() => warn(`The service has not answered for ${SLOW_MS / 1000} s${since}.`), SLOW_MS)];
  if (isSame) return;
  view.setAttribute("aria-busy", "true");
  const load = () => {
    replace(h("main", {}, h("h1", {}, VIEWS[at.name]?.title ?? "Interlock"), h("p", { class: "faint" }, "Loading…")), false);
    shown = { what, isGood: false };
    entitle();
  };
  waits.push(setTimeout(load, LOADING_MS));
}

// What is shown instead of a view that cannot be read: nothing if the one that is shown is better.
function failure(error, isShown) {
  if (error.needsLogin) {
    callerPlace.replaceChildren(h("button", { click: () => askToLogin(error.message, loggedIn) }, "Log in"));
    askToLogin(error.message, loggedIn);
    return isShown ? undefined : [h("h1", {}, "Log in"), h("p", {}, error.message)];
  }
  const isUnanswered = error instanceof Unanswered;
  if (isShown) {
    warn(isUnanswered ? `${error.message} What is shown may be old; the page tries again.` : error.message);
    return undefined;
  }
  warn("");
  return [h("h1", {}, "Request failed"), h("p", {}, error.message, isUnanswered && " This page tries again every few seconds.")];
}

// Shows the view; again, if a person does not need it as it is, or has seen that it is not so any more.
async function show({ isAgain = false, isOutdated = false } = {}) {
  const number = ++latest;
  const at = place();
  const what = JSON.stringify(at);
  const begun = performance.now();
  clearTimeout(timer);
  mark(at);
  wait(at, what);
  let parts;
  let problem;
  try {
    parts = await content(at);
  } catch (error) {
    problem = error;
  }
  if (number !== latest) return;
  waits.forEach(clearTimeout);
  view.removeAttribute("aria-busy");
  const isSame = what === shown.what;
  if (problem) parts = failure(problem, isSame && shown.isGood);
  else warn("");
  // Without a login nothing can be read.
  const isHeard = !problem?.needsLogin && !(problem instanceof Unanswered);
  const pause = problem ? 0 : REFRESH_TIMES * (performance.now() - begun);
  if (!problem?.needsLogin) timer = setTimeout(refresh, Math.max(REFRESH_MS, pause));
  if (isHeard && !callerPlace.textContent) showCaller();
  if (!parts || (isAgain && !isOutdated && isBusy(view))) return;
  replace(h("main", {}, parts), isSame);
  shown = { what, isGood: !problem, since: new Date() };
  markProgress();
  entitle();
  if (!isArriving || problem?.needsLogin) return;
  isArriving = false;
  arrive();
  if (number > 1 && document.activeElement !== namespaceField) view.querySelector("h1")?.focus({ preventScroll: true });
}

// Shows who is logged in. What another has seen or typed is forgotten.
async function showCaller() {
  try {
    const { userAccountInfo: user } = await ask("AccountGetRequest");
    const found = JSON.stringify([user.userId, user.legalEntity.id]);
    if (caller && caller !== found) return location.reload();
    caller = found;
    tenant = token.get() && user.legalEntity.name;
    const logout = token.get() && h("button", { click: () => (token.forget(), location.reload()) }, "Log out");
    callerPlace.replaceChildren([user.userName, tenant].filter(Boolean).join(" · "), " ", logout || "");
    entitle();
  } catch {
    // The next look asks again.
  }
}

async function loggedIn() {
  notice("");
  callerPlace.replaceChildren();
  await showCaller();
  return show();
}

function refresh() {
  clearTimeout(timer);
  if (isLoginOpen()) return;
  if (isBusy(view)) timer = setTimeout(refresh, REFRESH_MS);
  else show({ isAgain: true });
}

document.getElementById("nav").append(
  ...Object.entries(VIEWS)
    .filter(([, known]) => known.title)
    .map(([name, known]) => h("a", { href: `#/${name}`, "data-view": name }, known.title)),
  h("a", { href: "docs" }, "API"),
);
document.getElementById("skip").onclick = () => view.querySelector("h1")?.focus();
document.getElementById("close").onclick = () => notice("");
namespaceField.addEventListener("change", () => {
  namespaceField.value = namespaceField.value.trim();
  if (!namespaceField.reportValidity()) return;
  const { name, parts, query } = place();
  go([name, ...parts], { ...query, namespace: namespaceField.value });
});
addEventListener("hashchange", () => {
  enter();
  isArriving = true;
  return show();
});
// A link to the page that is shown reads it again.
addEventListener("click", (event) => {
  const isPlain = !event.ctrlKey && !event.metaKey && !event.shiftKey;
  if (isPlain && event.target.closest?.("a")?.getAttribute("href") === location.hash) show();
});
addEventListener("visibilitychange", () => {
  if (!document.hidden) refresh();
});
addEventListener("interlock-changed", () => show());
addEventListener("interlock-refused", () => show({ isAgain: true, isOutdated: true }));
addEventListener("interlock-login", ({ detail }) => failure({ message: detail, needsLogin: true }, true));

enter();
show();
