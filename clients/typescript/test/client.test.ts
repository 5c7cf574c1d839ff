import assert from "node:assert/strict";
import { generateKeyPairSync } from "node:crypto";
import { readFileSync } from "node:fs";
import { mkdtemp, rm } from "node:fs/promises";
import { after, before, describe, it } from "node:test";
import { setTimeout as delay } from "node:timers/promises";
import {
  AccessError,
  CancelledError,
  Client,
  ComputeUnavailableError,
  ConflictError,
  ConnectionLostError,
  clientCredentials,
  InvalidOptionsError,
  InvalidRequestError,
  JsonNumber,
  LimitError,
  Member,
  ModelStateError,
  NotFoundError,
  silentLogger,
  type TokenSource,
  WorkflowFailedError,
} from "interlock-client";
import { serialize } from "#client/envelope.js";
import { CLIENT_CODES, errorOf } from "#client/errors.js";
import { ERROR_CODES } from "#client/generated/error-codes.js";
import { scripted } from "./scripted.js";
import { Server } from "./servers.js";

const MODEL = { name: "parcel", version: 1 };
interface TokenClient {
  clientId: string;
  clientSecret: string;
}

const ALL = { type: "group", operator: "AND", conditions: [] } as const;

describe("a client", () => {
  let server: Server;
  let client: Client;

  before(async () => {
    server = await Server.start();
    client = new Client(server.target, { logger: silentLogger });
    await client.model.import(MODEL, { sku: "A-1", weight: new JsonNumber("1.5") });
    await client.model.lock(MODEL);
  });
  after(async () => {
    await client.close();
    await server.kill();
  });

  it("creates and reads an entity", async () => {
    const { entityId, transactionId } = await client.entity.create(MODEL, { sku: "B", weight: 2 });
    const entity = await client.entity.get<{ sku: string; weight: JsonNumber }>(entityId);
    assert.equal(entity.id, entityId);
    assert.equal(entity.data.sku, "B");
    assert.equal(entity.data.weight.text, "2");
    assert.equal(entity.meta.transactionId, transactionId);
    assert.equal(entity.plain<{ weight: number }>().weight, 2);
  });

  it("keeps every digit of a number", async () => {
    const model = { name: "exact", version: 1 };
    const digits = "1234567890123456789012345678901234567890.12";
    await client.model.import(model, { amount: new JsonNumber(digits), count: 2n ** 63n });
    await client.model.lock(model);
    const written = await client.entity.create(model, {
      amount: new JsonNumber(digits),
      count: 12_345_678_901_234_567_890n,
    });
    const { data } = await client.entity.get(written.entityId);
    assert.equal(String(data.amount), digits);
    assert.equal(String(data.count), "12345678901234567890");
  });

  it("answers a failure with its code, its class and its remedy", async () => {
    const missing = client.entity.get("0190163e-0000-7000-8000-000000000000");
    await assert.rejects(missing, (error) => {
      assert(error instanceof NotFoundError);
      assert.equal(error.code, "ENTITY_NOT_FOUND");
      assert.equal(error.retryable, false);
      assert.equal(typeof error.remedy, "string");
      assert.match(String(error), /^NotFoundError: ENTITY_NOT_FOUND: /);
      return true;
    });
  });

  it("sends more requests at once than may be in flight", async () => {
    const few = new Client(server.target, { inFlight: 8, logger: silentLogger });
    const sent = Array.from({ length: 200 }, () => few.operations.accountGet({}));
    assert.equal((await Promise.all(sent)).length, 200);
    await few.close();
  });

  it("streams a search, and cancels it when it is left early", async () => {
    const documents = Array.from({ length: 300 }, (_, index) => ({ sku: `S-${index}`, weight: 9 }));
    await client.entity.createAll(MODEL, documents);
    let count = 0;
    for await (const entity of client.entity.search(MODEL, ALL, { limit: 10_000 })) {
      assert.equal(typeof entity.data.sku, "string");
      count += 1;
      if (count === 10) break;
    }
    assert.equal(count, 10);
    const all = await collected(client.entity.list(MODEL, { pageSize: 100 }));
    assert(all.length >= 300);
  });

  it("lists every entity, also if those before are deleted meanwhile", async () => {
    const model = { name: "listed", version: 1 };
    await client.model.import(model, { sku: "A" });
    await client.model.lock(model);
    const made = await client.entity.createAll(model, Array(30).fill({ sku: "A" }));
    const listed: string[] = [];
    for await (const { id } of client.entity.list(model, { pageSize: 10 })) {
      await client.entity.delete(id);
      listed.push(id);
    }
    assert.deepEqual(listed, made.entityIds.toSorted());
    assert.deepEqual(await collected(client.entity.list(model)), []);
  });

  it("does not send a document that it cannot write", async () => {
    const { entityId } = await client.entity.create(MODEL, { sku: "kept", weight: 1 });
    const load = async (): Promise<object> => ({ sku: "loaded" });
    const changes = [load(), { sku: load() }, new Map([["sku", "x"]])] as object[];
    for (const data of changes) {
      await assert.rejects(client.entity.update({ entityId, data }), TypeError);
    }
    assert.equal((await client.entity.get(entityId)).data.sku, "kept");
    // @ts-expect-error: nor is this compiled.
    await assert.rejects(client.entity.create(MODEL, load()), /payload\.data: Promise .* await it/);
    // @ts-expect-error: nor is this.
    await assert.rejects(client.entity.create(MODEL, new Map()), /payload\.data: Map/);
  });

  it("rejects a request with the reason of its signal", async () => {
    const controller = new AbortController();
    const waiting = collected(client.entity.changes({ signal: controller.signal }));
    controller.abort(new Error("enough"));
    await assert.rejects(waiting, /enough/);
    await assert.rejects(
      client.model.list({ signal: AbortSignal.abort(new Error("never")) }),
      /never/,
    );
  });

  it("does a request with an idempotency key once", async () => {
    const idempotencyKey = "once-1";
    const first = await client.entity.create(MODEL, { sku: "once", weight: 1 }, { idempotencyKey });
    const again = await client.entity.create(MODEL, { sku: "once", weight: 1 }, { idempotencyKey });
    assert.equal(again.entityId, first.entityId);
    const other = client.entity.create(MODEL, { sku: "twice", weight: 1 }, { idempotencyKey });
    await assert.rejects(other, { code: "IDEMPOTENCY_CONFLICT" });
  });

  it("starts a run with a key once, and reads it when it is started again", async () => {
    await client.operations.runDefinitionCreate({
      document: {
        kind: "Workflow",
        name: "once",
        version: "1",
        idempotency: "required",
        start: { waitForSignal: { type: "go", timeoutMs: 60_000 } },
      },
    });
    const started = await client.run.start("once", { n: 1 }, { idempotencyKey: "k" });
    const again = await client.run.start("once", { n: 2 }, { idempotencyKey: "k", waitMs: 1 });
    assert.deepEqual([again.runId, again.created], [started.runId, false]);
  });

  it("refuses a key that is no text", async () => {
    await assert.rejects(
      client.entity.create(MODEL, { sku: "A" }, { idempotencyKey: "\ud800" }),
      RangeError,
    );
  });

  it("deletes an entity only in the version that is named", async () => {
    const first = await client.entity.create(MODEL, { sku: "bound", weight: 1 });
    const data = { sku: "bound", weight: 2 };
    const second = await client.entity.update({ entityId: first.entityId, data });
    const stale = client.entity.delete(first.entityId, { ifMatch: first.transactionId });
    await assert.rejects(stale, { code: "ENTITY_MODIFIED" });
    await client.entity.delete(first.entityId, { ifMatch: second.transactionId });
  });

  it("refuses to send what is larger than the server accepts", async () => {
    const sku = "x".repeat(17 << 20);
    await assert.rejects(client.entity.create(MODEL, { sku, weight: 1 }), (error) => {
      assert(error instanceof InvalidRequestError);
      assert.equal(error.code, "MESSAGE_TOO_LARGE");
      return true;
    });
  });

  it("measures what it sends with all its attributes", async () => {
    const idempotencyKey = "😀".repeat(255);
    const sent: number[] = [];
    await using scripting = await scripted(async (side) => {
      const request = await side.read();
      sent.push(serialize(request).length);
      side.write("EntityTransactionResponse", {}, { requestid: request.id });
      await side.read();
    });
    const create = async (size: number, maxMessageBytes: number): Promise<unknown> => {
      const options = { maxMessageBytes, logger: silentLogger };
      await using other = new Client(scripting.target, options);
      const request = {
        dataFormat: "JSON",
        payload: { model: MODEL, data: { sku: "x".repeat(size) } },
      } as const;
      return await other.operations.entityCreate(request, { idempotencyKey });
    };
    await create(20_000, 16 << 20);
    const [size = 0] = sent;
    await create(20_000, size);
    await assert.rejects(create(20_000, size - 1), { code: "MESSAGE_TOO_LARGE" });
    assert.equal(sent.length, 2);
  });

  it("sends a type by its name", async () => {
    const answer = await client.operations.call("AccountGetRequest" as string, {});
    assert.equal(answer.success, true);
    await assert.rejects(client.operations.call("NoSuchRequest" as string, {}), {
      code: "UNKNOWN_EVENT_TYPE",
    });
  });
});

