//! The table of REST paths and the event type of each (`rest.md` §2–§4, §12).

use axum::{
    extract::RawPathParams,
    http::{Method, StatusCode},
};

use super::{
    answer::Answered::{
        self, Empty, First, Lines, List, Live, Page, Tagged, Text, Value, WithStatus,
    },
    described::{self, Description},
    parts::Parts,
    write::{
        actions, audit, bundles, clients, definitions, entity, feed, files, incidents, invocations,
        key_pairs, managers, message, model, outcome, providers, runs, sagas, search, settings,
        topics, trusted_keys, whole, workers,
    },
};
use crate::error::Failure;
use crate::event::EventType::{
    self, AccountGetRequest, ActionDeleteRequest, ActionGetRequest, ActionInvokeRequest,
    ActionRegisterRequest, ActionSetEnabledRequest, ActionsGetRequest, BundleApplyRequest,
    BundleDeleteRequest, BundleGetRequest, BundlesGetRequest, ClientCreateRequest,
    ClientDeleteRequest, ClientSecretResetRequest, ClientsGetRequest, ComputeMembersGetRequest,
    EntityAuditFinishedGetRequest, EntityAuditGetRequest, EntityChangesMetadataGetRequest,
    EntityChangesSubscribeRequest, EntityCreateCollectionRequest, EntityCreateRequest,
    EntityDeleteAllRequest, EntityDeleteRequest, EntityGetAllRequest, EntityGetRequest,
    EntityModelDeleteRequest, EntityModelExportRequest, EntityModelGetAllRequest,
    EntityModelImportRequest, EntityModelSetChangeLevelRequest, EntityModelSetIndexesRequest,
    EntityModelSetUniqueKeysRequest, EntityModelTransitionRequest, EntityModelValidateRequest,
    EntityPatchRequest, EntitySearchExplainRequest, EntitySearchRequest,
    EntitySearchSubscribeRequest, EntitySnapshotSearchRequest, EntityStatsByStateGetRequest,
    EntityStatsGetRequest, EntityStatsQueryRequest, EntityTransitionRequest,
    EntityTransitionsGetRequest, EntityUpdateCollectionRequest, EntityUpdateRequest,
    EntityWorkflowDiagramRequest, EntityWorkflowExportRequest, EntityWorkflowImportRequest,
    FileDeleteRequest, FileGetRequest, FilePutRequest, FilesGetRequest, IncidentCancelRequest,
    IncidentRetryRequest, IncidentsGetRequest, KeyPairDeleteRequest, KeyPairGetRequest,
    KeyPairInvalidateRequest, KeyPairIssueRequest, KeyPairReactivateRequest, LogLevelGetRequest,
    LogLevelSetRequest, MachineTransitionRequest, MachinesGetRequest, ManagerControlRequest,
    ManagerCreateRequest, ManagerGetRequest, ManagerTickRequest, ManagersGetRequest,
    MessageCreateRequest, MessageDeleteRequest, MessageGetRequest, NodesGetRequest,
    OidcProviderDeleteRequest, OidcProviderInvalidateRequest, OidcProviderReactivateRequest,
    OidcProviderRegisterRequest, OidcProviderUpdateRequest, OidcProvidersGetRequest,
    OidcProvidersReloadRequest, PlanGetRequest, RunCancelRequest, RunDefinitionCreateRequest,
    RunDefinitionDeleteRequest, RunDefinitionGetRequest, RunDefinitionSetEnabledRequest,
    RunDefinitionValidateRequest, RunDefinitionsGetRequest, RunGetRequest, RunHistoryGetRequest,
    RunHistorySubscribeRequest, RunSignalRequest, RunStartRequest, RunsGetRequest,
    SnapshotCancelRequest, SnapshotGetRequest, SnapshotGetStatusRequest, TaskAwaitRequest,
    TaskCompleteRequest, TaskFailRequest, TaskGetRequest, TaskTouchRequest, TasksGetRequest,
    TopicGetRequest, TopicPublishRequest, TopicsGetRequest, TraceSamplerGetRequest,
    TraceSamplerSetRequest, TrustedKeyDeleteRequest, TrustedKeyInvalidateRequest,
    TrustedKeyReactivateRequest, TrustedKeyRegisterRequest, TrustedKeysGetRequest,
    WorkerDeregisterRequest, WorkerDrainRequest, WorkerGetRequest, WorkerHeartbeatRequest,
    WorkerRegisterRequest, WorkersGetRequest, WorkflowExplainRequest,
};
use crate::event::payload;

