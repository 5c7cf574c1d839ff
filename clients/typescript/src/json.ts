/**
 * JSON that keeps its numbers.
 *
 * A document that is read has a `JsonNumber` for every number: its digits, as they were written.
 * A document that is written may contain `JsonNumber`, `bigint` and `number`.
 */
import { parse, stringify } from "lossless-json";

/** Any JSON, as it is read. */
export type Json = null | boolean | string | JsonNumber | Json[] | { [member: string]: Json };

/** A JSON object, as it is read. */
export type JsonObject = { [member: string]: Json };

/** Any JSON, as it can be written: what is read, and plain numbers. Members that are undefined are left out. */
export type JsonInput =
  | null
  | boolean
  | string
  | number
  | bigint
  | JsonNumber
  | readonly JsonInput[]
  | { readonly [member: string]: JsonInput | undefined };

/** An object that is written by its members. What has a tag, as a promise and a `Map`, is not. */
export type WritableObject = object & { readonly [Symbol.toStringTag]?: never };

const NUMBER = /^-?(?:0|[1-9]\d*)(?:\.\d+)?(?:[eE][+-]?\d+)?$/;

/** A number of a document, with the digits that it was written with. */
export class JsonNumber {
  /** Recognized by functions that compare numbers by their text. */
  readonly text: string;
  /** The number, where a binary one is known to have these digits. */
  readonly #exact: number | undefined;

  /**
   * @param value the number, for instance `"1.50"`, or whatever has such a text, as decimals have.
   * @throws RangeError if it is not a JSON number.
   */
  constructor(value: string | number | bigint | { toString(): string }) {
    this.text = String(value);
    this.#exact = typeof value === "number" && Number.isFinite(value) ? value : undefined;
    if (this.#exact === undefined && !NUMBER.test(this.text))
      throw new RangeError(`${this.text} is not a JSON number`);
  }

  /** The nearest binary floating-point number; digits beyond its precision are lost. */
  toNumber(): number {
    return this.#exact ?? Number(this.text);
  }

  /**
   * The number as a `bigint`.
   * @throws RangeError if it is not written as an integer.
   */
  toBigInt(): bigint {
    if (!/^-?\d+$/.test(this.text)) throw new RangeError(`${this.text} is not an integer`);
    return BigInt(this.text);
  }

  /** Whether a binary floating-point number has exactly these digits. */
  isSafe(): boolean {
    return this.#exact !== undefined || String(Number(this.text)) === this.text;
  }

  /** The digits. */
  toString(): string {
    return this.text;
  }

  /** For comparisons with `<` and the like. */
  valueOf(): number {
    return this.toNumber();
  }

  /** For `JSON.stringify`, which cannot write digits that a binary number does not have. */
  toJSON(): number {
    if (!this.isSafe()) unsafe = true;
    return this.toNumber();
  }
}

/** Whether `JSON.stringify` met a number that it cannot write. */
let unsafe = false;

// A number with a fraction, an exponent, or more digits than a binary number surely keeps. Numbers
// follow the beginning, a bracket, a comma, a colon or a space; what is found in a string costs
// time only.
const RISKY =
  /(?:^|[[,:\s])(-?(?:\d+(?:\.\d+(?:[eE][+-]?\d+)?|[eE][+-]?\d+)|\d{16,})|-0)(?=[\],}\s]|$)/g;

/**
 * Reads JSON. Numbers are `number` where that keeps all digits of all of them, otherwise all of
 * them are `JsonNumber`; `shape.ts` makes that uniform.
 * @throws SyntaxError if it is not JSON.
 */
export function read(text: string): unknown {
  for (const [, digits] of text.matchAll(RISKY)) {
    if (String(Number(digits)) !== digits)
      return parse(text, undefined, (it) => new JsonNumber(it));
  }
  return JSON.parse(text);
}

/**
 * Reads a document: every number is a `JsonNumber`.
 * @throws SyntaxError if it is not JSON.
 */
export function decode(text: string): Json {
  return madeExact(read(text));
}

/**
 * Writes JSON, every `JsonNumber` and `bigint` with exactly its digits.
 * @throws RangeError if a number in it is infinite or not a number.
 * @throws TypeError if something in it has no JSON form, such as a promise or a `Map`.
 */
