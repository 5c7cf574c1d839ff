import assert from "node:assert/strict";
import { describe, it } from "node:test";
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