/// One REST route of one event type.
pub struct Spelling {
    pub method: Method,
    /// Below the context. One that ends with a query is for requests that say that.
    pub path: &'static str,
    pub request: EventType,
    /// Makes the payload of the event, which has that id.
    pub(super) write: fn(&Parts, &str) -> Result<String, Failure>,
    pub(super) read: Answered,
    /// What is said of it in the `OpenAPI` document.
    pub(super) description: &'static Description,
    /// How much of a body is taken.
    pub(super) limit: Limit,
    /// What is asked of the path before the body is read.
    pub(super) check: fn(&RawPathParams) -> Result<(), Failure>,
    /// What a failure is here, where that differs from what it is elsewhere.
    pub(super) fault: fn(Failure) -> Failure,
    /// Whether it is served at the root, too.
    pub(super) at_root: bool,
}

/// How large a body may be, and what is answered to a larger one (`rest.md` §1).
#[derive(Debug, Clone, Copy)]
pub(super) struct Limit {
    pub(super) bytes: usize,
    pub(super) status: StatusCode,
}

impl Limit {
    /// What most paths take.
    pub(super) const USUAL: Self = Self {
        bytes: 10 << 20,
        status: StatusCode::BAD_REQUEST,
    };
    pub(super) const SMALL: Self = Self {
        bytes: 1 << 20,
        ..Self::USUAL
    };
    /// A condition has no documented limit; memory does.
    const LARGE: Self = Self {
        bytes: 64 << 20,
        ..Self::USUAL
    };
    /// Some say what is wrong by their status.
    const BY_STATUS: Self = Self {
        status: StatusCode::PAYLOAD_TOO_LARGE,
        ..Self::USUAL
    };
}

impl Spelling {
    /// The path with its parts called what they are here.
    pub fn described_path(&self) -> String {
        let parts = self.description.parts.iter();
        parts.fold(self.path.to_owned(), |path, (name, part)| {
            path.replace(&format!("{{{name}}}"), &format!("{{{}}}", part.name))
        })
    }

    const fn taking(mut self, limit: Limit) -> Self {
        self.limit = limit;
        self
    }

    /// One of Mycel's own endpoints.
    const fn of_mycel(mut self) -> Self {
        self.fault = sagas::fault;
        self.at_root = true;
        self
    }

    const fn checking(mut self, check: fn(&RawPathParams) -> Result<(), Failure>) -> Self {
        self.check = check;
        self
    }
}

impl Spelling {
    /// The path alone, and the query that chooses this spelling among those of the path.
    pub fn place(&self) -> (&'static str, Option<&'static str>) {
        match self.path.split_once('?') {
            Some((path, query)) => (path, Some(query)),
            None => (self.path, None),
        }
    }
}

/// The routes: the name of a request type, and a method and path that spell it.
pub fn paths() -> Vec<(&'static str, String)> {
    let spelled = |spelling: &Spelling| {
        let path = format!("{} {}", spelling.method, spelling.described_path());
        (spelling.request.as_str(), path)
    };
    SPELLINGS.iter().map(spelled).collect()
}

const fn spell(
    method: Method,
    path: &'static str,
    request: EventType,
    write: fn(&Parts, &str) -> Result<String, Failure>,
    read: Answered,
    description: &'static Description,
) -> Spelling {
    Spelling {
        method,
        path,
        request,
        write,
        read,
        description,
        limit: Limit::USUAL,
        check: |_| Ok(()),
        fault: std::convert::identity,
        at_root: false,
    }
}

const GET: Method = Method::GET;
const POST: Method = Method::POST;
const PUT: Method = Method::PUT;
const PATCH: Method = Method::PATCH;
const DELETE: Method = Method::DELETE;

