// Durable runs: step workflows, sagas and machines.

import { Refused, ask, parsed, write } from "./service.js";
import { badge, button, choice, excerpt, facts, folded, form, h, input, json, link, none, pages, section, table, time, whole } from "./element.js";
import { act, go, namespace } from "./page.js";

const STATUSES = ["pending", "running", "waiting", "completed", "failed", "timed_out", "cancelled"];
const ENDED = ["completed", "failed", "timed_out", "cancelled"];

export const RUN_COLUMNS = ["Run", "Definition", "Kind", "Status", "Step", "Created", "Ended"];

// What the list of runs says of the error of one.
const ERROR_CHARACTERS = 120;

export const runRows = (runs) =>
  runs.map((run) => [
    link(["runs", run.runId], run.runId),
    `${run.definition.name} ${run.definition.version}`,
    run.kind,
    [badge(run.status), run.error && ` ${excerpt(run.error.message, ERROR_CHARACTERS)}`],
    run.currentStep,
    time(run.createdAt),
    time(run.finishedAt),
  ]);

export async function runs(parts, query) {
  const { cursor, status, definition } = query;
  const { items, pagination } = await ask("RunsGetRequest", {
    limit: 50,
    cursor,
    status: status ? [status] : undefined,
    definition: definition || undefined,
    namespace: namespace.get(),
  });
  return [
    h("h1", {}, "Runs"),
    form(
      [
        ["status", "Status", choice([["", "any"], ...STATUSES.map((known) => [known, known.replace("_", " ")])], status)],
        ["definition", "Definition", input(definition)],
      ],
      "Show",
      (wanted) => go(["runs"], wanted),
    ),
    table(RUN_COLUMNS, runRows(items), none("No run matches.", pagination)),
    pages(["runs"], query, pagination),
  ];
}

// The tasks of a run, or of all.
export const taskRows = (tasks) =>
  tasks.map((task) => [
    task.name,
    task.kind,
    badge(task.status),
    task.runId ? link(["runs", task.runId], task.step ?? task.runId) : "–",
    String(task.attempt),
    task.takenBy,
    time(task.createdAt),
    task.error ? task.error.message : h("code", {}, excerpt(task.output ?? task.input, 80)),
  ]);

export const TASK_COLUMNS = ["Task", "Kind", "Status", "Step", "Attempt", "Taken by", "Created", "Error or data"];

function waiting({ for: what, name, until }) {
  return [what, name && ` ${name}`, until && [" until ", time(until)]];
}

// How much of the detail of an event is shown at first: that of the start has the input.
const DETAIL_CHARACTERS = 1000;

// The history of a run, or why it cannot be read: the run can still be cancelled.
async function historyOf(runId, from) {
  try {
    return await ask("RunHistoryGetRequest", { runId, limit: 200, fromSequence: from ? Number(from) : undefined });
  } catch (error) {
    if (error instanceof Refused && !error.needsLogin) return error;
    throw error;
  }
}

function historyPart(runId, query, history) {
  if (history instanceof Error) return section("History", h("p", {}, `The history cannot be read: ${history.message}`));
  const { items, pagination } = history;
  const parts = ["runs", runId];
  const shown = (detail) => (query.whole || !detail ? detail : excerpt(detail, DETAIL_CHARACTERS));
  const isCut = items.some(({ detail }) => shown(detail) !== detail);
  return section(
    "History",
    table(
      ["#", "Time", "Event", "Detail"],
      items.map((event) => [String(event.sequence), time(event.time), event.eventType, shown(event.detail)]),
    ),
    isCut && h("p", { class: "faint" }, `The first ${DETAIL_CHARACTERS} characters of a detail are shown. `, whole(parts, query)),
    h("p", { class: "pages" }, query.from && link(parts, "From the beginning"), pagination?.hasNext && items.length > 0 && link(parts, "Later events", { from: items.at(-1).sequence })),
  );
}

export async function run([runId], query) {
  const parts = ["runs", runId];
  const [{ run }, history, tasks] = await Promise.all([
    ask("RunGetRequest", { runId }),
    historyOf(runId, query.from),
    ask("TasksGetRequest", { runId, limit: 50, cursor: query.tasks }),
  ]);
  return [
    h("h1", {}, link(["runs"], "Runs"), ` / ${runId}`),
    facts([
      ["Status", badge(run.status)],
      ["Definition", `${run.definition.name} ${run.definition.version} (${run.kind})`],
      ["Namespace", run.namespace],
      ["Step", run.currentStep],
      ["Waits for", run.waiting && waiting(run.waiting)],
      ["Error", run.error && `${run.error.code ? `${run.error.code}: ` : ""}${run.error.message}`],
      ["Compensated", run.compensated === undefined ? undefined : run.compensated ? "yes" : "no"],
      ["Started by", run.startedBy],
      ["Parent run", run.parentRunId && link(["runs", run.parentRunId], run.parentRunId)],
      ["Entity", run.entityId && link(["entity", run.entityId], run.entityId)],
      ["Created", time(run.createdAt)],
      ["Started", run.startedAt && time(run.startedAt)],
      ["Ended", run.finishedAt && time(run.finishedAt)],
    ]),
    !ENDED.includes(run.status) && [
      h(
        "div",
        { class: "actions" },
        button("Cancel the run", `Cancel the run ${runId}`, () => write("RunCancelRequest", { runId, reason: "cancelled in the console" }), { question: `Cancel the run ${runId}?` }),
      ),
      folded(
        "Send a signal",
        form(
          [
            ["type", "Type", input("", { required: true })],
            ["payload", "Payload, in JSON", h("textarea", { rows: 3 }, "{}")],
          ],
          "Send",
          ({ type, payload }) => {
            const seen = [run.signals?.filter((signal) => signal.type === type).length, run.signalsOmitted];
            const send = async () => write("RunSignalRequest", { runId, type, payload: parsed(payload) }, { seen });
            return act(`Send the signal ${type} to the run ${runId}`, send, { key: `Signal ${runId}` });
          },
          `Signal ${runId}`,
        ),
      ),
    ],
    run.compensationErrors?.length > 0 &&
      section("Failed compensations", table(["Step", "Reason"], run.compensationErrors.map((fault) => [fault.step, fault.message]))),
    section("Input", json(run.input, parts, query)),
    run.output !== undefined && section("Output", json(run.output, parts, query)),
    run.steps && folded("Results by step", json(run.steps, parts, query)),
    run.signals?.length > 0 &&
      section("Signals", table(["Type", "Received", "Consumed", "Payload"], run.signals.map((signal) => [signal.type, time(signal.receivedAt), signal.consumed ? "yes" : "no", h("code", {}, excerpt(signal.payload))]))),
    tasks.items.length > 0 && section("Tasks", table(TASK_COLUMNS, taskRows(tasks.items)), pages(parts, query, tasks.pagination, "tasks")),
    historyPart(runId, query, history),
  ];
}
