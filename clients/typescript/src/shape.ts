/** Which numbers of an event belong to documents, and are therefore kept as they are written. */

import { SHAPES } from "./generated/shapes.js";
import { inPlace, JsonNumber, madeExact, madePlain } from "./json.js";

/**
 * `true`: here is a document. A name: as that row of the table says. An object: of these members,
 * where `*` stands for all. Of a list, each item has the shape.
 */
export type Shape = true | string | { readonly [member: string]: Shape };

/**
 * Gives the payload of an event, which was just read, its declared types, in place: numbers of documents are `JsonNumber`, and
 * all others are `number`.
 */
export function typed(value: unknown, type: string): unknown {
  return shaped(value, SHAPES[type]);
}

function shaped(value: unknown, shape: Shape | undefined): unknown {
  if (shape === true) return madeExact(value);
  if (typeof shape === "string") return shaped(value, SHAPES[shape]);
  if (shape === undefined) return madePlain(value);
  if (value instanceof JsonNumber) return value.toNumber();
  if (Array.isArray(value)) return inPlace(value, (item) => shaped(item, shape));
  return inPlace(value, (member, name) => shaped(member, shape[name] ?? shape["*"]));
}
