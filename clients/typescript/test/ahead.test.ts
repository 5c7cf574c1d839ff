/** Answers that are read ahead of the program. */
import assert from "node:assert/strict";
import { it } from "node:test";
import { Ahead } from "#client/ahead.js";
import { type CloudEvent, envelop, sizeOf } from "#client/envelope.js";
import { deferred } from "./scripted.js";

const COUNT = 20;
const SIZE = sizeOf(envelop("EntityResponse", { n: 10 }));

/** An answer of some events; says when it was asked for a number of them, and when it was left. */
function source(last = COUNT) {
  const asked = Array.from({ length: last + 1 }, () => deferred<undefined>());
  const left = deferred<undefined>();
  const open = async function* (signal: AbortSignal): AsyncGenerator<CloudEvent, void, undefined> {
    signal.addEventListener("abort", () => left.resolve(undefined));
    for (let n = 0; n < last; n += 1) {
      asked[n]?.resolve(undefined);
      yield envelop("EntityResponse", { n: 10 });
    }
    asked[last]?.resolve(undefined);
  };
  return { asked, left, open };
}

async function countOf(answers: AsyncIterable<CloudEvent>): Promise<number> {
  let count = 0;
  for await (const _ of answers) count += 1;
  return count;
}

it("an answer is read while nobody takes it", async () => {
  const { asked, open } = source();
  const answers = new Ahead().read(open);
  await answers.next();
  await asked[COUNT]?.promise;
  assert.equal(await countOf(answers), COUNT - 1);
});

it("what is read ahead is bounded, and each answer may have one event", async () => {
  const ahead = new Ahead(3 * SIZE);
  const { asked, open } = source();
  const answers = ahead.read(open);
  await answers.next();
  await asked[4]?.promise;
  // The other answer has no room, and is read nevertheless.
  assert.equal(await countOf(ahead.read(source().open)), COUNT);
  let isFurther = false;
  void asked[6]?.promise.then(() => {
    isFurther = true;
  });
  await new Promise(setImmediate);
  assert.equal(isFurther, false);
  assert.equal(await countOf(answers), COUNT - 1);
});

it("an answer that is left makes room, and its request is cancelled", async () => {
  const ahead = new Ahead(3 * SIZE);
  const { left, open } = source();
  const answers = ahead.read(open);
  await answers.next();
  await answers.return();
  await left.promise;
  assert.equal(await countOf(ahead.read(source().open)), COUNT);
});

it("a failure comes after what came before it", async () => {
  const open = async function* (): AsyncGenerator<CloudEvent, void, undefined> {
    yield envelop("EntityResponse", { n: 10 });
    throw new Error("lost");
  };
  const answers = new Ahead().read(open);
  await answers.next();
  await assert.rejects(answers.next(), /lost/);
});