/// Every spelling there is. Where methods that share a path mean different things
/// by its parts, those are numbered.
#[rustfmt::skip]
pub const SPELLINGS: &[Spelling] = &[
    // Models (`rest.md` §2).
    spell(POST, "/model/import/{dataFormat}/{converter}/{entityName}/{modelVersion}", EntityModelImportRequest, model::import_model, Value(model::model_id), &described::model::IMPORT),
    spell(GET, "/model/export/{converter}/{entityName}/{modelVersion}", EntityModelExportRequest, model::export_model, Value(model::payload), &described::model::EXPORT),
    spell(PUT, "/model/{entityName}/{modelVersion}/lock", EntityModelTransitionRequest, model::lock, Value(model::locked), &described::model::LOCK),
    spell(PUT, "/model/{entityName}/{modelVersion}/unlock", EntityModelTransitionRequest, model::unlock, Value(model::unlocked), &described::model::UNLOCK),
    spell(POST, "/model/{entityName}/{modelVersion}/changeLevel/{changeLevel}", EntityModelSetChangeLevelRequest, model::change_level, Value(model::change_level_set), &described::model::CHANGE_LEVEL),
    spell(POST, "/model/validate/{entityName}/{modelVersion}", EntityModelValidateRequest, model::validate, Value(model::validated), &described::model::VALIDATE),
    spell(PUT, "/model/{entityName}/{modelVersion}/unique-keys", EntityModelSetUniqueKeysRequest, model::unique_keys, Value(model::keys_set), &described::model::UNIQUE_KEYS).taking(Limit::SMALL),
    spell(PUT, "/model/{entityName}/{modelVersion}/indexes", EntityModelSetIndexesRequest, model::set_indexes, Value(whole::<payload::model::Indexed>), &described::model::INDEXES).taking(Limit::SMALL),
    spell(GET, "/model/", EntityModelGetAllRequest, model::nothing, Value(model::models), &described::model::LIST),
    spell(DELETE, "/model/{entityName}/{modelVersion}", EntityModelDeleteRequest, model::model, Value(model::model_deleted), &described::model::DELETE),
    spell(POST, "/model/{entityName}/{modelVersion}/workflow/import", EntityWorkflowImportRequest, model::import_workflows, Value(model::workflows_imported), &described::model::IMPORT_WORKFLOWS),
    spell(GET, "/model/{entityName}/{modelVersion}/workflow/export", EntityWorkflowExportRequest, model::model, Value(model::workflows), &described::model::EXPORT_WORKFLOWS),
    spell(GET, "/model/{entityName}/{modelVersion}/workflow/diagram", EntityWorkflowDiagramRequest, model::draw_workflows, Text(model::diagram), &described::model::DRAW_WORKFLOWS),
    // Entities (`rest.md` §3).
    spell(POST, "/entity/{first}/{second}/{third}", EntityCreateRequest, entity::create, Value(entity::chunks), &described::entity::CREATE),
    spell(POST, "/entity/{first}", EntityCreateCollectionRequest, entity::create_collection, Value(entity::chunks), &described::entity::CREATE_COLLECTION),
    spell(PUT, "/entity/{first}", EntityUpdateCollectionRequest, entity::update_collection, Value(entity::chunks), &described::entity::UPDATE_COLLECTION),
    spell(GET, "/entity/{first}", EntityGetRequest, entity::get, Value(entity::envelope), &described::entity::GET),
    spell(DELETE, "/entity/{first}", EntityDeleteRequest, entity::delete, Value(entity::deleted), &described::entity::DELETE),
    spell(GET, "/entity/{first}/{second}", EntityGetAllRequest, entity::list, List(entity::envelope), &described::entity::LIST),
    spell(DELETE, "/entity/{first}/{second}", EntityDeleteAllRequest, entity::delete_all, Value(entity::all_deleted), &described::entity::DELETE_ALL).taking(Limit::LARGE),
    spell(PUT, "/entity/{first}/{second}", EntityUpdateRequest, entity::update, Value(entity::transaction), &described::entity::UPDATE),
    spell(PATCH, "/entity/{first}/{second}", EntityPatchRequest, entity::patch, Value(entity::transaction), &described::entity::PATCH),
    spell(PUT, "/entity/{first}/{second}/{third}", EntityUpdateRequest, entity::update_by_transition, Value(entity::transaction), &described::entity::UPDATE_BY_TRANSITION),
    spell(PATCH, "/entity/{first}/{second}/{third}", EntityPatchRequest, entity::patch_by_transition, Value(entity::transaction), &described::entity::PATCH_BY_TRANSITION),
    spell(GET, "/entity/{entityId}/changes", EntityChangesMetadataGetRequest, entity::changes, List(entity::change), &described::entity::CHANGES),
    spell(GET, "/entity/changes/stream", EntityChangesSubscribeRequest, feed::subscribe, Live(feed::change), &described::feed::SUBSCRIBE),
    spell(GET, "/entity/{entityId}/transitions", EntityTransitionsGetRequest, entity::transitions, Value(entity::transition_names), &described::entity::TRANSITIONS),
    spell(POST, "/entity/{entityId}/transitions/{transition}", EntityTransitionRequest, entity::transition, Value(entity::available), &described::entity::TRANSITION_NOW),
    spell(GET, "/platform-api/entity/fetch/transitions", EntityTransitionsGetRequest, entity::transitions_of_class, Value(entity::transition_names), &described::entity::TRANSITIONS_OF_CLASS),
    spell(PUT, "/platform-api/entity/transition", EntityTransitionRequest, entity::transition_by_query, Value(entity::available), &described::entity::TRANSITION_BY_QUERY),
    spell(GET, "/entity/stats", EntityStatsGetRequest, search::stats, List(whole::<payload::search::Count>), &described::statistics::COUNT),
    spell(GET, "/entity/stats/{entityName}/{modelVersion}", EntityStatsGetRequest, search::stats_of_model, First(whole::<payload::search::Count>), &described::statistics::COUNT_OF_MODEL),
    spell(GET, "/entity/stats/states", EntityStatsByStateGetRequest, search::stats, List(whole::<payload::search::CountInState>), &described::statistics::COUNT_BY_STATE),
    spell(GET, "/entity/stats/states/{entityName}/{modelVersion}", EntityStatsByStateGetRequest, search::stats_of_model, List(whole::<payload::search::CountInState>), &described::statistics::COUNT_BY_STATE_OF_MODEL),
    spell(POST, "/entity/stats/{entityName}/{modelVersion}/query", EntityStatsQueryRequest, search::group, Value(search::buckets), &described::statistics::GROUP).taking(Limit::BY_STATUS),
    spell(GET, "/entity/{entityId}/explain", WorkflowExplainRequest, entity::explain, Value(model::payload_as_is), &described::audit::EXPLAIN),
    spell(POST, "/model/{entityName}/{modelVersion}/workflow/explain", WorkflowExplainRequest, model::explain, Value(model::payload_as_is), &described::model::EXPLAIN),
    // Audit (`rest.md` §5).
    spell(GET, "/audit/entity/{entityId}", EntityAuditGetRequest, audit::page, Value(whole::<payload::audit::Page>), &described::audit::PAGE),
    spell(GET, "/audit/entity/{entityId}/workflow/{transactionId}/finished", EntityAuditFinishedGetRequest, audit::finished, Value(audit::item), &described::audit::FINISHED),
    // Search (`rest.md` §4).
    spell(POST, "/search/direct/{entityName}/{modelVersion}", EntitySearchRequest, search::search, Lines(entity::envelope), &described::search::DIRECT),
    spell(POST, "/search/direct/{entityName}/{modelVersion}?explain=true", EntitySearchExplainRequest, search::search, Value(model::payload_as_is), &described::search::EXPLAIN),
    spell(POST, "/search/live/{entityName}/{modelVersion}", EntitySearchSubscribeRequest, feed::subscribe_search, Live(feed::news), &described::feed::SUBSCRIBE_SEARCH),
    spell(POST, "/search/{entityName}/{modelVersion}", EntitySearchRequest, search::search_cut_off, List(entity::envelope), &described::search::CUT_OFF),
    spell(POST, "/search/async/{entityName}/{modelVersion}", EntitySnapshotSearchRequest, search::submit_search, Value(search::snapshot_id), &described::search::SUBMIT),
    spell(GET, "/search/async/{jobId}/status", SnapshotGetStatusRequest, search::snapshot, Value(search::snapshot_status), &described::search::STATUS),
    spell(GET, "/search/async/{jobId}", SnapshotGetRequest, search::snapshot_page, Page(entity::envelope), &described::search::RESULTS),
    spell(PUT, "/search/async/{jobId}/cancel", SnapshotCancelRequest, search::snapshot, Value(search::snapshot_cancelled), &described::search::CANCEL),
    // Definitions of runs (`runs.md` §4).
    spell(POST, "/definitions", RunDefinitionCreateRequest, definitions::document, Value(outcome::<payload::definitions::Created>), &described::definitions::CREATE),
    spell(POST, "/definitions/validate", RunDefinitionValidateRequest, definitions::document, Value(whole::<payload::definitions::Validated>), &described::definitions::VALIDATE),
    spell(GET, "/definitions", RunDefinitionsGetRequest, definitions::list, Value(whole::<payload::definitions::Page>), &described::definitions::LIST),
    spell(GET, "/definitions/{definition}", RunDefinitionGetRequest, definitions::one, Value(definitions::described), &described::definitions::GET),
    spell(PUT, "/definitions/{definition}/enable", RunDefinitionSetEnabledRequest, definitions::enable, Value(outcome::<payload::definitions::Enabled>), &described::definitions::ENABLE).taking(Limit::SMALL),
    spell(PUT, "/definitions/{definition}/disable", RunDefinitionSetEnabledRequest, definitions::disable, Value(outcome::<payload::definitions::Enabled>), &described::definitions::DISABLE).taking(Limit::SMALL),
    spell(DELETE, "/definitions/{definition}", RunDefinitionDeleteRequest, definitions::one, Value(outcome::<payload::definitions::Deleted>), &described::definitions::DELETE).taking(Limit::SMALL),
    // Runs (`runs.md` §4).
    spell(POST, "/runs", RunStartRequest, runs::start, Value(outcome::<payload::runs::Started>), &described::runs::START),
    spell(GET, "/runs", RunsGetRequest, runs::list, Value(whole::<payload::runs::Page>), &described::runs::LIST),
    spell(GET, "/runs/stream", RunHistorySubscribeRequest, runs::follow, Live(runs::event_of_many), &described::runs::FOLLOW),
    spell(GET, "/runs/{runId}", RunGetRequest, runs::one, Value(runs::run), &described::runs::GET),
    spell(DELETE, "/runs/{runId}", RunCancelRequest, runs::of_run, Value(outcome::<payload::runs::Cancelled>), &described::runs::DELETE),
    spell(POST, "/runs/{runId}/cancel", RunCancelRequest, runs::of_run, Value(outcome::<payload::runs::Cancelled>), &described::runs::CANCEL),
    spell(POST, "/runs/{runId}/signal", RunSignalRequest, runs::of_run, Value(outcome::<payload::runs::Signalled>), &described::runs::SIGNAL),
    spell(GET, "/runs/{runId}/history", RunHistoryGetRequest, runs::history, Value(whole::<payload::runs::History>), &described::runs::HISTORY),
    spell(GET, "/runs/{runId}/history/stream", RunHistorySubscribeRequest, runs::follow_one, Live(runs::event), &described::runs::FOLLOW_ONE),
    spell(GET, "/definitions/{definition}/plans/{plan}", PlanGetRequest, runs::plan, Value(whole::<payload::runs::Plan>), &described::runs::PLAN),
    // Sagas (`runs.md` §7).
    spell(POST, "/sagas/{saga}", RunStartRequest, sagas::start, WithStatus(sagas::started), &described::sagas::START),
    spell(GET, "/workflows/{runId}", RunGetRequest, sagas::one, Value(sagas::instance), &described::sagas::GET).of_mycel(),
    spell(POST, "/workflows/{runId}/signal/{event}", RunSignalRequest, sagas::signal, Value(sagas::signalled), &described::sagas::SIGNAL).of_mycel(),
    spell(POST, "/workflows/{runId}/cancel", RunCancelRequest, sagas::one, Value(sagas::cancelled), &described::sagas::CANCEL).of_mycel(),
    // Bundles (`runs.md` §7).
    spell(PUT, "/bundles/{bundle}", BundleApplyRequest, bundles::apply, Value(outcome::<payload::bundles::Applied>), &described::bundles::APPLY),
    spell(GET, "/bundles", BundlesGetRequest, bundles::list, Value(whole::<payload::bundles::Page>), &described::bundles::LIST),
    spell(GET, "/bundles/{bundle}", BundleGetRequest, bundles::one, Value(bundles::described), &described::bundles::GET),
    spell(DELETE, "/bundles/{bundle}", BundleDeleteRequest, bundles::one, Value(outcome::<payload::bundles::Deleted>), &described::bundles::DELETE).taking(Limit::SMALL),
    spell(GET, "/machines", MachinesGetRequest, bundles::list, Value(whole::<payload::bundles::Machines>), &described::bundles::MACHINES),
    spell(POST, "/machines/{machine}/{entity}/{id}/{event}", MachineTransitionRequest, bundles::fire, Value(outcome::<payload::bundles::Fired>), &described::bundles::FIRE),
    // Actions (`runs.md` §5).
    spell(PUT, "/actions/{action}", ActionRegisterRequest, actions::register, Value(outcome::<payload::actions::Registered>), &described::actions::REGISTER),
    spell(GET, "/actions", ActionsGetRequest, actions::list, Value(whole::<payload::actions::Page>), &described::actions::LIST),
    spell(GET, "/actions/{action}", ActionGetRequest, actions::one, Value(whole::<payload::actions::Item>), &described::actions::GET),
    spell(PUT, "/actions/{action}/enable", ActionSetEnabledRequest, actions::enable, Value(outcome::<payload::actions::Enabled>), &described::actions::ENABLE).taking(Limit::SMALL),
    spell(PUT, "/actions/{action}/disable", ActionSetEnabledRequest, actions::disable, Value(outcome::<payload::actions::Enabled>), &described::actions::DISABLE).taking(Limit::SMALL),
    spell(DELETE, "/actions/{action}", ActionDeleteRequest, actions::one, Value(outcome::<payload::actions::Deleted>), &described::actions::DELETE).taking(Limit::SMALL),
    // Files (`runs.md` §8).
    spell(PUT, "/files/{*path}", FilePutRequest, files::put, Tagged(files::written), &described::files::PUT),
    spell(GET, "/files/{*path}", FileGetRequest, files::one, Tagged(files::content), &described::files::GET),
    spell(DELETE, "/files/{*path}", FileDeleteRequest, files::delete, Value(outcome::<payload::files::Deleted>), &described::files::DELETE).taking(Limit::SMALL),
    spell(GET, "/files", FilesGetRequest, files::list, Value(whole::<payload::files::Page>), &described::files::LIST),
    // Managers (`runs.md` §8).
    spell(POST, "/managers", ManagerCreateRequest, managers::create, Value(outcome::<payload::managers::Created>), &described::managers::CREATE),
    spell(GET, "/managers", ManagersGetRequest, managers::list, Value(whole::<payload::managers::Page>), &described::managers::LIST),
    spell(POST, "/managers/tick", ManagerTickRequest, managers::tick, Value(outcome::<payload::managers::Ticked>), &described::managers::TICK).taking(Limit::SMALL),
    spell(GET, "/managers/{manager}", ManagerGetRequest, managers::one, Tagged(managers::shown), &described::managers::GET),
    spell(POST, "/managers/{manager}/pause", ManagerControlRequest, managers::pause, Value(outcome::<payload::managers::Controlled>), &described::managers::PAUSE).taking(Limit::SMALL),
    spell(POST, "/managers/{manager}/resume", ManagerControlRequest, managers::resume, Value(outcome::<payload::managers::Controlled>), &described::managers::RESUME).taking(Limit::SMALL),
    spell(POST, "/managers/{manager}/reset", ManagerControlRequest, managers::reset, Value(outcome::<payload::managers::Controlled>), &described::managers::RESET).taking(Limit::SMALL),
    // Topics (`runs.md` §5).
    spell(POST, "/topics/{topic}", TopicPublishRequest, topics::publish, Value(outcome::<payload::topics::Published>), &described::topics::PUBLISH).taking(Limit::LARGE),
    spell(GET, "/topics/{topic}", TopicGetRequest, topics::one, Value(topics::part), &described::topics::GET),
    spell(GET, "/topics", TopicsGetRequest, topics::list, Value(whole::<payload::topics::Page>), &described::topics::LIST),
    // Workers, and the tasks that they pull (`runs.md` §5).
    spell(PUT, "/workers/{workerId}", WorkerRegisterRequest, workers::of_worker, Value(outcome::<payload::workers::Registered>), &described::workers::REGISTER).taking(Limit::SMALL),
    spell(POST, "/workers/{workerId}/heartbeat", WorkerHeartbeatRequest, workers::of_worker, Value(outcome::<payload::workers::Standing>), &described::workers::HEARTBEAT).taking(Limit::SMALL),
    spell(POST, "/workers/{workerId}/drain", WorkerDrainRequest, workers::one, Value(outcome::<payload::workers::Standing>), &described::workers::DRAIN).taking(Limit::SMALL),
    spell(DELETE, "/workers/{workerId}", WorkerDeregisterRequest, workers::one, Value(outcome::<payload::workers::Standing>), &described::workers::DEREGISTER).taking(Limit::SMALL),
    spell(GET, "/workers", WorkersGetRequest, workers::list, Value(whole::<payload::workers::Page>), &described::workers::LIST),
    spell(GET, "/workers/{workerId}", WorkerGetRequest, workers::one, Value(whole::<payload::workers::Worker>), &described::workers::GET),
    spell(POST, "/tasks/await", TaskAwaitRequest, workers::ask, Value(whole::<payload::workers::Taken>), &described::workers::AWAIT).taking(Limit::SMALL),
    spell(POST, "/tasks/{taskId}/complete", TaskCompleteRequest, workers::of_task, Value(outcome::<payload::workers::Completed>), &described::workers::COMPLETE),
    spell(POST, "/tasks/{taskId}/fail", TaskFailRequest, workers::of_task, Value(outcome::<payload::workers::Failed>), &described::workers::FAIL),
    spell(POST, "/tasks/{taskId}/touch", TaskTouchRequest, workers::of_task, Value(outcome::<payload::workers::Touched>), &described::workers::TOUCH).taking(Limit::SMALL),
    // Invocations of actions, and tasks (`runs.md` §5).
    spell(POST, "/actions/{action}/invoke", ActionInvokeRequest, invocations::invoke, Value(invocations::invoked), &described::invocations::INVOKE),
    spell(GET, "/tasks", TasksGetRequest, invocations::list, Value(whole::<payload::invocations::Page>), &described::invocations::LIST),
    spell(GET, "/tasks/{taskId}", TaskGetRequest, invocations::one, Value(invocations::task), &described::invocations::GET),
    // Incidents (`runs.md` §11).
    spell(GET, "/incidents", IncidentsGetRequest, incidents::list, Value(whole::<payload::incidents::Page>), &described::incidents::LIST),
    spell(POST, "/incidents/{incidentId}/retry", IncidentRetryRequest, incidents::one, Value(outcome::<payload::incidents::Closed>), &described::incidents::RETRY).taking(Limit::SMALL),
    spell(POST, "/incidents/{incidentId}/cancel", IncidentCancelRequest, incidents::one, Value(outcome::<payload::incidents::Closed>), &described::incidents::CANCEL).taking(Limit::SMALL),
    // Messages (`rest.md` §6).
    spell(POST, "/message/new/{subject}", MessageCreateRequest, message::create, Value(message::created), &described::message::CREATE).taking(Limit::BY_STATUS),
    spell(GET, "/message/{messageId}", MessageGetRequest, message::one, Value(message::message), &described::message::GET),
    spell(GET, "/message/get/{messageId}", MessageGetRequest, message::one, Value(message::message_as_text), &described::message::GET_AS_TEXT),
    spell(DELETE, "/message/{messageId}", MessageDeleteRequest, message::one, Value(message::deleted), &described::message::DELETE),
    spell(DELETE, "/message", MessageDeleteRequest, message::many, Value(message::all_deleted), &described::message::DELETE_ALL).taking(Limit::BY_STATUS),
    // The caller (`rest.md` §7).
    spell(GET, "/compute/members", ComputeMembersGetRequest, model::nothing, Value(whole::<payload::members::ComputeMembers>), &described::members::LIST),
    spell(GET, "/nodes", NodesGetRequest, model::nothing, Value(whole::<payload::nodes::Nodes>), &described::nodes::LIST),
    spell(GET, "/account", AccountGetRequest, model::nothing, Value(whole::<payload::account::Account>), &described::message::ACCOUNT),
    spell(GET, "/clients", ClientsGetRequest, model::nothing, Value(clients::clients), &described::clients::LIST),
    spell(POST, "/clients", ClientCreateRequest, clients::create, Value(clients::credentials), &described::clients::CREATE).taking(Limit::SMALL),
    spell(DELETE, "/clients/{clientId}", ClientDeleteRequest, clients::one, Value(clients::deleted), &described::clients::DELETE).taking(Limit::SMALL),
    spell(PUT, "/clients/{clientId}/secret", ClientSecretResetRequest, clients::one, Value(clients::credentials), &described::clients::RESET_SECRET).taking(Limit::SMALL),
    spell(POST, "/oauth/keys/keypair", KeyPairIssueRequest, key_pairs::issue, Value(whole::<payload::key_pairs::KeyPair>), &described::key_pairs::ISSUE).taking(Limit::SMALL),
    spell(GET, "/oauth/keys/keypair/current", KeyPairGetRequest, key_pairs::current, Value(whole::<payload::key_pairs::KeyPair>), &described::key_pairs::CURRENT),
    spell(DELETE, "/oauth/keys/keypair/{keyId}", KeyPairDeleteRequest, key_pairs::one, Empty, &described::key_pairs::DELETE).taking(Limit::SMALL),
    spell(POST, "/oauth/keys/keypair/{keyId}/invalidate", KeyPairInvalidateRequest, key_pairs::invalidate, Empty, &described::key_pairs::INVALIDATE).taking(Limit::SMALL),
    spell(POST, "/oauth/keys/keypair/{keyId}/reactivate", KeyPairReactivateRequest, key_pairs::reactivate, Value(whole::<payload::key_pairs::KeyPair>), &described::key_pairs::REACTIVATE).taking(Limit::SMALL),
    spell(GET, "/oauth/keys/trusted", TrustedKeysGetRequest, model::nothing, Value(trusted_keys::trusted_keys), &described::trusted_keys::LIST),
    spell(POST, "/oauth/keys/trusted", TrustedKeyRegisterRequest, trusted_keys::register, Value(whole::<payload::trusted_keys::TrustedKey>), &described::trusted_keys::REGISTER).taking(Limit::SMALL),
    spell(DELETE, "/oauth/keys/trusted/{keyId}", TrustedKeyDeleteRequest, key_pairs::one, Empty, &described::trusted_keys::DELETE).taking(Limit::SMALL).checking(trusted_keys::check),
    spell(POST, "/oauth/keys/trusted/{keyId}/invalidate", TrustedKeyInvalidateRequest, key_pairs::invalidate, Empty, &described::trusted_keys::INVALIDATE).taking(Limit::SMALL).checking(trusted_keys::check),
    spell(POST, "/oauth/keys/trusted/{keyId}/reactivate", TrustedKeyReactivateRequest, key_pairs::reactivate, Value(whole::<payload::trusted_keys::TrustedKey>), &described::trusted_keys::REACTIVATE).taking(Limit::SMALL).checking(trusted_keys::check),
    spell(GET, "/oauth/oidc/providers", OidcProvidersGetRequest, providers::listed, Value(providers::providers), &described::providers::LIST),
    spell(POST, "/oauth/oidc/providers", OidcProviderRegisterRequest, providers::register, Value(providers::provider), &described::providers::REGISTER).taking(Limit::SMALL),
    spell(POST, "/oauth/oidc/providers/reload", OidcProvidersReloadRequest, model::nothing, Value(whole::<payload::providers::Reloaded>), &described::providers::RELOAD).taking(Limit::SMALL),
    spell(PATCH, "/oauth/oidc/providers/{providerId}", OidcProviderUpdateRequest, providers::update, Value(providers::provider), &described::providers::UPDATE).taking(Limit::SMALL),
    spell(DELETE, "/oauth/oidc/providers/{providerId}", OidcProviderDeleteRequest, providers::one, Value(providers::deleted), &described::providers::DELETE).taking(Limit::SMALL),
    spell(POST, "/oauth/oidc/providers/{providerId}/invalidate", OidcProviderInvalidateRequest, providers::one, Value(providers::provider), &described::providers::INVALIDATE).taking(Limit::SMALL),
    spell(POST, "/oauth/oidc/providers/{providerId}/reactivate", OidcProviderReactivateRequest, providers::reactivate, Value(providers::provider), &described::providers::REACTIVATE).taking(Limit::SMALL),
    // What an operator may change (`rest.md` §8).
    spell(GET, "/admin/log-level", LogLevelGetRequest, model::nothing, Value(whole::<payload::settings::LogLevel>), &described::operators::LOG_LEVEL),
    spell(POST, "/admin/log-level", LogLevelSetRequest, settings::set_log_level, Value(whole::<payload::settings::LogLevel>), &described::operators::SET_LOG_LEVEL),
    spell(GET, "/admin/trace-sampler", TraceSamplerGetRequest, model::nothing, Value(settings::trace_sampler), &described::operators::TRACE_SAMPLER),
    spell(POST, "/admin/trace-sampler", TraceSamplerSetRequest, settings::set_trace_sampler, Value(settings::trace_sampler), &described::operators::SET_TRACE_SAMPLER),
];

