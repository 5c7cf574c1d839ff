import assert from "node:assert/strict";
import { type ChildProcess, spawn } from "node:child_process";
import { createHash } from "node:crypto";
import { once } from "node:events";
import { describe, it } from "node:test";
import { fileURLToPath } from "node:url";
import { Client, type Entity, encode, type JsonObject } from "interlock-client";
import { Server } from "./servers.js";

const REPORT = { name: "earthquake", version: 1 };
const ALERT = { name: "earthquake-alert", version: 1 };

const STATES = {
  ROUTINE: 1362,
  NOTABLE: 177,
  AWAITING_REVIEW: 96,
  ALERTED: 44,
  SET_ASIDE: 28,
  together: 1707,
};

/** Of the ids, states and documents that the Python example ends with, without ids of alerts. */
const SHA256 = "a58b92a47fdf173bba85e0898a7106cee88e328dc2b7c1f4526783e521b6a816";

describe("the earthquake example", () => {
  it("loads all reports once, with the result of the Python example", async () => {
    await using server = await Server.start();
    const first = await run("load", "--with-member", "--server", server.target);
    assert.equal(first.code, 0, first.output);
    assert.match(first.output, /1707 reports added/);
    assert.match(first.output, /13 automatic reports from magnitude 3 on confirmed/);
    assert.deepEqual(table(first.output), STATES);

    const client = new Client(server.target);
    const reports = await all(client, REPORT);
    const alerts = await all(client, ALERT);
    await client.close();
    assert.equal(digest(reports), SHA256);
    assert.equal(alerts.length, 44);
    const byId = new Map(reports.map((report) => [report.data.id, report]));
    for (const alert of alerts) {
      const report = byId.get(alert.data.reportId as string);
      assert.equal(report?.state, "ALERTED");
      assert.equal(report.data.alertId, alert.id);
    }

    const again = await run("load", "--with-member", "--server", server.target);
    assert.equal(again.code, 0, again.output);
    assert.match(again.output, /1707 of them are there already/);
    assert.deepEqual(table(again.output), STATES);
  });

  it("can be two programs", async () => {
    await using server = await Server.start({ CYODA_DISPATCH_WAIT_TIMEOUT: "10s" });
    const member = start("member", "--server", server.target);
    const ended = once(member, "exit");
    const loaded = await run("load", "--server", server.target);
    assert.equal(loaded.code, 0, loaded.output);
    assert.deepEqual(table(loaded.output), STATES);
    member.kill("SIGTERM");
    assert.deepEqual(await ended, [0, null]);
  });

  it("says in plain words what does not run", async () => {
    for (const mode of [[], ["--with-member"]]) {
      const alone = ["--server", "127.0.0.1:1", "--timeout", "0.2"];
      const { code, output } = await run("load", ...alone, ...mode);
      assert.equal(code, 1);
      assert.match(output, /no answer from 127\.0\.0\.1:1 .*\nIs the server running\?/);
    }
    await using server = await Server.start();
    const { code, output } = await run("load", "--server", server.target);
    assert.equal(code, 1);
    assert.match(output, /No member serves the tag `earthquakes`/);
  });
});

function start(program: string, ...args: string[]): ChildProcess {
  const path = new URL(`../examples/earthquakes/${program}.js`, import.meta.url);
  return spawn(process.execPath, [fileURLToPath(path), ...args], { cwd: "/" });
}

async function run(program: string, ...args: string[]): Promise<{ code: number; output: string }> {
  const child = start(program, ...args);
  let output = "";
  for (const stream of [child.stdout, child.stderr]) {
    stream?.on("data", (chunk: Buffer) => {
      output += chunk.toString();
    });
  }
  const [code] = (await once(child, "close")) as [number];
  return { code, output };
}

/** The first of the tables that were printed. */
function table(output: string): Record<string, number> {
  const [, after = ""] = output.split(/earthquake +entities\n/);
  const [rows = ""] = after.split("\n\n");
  const cells = rows.trim().split("\n");
  return Object.fromEntries(
    cells.map((row) => {
      const [state = "", count] = row.trim().split(/ +/);
      return [state, Number(count)];
    }),
  );
}

async function all(client: Client, model: { name: string; version: number }): Promise<Entity[]> {
  const found: Entity[] = [];
  for await (const entity of client.entity.list(model)) found.push(entity);
  return found;
}

function digest(reports: Entity[]): string {
  const lines = reports.map(({ state, data }) => {
    const { alertId: _, ...document } = data;
    return `${(document as JsonObject).id} ${state} ${encode(document)}\n`;
  });
  return createHash("sha256").update(lines.sort().join("")).digest("hex");
}