describe("a lost connection", () => {
  it("rejects with no answer when there is no server", async () => {
    const client = new Client("127.0.0.1:1", { connectTimeoutMs: 200, logger: silentLogger });
    await assert.rejects(client.model.list(), (error) => {
      assert(error instanceof ConnectionLostError);
      assert.equal(error.retryable, true);
      assert.match(error.reason, /no answer from 127\.0\.0\.1:1 within 0\.2 s/);
      return true;
    });
    await client.close();
  });

  it("is replaced by the next request after a restart of the server", async () => {
    await using server = await Server.start();
    const client = new Client(server.target, { logger: silentLogger });
    await client.model.list();
    await server.kill();
    await server.restart();
    // The first may still meet the end of the old stream.
    await client.model.list().catch(() => undefined);
    assert.deepEqual(await client.model.list(), []);
    await client.close();
  });

  it("is no matter to a change feed, which resumes after what it yielded last", async (test) => {
    const folder = await mkdtemp("/tmp/interlock-ts-");
    test.after(() => rm(folder, { recursive: true, force: true }));
    await using server = await Server.start({
      CYODA_STORAGE_BACKEND: "sqlite",
      CYODA_SQLITE_PATH: `${folder}/data.db`,
    });
    const client = new Client(server.target, { logger: silentLogger });
    await client.model.import(MODEL, { sku: "A" });
    await client.model.lock(MODEL);
    const create = (sku: string) => client.entity.create(MODEL, { sku });
    for (const sku of ["a", "b", "c"]) await create(sku);
    const seen: string[] = [];
    const wanted = { model: MODEL, fromSequence: 0, includeData: true };
    for await (const change of client.entity.changes(wanted)) {
      seen.push((change.data as { sku: string }).sku);
      if (seen.length === 3) {
        await server.kill();
        await server.restart();
        // The first may still meet the end of the old stream.
        await create("d").catch(() => create("d"));
        await create("e");
      }
      if (seen.length === 5) break;
    }
    assert.deepEqual(seen, ["a", "b", "c", "d", "e"]);
    await client.close();
  });
});

