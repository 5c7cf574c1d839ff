// What views need of the page: moving to another view, and doing something with a confirmation.

// The address of a view within this page.
export const address = (parts, query = {}) => {
  const said = new URLSearchParams(Object.entries(query).filter(([, value]) => value));
  return `#/${parts.map((part) => encodeURIComponent(part)).join("/")}${said.size ? `?${said}` : ""}`;
};

export function go(parts, query = {}) {
  const next = address(parts, query);
  if (location.hash === next) dispatchEvent(new Event("interlock-changed"));
  else location.hash = next;
}

let noticeTimer;

export function notice(text) {
  const element = document.getElementById("notice");
  element.textContent = text;
  clearTimeout(noticeTimer);
  noticeTimer = setTimeout(() => (element.textContent = ""), 8000);
}

let isActing = false;

// Asks first, if there is a question, then does it, says how it ended, and shows the view again;
// what was typed stays if it failed and there is still such a form. A second click meanwhile does
// nothing. Whether it was done.
export async function act(question, does) {
  if (isActing || (question && !confirm(question))) return false;
  isActing = true;
  try {
    await does();
    notice("Done.");
    dispatchEvent(new Event("interlock-changed"));
    return true;
  } catch (error) {
    notice(error.message);
    // Others may have changed what is shown. Without a login nothing could be read.
    if (!error.needsLogin) dispatchEvent(new Event("interlock-refused"));
    return false;
  } finally {
    isActing = false;
  }
}
