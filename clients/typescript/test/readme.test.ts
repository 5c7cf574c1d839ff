/** What the README shows compiles in strict mode and works as it is shown. */
import assert from "node:assert/strict";
import { execFileSync, spawn } from "node:child_process";
import { once } from "node:events";
import { mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { before, it } from "node:test";
import { fileURLToPath } from "node:url";
import { Client, silentLogger } from "interlock-client";
import { Server } from "./servers.js";

const PACKAGE = fileURLToPath(new URL("../..", import.meta.url));
const FOLDER = join(PACKAGE, "build", "readme");
const ORDER = { name: "order", version: 1 };

before(() => {
  const readme = readFileSync(join(PACKAGE, "README.md"), "utf8");
  const programs = [...readme.matchAll(/```ts\n(.*?)```/gs)].map(([, program]) => program ?? "");
  assert.equal(programs.length, 4);
  mkdirSync(FOLDER, { recursive: true });
  programs.forEach((program, index) => {
    const text = program.replace('"localhost:9090"', 'process.env["TARGET"]');
    writeFileSync(join(FOLDER, `${index}.ts`), text);
  });
  const config = { extends: "../../tsconfig.base.json", include: ["*.ts"] };
  writeFileSync(join(FOLDER, "tsconfig.json"), JSON.stringify(config));
  execFileSync(join(PACKAGE, "node_modules", ".bin", "tsc"), ["-p", FOLDER], { stdio: "inherit" });
});

it("the install commands of the README install what its programs import", () => {
  const readme = readFileSync(join(PACKAGE, "README.md"), "utf8");
  const [, installed = ""] = /^npm install (.*?) *#/m.exec(readme) ?? [];
  const packages = installed
    .split(/\s+/)
    .map((name) => name.replace(/^\.\/(.*)-[\d.]+\.tgz$/, "$1"));
  for (const [, imported = ""] of readme.matchAll(/^import .* from "(.*?)";$/gm)) {
    assert(packages.includes(imported), `${imported} is not installed`);
  }
});

it("the member of the README serves the order workflow of the first session", async () => {
  await using server = await Server.start({ CYODA_DISPATCH_WAIT_TIMEOUT: "10s" });
  const client = new Client(server.target, { logger: silentLogger });
  await firstSession(server);
  const member = run(0, server.target);
  const ended = once(member, "exit");
  const total = { customer: { name: "Ada", country: "GB" }, total: 19.5 };
  const { entityId } = await client.entity.create(ORDER, total);
  assert.deepEqual(await client.entity.transition(entityId, "invoice"), []);
  const { state, data } = await client.entity.get(entityId);
  assert.equal(state, "INVOICED");
  assert.equal(String(data.tax), "3.9");
  await client.close();
  member.kill("SIGTERM");
  assert.deepEqual(await ended, [0, null]);
});

it("the client of the README works as often as it is run", async () => {
  await using server = await Server.start();
  for (let round = 0; round < 2; round += 1) {
    assert.match(await output(1, server.target), /^B-7 0\.250 \w+\n$/);
  }
  const followed = await output(2, server.target);
  assert.match(followed, /^\S+ B-7\n\S+ B-7\n\d+ CREATE \S+ CREATED\n\d+ CREATE/);
});

/** Sends the requests of the first session of the repository's README. */
async function firstSession(server: Server): Promise<void> {
  const readme = readFileSync(join(PACKAGE, "..", "..", "README.md"), "utf8");
  const [, session = ""] = readme.split("\n## A first session");
  const requests = session.matchAll(
    /-X (POST|PUT) localhost:8080(\S+)(?: \\\n)?(?: *-d '(.*?)')?\n/gs,
  );
  for (const [, method = "", path = "", body] of [...requests].slice(0, 3)) {
    const request = { method, ...(body !== undefined && { body }) };
    const response = await fetch(`${server.rest}${path}`, request);
    assert.equal(response.status, 200, `${path}: ${await response.text()}`);
  }
}

function run(program: number, target: string) {
  const env = { ...process.env, TARGET: target };
  return spawn(process.execPath, [join(FOLDER, `${program}.js`)], { env });
}

async function output(program: number, target: string): Promise<string> {
  const child = run(program, target);
  let text = "";
  child.stdout.on("data", (chunk: Buffer) => {
    text += chunk.toString();
  });
  child.stderr.pipe(process.stderr);
  const [code] = await once(child, "close");
  assert.equal(code, 0);
  return text;
}
