// The first page: what there is, what runs, and what needs a person.

import { ask, askAll, askIfAllowed } from "./service.js";
import { badge, h, help, link, section, table, time } from "./element.js";
import { namespace } from "./page.js";
import { runRows, RUN_COLUMNS } from "./runs.js";

// The models, each with how many entities are in which state.
export async function models() {
  const [known, counts] = await Promise.all([ask("EntityModelGetAllRequest"), askAll("EntityStatsByStateGetRequest")]);
  return known.models.map((model) => ({
    ...model,
    states: counts.filter((count) => count.modelName === model.name && count.modelVersion === model.version),
  }));
}

export function modelTable(models) {
  return table(
    ["Model", "Version", "Schema", "Entities by state"],
    models.map((model) => [
      link(["entities", model.name, model.version], model.name),
      String(model.version),
      badge(model.state.toLowerCase()),
      h(
        "span",
        { class: "chips" },
        model.states.map((count) =>
          h("span", {}, link(["entities", model.name, model.version], count.state, { state: count.state }), ` ${count.count}`),
        ),
      ),
    ]),
    ["No model exists yet. ", help("getting-started", "Getting started"), " shows how to make one."],
  );
}

export async function overview() {
  const [all, runs, incidents, members, nodes] = await Promise.all([
    models(),
    ask("RunsGetRequest", { limit: 10, namespace: namespace.get() }),
    askIfAllowed("IncidentsGetRequest", { limit: 50 }),
    askIfAllowed("ComputeMembersGetRequest"),
    askIfAllowed("NodesGetRequest"),
  ]);
  const open = incidents?.items?.length ?? 0;
  return [
    h("h1", {}, "Overview"),
    open > 0 &&
      h("p", {}, badge("error"), " ", link(["incidents"], `${open}${incidents.pagination?.nextCursor ? " or more" : ""} incidents`), " wait for an operator."),
    section("Entities", modelTable(all)),
    section("Latest runs", table(RUN_COLUMNS, runRows(runs.items), "No run was started yet in this namespace.")),
    members &&
      section(
        "Compute members",
        table(
          ["Member", "Tags", "Node", "In flight", "Last seen"],
          members.members.map((member) => [member.memberId, member.tags.join(", "), member.node, String(member.inFlight), time(member.lastSeen)]),
          "No member is connected.",
        ),
      ),
    nodes && nodes.nodes.length > 1 && section("Nodes", h("p", {}, `${nodes.nodes.filter((node) => node.live).length} of ${nodes.nodes.length} are live; `, link(["work"], "see them"), ".")),
  ];
}
