// Whether a person needs the page as it is: then it is not shown again.

// How long a field counts as being filled in after a key or a press, and a pointer as aiming at a button
// after it has moved.
const USED_MS = 30_000;
const AIMED_MS = 10_000;

let usedAt = -Infinity;
let movedAt = -Infinity;

// Whether a field has another value than at first.
const isChanged = (field) =>
  field.tagName === "SELECT"
    ? [...field.querySelectorAll("option")].some((option) => option.selected !== option.defaultSelected)
    : field.value !== field.defaultValue;

// Whether anything in it was filled in.
export const isEdited = (part) => [...part.querySelectorAll("input, textarea, select")].some(isChanged);

const isField = (element) => ["INPUT", "TEXTAREA", "SELECT"].includes(element?.tagName);

for (const name of ["keydown", "pointerdown"])
  addEventListener(name, ({ target }) => {
    if (isField(target)) usedAt = performance.now();
  });
// A form that was sent is not filled in any more.
addEventListener("reset", () => (usedAt = -Infinity));
// Where a finger has tapped, no pointer stays.
addEventListener("pointermove", ({ pointerType }) => {
  if (pointerType !== "touch") movedAt = performance.now();
});

// A form that somebody fills in, a button under the pointer, a selection and a hidden page are left as
// they are.
export function isBusy(view) {
  const now = performance.now();
  const isUsed = now - usedAt < USED_MS && isField(document.activeElement) && view.contains(document.activeElement);
  // What is about to be clicked does not move.
  const isAimedAt = now - movedAt < AIMED_MS && view.querySelector("button:hover") !== null;
  return document.hidden || isUsed || isEdited(view) || isAimedAt || !getSelection().isCollapsed;
}
