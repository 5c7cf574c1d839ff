import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { runInNewContext } from "node:vm";
import { decode, encode, JsonNumber } from "interlock-client";

const FORTY = "1234567890.1234567890123456789012345678901";

describe("JSON", () => {
  for (const text of [
    "0",
    "-0",
    "1.50",
    "1e400",
    "1E+2",
    "12345678901234567890",
    FORTY,
    "[1.0,2.00,-3e-7]",
    `{"a":{"b":[1.10,"2.20",null,true]},"c":${FORTY}}`,
    `{"time":"12:34:56.70","text":" 1.50, ","n":1}`,
    '{"__proto__":{"a":1}}',
    '{"__proto__":{"a":1.50}}',
    '"\\u0000\\"[1.50]"',
  ]) {
    it(`keeps ${text}`, () => {
      assert.equal(encode(decode(text)), text);
    });
  }

  it("reads every number of a document as a JsonNumber", () => {
    const read = decode('{"a":1,"b":1.5,"c":[1e2]}') as { a: JsonNumber; b: JsonNumber };
    assert(read.a instanceof JsonNumber);
    assert.equal(read.a.toNumber(), 1);
    assert.equal(read.b.text, "1.5");
    assert.equal(new JsonNumber("9007199254740993").toBigInt(), 9007199254740993n);
    assert(read.a < read.b);
  });

  it("writes plain numbers and bigints, and leaves out what is undefined", () => {
    const value = { a: 1, b: 1.5, c: 12345678901234567890n, d: undefined, e: [undefined] };
    assert.equal(encode(value), '{"a":1,"b":1.5,"c":12345678901234567890,"e":[null]}');
    assert.equal(encode({ a: 1, d: undefined }), '{"a":1}');
  });

  it("refuses what JSON cannot express", () => {
    assert.throws(() => encode({ a: Number.NaN }), RangeError);
    assert.throws(() => encode([Number.POSITIVE_INFINITY]), RangeError);
    assert.throws(() => new JsonNumber("1,5"), RangeError);
    assert.throws(() => new JsonNumber("01"), RangeError);
    assert.throws(() => decode("{1.50}"), SyntaxError);
    assert.throws(() => decode("nonsense"), SyntaxError);
  });

  it("refuses what would be written without its contents", () => {
    class Hidden {
      #total = 1;
      total = (): number => this.#total;
    }
    for (const [value, problem] of [
      [Promise.resolve(1), /^Promise has no JSON form; await it$/],
      [{ a: [1, { price: Promise.resolve(1) }] }, /^a\.1\.price: Promise has no JSON form/],
      [{ big: 1n, tags: new Set(["x"]) }, /^tags: Set has no JSON form/],
      [{ a: new WeakMap() }, /^a: WeakMap has no JSON form/],
      [{ a: new Uint8Array(2) }, /^a: Uint8Array has no JSON form/],
      [{ a: new Error("no") }, /^a: Error has no JSON form/],
      [{ a: () => 1 }, /^a: function has no JSON form/],
      [{ a: Symbol("s") }, /^a: symbol has no JSON form/],
      [new Hidden(), /^total: function has no JSON form/],
      [new (class Empty {})(), /^Empty has no JSON form$/],
    ] as const) {
      assert.throws(() => encode(value), { name: "TypeError", message: problem });
    }
  });

  it("writes objects of classes, of no class, and with a form of their own", () => {
    class Order {
      constructor(readonly total: number) {}
    }
    const own = { toJSON: () => "own" };
    const bare = Object.assign(Object.create(null), { a: {} });
    const foreign = runInNewContext("({})");
    const value = [new Order(1), new Date(0), own, bare, foreign, Object(true)];
    const text = '[{"total":1},"1970-01-01T00:00:00.000Z","own",{"a":{}},{},true]';
    assert.equal(encode(value), text);
  });

  it("keeps digits of any number that is written at random", () => {
    for (let round = 0; round < 2000; round += 1) {
      const text = `{"n":${randomNumber()},"s":"${randomNumber()}"}`;
      assert.equal(encode(decode(text)), text);
    }
  });
});

function randomNumber(): string {
  const digits = (count: number): string =>
    Array.from({ length: count }, () => Math.floor(Math.random() * 10)).join("");
  const some = (): number => 1 + Math.floor(Math.random() * 24);
  const integer = Math.random() < 0.3 ? "0" : digits(some()).replace(/^0+(?=\d)/, "");
  const fraction = Math.random() < 0.6 ? `.${digits(some())}` : "";
  const exponent = Math.random() < 0.2 ? `e${Math.random() < 0.5 ? "-" : "+"}${digits(2)}` : "";
  return `${Math.random() < 0.5 ? "-" : ""}${integer}${fraction}${exponent}`;
}
