// What views need of the page: addresses, moving to another view, and doing something with a confirmation.

// The namespace that is looked at: the default one if the address has none.
export const namespace = {
  get: () => new URLSearchParams(location.hash.split("?")[1]).get("namespace") || undefined,
};

// The address of a view within this page, in the namespace that is looked at.
export const address = (parts, query = {}) => {
  const wanted = { namespace: namespace.get(), ...query };
  const said = new URLSearchParams(Object.entries(wanted).filter(([, value]) => value));
  return `#/${parts.map((part) => encodeURIComponent(part)).join("/")}${said.size ? `?${said}` : ""}`;
};

export function go(parts, query = {}) {
  const next = address(parts, query);
  if (location.hash === next) dispatchEvent(new Event("interlock-changed"));
  else location.hash = next;
}

const NOTICE_MS = 8000;
let noticeTimer;

// Says something for a while, with a link if there is one; what went wrong stays until it is closed or
// something else is done.
export function notice(text, isError = false, link = undefined) {
  const element = document.getElementById("notice");
  element.textContent = text;
  if (link) element.append(" ", link);
  clearTimeout(noticeTimer);
  if (!isError) noticeTimer = setTimeout(() => (element.textContent = ""), NOTICE_MS);
}

// The keys of the actions that are under way.
const underWay = new Set();

// What a button shows while its action is under way. It is not disabled, which would take the focus.
export const progress = (key) => ({
  "data-act": key,
  "aria-busy": underWay.has(key) && "true",
  "aria-disabled": underWay.has(key) && "true",
});

// Marks the buttons of actions that are under way, also after the view was shown again.
export function markProgress() {
  for (const button of document.querySelectorAll("[data-act]")) {
    for (const [name, value] of Object.entries(progress(button.dataset.act)))
      if (value) button.setAttribute(name, value);
      else button.removeAttribute(name);
  }
}

// Asks first, if there is a question, then does what `name` says, says how it ended, and shows the view
// again; what was typed stays if it failed. Actions of other keys go on meanwhile. `after` is called with
// the answer, and may return a link to what was made. Whether it was done.
export async function act(name, does, { question, key = name, after } = {}) {
  if (underWay.has(key)) {
    notice(`${name}: an earlier request is still under way.`);
    return false;
  }
  if (question && !confirm(question)) return false;
  const here = location.hash;
  // A view that was opened meanwhile is not of this action.
  const tell = (type) => location.hash === here && dispatchEvent(new Event(type));
  underWay.add(key);
  markProgress();
  notice("");
  let answer;
  let outcome;
  try {
    answer = await does();
  } catch (error) {
    outcome = error;
  }
  underWay.delete(key);
  markProgress();
  if (!outcome) {
    notice(`${name}: done.`, false, after?.(answer));
    tell("interlock-changed");
    return true;
  }
  notice(`${name}: ${outcome.message}`, true);
  if (outcome.needsLogin) dispatchEvent(new CustomEvent("interlock-login", { detail: outcome.message }));
  // Others may have changed what is shown.
  else tell("interlock-refused");
  return false;
}
