/** What a member answers, whatever its handlers do and whatever it is sent. */
import assert from "node:assert/strict";
import { it } from "node:test";
import {
  type Context,
  JsonNumber,
  type Logger,
  Member,
  No,
  Rejected,
  silentLogger,
  stderrLogger,
  WAITING_MAX,
} from "interlock-client";
import { type CloudEvent, envelop, payloadOf } from "#client/envelope.js";
import { deferred, type Side, scripted } from "./scripted.js";

const CALL = { requestId: "r-1", entityId: "e-1", processorName: "price" };
const TYPE = "EntityProcessorCalculationRequest";
const TASK = { requestId: "r-3", taskId: "t-1", attempt: 1, name: "charge", input: 1 };

interface Failure {
  requestId: string;
  success: boolean;
  error: { code?: string; message: string; retryable?: boolean };
  warnings?: string[];
}

function failureOf(event: CloudEvent | undefined): Failure {
  assert(event !== undefined);
  return payloadOf(event) as unknown as Failure;
}

/** Lets a member with a processor join, and returns what it answers to what it is sent. */
async function answersOf(
  handler: (context: Context) => object | undefined,
  send: (server: Side) => void = (server) => server.write(TYPE, CALL),
  options: { count?: number; maxMessageBytes?: number; logger?: Logger } = {},
): Promise<CloudEvent[]> {
  const { count = 1, ...others } = options;
  const answers: CloudEvent[] = [];
  let done: () => void = () => undefined;
  const answered = new Promise<void>((resolve) => {
    done = resolve;
  });
  await using server = await scripted(async (side) => {
    await side.greet();
    send(side);
    while (answers.length < count) answers.push(await side.read());
    done();
    await side.read();
  });
  const member = new Member(server.target, { logger: silentLogger, ...others });
  member.detachedProcessor("price", handler);
  await member.start();
  await answered;
  await member.stop();
  return answers;
}

it("texts that nobody can read are replaced in failures and warnings", async () => {
  const [answer] = await answersOf((context) => {
    context.warn("half \ud83d");
    throw new Error("\udc00 half");
  });
  const { error, warnings } = failureOf(answer);
  assert.equal(error.message, "Error: \ufffd half");
  assert.deepEqual(warnings, ["half \ufffd"]);
});

it("a document with a text that nobody can read is a failure", async () => {
  const inexact = new JsonNumber("0.10");
  for (const document of [{ s: "a\ud800b" }, { "\udfff": 1 }, { s: "\\\ud800", n: inexact }]) {
    const [answer] = await answersOf(() => document);
    assert.match(failureOf(answer).error.message, /half of a surrogate pair/);
  }
  for (const document of [{ s: "\\ud800 \ud83d\ude00" }, { s: "\\\\ud800", n: inexact }]) {
    const [answer] = await answersOf(() => document);
    assert.equal(failureOf(answer).success, true);
  }
});

it("a document without its contents is a failure", async () => {
  const document = { sku: "A", price: Promise.resolve(3) };
  const [answer] = await answersOf(() => document);
  const message = "TypeError: payload.data.price: Promise has no JSON form; await it";
  assert.equal(failureOf(answer).error.message, message);
});

it("a processor that returns the result of a criterion fails", async () => {
  const [answer] = await answersOf(() => new No("too heavy"));
  const message = "TypeError: a processor returns the whole new document or undefined";
  assert.equal(failureOf(answer).error.message, message);
});

it("whatever is thrown is a failure", async () => {
  const circular: Record<string, unknown> = { big: 1n };
  circular.self = circular;
  for (const thrown of [Object.create(null), circular, undefined, Symbol("s"), { big: 1n }]) {
    const handler = (): undefined => {
      throw thrown;
    };
    // Not all of these can be logged as they are, either.
    const [answer] = await answersOf(handler, undefined, { logger: stderrLogger });
    assert.equal(failureOf(answer).success, false);
  }
});

it("a failure is cut to a size that does not end the stream", async () => {
  const [answer] = await answersOf((context) => {
    for (let number = 0; number < 1_200; number += 1) context.warn("é".repeat(10_000));
    throw new Rejected("x".repeat(17 << 20), { code: "c".repeat(1 << 20) });
  });
  const { error, warnings = [] } = failureOf(answer);
  assert.equal(Buffer.byteLength(error.message), 64 << 10);
  assert(error.message.endsWith("x…"));
  assert.equal(error.code?.length, (4 << 10) - 2);
  assert.equal(warnings.length, 1_000);
  assert.equal(Buffer.byteLength(warnings[0] ?? ""), 4095);
  assert.equal(warnings.at(-1), "201 more warnings are left out");
});

it("a failure that is too large goes without its warnings", async () => {
  for (const fails of [true, false]) {
    const handler = (context: Context): undefined => {
      for (let number = 0; number < 100; number += 1) context.warn("w".repeat(4_000));
      if (fails) throw new Rejected("no price");
    };
    const [answer] = await answersOf(handler, undefined, { maxMessageBytes: 100_000 });
    const { error, warnings } = failureOf(answer);
    assert.equal(warnings, undefined);
    assert.match(error.message, fails ? /no price/ : /100000 are allowed/);
  }
});

