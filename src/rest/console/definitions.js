// What can be run: step workflows, bundles, machines and actions.

import { ask, askIfAllowed, parsed, write } from "./service.js";
import { badge, form, h, help, input, link, pages, section, table, time } from "./element.js";
import { act, go, namespace } from "./page.js";

const enabled = (is) => badge(is ? "enabled" : "disabled");

function start({ definition, version, key, payload }, isAsSent) {
  const here = location.hash;
  const send = async () => {
    const wanted = {
      definition,
      version: version || undefined,
      namespace: namespace.get(),
      idempotencyKey: key || undefined,
      input: parsed(payload),
    };
    return write("RunStartRequest", wanted, { member: "idempotencyKey" });
  };
  // Who types the next one stays there.
  const after = ({ runId }) => (location.hash === here && isAsSent() ? go(["runs", runId]) : link(["runs", runId], "Show the run"));
  return act(`Start ${definition}`, send, { key: "Start a run", after });
}

export async function definitions(parts, query) {
  const within = { namespace: namespace.get() };
  const [known, bundles, machines, actions] = await Promise.all([
    ask("RunDefinitionsGetRequest", { limit: 50, cursor: query.cursor, ...within }),
    askIfAllowed("BundlesGetRequest", { limit: 50, cursor: query.bundles, ...within }),
    askIfAllowed("MachinesGetRequest", { limit: 50, cursor: query.machines, ...within }),
    askIfAllowed("ActionsGetRequest", { limit: 50, cursor: query.actions, ...within }),
  ]);
  return [
    h("h1", {}, "Definitions"),
    section(
      "Run definitions",
      table(
        ["Name", "Kind", "Latest version", "Versions", "Enabled", "Created", "Description", ""],
        known.items.map((item) => [
          item.name,
          item.kind,
          item.version,
          String(item.versions.length),
          enabled(item.enabled),
          time(item.createdAt),
          item.description,
          link(["runs"], "runs", { definition: item.name }),
        ]),
        ["No step workflow or saga is defined. ", help("runs", "Runs"), " shows how to define one."],
      ),
      pages(["definitions"], query, known.pagination),
    ),
    known.items.length > 0 &&
      section(
        "Start a run",
        form(
          [
            ["definition", "Definition", input(known.items[0].name, { required: true })],
            ["version", "Version, the latest if empty", input("")],
            ["key", "Idempotency key, made if empty", input("")],
            ["payload", "Input, in JSON", h("textarea", { rows: 4 }, "{}")],
          ],
          "Start",
          start,
          "Start a run",
        ),
      ),
    actions?.items &&
      section(
        "Actions",
        table(
          ["Name", "Type", "Dispatch", "Version", "Enabled", "Pending", "Running", "Description"],
          actions.items.map((action) => [action.name, action.type, action.dispatch, String(action.version), enabled(action.enabled), String(action.pending), String(action.running), action.description]),
          "No action is registered.",
        ),
        pages(["definitions"], query, actions.pagination, "actions"),
      ),
    bundles?.items?.length > 0 &&
      section(
        "Bundles",
        table(
          ["Bundle", "Version", "Applied", "Connectors", "Sagas", "Machines", "Routes", "Findings"],
          bundles.items.map((bundle) => [
            bundle.bundle,
            String(bundle.version),
            time(bundle.appliedAt),
            bundle.connectors.join(", "),
            bundle.sagas.join(", "),
            bundle.machines.join(", "),
            bundle.routes.join(", "),
            String(bundle.findings.length),
          ]),
        ),
        pages(["definitions"], query, bundles.pagination, "bundles"),
      ),
    machines?.items?.length > 0 &&
      section(
        "State machines",
        table(["Machine", "Bundle", "Initial state", "States"], machines.items.map((machine) => [machine.machine, machine.bundle, machine.initial, machine.states.join(", ")])),
        pages(["definitions"], query, machines.pagination, "machines"),
      ),
  ];
}
