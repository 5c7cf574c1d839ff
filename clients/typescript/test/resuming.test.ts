/** Searches whose connection is lost on the way. */
import assert from "node:assert/strict";
import { it } from "node:test";
import { status } from "@grpc/grpc-js";
import { Client, ConnectionLostError, silentLogger } from "interlock-client";
import { envelop } from "#client/envelope.js";
import { scripted } from "./scripted.js";

const MODEL = { name: "parcel", version: 1 };
const ALL = { type: "group", operator: "AND", conditions: [] } as const;
const THEN = new Date("2026-01-01T00:00:00Z");
const IDS = ["a", "b", "c"];

/** What a search finds on a server that loses its calls after so many entities, each time. */
async function found(ends: (number | undefined)[], pointInTime?: Date): Promise<string[]> {
  const left = [...ends];
  await using server = await scripted(
    async () => undefined,
    {},
    () => {
      const end = left.shift();
      const events = IDS.slice(0, end).map((id) => {
        const meta = { id, state: "NEW", modelKey: MODEL };
        return envelop("EntityResponse", { payload: { type: "ENTITY", data: {}, meta } });
      });
      const details = "the connection was reset";
      return end === undefined
        ? { events }
        : { events, end: { code: status.UNAVAILABLE, details } };
    },
  );
  const client = new Client(server.target, { logger: silentLogger });
  try {
    const ids: string[] = [];
    const options = pointInTime === undefined ? {} : { pointInTime };
    for await (const entity of client.entity.search(MODEL, ALL, options)) ids.push(entity.id);
    return ids;
  } finally {
    await client.close();
  }
}

it("a search as of a time is resumed, and yields each entity once", async () => {
  assert.deepEqual(await found([2, 1, undefined], THEN), IDS);
});

it("a search without a time is sent again only while nothing has come", async () => {
  assert.deepEqual(await found([0, undefined]), IDS);
  await assert.rejects(found([1, undefined]), ConnectionLostError);
});

it("a search that yields nothing is given up", async () => {
  await assert.rejects(found([0, 0, 0, undefined], THEN), ConnectionLostError);
});

it("a failure in the middle of a search is that of the server", async () => {
  const details = "STORAGE_UNAVAILABLE: the disk is full: 0 left";
  await using server = await scripted(
    async () => undefined,
    {},
    () => ({ events: [], end: { code: status.UNAVAILABLE, details } }),
  );
  await using client = new Client(server.target, { logger: silentLogger });
  await assert.rejects(client.entity.search(MODEL, ALL).next(), {
    code: "STORAGE_UNAVAILABLE",
    reason: "the disk is full: 0 left",
    retryable: true,
  });
});