it("a client that cannot connect says why", async () => {
  const options = { logger: silentLogger, connectTimeoutMs: 500 };
  const client = new Client("127.0.0.1:1", options);
  const reason = /^no answer from 127.0.0.1:1 within 0.5 s: UNAVAILABLE: .*ECONNREFUSED/;
  await assert.rejects(client.connect(), { code: "CONNECTION_LOST", reason });
  await assert.rejects(client.model.list(), { code: "CONNECTION_LOST", reason });
  await client.close();
});

it("callers with little time connect in the end", async () => {
  const options = { logger: silentLogger, connectTimeoutMs: 300 };
  const client = new Client("127.0.0.1:1", options);
  const { connection } = client as unknown as {
    connection: { delayMs: number; notBefore: number; lost: Error | undefined };
  };
  connection.delayMs = 5_000;
  connection.notBefore = performance.now() + 1_000; // Longer than any of them waits.
  while (connection.lost === undefined) {
    await assert.rejects(client.model.list(), { code: "CONNECTION_LOST", retryable: true });
    // Nobody waits when the pause is over.
    if (performance.now() < connection.notBefore) await delay(600);
  }
  await client.close();
});

describe("credentials", () => {
  const secret = { CYODA_BOOTSTRAP_CLIENT_ID: "first", CYODA_BOOTSTRAP_CLIENT_SECRET: "change-me" };
  let server: Server;

  before(async () => {
    server = await Server.start({
      CYODA_IAM_MODE: "jwt",
      INTERLOCK_IAM_MOCK_CALLER: "false",
      CYODA_JWT_SIGNING_KEY: signingKey(),
      ...secret,
    });
  });
  after(() => server.kill());

  it("that are refused reject with an AccessError", async () => {
    const client = new Client(server.target, { token: "nonsense", logger: silentLogger });
    await assert.rejects(client.model.list(), AccessError);
    await client.close();
  });

  it("of a client obtain a token, and another one when it is refused", async () => {
    const source = clientCredentials({
      tokenUrl: `${server.rest}/api/oauth/token`,
      clientId: "first",
      clientSecret: "change-me",
    });
    let given = 0;
    const token = {
      token: async () => {
        given += 1;
        return given === 1 ? "stale" : await source.token();
      },
      refused: (refused: string) => assert.equal(refused, "stale"),
    };
    const client = new Client(server.target, { token, logger: silentLogger });
    assert.deepEqual(await client.model.list(), []);
    assert.equal(given, 2);
    await client.close();
    const wrong = clientCredentials({
      tokenUrl: `${server.rest}/api/oauth/token`,
      clientId: "first",
      clientSecret: "wrong",
    });
    await assert.rejects(wrong.token(), { code: "UNAUTHORIZED" });
  });

  it("that are revoked let feeds go on, and what waits is a lost connection", async () => {
    const tokenUrl = `${server.rest}/api/oauth/token`;
    const first = { tokenUrl, clientId: "first", clientSecret: "change-me" };
    const admin = new Client(server.target, {
      token: clientCredentials(first),
      logger: silentLogger,
    });
    const made = await Promise.all(
      [1, 2, 3].map(async () => (await admin.operations.clientCreate({})) as TokenClient),
    );
    // The tokens of the first of these clients; of the next one when it is refused, and so on.
    const sources = made.map(({ clientId, clientSecret }) =>
      clientCredentials({ tokenUrl, clientId, clientSecret }),
    );
    const source = (): TokenSource => sources[0] ?? assert.fail("no more clients");
    const given: string[] = [];
    const token = {
      token: async () => {
        const latest = await source().token();
        given[sources.length] = latest;
        return latest;
      },
      refused: (refused: string) => {
        if (refused === given[sources.length]) sources.shift();
      },
    };
    const client = new Client(server.target, { token, logger: silentLogger });
    const revoke = async (place: number): Promise<void> => {
      await admin.operations.clientDelete({ clientId: made[place]?.clientId ?? "" });
    };
    await admin.model.import(MODEL, { sku: "A" });
    await admin.model.lock(MODEL);
    await admin.entity.create(MODEL, { sku: "0" });
    const seen: number[] = [];
    for await (const change of client.entity.changes({ fromSequence: 0 })) {
      seen.push(change.sequence);
      if (seen.length === 2) break;
      await revoke(0);
      await admin.entity.create(MODEL, { sku: "1" });
    }
    assert.deepEqual(
      [...seen].sort((one, other) => one - other),
      [...new Set(seen)],
    );
    const actions = ["a"];
    await client.operations.workerRegister({ workerId: "w", actions });
    const waiting = client.operations.taskAwait({ workerId: "w", actions });
    waiting.catch(() => undefined);
    await delay(300); // By then it was sent.
    await revoke(1);
    await assert.rejects(waiting, (error) => {
      assert(error instanceof ConnectionLostError, String(error));
      assert.equal(error.retryable, false);
      return true;
    });
    assert.equal((await client.model.list()).length, 1);
    await Promise.all([client.close(), admin.close()]);
  });
});

