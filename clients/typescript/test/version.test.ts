/** Which servers a client understands. */
import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { it } from "node:test";
import { fileURLToPath } from "node:url";
import { Client, Member, ServerNotUnderstoodError, silentLogger } from "interlock-client";
import { isUnderstood, VERSION } from "#client/version.js";
import { scripted } from "./scripted.js";

const PACKAGE = fileURLToPath(new URL("../..", import.meta.url));

it("versions agree in the first number that is not zero", () => {
  for (const [server, client, expected] of [
    ["0.1.0", "0.1.9", true],
    ["0.2.0", "0.1.0", false],
    ["1.0.0", "0.1.0", false],
    ["1.7.3", "1.0.0", true],
    ["2.0.0", "1.9.9", false],
    ["10.0.0", "1.0.0", false],
    ["0.1.0-rc.1+build", "0.1.0", true],
    ["tomorrow's", "0.1.0", false],
  ] as const) {
    assert.equal(isUnderstood(server, client), expected, `${server} and ${client}`);
  }
});

it("the versions of the client, of its package and of the server are equal", () => {
  const { version } = JSON.parse(readFileSync(join(PACKAGE, "package.json"), "utf8"));
  const server = readFileSync(join(PACKAGE, "..", "..", "Cargo.toml"), "utf8");
  assert.equal(version, VERSION);
  assert.match(server, new RegExp(`^version = "${VERSION}"$`, "m"));
});

it("a server of another version is refused at once and by name", async () => {
  let streams = 0;
  await using server = await scripted(
    async (side) => {
      streams += 1;
      await side.greet();
      await side.read();
    },
    { "interlock-version": "2.0.0" },
  );
  const refused = (error: unknown): boolean => {
    assert.ok(error instanceof ServerNotUnderstoodError);
    assert.equal(error.code, "SERVER_NOT_UNDERSTOOD");
    assert.equal(error.retryable, false);
    assert.match(error.reason, /^the server is of version 2\.0\.0; this client understands 0\.1$/);
    return true;
  };
  const client = new Client(server.target, { logger: silentLogger });
  await assert.rejects(client.operations.accountGet({}), refused);
  const feed = client.operations.entityChangesSubscribe({ fromSequence: 0 });
  await assert.rejects(feed[Symbol.asyncIterator]().next(), refused);
  await client.close();
  const member = new Member(server.target, { tags: [], logger: silentLogger });
  await assert.rejects(member.run(), refused);
  assert.equal(streams, 2);
});

it("a server of this version is accepted", async () => {
  await using server = await scripted(
    async (side) => {
      const { id: requestid } = await side.read();
      side.write("AccountGetResponse", { success: true }, { requestid });
      await side.read();
    },
    { "interlock-version": VERSION },
  );
  const client = new Client(server.target, { logger: silentLogger });
  await client.operations.accountGet({});
  await client.close();
});
