// Models, their entities, and the life of one entity.

import { Refused, ask, askAll, askSome, parsed, write } from "./service.js";
import { diagram } from "./diagram.js";
import { badge, button, choice, excerpt, facts, folded, form, h, input, json, link, pages, section, table, time } from "./element.js";
import { modelTable, models } from "./overview.js";
import { go, namespace } from "./page.js";
import { RUN_COLUMNS, runRows } from "./runs.js";

const PAGE_SIZE = 50;

// How many changes of an entity are shown.
const CHANGES_SHOWN = 100;

// How many runs of an entity are shown.
const RUNS_SHOWN = 20;

const OPERATORS = ["EQUALS", "NOT_EQUAL", "CONTAINS", "STARTS_WITH", "GREATER_THAN", "GREATER_OR_EQUAL", "LESS_THAN", "LESS_OR_EQUAL", "IS_NULL", "NOT_NULL"];

export async function entityModels() {
  return [h("h1", {}, "Entities"), modelTable(await models())];
}

// What a person typed: JSON where it is JSON, else the text itself.
function operand(text) {
  try {
    return parsed(text);
  } catch {
    return text;
  }
}

// The condition of a search, or none if all entities are wanted.
export function condition({ state, path, operator, value }) {
  const parts = [];
  if (state) parts.push({ type: "lifecycle", field: "state", operatorType: "EQUALS", value: state });
  if (path) {
    const operatorType = operator || "EQUALS";
    const part = { type: "simple", jsonPath: path, operatorType };
    parts.push(operatorType.endsWith("NULL") ? part : { ...part, value: operand(value ?? "") });
  }
  return parts.length > 1 ? { type: "group", operator: "AND", conditions: parts } : parts[0];
}

// Whether a search names a value, or that there is none, but not the field.
const lacksField = ({ path, operator, value }) => !path && Boolean(value || operator?.endsWith("NULL"));

async function found(model, query) {
  if (lacksField(query)) throw new Refused("Name the field that is searched.");
  const wanted = condition(query);
  if (!wanted) {
    const pageNumber = Number(query.page ?? 0);
    return askSome("EntityGetAllRequest", { model, pageSize: PAGE_SIZE, pageNumber }, PAGE_SIZE);
  }
  return askSome("EntitySearchRequest", { model, condition: wanted, limit: PAGE_SIZE, limitExceeded: "TRUNCATE" }, PAGE_SIZE);
}

// A workflow in the middle of being written may lack what a picture needs.
function picture(workflow, counts, current) {
  if (!workflow.states?.[workflow.initialState]) return undefined;
  const byState = new Map(counts.map(({ state, count }) => [state, count]));
  return h("div", { class: "scroll" }, diagram(workflow, byState, current), h("p", { class: "faint" }, "Dashed: manual."));
}

const stateRows = (workflow) =>
  Object.entries(workflow.states ?? {}).flatMap(([state, { transitions = [] }]) =>
    transitions.length
      ? transitions.map((way) => [state, way.name, way.next, way.manual ? "manual" : "automatic", way.criterion ? "yes" : "–", (way.processors ?? []).map((processor) => processor.name).join(", ") || "–"])
      : [[state, "–", "–", "–", "–", "–"]],
  );

export async function entityModel([name, version], query) {
  if (!/^-?\d+$/.test(version)) return undefined;
  const model = { name, version: Number(version) };
  const parts = ["entities", name, version];
  const [listed, exported, counts] = await Promise.all([
    // A search that is refused leaves the form, in which it is corrected.
    found(model, query).catch((error) => {
      if (error.needsLogin || !(condition(query) || lacksField(query))) throw error;
      return error;
    }),
    // A model without workflows has the built-in one.
    ask("EntityWorkflowExportRequest", { model }).catch(() => ({ workflows: [] })),
    askAll("EntityStatsByStateGetRequest", { model }),
  ]);
  const search = form(
    [
      ["state", "State", choice([["", "any"], ...counts.map(({ state, count }) => [state, `${state} (${count})`])], query.state)],
      ["path", "Field", input(query.path, { placeholder: "$.customer.name" })],
      ["operator", "Operator", choice(OPERATORS.map((operator) => [operator, operator.toLowerCase().replaceAll("_", " ")]), query.operator)],
      ["value", "Value, as text or JSON", input(query.value)],
    ],
    "Search",
    (wanted) => go(parts, wanted),
  );
  if (listed instanceof Error) return [h("h1", {}, `${name} ${version}`), search, h("p", {}, listed.message)];
  const { answers, isCut } = listed;
  const rows = answers.map(({ payload: { meta, data } }) => [
    link(["entity", meta.id], meta.id),
    badge(meta.state),
    time(meta.lastUpdateTime),
    h("code", {}, excerpt(data)),
  ]);
  const page = Number(query.page ?? 0);
  const isFull = isCut || answers.length === PAGE_SIZE;
  return [
    h("h1", {}, `${name} ${version}`),
    search,
    table(["Entity", "State", "Last update", "Data"], rows, "No entity matches."),
    isCut && h("p", { class: "faint" }, `The first ${answers.length} of this page are shown, because they are large; search for less to see others.`),
    condition(query)
      ? isFull && !isCut && h("p", { class: "faint" }, `The first ${PAGE_SIZE} are shown; search for less to see others.`)
      : h("p", { class: "pages" }, page > 0 && link(parts, "Previous page", { page: page - 1 }), isFull && link(parts, "Next page", { page: page + 1 })),
    exported.workflows.map((workflow) =>
      folded(
        `Workflow ${workflow.name}${workflow.active === false ? " (not active)" : ""}`,
        picture(workflow, counts),
        table(["State", "Transition", "To", "Trigger", "Criterion", "Processors"], stateRows(workflow)),
        json(workflow, parts, query),
      ),
    ),
  ];
}