it("a URL is no target", () => {
  for (const url of ["http://localhost:9090", "https://example.com"]) {
    assert.throws(() => new Client(url), InvalidOptionsError);
    assert.throws(() => new Member(url), { code: "INVALID_OPTIONS", reason: /host:port/ });
  }
});

it("what has no host and port is no target", () => {
  for (const target of ["", "localhost", "localhost:", ":9090", "localhost:0", "localhost:99999"]) {
    assert.throws(() => new Client(target), InvalidOptionsError, target);
  }
  for (const target of ["[::1]:9090", "dns:///localhost:9090", "unix:/run/interlock"]) {
    assert.doesNotThrow(() => new Client(target), target);
  }
});

it("there is room for one at least", () => {
  for (const none of [0, -1, Number.NaN, 1.5]) {
    assert.throws(() => new Client("localhost:9090", { inFlight: none }), InvalidOptionsError);
    assert.throws(() => new Member("localhost:9090", { concurrency: none }), InvalidOptionsError);
  }
});

it("classes and remedies are those of all clients", () => {
  const folder = new URL("../../../", import.meta.url);
  const shared = JSON.parse(readFileSync(new URL("errors.json", folder), "utf8")) as {
    classes: Record<string, string[]>;
    clientCodes: Record<string, string>;
  };
  const classes = {
    NotFound: NotFoundError,
    Conflict: ConflictError,
    ModelState: ModelStateError,
    InvalidRequest: InvalidRequestError,
    WorkflowFailed: WorkflowFailedError,
    ComputeUnavailable: ComputeUnavailableError,
    Access: AccessError,
    Cancelled: CancelledError,
    Limit: LimitError,
    ConnectionLost: ConnectionLostError,
  };
  assert.deepEqual(Object.keys(classes), Object.keys(shared.classes));
  for (const code of [...Object.keys(ERROR_CODES), ...Object.keys(CLIENT_CODES)]) {
    const error = errorOf("", { code });
    for (const [name, kind] of Object.entries(classes)) {
      const isExpected = shared.classes[name]?.includes(code);
      assert.equal(error instanceof kind, isExpected, `${code} and ${name}`);
    }
    const own = Object.hasOwn(CLIENT_CODES, code) ? shared.clientCodes[code] : undefined;
    const known = own ?? ERROR_CODES[code as keyof typeof ERROR_CODES]?.meaning;
    assert.equal(error.remedy, known, code);
  }
  assert.ok(errorOf("", { code: "SHELF_NOT_FOUND" }) instanceof NotFoundError);
});

function signingKey(): string {
  const { privateKey } = generateKeyPairSync("rsa", { modulusLength: 2048 });
  const pem = privateKey.export({ type: "pkcs8", format: "pem" });
  return Buffer.from(pem).toString("base64");
}

async function collected<T>(items: AsyncIterable<T>): Promise<T[]> {
  const found: T[] = [];
  for await (const item of items) found.push(item);
  return found;
}
