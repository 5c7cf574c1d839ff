// Shows the view that the address names, and shows it again every few seconds.

import { ask, login, token } from "./service.js";
import { form, h, input, link } from "./element.js";
import { notice } from "./page.js";
import { overview } from "./overview.js";
import { entity, entityModel, entityModels } from "./entities.js";
import { run, runs } from "./runs.js";
import { definitions } from "./definitions.js";
import { incidents, managers, work } from "./work.js";

const REFRESH_MS = 4000;

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

function place() {
  const [path, query = ""] = location.hash.replace(/^#\/?/, "").split("?");
  const [name, ...parts] = path.split("/").map(decodeURIComponent);
  return { name, parts, query: Object.fromEntries(new URLSearchParams(query)) };
}

function loginForm() {
  return [
    h("h1", {}, "Log in"),
    h("p", { class: "faint" }, "With a client of this service. The token is kept until this browser tab is closed."),
    form(
      [
        ["id", "Client id", input("", { required: true, autocomplete: "username" })],
        ["secret", "Client secret", input("", { required: true, type: "password", autocomplete: "current-password" })],
      ],
      "Log in",
      ({ id, secret }) => login(id, secret).then(show, (error) => notice(error.message)),
    ),
    h("p", { class: "faint" }, "Or with a token of an identity provider that this service trusts:"),
    form([["bearer", "Token", input("", { required: true, type: "password" })]], "Use it", ({ bearer }) => {
      token.set(bearer.trim());
      show();
    }),
  ];
}

async function content({ name, parts, query }) {
  const known = VIEWS[name];
  const render = parts.length ? known?.one : known?.list;
  if (!render) return h("p", {}, "There is no such page. ", link([], "Back to the overview"), ".");
  return render(parts, query);
}

// Shows the view. What did not change stays, so that a selection or an open part is not lost.
async function show() {
  const number = ++latest;
  const at = place();
  let parts;
  try {
    parts = await content(at);
  } catch (error) {
    if (error.needsLogin) token.forget();
    parts = error.needsLogin ? loginForm() : [h("h1", {}, "This did not work"), h("p", {}, error.message)];
  }
  if (number !== latest) return;
  const next = h("main", { id: "view" }, parts);
  const open = new Set([...view.querySelectorAll("details[open]")].map((part) => part.dataset.key));
  for (const part of next.querySelectorAll("details")) part.open = open.has(part.dataset.key);
  if (next.innerHTML !== view.innerHTML) view.replaceChildren(...next.childNodes);
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

// A form that somebody fills in, a selection and a hidden page are left as they are.
function isBusy() {
  const isFocused = ["INPUT", "TEXTAREA", "SELECT"].includes(document.activeElement?.tagName);
  const isEdited =
    [...view.querySelectorAll("input, textarea")].some((field) => field.value !== field.defaultValue) ||
    [...view.querySelectorAll("option")].some((option) => option.selected !== option.defaultSelected);
  return document.hidden || isFocused || isEdited || !getSelection().isCollapsed;
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
addEventListener("interlock-changed", show);
setInterval(() => isBusy() || show(), REFRESH_MS);
show().then(showCaller);
