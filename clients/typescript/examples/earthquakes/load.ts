/** Loads a week of earthquake reports, has some of them reviewed, and shows what became of them. */
import { readFile } from "node:fs/promises";
import { parseArgs } from "node:util";
import {
  type Api,
  Client,
  ComputeUnavailableError,
  type Condition,
  ConnectionLostError,
  decode,
  type Json,
  type JsonObject,
  type ModelSpec,
  silentLogger,
} from "interlock-client";
import { ALERT, makeMember, REPORT, type Report, TAG } from "./processors.js";

// The models, the workflows and the reports are those of the Python example.
const FILES = new URL("../../../../python/examples/earthquakes/", import.meta.url);

/** From which magnitude on automatic reports are confirmed; the others go on waiting. */
const REVIEW_FROM_MAGNITUDE = 3;

const WORTH_A_REVIEW: Condition = {
  type: "group",
  operator: "AND",
  conditions: [
    { type: "lifecycle", field: "state", operatorType: "EQUALS", value: "AWAITING_REVIEW" },
    {
      type: "simple",
      jsonPath: "$.properties.mag",
      operatorType: "GREATER_OR_EQUAL",
      value: REVIEW_FROM_MAGNITUDE,
    },
  ],
};

/** Does everything that has not been done yet. */
async function load(api: Api): Promise<void> {
  for (const model of [ALERT, REPORT]) await prepare(api, model);
  const { features } = (await read("data/earthquakes")) as unknown as { features: Report[] };
  const there = new Set<string>();
  for await (const { data } of api.entity.list<Report>(REPORT)) there.add(data.id);
  const missing = features.filter((report) => !there.has(report.id));
  console.log(`${features.length} reports in the file, ${there.size} of them are there already`);
  // Side by side; the client sees to it that not too many are in flight.
  await Promise.all(missing.map((report) => api.entity.create(REPORT, report)));
  console.log(`${missing.length} reports added`);

  const waiting: string[] = [];
  for await (const { id } of api.entity.search(REPORT, WORTH_A_REVIEW, { limit: 10_000 })) {
    waiting.push(id);
  }
  await Promise.all(waiting.map((id) => api.entity.transition(id, "confirm")));
  const from = `from magnitude ${REVIEW_FROM_MAGNITUDE} on`;
  console.log(`${waiting.length} automatic reports ${from} confirmed`);
  for (const model of [REPORT, ALERT]) await show(api, model);
}

/** Imports and locks a model, and imports its workflow, where that has not been done yet. */
async function prepare(api: Api, model: ModelSpec): Promise<void> {
  const { name, version } = model;
  const models = await api.model.list();
  const known = models.find((one) => one.name === name && one.version === version);
  if (known === undefined) {
    await api.model.import(model, await read(`models/${name}`));
    console.log(`model ${name} imported`);
  }
  if (known?.state !== "LOCKED") await api.model.lock(model);
  if ((await api.model.workflows(model)).length === 0) {
    await api.model.importWorkflows(model, [await read(`workflows/${name}`)]);
    console.log(`workflow of ${name} imported`);
  }
}

/** Prints how many entities are in which state. */
async function show(api: Api, model: ModelSpec): Promise<void> {
  const counts = await api.entity.countByState(model);
  const together = counts.reduce((sum, { count }) => sum + count, 0);
  console.log(`\n${model.name.padEnd(20)} entities`);
  const rows = counts.toSorted((one, other) => other.count - one.count);
  for (const { state, count } of [...rows, { state: "together", count: together }]) {
    console.log(`  ${state.padEnd(18)} ${String(count).padStart(8)}`);
  }
}

/** Reads one of the example's JSON files; its numbers keep their digits. */
async function read(name: string): Promise<JsonObject> {
  const text = await readFile(new URL(`${name}.json`, FILES), "utf8");
  return decode(text) as { [member: string]: Json };
}

const { values } = parseArgs({
  options: {
    server: { type: "string", default: "localhost:9090" },
    "with-member": { type: "boolean", default: false },
    timeout: { type: "string", default: "5" },
  },
});
const options = { connectTimeoutMs: Number(values.timeout) * 1000, logger: silentLogger };

try {
  if (values["with-member"]) {
    // The loader is the compute member as well, on one stream.
    const member = makeMember(values.server, options);
    await member
      .start()
      .then(() => load(member.client))
      .finally(() => member.stop());
  } else {
    const client = new Client(values.server, options);
    await load(client).finally(() => client.close());
  }
} catch (error) {
  process.exitCode = 1;
  if (error instanceof ConnectionLostError) {
    console.error(`\n${error.message}\nIs the server running? \`interlock\` starts it.`);
  } else if (error instanceof ComputeUnavailableError) {
    console.error(`\nNo member serves the tag \`${TAG}\`, so the reports cannot be assessed.`);
    console.error("Start `member.js` in another terminal, or add --with-member.");
  } else {
    throw error;
  }
}