/// Documented requests about a model whose name is a segment of another path, which is matched
/// first. They are listed under their general path only.
#[rustfmt::skip]
pub(super) const SHADOWED: &[Spelling] = &[
    // By `/entity/{entityId}/transitions/{transition}`.
    spell(POST, "/entity/JSON/transitions/{modelVersion}", EntityCreateRequest, |parts, id| entity::create_of_transitions(parts, id, "JSON"), Value(entity::chunks), &described::entity::CREATE),
    spell(POST, "/entity/XML/transitions/{modelVersion}", EntityCreateRequest, |parts, id| entity::create_of_transitions(parts, id, "XML"), Value(entity::chunks), &described::entity::CREATE),
    // By `/entity/stats/states/{entityName}/{modelVersion}`.
    spell(POST, "/entity/stats/states/{modelVersion}/query", EntityStatsQueryRequest, search::group_of_states, Value(search::buckets), &described::statistics::GROUP).taking(Limit::BY_STATUS),
    // By `/search/async/{jobId}`.
    spell(POST, "/search/async/{jobId}", EntitySearchRequest, search::search_of_async, List(entity::envelope), &described::search::CUT_OFF),
];

#[cfg(test)]
mod tests {
    use super::*;
    use crate::operation::{Answers, ROUTES, Route};

    #[test]
    fn every_operation_has_a_spelling_that_fits_it() {
        for route in ROUTES {
            assert!(
                SPELLINGS
                    .iter()
                    .any(|spelling| spelling.request == route.request),
                "{} has no path",
                route.request
            );
        }
        for spelling in SPELLINGS {
            let route = Route::of(spelling.request).expect("an operation");
            let fitting = match spelling.read {
                Value(_) | WithStatus(_) | Tagged(_) | Text(_) | Empty => Answers::One,
                List(_) | Lines(_) | First(_) | Page(_) => Answers::Many,
                Live(_) => Answers::Live,
            };
            let (method, path) = (&spelling.method, spelling.path);
            assert_eq!(route.answers, fitting, "{method} {path}");
        }
    }
}