// Takes a transition of what was shown: not of what others have made of it meanwhile.
async function take({ id, transactionId }, transition) {
  try {
    await write("EntityTransitionRequest", { entityId: id, transition, ifMatch: transactionId });
  } catch (error) {
    throw error.code === "ENTITY_MODIFIED" ? new Refused("the entity was changed meanwhile; look again.") : error;
  }
}

// The ways out of the state of an entity, and why each is open or closed now.
function ways(meta, { transitions = [] }) {
  const rows = transitions.map((way) => {
    const name = `Take the transition ${way.name} of the entity ${meta.id}`;
    return [
      way.name,
      way.next,
      way.trigger,
      way.open === null ? "a member decides" : way.open ? "yes" : "no",
      way.why,
      way.trigger === "manual" && button("Take transition", name, () => take(meta, way.name), { question: `${name}?`, of: way.name }),
    ];
  });
  return table(["Transition", "To", "Trigger", "Open", "Why", ""], rows, "This state has no transitions.");
}

// The workflow of an entity, if it has one of its own.
async function governing({ modelKey }, { runs = [] }) {
  const name = runs[0]?.workflow?.name;
  const { workflows } = await ask("EntityWorkflowExportRequest", { model: modelKey }).catch(() => ({ workflows: [] }));
  return workflows.find((workflow) => workflow.name === name);
}

export async function entity([entityId], query) {
  const [{ payload }, explained, changes, audit, runs] = await Promise.all([
    ask("EntityGetRequest", { entityId }),
    ask("WorkflowExplainRequest", { entityId }),
    askSome("EntityChangesMetadataGetRequest", { entityId }, CHANGES_SHOWN),
    ask("EntityAuditGetRequest", { entityId, eventTypes: ["StateMachine"], limit: 50, cursor: query.events }),
    ask("RunsGetRequest", { entityId, limit: RUNS_SHOWN, namespace: namespace.get() }),
  ]);
  const { meta, data } = payload;
  const workflow = await governing(meta, explained);
  return [
    h("h1", {}, link(["entities", meta.modelKey.name, meta.modelKey.version], `${meta.modelKey.name} ${meta.modelKey.version}`), ` / ${entityId}`),
    facts([
      ["State", badge(meta.state)],
      ["Created", time(meta.creationDate)],
      ["Last update", time(meta.lastUpdateTime)],
      ["Last transition", meta.transitionForLatestSave],
      ["Transaction", meta.transactionId],
    ]),
    json(data, ["entity", entityId], query),
    section("Transitions", workflow && picture(workflow, [], meta.state), ways(meta, explained)),
    runs.items.length > 0 &&
      section(
        "Runs",
        table(RUN_COLUMNS, runRows(runs.items)),
        runs.pagination.hasNext && h("p", { class: "faint" }, `The newest ${RUNS_SHOWN} are shown; the API lists more.`),
      ),
    section(
      "Workflow events",
      table(
        ["Time", "Event", "State", "Details"],
        audit.items.map((event) => [time(event.utcTime), event.eventType, event.state, event.details]),
      ),
      pages(["entity", entityId], query, audit.pagination, "events"),
    ),
    section(
      "Changes",
      table(
        ["Time", "Change", "By", "Transaction"],
        changes.answers.map(({ changeMeta }) => [time(changeMeta.timeOfChange), changeMeta.changeType.toLowerCase(), changeMeta.user, changeMeta.transactionId]),
      ),
      changes.isCut && h("p", { class: "faint" }, `The newest ${CHANGES_SHOWN} are shown; the API lists more.`),
    ),
  ];
}
