// How far each entry of the history was scrolled: the browser itself would scroll the view before.

const places = new Map();
// The entry that is shown, and where it is to be scrolled to while it is not shown yet.
let entry;
let wanted;

history.scrollRestoration = "manual";

// To be called when the address has changed.
export function enter() {
  const { key, y } = history.state ?? {};
  entry = key ?? crypto.getRandomValues(new Uint32Array(2)).join("-");
  wanted = places.get(entry) ?? y ?? 0;
  if (!key) history.replaceState({ key: entry }, "");
}

// To be called when the view of the address is shown.
export function arrive() {
  scrollTo(0, wanted);
  wanted = undefined;
}

addEventListener("scroll", () => {
  if (wanted === undefined) places.set(entry, scrollY);
});
// For a page that is loaded again.
addEventListener("pagehide", () => history.replaceState({ key: entry, y: scrollY }, ""));
