import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { once } from "node:events";
import { createInterface } from "node:readline";
import { after, before, describe, it } from "node:test";
import {
  Client,
  ComputeUnavailableError,
  ConnectionLostError,
  JsonNumber,
  Member,
  No,
  Rejected,
  silentLogger,
  WorkflowFailedError,
} from "interlock-client";
import { deferred } from "./scripted.js";
import { Server } from "./servers.js";

interface Parcel {
  sku: string;
  weight: JsonNumber;
}

const MODEL = { name: "parcel", version: 1 };
const LABEL = { name: "label", version: 1 };

describe("a member", () => {
  let server: Server;
  let client: Client;

  before(async () => {
    server = await Server.start();
    client = new Client(server.target, { logger: silentLogger });
    await client.model.import(LABEL, { sku: "A" });
    await client.model.lock(LABEL);
    await withWorkflow(client, "price", "is-light");
  });
  after(async () => {
    await client.close();
    await server.kill();
  });

  const quiet = { logger: silentLogger };

  it("replaces a document, in the transaction of its caller, with exact numbers", async () => {
    await using member = new Member(server.target, { ...quiet, tags: ["pricing"] });
    member.criterion("is-light", () => true);
    member.processor<Parcel>("price", async ({ data }, context) => {
      assert.equal(context.transition.stateTo, "PRICED");
      assert.equal(context.caller.kind, "user");
      const label = await context.entity.create(LABEL, { sku: data.sku });
      assert.equal(label.transactionId, context.transactionId);
      // Nobody else sees it yet.
      await assert.rejects(client.entity.get(label.entityId), { code: "ENTITY_NOT_FOUND" });
      assert.equal((await context.entity.get(label.entityId)).data.sku, data.sku);
      context.warn("priced by hand");
      return { ...data, price: new JsonNumber("4.50") };
    });
    await member.start();
    const written = await client.entity.create(MODEL, { sku: "x", weight: 3 });
    assert.deepEqual(written.warnings, ["processor price: priced by hand"]);
    const entity = await client.entity.get(written.entityId);
    assert.equal(entity.state, "PRICED");
    assert.equal(String(entity.data.price), "4.50");
    assert.equal(written.entityIds.length, 1);
  });

  it("rejects, and what it wrote is rolled back", async () => {
    await using member = new Member(server.target, { ...quiet, tags: ["pricing"] });
    let label = "";
    member.criterion("is-light", () => true);
    member.processor("price", async (_entity, context) => {
      label = (await context.entity.create(LABEL, { sku: "never" })).entityId;
      throw new Rejected("too heavy for us");
    });
    await member.start();
    await assert.rejects(client.entity.create(MODEL, { sku: "x", weight: 3 }), (error) => {
      assert(error instanceof WorkflowFailedError);
      assert.match(error.reason, /too heavy for us/);
      return true;
    });
    await assert.rejects(client.entity.get(label), { code: "ENTITY_NOT_FOUND" });
  });

  it("decides criteria, with a reason", async () => {
    await using member = new Member(server.target, { ...quiet, tags: ["pricing"] });
    member.criterion<Parcel>("is-light", ({ data }) =>
      data.weight.toNumber() < 5 ? true : new No(`${data.weight} kg are more than 5`),
    );
    member.processor("price", () => undefined);
    await member.start();
    const heavy = await client.entity.create(MODEL, { sku: "x", weight: new JsonNumber("7.25") });
    assert.equal((await client.entity.get(heavy.entityId)).state, "RECEIVED");
    await assert.rejects(client.entity.transition(heavy.entityId, "price"), /7\.25 kg are more/);
  });

  it("gives up when its stream is lost even what never settles, and joins again", async () => {
    await using own = await Server.start({ CYODA_DISPATCH_WAIT_TIMEOUT: "10s" });
    const caller = new Client(own.target, quiet);
    await withWorkflow(caller, "price", "is-light");
    const member = new Member(own.target, { ...quiet, tags: ["pricing"], concurrency: 1 });
    member.criterion("is-light", () => true);
    const entered = deferred<void>();
    let calls = 0;
    const reasons: unknown[] = [];
    member.processor("price", async (_entity, context) => {
      calls += 1;
      if (calls > 1) return;
      entered.resolve();
      await once(context.signal, "abort");
      reasons.push(context.signal.reason);
      await deferred<void>().promise; // which is never resolved
    });
    await member.start();
    const lost = assert.rejects(
      caller.entity.create(MODEL, { sku: "x", weight: 3 }),
      ConnectionLostError,
    );
    await entered.promise;
    await own.kill();
    await lost;
    await own.restart();
    await withWorkflow(caller, "price", "is-light").catch(() =>
      withWorkflow(caller, "price", "is-light"),
    );
    await caller.entity.create(MODEL, { sku: "x", weight: 3 });
    assert.equal(calls, 2);
    assert(reasons[0] instanceof ConnectionLostError);
    await member.stop();
    await caller.close();
  });

  it("gives a call up with the server, and its place to another", async () => {
    const model = { name: "limited", version: 1 };
    const limits = { hangs: 3_000, waits: 100, goes: 30_000 };
    await client.model.import(model, { sku: "A" });
    await client.model.lock(model);
    const transitions = Object.entries(limits).map(([name, responseTimeoutMs]) => {
      const config = { calculationNodesTags: "slow", responseTimeoutMs };
      const processors = [
        { name: "price", type: "externalized", executionMode: "SYNC", config } as const,
      ];
      return { name, next: "DONE", manual: true, processors };
    });
    await client.model.importWorkflows(model, [
      {
        version: "1",
        name: "limited",
        initialState: "NEW",
        states: { NEW: { transitions }, DONE: {} },
      },
    ]);
    await using member = new Member(server.target, { ...quiet, tags: ["slow"], concurrency: 1 });
    const entered = deferred<void>();
    const began: string[] = [];
    member.processor("price", async (_entity, context) => {
      began.push(context.transition.name);
      assert(context.deadline !== undefined);
      if (context.transition.name !== "hangs") return;
      entered.resolve();
      await once(context.signal, "abort");
      await deferred<void>().promise; // which is never resolved
    });
    await member.start();
    const move = async (name: string): Promise<unknown> => {
      const { entityId } = await client.entity.create(model, { sku: "x" });
      return await client.entity.transition(entityId, name);
    };
    const hangs = assert.rejects(move("hangs"), /DISPATCH_TIMEOUT/);
    await entered.promise;
    await assert.rejects(move("waits"), /DISPATCH_TIMEOUT/);
    const goes = move("goes");
    await hangs;
    await goes;
    assert.deepEqual(began, ["hangs", "goes"]);
  });

  it("ends at once at a second signal", async () => {
    const hanging = `
      import { Member } from "interlock-client";
      const member = new Member("${server.target}", { tags: ["pricing"] });
      member.criterion("is-light", () => {
        console.log("begun");
        return new Promise(() => undefined);
      });
      process.once("SIGTERM", () => setImmediate(() => console.log("stopping")));
      await member.run();`;
    const program = spawn(process.execPath, ["--input-type=module", "-e", hanging], {
      stdio: ["ignore", "pipe", "ignore"],
    });
    const ended = once(program, "exit");
    await connected(client, "pricing");
    const failed = assert.rejects(client.entity.create(MODEL, { sku: "x", weight: 3 }));
    for await (const line of createInterface({ input: program.stdout })) {
      if (line === "begun") program.kill("SIGTERM");
      if (line === "stopping") program.kill("SIGINT");
    }
    assert.deepEqual(await ended, [null, "SIGINT"]);
    await failed;
  });

  it("finishes what is running before it stops, and takes nothing else", async () => {
    const member = new Member(server.target, { ...quiet, tags: ["pricing"] });
    const [entered, gate] = [deferred<void>(), deferred<void>()];
    member.criterion("is-light", () => true);
    member.processor("price", async () => {
      entered.resolve();
      await gate.promise;
    });
    const stopping = new AbortController();
    const running = member.run({ signal: stopping.signal });
    await connected(client, "pricing");
    const created = client.entity.create(MODEL, { sku: "x", weight: 3 });
    await entered.promise;
    stopping.abort();
    gate.resolve();
    assert.equal((await created).entityIds.length, 1);
    await running;
    await assert.rejects(
      client.entity.create(MODEL, { sku: "x", weight: 3 }),
      ComputeUnavailableError,
    );
  });

  it("says which workflows of managers it does", async () => {
    await using member = new Member(server.target, { ...quiet, tags: ["billing"] });
    member.workflow("org.acme:import-file", () => undefined);
    await member.start();
    const { members } = await client.operations.computeMembersGet({});
    const tags = members?.map((one) => [...one.tags].sort());
    assert.deepEqual(tags, [["billing", "workflow:org.acme:import-file"]]);
  });

  it("executes actions of step workflows", async () => {
    const member = new Member(server.target, { ...quiet, tags: ["office"] });
    member.action<{ amount: JsonNumber }>("charge", ({ amount }, context) => {
      assert.equal(context.attempt, 1);
      return { charged: amount };
    });
    await member.start();
    await client.operations.actionRegister({ name: "charge" });
    const input = { amount: new JsonNumber("99.90") };
    const { task } = await client.operations.actionInvoke({
      name: "charge",
      input,
      waitMs: 10_000,
    });
    const { charged } = (task?.output ?? {}) as { charged?: JsonNumber };
    assert.equal(String(charged), "99.90");
    await member.stop();
  });
});

/** Makes the model of parcels, which are priced as soon as they come. */
async function withWorkflow(client: Client, processor: string, criterion: string): Promise<void> {
  const config = { calculationNodesTags: "pricing" };
  await client.model.import(MODEL, { sku: "A", weight: new JsonNumber("1.5") });
  await client.model.lock(MODEL);
  await client.model.importWorkflows(MODEL, [
    {
      version: "1",
      name: "parcels",
      initialState: "RECEIVED",
      states: {
        RECEIVED: {
          transitions: [
            {
              name: "price",
              next: "PRICED",
              manual: false,
              criterion: { type: "function", function: { name: criterion, config } },
              processors: [
                { name: processor, type: "externalized", executionMode: "SYNC", config },
              ],
            },
          ],
        },
        PRICED: {},
      },
    },
  ]);
}

/** Waits until a member with a tag is connected. */
async function connected(client: Client, tag: string): Promise<void> {
  const deadline = AbortSignal.timeout(10_000);
  for (;;) {
    const { members } = await client.operations.computeMembersGet({}, { signal: deadline });
    if (members.some((member) => member.tags.includes(tag))) return;
  }
}
