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

const NUMBER = /^-?(?:0|[1-9]\d*)(?:\.\d+)?(?:[eE][+-]?\d+)?$/;

/** A number of a document, with the digits that it was written with. */
export class JsonNumber {
  /** Recognized by functions that compare numbers by their text. */
  readonly text: string;

  /**
   * @param value the number, for instance `"1.50"`, or whatever has such a text, as decimals have.
   * @throws RangeError if it is not a JSON number.
   */
  constructor(value: string | number | bigint | { toString(): string }) {
    this.text = String(value);
    if (!NUMBER.test(this.text)) throw new RangeError(`${this.text} is not a JSON number`);
  }

  /** The nearest binary floating-point number; digits beyond its precision are lost. */
  toNumber(): number {
    return Number(this.text);
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
    return String(Number(this.text)) === this.text;
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
  return exact(read(text));
}

/**
 * Writes JSON, every `JsonNumber` and `bigint` with exactly its digits.
 * @throws RangeError if a number in it is infinite or not a number.
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
  // Which is also what it makes of an infinite number.
  if (text?.includes("null") === true || unsafe) checkFinite(value);
  if (unsafe) text = stringify(value, undefined, undefined, [EXACT]);
  if (text === undefined) throw new TypeError(`${typeof value} has no JSON form`);
  return text;
}

const EXACT = {
  test: (value: unknown): boolean => value instanceof JsonNumber,
  stringify: (value: unknown): string => (value as JsonNumber).text,
};

/** The same document with a `JsonNumber` for every number. */
export function exact(value: unknown): Json {
  if (typeof value === "number") return new JsonNumber(value);
  if (typeof value !== "object" || value === null || value instanceof JsonNumber)
    return value as Json;
  if (Array.isArray(value)) return value.map(exact);
  return mapped(value, exact) as JsonObject;
}

/** The same value with a plain `number` for every number: digits may be lost. */
export function plain(value: unknown): unknown {
  if (value instanceof JsonNumber) return value.toNumber();
  if (typeof value !== "object" || value === null) return value;
  return Array.isArray(value) ? value.map(plain) : mapped(value, plain);
}

/** An object with the same members, mapped. */
export function mapped(value: object, map: (member: unknown, name: string) => unknown): object {
  // `fromEntries` defines members, so that even `__proto__` is only a name.
  return Object.fromEntries(Object.entries(value).map(([name, inner]) => [name, map(inner, name)]));
}

function checkFinite(value: unknown): void {
  if (typeof value === "number" && !Number.isFinite(value)) {
    throw new RangeError(`${value} is not a JSON number`);
  }
  if (typeof value === "object" && value !== null) Object.values(value).forEach(checkFinite);
}
