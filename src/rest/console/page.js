// What views need of the page: moving to another view, and doing something with a confirmation.

const hash = (parts, query) => {
  const said = new URLSearchParams(Object.entries(query).filter(([, value]) => value));
  return `#/${parts.map((part) => encodeURIComponent(part)).join("/")}${said.size ? `?${said}` : ""}`;
};

export function go(parts, query = {}) {
  location.hash = hash(parts, query);
}

let noticeTimer;

export function notice(text) {
  const element = document.getElementById("notice");
  element.textContent = text;
  clearTimeout(noticeTimer);
  noticeTimer = setTimeout(() => (element.textContent = ""), 8000);
}

// Asks first, if there is a question, then does it, says how it ended, and shows the view again.
export async function act(question, does) {
  if (question && !confirm(question)) return;
  try {
    await does();
    notice("Done.");
  } catch (error) {
    notice(error.message);
  }
  dispatchEvent(new Event("interlock-changed"));
}