export function encode(value: unknown): string {
  unsafe = false;
  let text: string | undefined;
  try {
    text = JSON.stringify(value);
  } catch (error) {
    // It cannot write a bigint.
    if (!(error instanceof TypeError) || !error.message.includes("BigInt")) throw error;
    unsafe = true;
  }
  const flaw = flawOf(value);
  if (flaw !== undefined) {
    const place = flaw.path.length === 0 ? "" : `${flaw.path.join(".")}: `;
    throw new TypeError(`${place}${flaw.is} has no JSON form${flaw.remedy}`);
  }
  if (unsafe) text = stringify(value, undefined, undefined, [EXACT]);
  if (text === undefined) throw new TypeError(`${typeof value} has no JSON form`);
  return text;
}

/** Whether JSON that `encode` wrote has half of a surrogate pair: only these it writes escaped. */
export function hasLoneSurrogate(text: string): boolean {
  return text.includes("\\ud") && /(?<!\\)(?:\\\\)*\\ud[89a-f]/.test(text);
}

const EXACT = {
  test: (value: unknown): boolean => value instanceof JsonNumber,
  stringify: (value: unknown): string => (value as JsonNumber).text,
};

/** Makes every number of a value that was just read a `JsonNumber`, in place. */
export function madeExact(value: unknown): Json {
  if (typeof value === "number") return new JsonNumber(value);
  return inPlace(value, madeExact) as Json;
}

/** Makes every number of a value that was just read a plain `number`: digits may be lost. */
export function madePlain(value: unknown): unknown {
  return value instanceof JsonNumber ? value.toNumber() : inPlace(value, madePlain);
}

/** Replaces the members of an object, or the items of a list, that was just read. */
export function inPlace(value: unknown, map: (member: unknown, name: string) => unknown): unknown {
  if (typeof value !== "object" || value === null || value instanceof JsonNumber) return value;
  const members = value as Record<string, unknown>;
  // Most members are texts, which stay. `__proto__` is a name like any other: it is an own member.
  for (const name of Object.keys(members)) {
    const member = members[name];
    if (typeof member !== "string") members[name] = map(member, name);
  }
  return value;
}

/** What has no JSON form, and where it is. */
interface Flaw {
  is: string;
  remedy: string;
  path: string[];
}

/**
 * Finds what `JSON.stringify` leaves out, or writes as an object without its contents.
 * @throws RangeError if a number is infinite or not a number, which it writes as `null`.
 */
function flawOf(value: unknown): Flaw | undefined {
  if (typeof value === "number" && !Number.isFinite(value)) {
    throw new RangeError(`${value} is not a JSON number`);
  }
  if (typeof value === "function" || typeof value === "symbol") {
    return { is: typeof value, remedy: "", path: [] };
  }
  if (typeof value !== "object" || value === null) return undefined;
  if (Array.isArray(value)) {
    for (let at = 0; at < value.length; at += 1) {
      const flaw = flawOf(value[at]);
      if (flaw !== undefined) return within(flaw, String(at));
    }
    return undefined;
  }
  const members = value as Record<string, unknown>;
  if (typeof members.toJSON === "function") return undefined;
  const names = Object.keys(members);
  if (isFormless(members, names)) {
    const is = String((members.constructor as { name?: unknown } | undefined)?.name);
    return { is, remedy: typeof members.then === "function" ? "; await it" : "", path: [] };
  }
  for (const name of names) {
    const flaw = flawOf(members[name]);
    if (flaw !== undefined) return within(flaw, name);
  }
  return undefined;
}

/** Whether the contents of an object are not those of its members. */
function isFormless(value: Record<string, unknown>, names: readonly string[]): boolean {
  const prototype: unknown = Object.getPrototypeOf(value);
  // An object of no class, of whatever realm.
  if (prototype === null || Object.getPrototypeOf(prototype) === null) return false;
  if (value instanceof Number || value instanceof String || value instanceof Boolean) return false;
  if (value instanceof Map || value instanceof Set || ArrayBuffer.isView(value)) return true;
  return names.length === 0 || typeof value.then === "function";
}

function within(flaw: Flaw, name: string): Flaw {
  flaw.path.unshift(name);
  return flaw;
}
