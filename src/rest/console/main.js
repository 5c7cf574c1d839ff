// Shows the view that the address names, and shows it again every few seconds.

import { Unanswered, ask, token } from "./service.js";
import { h, link, renew, section } from "./element.js";
import { address, go, markProgress, namespace, notice } from "./page.js";
import { isBusy, isEdited } from "./attention.js";
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

// What a field has at first.
const proposed = (field) => field.defaultValue ?? field.querySelector("option[selected]")?.value;

// What a form asks for: the same under the same name, whatever is proposed. Without a name what is
// proposed counts, but not the choices, which may have counts. Extensions of browsers give its elements
// further attributes.
const shapeOf = (form) =>
  form.dataset.key ?? JSON.stringify([...form.querySelectorAll("input, textarea, select")].map((field) => [field.name, proposed(field)]));

const formsOf = (parts) => parts.flatMap((part) => (part.tagName === "FORM" ? [part] : [...(part.querySelectorAll?.("form") ?? [])]));

// Whether a form is to stay: it is that of an action, or somebody uses it. Others get their new choices.
const isKept = (form) => form.dataset.key || isEdited(form) || form.contains(document.activeElement);

// Moves forms to where one that asks for the same is: what was typed in them stays. Returns those that
// were filled in and have no such place.
function keepForms(from, to) {
  const known = formsOf(from).filter(isKept);
  for (const form of formsOf(to)) {
    const at = known.findIndex((other) => shapeOf(other) === shapeOf(form));
    if (at < 0) continue;
    const [kept] = known.splice(at, 1);
    kept.onsubmit = form.onsubmit;
    form.replaceWith(kept);
  }
  return known.filter(isEdited);
}

// What shows a form that has no place any more: nothing is lost that somebody has typed.
function left(form) {
  const discard = () => {
    form.reset();
    show();
  };
  const why = h("p", { class: "faint" }, "This was typed into a form that the page does not have any more.");
  return section("What you typed", why, form, h("button", { click: discard }, "Discard"));
}

// The heading of a section, or of the view, made able to have the focus.
function heading(title) {
  const found = [...view.querySelectorAll("h2")].find((part) => part.textContent === title) ?? view.querySelector("h1");
  found?.setAttribute("tabindex", "-1");
  return found;
}

// Replaces the parts of the view that changed: the others keep where they are scrolled to, and what was
// typed. Of another view nothing is kept.
function replace(next, isSame) {
  // What was navigated to gets the focus.
  next.querySelector("h1")?.setAttribute("tabindex", "-1");
  const opened = new Set([...view.querySelectorAll("details[open]")].map((part) => part.dataset.key));
  for (const part of next.querySelectorAll("details")) part.open = opened.has(part.dataset.key);
  const active = document.activeElement;
  const isFocused = isSame && view.contains(active);
  const around = isFocused && active.closest("section")?.querySelector("h2")?.textContent;
  const before = [...view.childNodes];
  const coming = [...next.childNodes];
  const isAligned = isSame && before.length === coming.length;
  // To be found before forms are moved, which changes the parts that they are in.
  const isEqual = coming.map((part, at) => isAligned && part.isEqualNode(before[at]));
  const isReplaced = (_, at) => !isEqual[at];
  const typed = isSame ? keepForms(before.filter(isReplaced), coming.filter(isReplaced)) : [];
  coming.forEach((part, at) => isEqual[at] && renew(before[at], part));
  const parts = [...next.childNodes].map((part, at) => (isEqual[at] ? before[at] : part));
  for (const part of before) if (!parts.includes(part)) part.remove();
  // What is in its place is not touched: it would lose the focus and where it is scrolled to.
  parts.forEach((part, at) => view.childNodes[at] === part || view.insertBefore(part, view.childNodes[at] ?? null));
  view.append(...typed.map(left));
  if (!isFocused || view.contains(document.activeElement)) return;
  // What was moved has lost the focus; what is gone leaves it to the heading of what was around it.
  const reached = [...view.querySelectorAll("a, button, summary")];
  const place = view.contains(active) ? active : (reached.find((part) => nameOf(part) === nameOf(active)) ?? heading(around));
  place?.focus({ preventScroll: true });
}

// Shows a notice above the content.
function warn(text) {
  const element = document.getElementById("stale");
  if (element.textContent !== text) element.textContent = text;
}

// Warns that the content may be old, and says from when it is.
function warnOld(why, what = "") {
  const since = shown.isGood ? ` What is shown is as of ${shown.since.toLocaleString()}${what}.` : "";
  warn(`${why.replace(/\.?$/, ".")}${since}`);
}

// Warns that the page is not refreshed, if that was due.
function warnPaused() {
  if (!document.hidden && shown.isGood && Date.now() - shown.since >= 2 * REFRESH_MS)
    warnOld("The page is not refreshed while a form is filled in, text is selected or the pointer moves over a button.");
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
  waits = [setTimeout(() => warnOld(`The service has not answered for ${SLOW_MS / 1000} s.`), SLOW_MS)];
  if (what === shown.what) return;
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
    if (isShown) warnOld(error.message);
    return isShown ? undefined : [h("h1", {}, "Log in"), h("p", {}, error.message)];
  }
  if (isShown) {
    warnOld(error.message, "; the page tries again");
    return undefined;
  }
  warn("");
  return [h("h1", {}, "Request failed"), h("p", {}, error.message, error instanceof Unanswered && " This page tries again every few seconds.")];
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
  const isLeft = isAgain && !isOutdated && isBusy(view);
  if (problem) parts = failure(problem, isSame && shown.isGood);
  else if (isLeft) warnPaused();
  else warn("");
  // Without a login nothing can be read.
  const isHeard = !problem?.needsLogin && !(problem instanceof Unanswered);
  const pause = problem ? 0 : REFRESH_TIMES * (performance.now() - begun);
  if (!problem?.needsLogin) timer = setTimeout(refresh, Math.max(REFRESH_MS, pause));
  if (isHeard && !callerPlace.textContent) showCaller();
  if (!parts || isLeft) return;
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
  if (isBusy(view)) {
    timer = setTimeout(refresh, REFRESH_MS);
    warnPaused();
  } else show({ isAgain: true });
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
