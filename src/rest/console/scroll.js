// How far each entry of the history was scrolled: the browser itself would scroll the view before.

const LEFT = "interlock-scroll";

// By entry, also of before the page was loaded again.
const places = new Map(JSON.parse(sessionStorage.getItem(LEFT) ?? "[]"));
// The entry that is shown, and where it is to be scrolled to while it is not shown yet.
let entry;
let wanted;

history.scrollRestoration = "manual";

// To be called when the address has changed.
export function enter() {
  entry = history.state ?? crypto.getRandomValues(new Uint32Array(2)).join("-");
  wanted = places.get(entry) ?? 0;
  if (history.state !== entry) history.replaceState(entry, "");
}

// To be called when the view of the address is shown.
export function arrive() {
  scrollTo(0, wanted);
  wanted = undefined;
}

addEventListener("scroll", () => {
  if (wanted === undefined) places.set(entry, scrollY);
});
addEventListener("pagehide", () => sessionStorage.setItem(LEFT, JSON.stringify([...places])));
