/** Searches whose connection is lost on the way. */
import assert from "node:assert/strict";
import { it } from "node:test";
import { Client, ConnectionLostError, silentLogger } from "interlock-client";
import { scripted } from "./scripted.js";

const MODEL = { name: "parcel", version: 1 };
const ALL = { type: "group", operator: "AND", conditions: [] } as const;
const THEN = new Date("2026-01-01T00:00:00Z");
const IDS = ["a", "b", "c"];

/** What a search finds on a server that ends its streams after so many entities, each time. */
async function found(ends: (number | undefined)[], pointInTime?: Date): Promise<string[]> {
  const left = [...ends];
  await using server = await scripted(async (side) => {
    const { id: requestid } = await side.read();
    const end = left.shift();
    IDS.slice(0, end).forEach((id, place) => {
      const meta = { id, state: "NEW", modelKey: MODEL };
      const payload = { type: "ENTITY", data: {}, meta };
      side.write("EntityResponse", { payload }, { requestid, sequence: String(place) });
    });
    if (end !== undefined) return;
    side.write("EventStreamEnd", { success: true, count: IDS.length }, { requestid });
    await side.read();
  });
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
