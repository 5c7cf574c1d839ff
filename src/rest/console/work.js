// Who does the work: nodes, members, workers, tasks, managers, and what has stopped.

import { ask, askIfAllowed, write } from "./service.js";
import { badge, button, choice, form, h, help, link, none, pages, section, table, time } from "./element.js";
import { TASK_COLUMNS, taskRows } from "./runs.js";
import { go, namespace } from "./page.js";

// The statuses of managers that can be paused.
const UNFINISHED = ["to-do", "in-progress"];

const TASK_STATUSES = ["pending", "running", "completed", "failed", "timed_out", "cancelled"];

export async function work(parts, query) {
  const { cursor, status } = query;
  const within = { namespace: namespace.get() };
  const [tasks, members, workers, nodes] = await Promise.all([
    ask("TasksGetRequest", { limit: 50, cursor, status: status ? [status] : undefined, ...within }),
    askIfAllowed("ComputeMembersGetRequest"),
    askIfAllowed("WorkersGetRequest", { limit: 50, cursor: query.workers, ...within }),
    askIfAllowed("NodesGetRequest"),
  ]);
  return [
    h("h1", {}, "Work"),
    members &&
      section(
        "Compute members",
        table(
          ["Member", "Tags", "Actions", "Node", "In flight", "Served", "Failed", "Joined", "Last seen"],
          members.members.map((member) => [
            member.memberId,
            member.tags.join(", "),
            (member.actions ?? []).join(", "),
            member.node,
            String(member.inFlight),
            String(member.served),
            String(member.failed),
            time(member.joinedAt),
            time(member.lastSeen),
          ]),
          ["No member is connected. ", help("members", "Members"), " shows how to connect one."],
        ),
      ),
    workers?.items &&
      section(
        "Workers",
        table(
          ["Worker", "Namespace", "Actions", "Health", "Running", "Last seen"],
          workers.items.map((worker) => [
            worker.workerId,
            worker.namespace,
            worker.actions.join(", "),
            badge(worker.draining ? "draining" : worker.healthy ? "healthy" : "unhealthy"),
            `${worker.running} of ${worker.maxConcurrency}`,
            time(worker.lastSeen),
          ]),
          "No worker is registered.",
        ),
        pages(["work"], query, workers.pagination, "workers"),
      ),
    section(
      "Tasks",
      form([["status", "Status", choice([["", "any"], ...TASK_STATUSES.map((known) => [known, known.replace("_", " ")])], status)]], "Show", (wanted) => go(["work"], wanted)),
      table(TASK_COLUMNS, taskRows(tasks.items), none("No task matches.", tasks.pagination)),
      pages(["work"], query, tasks.pagination),
    ),
    nodes &&
      section(
        "Nodes",
        table(
          ["Node", "Address", "Version", "State", "Members"],
          nodes.nodes.map((node) => [node.name, node.address, node.version, badge(node.live ? "live" : "not live"), String(node.members)]),
          "This process is not a node of a cluster.",
        ),
      ),
  ];
}

export async function incidents(parts, query) {
  const known = await askIfAllowed("IncidentsGetRequest", { limit: 50, cursor: query.cursor });
  if (!known) return [h("h1", {}, "Incidents"), h("p", {}, "You need the role ROLE_ADMIN to see incidents.")];
  const { items, pagination } = known;
  const does = ({ incidentId, since }, type, text, question) =>
    button(text, `${text} the incident ${incidentId}`, () => write(type, { incidentId }, { seen: since }), { question, of: incidentId });
  return [
    h("h1", {}, "Incidents"),
    h("p", { class: "faint" }, "Background work that failed too often and was stopped. Fix the cause, then retry. Cancelling ends a run and drops a timer."),
    table(
      ["Incident", "Kind", "Name", "Run or entity", "Since", "Failures", "Reason", ""],
      items.map((incident) => [
        incident.incidentId,
        incident.kind,
        incident.name,
        incident.runId ? link(["runs", incident.runId], incident.runId) : incident.entityId ? link(["entity", incident.entityId], incident.entityId) : "–",
        time(incident.since),
        String(incident.tries),
        incident.reason,
        h(
          "span",
          { class: "actions" },
          does(incident, "IncidentRetryRequest", "Retry"),
          does(incident, "IncidentCancelRequest", "Cancel", `Cancel ${incident.incidentId}? This cannot be undone.`),
        ),
      ]),
      "No open incidents.",
    ),
    pages(["incidents"], query, pagination),
  ];
}

export async function managers(parts, query) {
  const within = { namespace: namespace.get() };
  const [known, topics] = await Promise.all([
    ask("ManagersGetRequest", { limit: 50, cursor: query.cursor, ...within }),
    askIfAllowed("TopicsGetRequest", { limit: 50, cursor: query.topics, ...within }),
  ]);
  const control = ({ manager, version }, does, text) =>
    button(text, `${text} the manager ${manager}`, () => write("ManagerControlRequest", { manager, do: does, ...within }, { seen: version }), { of: manager });
  return [
    h("h1", {}, "Managers and topics"),
    section(
      "Managers",
      table(
        ["Manager", "Name", "Status", "Error", ""],
        known.items.map((item) => [
          item.manager,
          item.name,
          badge(item.status),
          item.error,
          item.status === "paused" ? control(item, "resume", "Resume") : UNFINISHED.includes(item.status) && control(item, "pause", "Pause"),
        ]),
        ["No manager exists. ", help("managers", "Managers"), " shows how to write one."],
      ),
      pages(["managers"], query, known.pagination),
    ),
    topics &&
      section(
        "Topics",
        table(["Topic", "First event", "Last event"], topics.items.map((topic) => [topic.topic, topic.first > topic.last ? "none is kept" : String(topic.first), String(topic.last)]), "No topic has events."),
        pages(["managers"], query, topics.pagination, "topics"),
      ),
  ];
}