it("calls that cannot be read are answered", async () => {
  const send = (side: Side): void => {
    side.writeRaw(textOf(TYPE, '{"requestId":"r-1","payload":'));
    side.writeRaw(textOf("TaskCalculationRequest", '{"requestId": "r-2"]'));
    // Of this one not even the id is known.
    side.writeRaw(textOf(TYPE, "7"));
    side.write(TYPE, { ...CALL, requestId: "r-3" });
  };
  const answers = await answersOf(() => undefined, send, { count: 3 });
  const types = ["EntityProcessor", "Task", "EntityProcessor"];
  answers.forEach((answer, index) => {
    const { requestId, success, error } = failureOf(answer);
    assert.equal(answer.type, `${types[index]}CalculationResponse`);
    assert.equal(requestId, `r-${index + 1}`);
    assert.equal(success, index === 2);
    if (success) return;
    assert.match(error.message, /cannot read the call/);
    assert.equal(error.retryable, true);
  });
});

function textOf(type: string, value: string): CloudEvent {
  return { ...envelop(type, {}), data: { $case: "textData", value } };
}

it("a member that stops says so, refuses further calls, and finishes what it has", async () => {
  const said: CloudEvent[] = [];
  let finish: () => void = () => undefined;
  const mayFinish = new Promise<void>((resolve) => {
    finish = resolve;
  });
  let begin: () => void = () => undefined;
  const begun = new Promise<void>((resolve) => {
    begin = resolve;
  });
  await using server = await scripted(async (side) => {
    await side.greet();
    side.write(TYPE, CALL);
    said.push(await side.read());
    side.write(TYPE, { ...CALL, requestId: "r-2" });
    side.write("TaskCalculationRequest", TASK);
    said.push(await side.read(), await side.read());
    finish();
    said.push(await side.read());
  });
  const member = new Member(server.target, { logger: silentLogger });
  member.detachedProcessor("price", async () => {
    begin();
    await mayFinish;
  });
  await member.start();
  await begun;
  await member.stop({ timeoutMs: Number.POSITIVE_INFINITY });
  const [drain, second, third, first] = said;
  assert.equal(drain?.type, "WorkerDrainRequest");
  assert.deepEqual(payloadOf(drain), { id: drain.id, workerId: "m-1" });
  for (const [index, answer] of [second, third].entries()) {
    const { requestId, success, error } = failureOf(answer);
    assert.deepEqual([requestId, success], [`r-${index + 2}`, false]);
    assert.deepEqual(error, {
      code: "MEMBER_STOPPING",
      message: "the member is stopping",
      retryable: true,
    });
  }
  assert.deepEqual([failureOf(first).requestId, failureOf(first).success], ["r-1", true]);
});

it("an action returns any value that has a form in JSON", async () => {
  const results = [[1, 2], 5, "x", false, { a: 1 }, undefined, null, new JsonNumber("1.50")];
  const outputs: unknown[] = [];
  await using server = await scripted(async (side) => {
    await side.greet();
    for (const input of results.keys()) {
      side.write("TaskCalculationRequest", { ...TASK, input });
      const { success, outcome, output } = payloadOf(await side.read());
      assert.deepEqual([success, outcome], [true, "success"]);
      outputs.push(output);
    }
    finish();
    await side.read();
  });
  let finish: () => void = () => undefined;
  const finished = new Promise<void>((resolve) => {
    finish = resolve;
  });
  const member = new Member(server.target, { logger: silentLogger });
  member.action<JsonNumber>("charge", (input) => results[input.toNumber()]);
  await member.start();
  await finished;
  await member.stop();
  assert.equal(
    JSON.stringify(outputs.map((output) => (output instanceof JsonNumber ? +output.text : output))),
    '[[1,2],5,"x",false,{"a":1},{},{},1.5]',
  );
});

it("a member does not wait long for a server that does not say that it knows", async () => {
  await using server = await scripted(async (side) => {
    await side.greet();
    for (;;) await side.read();
  });
  const member = new Member(server.target, { logger: silentLogger });
  await member.start();
  const begun = Date.now();
  await member.stop();
  assert(Date.now() - begun < 4_000);
});

it("more calls than run and wait are rejected as retryable", async () => {
  const most = WAITING_MAX + 2 * 2;
  const rejected = deferred<Failure>();
  await using server = await scripted(async (side) => {
    await side.greet();
    for (let i = 0; i <= most; i += 1) side.write(TYPE, { ...CALL, requestId: `r-${i}` });
    rejected.resolve(failureOf(await side.read()));
    await side.read();
  });
  const member = new Member(server.target, { logger: silentLogger, concurrency: 2 });
  const gate = deferred<undefined>();
  member.detachedProcessor("price", () => gate.promise);
  await member.start();
  const failure = await rejected.promise;
  gate.resolve(undefined);
  await member.stop();
  assert.equal(failure.requestId, `r-${most}`);
  assert.equal(failure.error.message, `this member already has ${most} calls in flight`);
  assert.equal(failure.error.retryable, true);
});
