// The picture of a workflow: its states from left to right, as far as they are from the first.

import { shortened } from "./element.js";

const WIDTH = 130;
const HEIGHT = 34;
const ACROSS = 250;
const DOWN = 74;
const MARGIN = 24;
// Lines between states of one column are at their left.
const LEFT = 60;
// Texts are cut to what fits between two states.
const CHARS = 16;

function draw(tag, attributes, ...children) {
  const element = document.createElementNS("http://www.w3.org/2000/svg", tag);
  for (const [name, value] of Object.entries(attributes)) element.setAttribute(name, String(value));
  element.append(...children);
  return element;
}

const cut = (text) => (Array.from(text).length > CHARS ? shortened(text, CHARS - 1) : text);

// Where each state is drawn.
function placed({ initialState, states }) {
  const rank = new Map([[initialState, 0]]);
  // A map is walked in the order of its entries, with those that are added meanwhile.
  for (const [state, at] of rank) {
    for (const { next } of states[state]?.transitions ?? []) if (!rank.has(next)) rank.set(next, at + 1);
  }
  for (const state of Object.keys(states)) if (!rank.has(state)) rank.set(state, 0);
  const filled = [];
  const places = new Map();
  for (const [state, at] of rank) {
    filled[at] = (filled[at] ?? 0) + 1;
    places.set(state, { rank: at, x: LEFT + at * ACROSS, y: MARGIN + (filled[at] - 1) * DOWN });
  }
  return { places, columns: filled.length, rows: Math.max(...filled) };
}

// A line from one state to another, and where its text is.
function line(from, to) {
  if (from === to) {
    const x = from.x + WIDTH - 30;
    return { path: `M${x},${from.y} c0,-26 34,-26 24,0`, x: x + 14, y: from.y - 9 };
  }
  if (to.rank > from.rank) {
    const [x1, y1, x2, y2] = [from.x + WIDTH, from.y + HEIGHT / 2, to.x, to.y + HEIGHT / 2];
    const middle = (x1 + x2) / 2;
    // Nearer to the end than to the beginning, which several lines may share.
    return { path: `M${x1},${y1} C${middle},${y1} ${middle},${y2} ${x2},${y2}`, x: x2 - 62, y: y2 - 6 };
  }
  if (to.rank === from.rank) {
    const [side, bend] = Math.abs(to.y - from.y) > DOWN ? [0, -34] : [WIDTH / 2, 0];
    const isDown = to.y > from.y;
    const [x, y1, y2] = bend
      ? [from.x, from.y + HEIGHT / 2, to.y + HEIGHT / 2]
      : [from.x + side + (isDown ? -12 : 12), from.y + (isDown ? HEIGHT : 0), to.y + (isDown ? 0 : HEIGHT)];
    return { path: `M${x},${y1} C${x + bend},${y1} ${x + bend},${y2} ${x},${y2}`, x: x + bend, y: (y1 + y2) / 2 + 4 };
  }
  const [x1, x2, y1, y2] = [from.x + WIDTH / 2, to.x + WIDTH / 2, from.y + HEIGHT, to.y + HEIGHT];
  // Lines that go further back are lower, so that few share a place.
  const low = Math.max(y1, y2) + 14 + 16 * (from.rank - to.rank);
  return { path: `M${x1},${y1} C${x1},${low} ${x2 + 14},${low} ${x2 + 14},${y2}`, x: (x1 + x2) / 2, y: low - 4, low };
}

// `counts` says how many entities are in a state; `current` is the state that is emphasized.
export function diagram(workflow, counts = new Map(), current = undefined) {
  const { places, columns, rows } = placed(workflow);
  let height = 2 * MARGIN + (rows - 1) * DOWN + HEIGHT;
  // Every picture of a page has its own, always by the same name.
  const arrowId = `arrow-${Array.from(workflow.name, (character) => character.codePointAt(0)).join("-")}`;
  // All transitions between the same two states share a line.
  const names = new Map();
  for (const [state, { transitions = [] }] of Object.entries(workflow.states)) {
    for (const { name, next, manual } of transitions) {
      const key = JSON.stringify([state, next]);
      names.set(key, [...(names.get(key) ?? []), { name, manual }]);
    }
  }
  const lines = [];
  const labels = [];
  for (const [key, ways] of names) {
    const [from, to] = JSON.parse(key).map((state) => places.get(state));
    const { path, x, y, low = 0 } = line(from, to);
    height = Math.max(height, low + MARGIN);
    const text = ways.length > 1 ? `${cut(ways[0].name)} +${ways.length - 1}` : cut(ways[0].name);
    const title = draw("title", {}, ways.map(({ name }) => name).join(", "));
    const kind = ways.some(({ manual }) => manual) ? "manual" : "automatic";
    lines.push(draw("path", { d: path, class: `way ${kind}`, "marker-end": `url(#${arrowId})` }));
    labels.push(draw("text", { x, y, "text-anchor": "middle", class: "label" }, title, text));
  }
  const boxes = [...places].map(([state, { x, y }]) => {
    const count = counts.get(state);
    return draw(
      "g",
      { class: state === current ? "state current" : "state" },
      draw("rect", { x, y, width: WIDTH, height: HEIGHT, rx: 6 }),
      draw(
        "text",
        { x: x + WIDTH / 2, y: y + HEIGHT / 2 + 5, "text-anchor": "middle" },
        draw("title", {}, state),
        count === undefined ? cut(state) : `${cut(state)} (${count})`,
      ),
    );
  });
  const arrow = draw(
    "marker",
    { id: arrowId, viewBox: "0 0 8 8", refX: 8, refY: 4, markerWidth: 7, markerHeight: 7, orient: "auto" },
    draw("path", { d: "M0,0 L8,4 L0,8 z", class: "tip" }),
  );
  const size = { width: LEFT + (columns - 1) * ACROSS + WIDTH + MARGIN, height };
  return draw(
    "svg",
    { ...size, viewBox: `0 0 ${size.width} ${size.height}`, role: "img", "aria-label": `The workflow ${workflow.name}` },
    draw("defs", {}, arrow),
    ...lines,
    ...boxes,
    ...labels,
  );
}
