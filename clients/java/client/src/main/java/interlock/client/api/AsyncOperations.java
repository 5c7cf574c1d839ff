// Generated from clients/schema by `mvn -Pgenerate -pl generator compile`; do not edit.
package interlock.client.api;

import interlock.client.Caller;
import interlock.client.RequestOption;
import java.util.concurrent.CompletableFuture;

/**
 * All operations of the server with one answer. No method waits: the answer completes the future.
 * A failed request completes it with an {@link interlock.client.InterlockException}. A future that
 * is completed otherwise, by {@code cancel} or {@code orTimeout} for instance, cancels the request
 * on the server.
 */
public final class AsyncOperations {

    private final Caller caller;

    /** Operations whose requests that caller sends. */
    public AsyncOperations(Caller caller) {
        this.caller = caller;
    }

    /** Sends an EntityModelImportRequest. */
    public CompletableFuture<EntityModelImportResponse> entityModelImport(EntityModelImportRequest request, RequestOption... options) {
        return caller.callAsync(request, EntityModelImportResponse.class, options);
    }

    /** Sends an EntityModelExportRequest. */
    public CompletableFuture<EntityModelExportResponse> entityModelExport(EntityModelExportRequest request, RequestOption... options) {
        return caller.callAsync(request, EntityModelExportResponse.class, options);
    }

    /** Sends an EntityModelTransitionRequest. */
    public CompletableFuture<EntityModelTransitionResponse> entityModelTransition(EntityModelTransitionRequest request, RequestOption... options) {
        return caller.callAsync(request, EntityModelTransitionResponse.class, options);
    }

    /** Sends an EntityModelDeleteRequest. */
    public CompletableFuture<EntityModelDeleteResponse> entityModelDelete(EntityModelDeleteRequest request, RequestOption... options) {
        return caller.callAsync(request, EntityModelDeleteResponse.class, options);
    }

    /**
     * Sends an EntityModelGetAllRequest.
     * A payload in which nothing is looked at.
     */
    public CompletableFuture<EntityModelGetAllResponse> entityModelGetAll(EntityModelGetAllRequest request, RequestOption... options) {
        return caller.callAsync(request, EntityModelGetAllResponse.class, options);
    }

    /** Sends an EntityModelSetChangeLevelRequest. */
    public CompletableFuture<EntityModelSetChangeLevelResponse> entityModelSetChangeLevel(EntityModelSetChangeLevelRequest request, RequestOption... options) {
        return caller.callAsync(request, EntityModelSetChangeLevelResponse.class, options);
    }

    /** Sends an EntityModelSetUniqueKeysRequest. */
    public CompletableFuture<EntityModelSetUniqueKeysResponse> entityModelSetUniqueKeys(EntityModelSetUniqueKeysRequest request, RequestOption... options) {
        return caller.callAsync(request, EntityModelSetUniqueKeysResponse.class, options);
    }

    /** Sends an EntityModelValidateRequest. */
    public CompletableFuture<EntityModelValidateResponse> entityModelValidate(EntityModelValidateRequest request, RequestOption... options) {
        return caller.callAsync(request, EntityModelValidateResponse.class, options);
    }

    /** Sends an EntityModelSetIndexesRequest. */
    public CompletableFuture<EntityModelSetIndexesResponse> entityModelSetIndexes(EntityModelSetIndexesRequest request, RequestOption... options) {
        return caller.callAsync(request, EntityModelSetIndexesResponse.class, options);
    }

    /** Sends an EntityWorkflowImportRequest. */
    public CompletableFuture<EntityWorkflowImportResponse> entityWorkflowImport(EntityWorkflowImportRequest request, RequestOption... options) {
        return caller.callAsync(request, EntityWorkflowImportResponse.class, options);
    }

    /** Sends an EntityWorkflowExportRequest. */
    public CompletableFuture<EntityWorkflowExportResponse> entityWorkflowExport(EntityWorkflowExportRequest request, RequestOption... options) {
        return caller.callAsync(request, EntityWorkflowExportResponse.class, options);
    }

    /** Sends an EntityWorkflowDiagramRequest. */
    public CompletableFuture<EntityWorkflowDiagramResponse> entityWorkflowDiagram(EntityWorkflowDiagramRequest request, RequestOption... options) {
        return caller.callAsync(request, EntityWorkflowDiagramResponse.class, options);
    }

    /** Sends an EntityCreateRequest. */
    public CompletableFuture<EntityTransactionResponse> entityCreate(EntityCreateRequest request, RequestOption... options) {
        return caller.callAsync(request, EntityTransactionResponse.class, options);
    }

    /** Sends an EntityCreateCollectionRequest. */
    public CompletableFuture<EntityTransactionResponse> entityCreateCollection(EntityCreateCollectionRequest request, RequestOption... options) {
        return caller.callAsync(request, EntityTransactionResponse.class, options);
    }

    /** Sends an EntityUpdateRequest. */
    public CompletableFuture<EntityTransactionResponse> entityUpdate(EntityUpdateRequest request, RequestOption... options) {
        return caller.callAsync(request, EntityTransactionResponse.class, options);
    }

    /** Sends an EntityUpdateCollectionRequest. */
    public CompletableFuture<EntityTransactionResponse> entityUpdateCollection(EntityUpdateCollectionRequest request, RequestOption... options) {
        return caller.callAsync(request, EntityTransactionResponse.class, options);
    }

    /** Sends an EntityPatchRequest. */
    public CompletableFuture<EntityTransactionResponse> entityPatch(EntityPatchRequest request, RequestOption... options) {
        return caller.callAsync(request, EntityTransactionResponse.class, options);
    }

    /** Sends an EntityTransitionRequest. */
    public CompletableFuture<EntityTransitionResponse> entityTransition(EntityTransitionRequest request, RequestOption... options) {
        return caller.callAsync(request, EntityTransitionResponse.class, options);
    }

    /** Sends an EntityDeleteRequest. */
    public CompletableFuture<EntityDeleteResponse> entityDelete(EntityDeleteRequest request, RequestOption... options) {
        return caller.callAsync(request, EntityDeleteResponse.class, options);
    }

    /** Sends an EntityDeleteAllRequest. */
    public CompletableFuture<EntityDeleteAllResponse> entityDeleteAll(EntityDeleteAllRequest request, RequestOption... options) {
        return caller.callAsync(request, EntityDeleteAllResponse.class, options);
    }

    /** Sends an EntityGetRequest. */
    public CompletableFuture<EntityResponse> entityGet(EntityGetRequest request, RequestOption... options) {
        return caller.callAsync(request, EntityResponse.class, options);
    }

    /** Sends an EntityTransitionsGetRequest. */
    public CompletableFuture<EntityTransitionsGetResponse> entityTransitionsGet(EntityTransitionsGetRequest request, RequestOption... options) {
        return caller.callAsync(request, EntityTransitionsGetResponse.class, options);
    }

    /** Sends a WorkflowExplainRequest. */
    public CompletableFuture<WorkflowExplainResponse> workflowExplain(WorkflowExplainRequest request, RequestOption... options) {
        return caller.callAsync(request, WorkflowExplainResponse.class, options);
    }

    /** Sends an EntityAuditGetRequest. */
    public CompletableFuture<EntityAuditGetResponse> entityAuditGet(EntityAuditGetRequest request, RequestOption... options) {
        return caller.callAsync(request, EntityAuditGetResponse.class, options);
    }

    /** Sends an EntityAuditFinishedGetRequest. */
    public CompletableFuture<EntityAuditFinishedGetResponse> entityAuditFinishedGet(EntityAuditFinishedGetRequest request, RequestOption... options) {
        return caller.callAsync(request, EntityAuditFinishedGetResponse.class, options);
    }

    /**
     * Sends an EntityStatsQueryRequest.
     * Strict: what it does not know was meant to say something.
     */
    public CompletableFuture<EntityStatsQueryResponse> entityStatsQuery(EntityStatsQueryRequest request, RequestOption... options) {
        return caller.callAsync(request, EntityStatsQueryResponse.class, options);
    }

    /** Sends an EntitySearchExplainRequest. */
    public CompletableFuture<EntitySearchExplainResponse> entitySearchExplain(EntitySearchExplainRequest request, RequestOption... options) {
        return caller.callAsync(request, EntitySearchExplainResponse.class, options);
    }

    /** Sends an EntitySnapshotSearchRequest. */
    public CompletableFuture<EntitySnapshotSearchResponse> entitySnapshotSearch(EntitySnapshotSearchRequest request, RequestOption... options) {
        return caller.callAsync(request, EntitySnapshotSearchResponse.class, options);
    }

    /** Sends a SnapshotGetStatusRequest. */
    public CompletableFuture<EntitySnapshotSearchResponse> snapshotGetStatus(SnapshotGetStatusRequest request, RequestOption... options) {
        return caller.callAsync(request, EntitySnapshotSearchResponse.class, options);
    }

    /** Sends a SnapshotCancelRequest. */
    public CompletableFuture<EntitySnapshotSearchResponse> snapshotCancel(SnapshotCancelRequest request, RequestOption... options) {
        return caller.callAsync(request, EntitySnapshotSearchResponse.class, options);
    }

    /** Sends a RunStartRequest. */
    public CompletableFuture<RunStartResponse> runStart(RunStartRequest request, RequestOption... options) {
        return caller.callAsync(request, RunStartResponse.class, options);
    }

    /** Sends a RunGetRequest. */
    public CompletableFuture<RunGetResponse> runGet(RunGetRequest request, RequestOption... options) {
        return caller.callAsync(request, RunGetResponse.class, options);
    }

    /** Sends a RunsGetRequest. */
    public CompletableFuture<RunsGetResponse> runsGet(RunsGetRequest request, RequestOption... options) {
        return caller.callAsync(request, RunsGetResponse.class, options);
    }

    /** Sends a RunSignalRequest. */
    public CompletableFuture<RunSignalResponse> runSignal(RunSignalRequest request, RequestOption... options) {
        return caller.callAsync(request, RunSignalResponse.class, options);
    }

    /** Sends a RunCancelRequest. */
    public CompletableFuture<RunCancelResponse> runCancel(RunCancelRequest request, RequestOption... options) {
        return caller.callAsync(request, RunCancelResponse.class, options);
    }

    /** Sends a RunHistoryGetRequest. */
    public CompletableFuture<RunHistoryGetResponse> runHistoryGet(RunHistoryGetRequest request, RequestOption... options) {
        return caller.callAsync(request, RunHistoryGetResponse.class, options);
    }

    /**
     * Sends a PlanGetRequest.
     * A plan of a definition.
     */
    public CompletableFuture<PlanGetResponse> planGet(PlanGetRequest request, RequestOption... options) {
        return caller.callAsync(request, PlanGetResponse.class, options);
    }

    /** Sends an ActionInvokeRequest. */
    public CompletableFuture<ActionInvokeResponse> actionInvoke(ActionInvokeRequest request, RequestOption... options) {
        return caller.callAsync(request, ActionInvokeResponse.class, options);
    }

    /** Sends a TaskGetRequest. */
    public CompletableFuture<TaskGetResponse> taskGet(TaskGetRequest request, RequestOption... options) {
        return caller.callAsync(request, TaskGetResponse.class, options);
    }

    /** Sends a TasksGetRequest. */
    public CompletableFuture<TasksGetResponse> tasksGet(TasksGetRequest request, RequestOption... options) {
        return caller.callAsync(request, TasksGetResponse.class, options);
    }

    /** Sends a ComputeMembersGetRequest. */
    public CompletableFuture<ComputeMembersGetResponse> computeMembersGet(ComputeMembersGetRequest request, RequestOption... options) {
        return caller.callAsync(request, ComputeMembersGetResponse.class, options);
    }

    /**
     * Sends a NodesGetRequest.
     * The caller needs the role ROLE_ADMIN.
     */
    public CompletableFuture<NodesGetResponse> nodesGet(NodesGetRequest request, RequestOption... options) {
        return caller.callAsync(request, NodesGetResponse.class, options);
    }

    /**
     * Sends a WorkerRegisterRequest.
     * The caller needs the role ROLE_M2M.
     */
    public CompletableFuture<WorkerRegisterResponse> workerRegister(WorkerRegisterRequest request, RequestOption... options) {
        return caller.callAsync(request, WorkerRegisterResponse.class, options);
    }

    /**
     * Sends a WorkerHeartbeatRequest.
     * The caller needs the role ROLE_M2M.
     */
    public CompletableFuture<WorkerHeartbeatResponse> workerHeartbeat(WorkerHeartbeatRequest request, RequestOption... options) {
        return caller.callAsync(request, WorkerHeartbeatResponse.class, options);
    }

    /**
     * Sends a WorkerDrainRequest.
     * Names a worker.
     * The caller needs the role ROLE_M2M.
     */
    public CompletableFuture<WorkerDrainResponse> workerDrain(WorkerDrainRequest request, RequestOption... options) {
        return caller.callAsync(request, WorkerDrainResponse.class, options);
    }

    /**
     * Sends a WorkerDeregisterRequest.
     * Names a worker.
     * The caller needs the role ROLE_M2M.
     */
    public CompletableFuture<WorkerDeregisterResponse> workerDeregister(WorkerDeregisterRequest request, RequestOption... options) {
        return caller.callAsync(request, WorkerDeregisterResponse.class, options);
    }

    /** Sends a WorkersGetRequest. */
    public CompletableFuture<WorkersGetResponse> workersGet(WorkersGetRequest request, RequestOption... options) {
        return caller.callAsync(request, WorkersGetResponse.class, options);
    }

    /**
     * Sends a WorkerGetRequest.
     * Names a worker.
     */
    public CompletableFuture<WorkerGetResponse> workerGet(WorkerGetRequest request, RequestOption... options) {
        return caller.callAsync(request, WorkerGetResponse.class, options);
    }

    /**
     * Sends a TaskAwaitRequest.
     * The caller needs the role ROLE_M2M.
     */
    public CompletableFuture<TaskAwaitResponse> taskAwait(TaskAwaitRequest request, RequestOption... options) {
        return caller.callAsync(request, TaskAwaitResponse.class, options);
    }

    /**
     * Sends a TaskCompleteRequest.
     * The caller needs the role ROLE_M2M.
     */
    public CompletableFuture<TaskCompleteResponse> taskComplete(TaskCompleteRequest request, RequestOption... options) {
        return caller.callAsync(request, TaskCompleteResponse.class, options);
    }

    /**
     * Sends a TaskFailRequest.
     * The caller needs the role ROLE_M2M.
     */
    public CompletableFuture<TaskFailResponse> taskFail(TaskFailRequest request, RequestOption... options) {
        return caller.callAsync(request, TaskFailResponse.class, options);
    }

    /**
     * Sends a TaskTouchRequest.
     * The caller needs the role ROLE_M2M.
     */
    public CompletableFuture<TaskTouchResponse> taskTouch(TaskTouchRequest request, RequestOption... options) {
        return caller.callAsync(request, TaskTouchResponse.class, options);
    }

    /** Sends a RunDefinitionCreateRequest. */
    public CompletableFuture<RunDefinitionCreateResponse> runDefinitionCreate(RunDefinitionCreateRequest request, RequestOption... options) {
        return caller.callAsync(request, RunDefinitionCreateResponse.class, options);
    }

    /** Sends a RunDefinitionValidateRequest. */
    public CompletableFuture<RunDefinitionValidateResponse> runDefinitionValidate(RunDefinitionValidateRequest request, RequestOption... options) {
        return caller.callAsync(request, RunDefinitionValidateResponse.class, options);
    }

    /** Sends a RunDefinitionsGetRequest. */
    public CompletableFuture<RunDefinitionsGetResponse> runDefinitionsGet(RunDefinitionsGetRequest request, RequestOption... options) {
        return caller.callAsync(request, RunDefinitionsGetResponse.class, options);
    }

    /**
     * Sends a RunDefinitionGetRequest.
     * A version of a definition, or its latest.
     */
    public CompletableFuture<RunDefinitionGetResponse> runDefinitionGet(RunDefinitionGetRequest request, RequestOption... options) {
        return caller.callAsync(request, RunDefinitionGetResponse.class, options);
    }

    /** Sends a RunDefinitionSetEnabledRequest. */
    public CompletableFuture<RunDefinitionSetEnabledResponse> runDefinitionSetEnabled(RunDefinitionSetEnabledRequest request, RequestOption... options) {
        return caller.callAsync(request, RunDefinitionSetEnabledResponse.class, options);
    }

    /** Sends a RunDefinitionDeleteRequest. */
    public CompletableFuture<RunDefinitionDeleteResponse> runDefinitionDelete(RunDefinitionDeleteRequest request, RequestOption... options) {
        return caller.callAsync(request, RunDefinitionDeleteResponse.class, options);
    }

    /**
     * Sends a BundleApplyRequest.
     * The caller needs the role ROLE_ADMIN.
     */
    public CompletableFuture<BundleApplyResponse> bundleApply(BundleApplyRequest request, RequestOption... options) {
        return caller.callAsync(request, BundleApplyResponse.class, options);
    }

    /**
     * Sends a BundlesGetRequest.
     * The caller needs the role ROLE_ADMIN.
     */
    public CompletableFuture<BundlesGetResponse> bundlesGet(BundlesGetRequest request, RequestOption... options) {
        return caller.callAsync(request, BundlesGetResponse.class, options);
    }

    /**
     * Sends a BundleGetRequest.
     * The caller needs the role ROLE_ADMIN.
     */
    public CompletableFuture<BundleGetResponse> bundleGet(BundleGetRequest request, RequestOption... options) {
        return caller.callAsync(request, BundleGetResponse.class, options);
    }

    /**
     * Sends a BundleDeleteRequest.
     * The caller needs the role ROLE_ADMIN.
     */
    public CompletableFuture<BundleDeleteResponse> bundleDelete(BundleDeleteRequest request, RequestOption... options) {
        return caller.callAsync(request, BundleDeleteResponse.class, options);
    }

    /** Sends a MachinesGetRequest. */
    public CompletableFuture<MachinesGetResponse> machinesGet(MachinesGetRequest request, RequestOption... options) {
        return caller.callAsync(request, MachinesGetResponse.class, options);
    }

    /** Sends a MachineTransitionRequest. */
    public CompletableFuture<MachineTransitionResponse> machineTransition(MachineTransitionRequest request, RequestOption... options) {
        return caller.callAsync(request, MachineTransitionResponse.class, options);
    }

    /** Sends an ActionRegisterRequest. */
    public CompletableFuture<ActionRegisterResponse> actionRegister(ActionRegisterRequest request, RequestOption... options) {
        return caller.callAsync(request, ActionRegisterResponse.class, options);
    }

    /** Sends an ActionsGetRequest. */
    public CompletableFuture<ActionsGetResponse> actionsGet(ActionsGetRequest request, RequestOption... options) {
        return caller.callAsync(request, ActionsGetResponse.class, options);
    }

    /**
     * Sends an ActionGetRequest.
     * An action by its name.
     */
    public CompletableFuture<ActionGetResponse> actionGet(ActionGetRequest request, RequestOption... options) {
        return caller.callAsync(request, ActionGetResponse.class, options);
    }

    /** Sends an ActionSetEnabledRequest. */
    public CompletableFuture<ActionSetEnabledResponse> actionSetEnabled(ActionSetEnabledRequest request, RequestOption... options) {
        return caller.callAsync(request, ActionSetEnabledResponse.class, options);
    }

    /**
     * Sends an ActionDeleteRequest.
     * An action by its name.
     */
    public CompletableFuture<ActionDeleteResponse> actionDelete(ActionDeleteRequest request, RequestOption... options) {
        return caller.callAsync(request, ActionDeleteResponse.class, options);
    }

    /** Sends a FilePutRequest. */
    public CompletableFuture<FilePutResponse> filePut(FilePutRequest request, RequestOption... options) {
        return caller.callAsync(request, FilePutResponse.class, options);
    }

    /** Sends a FileGetRequest. */
    public CompletableFuture<FileGetResponse> fileGet(FileGetRequest request, RequestOption... options) {
        return caller.callAsync(request, FileGetResponse.class, options);
    }

    /** Sends a FileDeleteRequest. */
    public CompletableFuture<FileDeleteResponse> fileDelete(FileDeleteRequest request, RequestOption... options) {
        return caller.callAsync(request, FileDeleteResponse.class, options);
    }

    /** Sends a FilesGetRequest. */
    public CompletableFuture<FilesGetResponse> filesGet(FilesGetRequest request, RequestOption... options) {
        return caller.callAsync(request, FilesGetResponse.class, options);
    }

    /** Sends a ManagerCreateRequest. */
    public CompletableFuture<ManagerCreateResponse> managerCreate(ManagerCreateRequest request, RequestOption... options) {
        return caller.callAsync(request, ManagerCreateResponse.class, options);
    }

    /** Sends a ManagersGetRequest. */
    public CompletableFuture<ManagersGetResponse> managersGet(ManagersGetRequest request, RequestOption... options) {
        return caller.callAsync(request, ManagersGetResponse.class, options);
    }

    /** Sends a ManagerGetRequest. */
    public CompletableFuture<ManagerGetResponse> managerGet(ManagerGetRequest request, RequestOption... options) {
        return caller.callAsync(request, ManagerGetResponse.class, options);
    }

    /** Sends a ManagerControlRequest. */
    public CompletableFuture<ManagerControlResponse> managerControl(ManagerControlRequest request, RequestOption... options) {
        return caller.callAsync(request, ManagerControlResponse.class, options);
    }

    /** Sends a ManagerTickRequest. */
    public CompletableFuture<ManagerTickResponse> managerTick(ManagerTickRequest request, RequestOption... options) {
        return caller.callAsync(request, ManagerTickResponse.class, options);
    }

    /** Sends a TopicPublishRequest. */
    public CompletableFuture<TopicPublishResponse> topicPublish(TopicPublishRequest request, RequestOption... options) {
        return caller.callAsync(request, TopicPublishResponse.class, options);
    }

    /** Sends a TopicGetRequest. */
    public CompletableFuture<TopicGetResponse> topicGet(TopicGetRequest request, RequestOption... options) {
        return caller.callAsync(request, TopicGetResponse.class, options);
    }

    /** Sends a TopicsGetRequest. */
    public CompletableFuture<TopicsGetResponse> topicsGet(TopicsGetRequest request, RequestOption... options) {
        return caller.callAsync(request, TopicsGetResponse.class, options);
    }

    /**
     * Sends an IncidentsGetRequest.
     * The caller needs the role ROLE_ADMIN.
     */
    public CompletableFuture<IncidentsGetResponse> incidentsGet(IncidentsGetRequest request, RequestOption... options) {
        return caller.callAsync(request, IncidentsGetResponse.class, options);
    }

    /**
     * Sends an IncidentRetryRequest.
     * The caller needs the role ROLE_ADMIN.
     */
    public CompletableFuture<IncidentRetryResponse> incidentRetry(IncidentRetryRequest request, RequestOption... options) {
        return caller.callAsync(request, IncidentRetryResponse.class, options);
    }

    /**
     * Sends an IncidentCancelRequest.
     * The caller needs the role ROLE_ADMIN.
     */
    public CompletableFuture<IncidentCancelResponse> incidentCancel(IncidentCancelRequest request, RequestOption... options) {
        return caller.callAsync(request, IncidentCancelResponse.class, options);
    }

    /** Sends a MessageCreateRequest. */
    public CompletableFuture<MessageCreateResponse> messageCreate(MessageCreateRequest request, RequestOption... options) {
        return caller.callAsync(request, MessageCreateResponse.class, options);
    }

    /** Sends a MessageGetRequest. */
    public CompletableFuture<MessageGetResponse> messageGet(MessageGetRequest request, RequestOption... options) {
        return caller.callAsync(request, MessageGetResponse.class, options);
    }

    /**
     * Sends a MessageDeleteRequest.
     * One message, which must be there, or any number, which need not.
     */
    public CompletableFuture<MessageDeleteResponse> messageDelete(MessageDeleteRequest request, RequestOption... options) {
        return caller.callAsync(request, MessageDeleteResponse.class, options);
    }

    /** Sends an AccountGetRequest. */
    public CompletableFuture<AccountGetResponse> accountGet(AccountGetRequest request, RequestOption... options) {
        return caller.callAsync(request, AccountGetResponse.class, options);
    }

    /**
     * Sends a ClientsGetRequest.
     * The caller needs the role ROLE_ADMIN.
     */
    public CompletableFuture<ClientsGetResponse> clientsGet(ClientsGetRequest request, RequestOption... options) {
        return caller.callAsync(request, ClientsGetResponse.class, options);
    }

    /**
     * Sends a ClientCreateRequest.
     * The caller needs the role ROLE_ADMIN.
     */
    public CompletableFuture<ClientCreateResponse> clientCreate(ClientCreateRequest request, RequestOption... options) {
        return caller.callAsync(request, ClientCreateResponse.class, options);
    }

    /**
     * Sends a ClientSecretResetRequest.
     * Names a client.
     * The caller needs the role ROLE_ADMIN.
     */
    public CompletableFuture<ClientSecretResetResponse> clientSecretReset(ClientSecretResetRequest request, RequestOption... options) {
        return caller.callAsync(request, ClientSecretResetResponse.class, options);
    }

    /**
     * Sends a ClientDeleteRequest.
     * Names a client.
     * The caller needs the role ROLE_ADMIN.
     */
    public CompletableFuture<ClientDeleteResponse> clientDelete(ClientDeleteRequest request, RequestOption... options) {
        return caller.callAsync(request, ClientDeleteResponse.class, options);
    }

    /**
     * Sends a KeyPairIssueRequest.
     * The caller needs the role ROLE_ADMIN.
     */
    public CompletableFuture<KeyPairIssueResponse> keyPairIssue(KeyPairIssueRequest request, RequestOption... options) {
        return caller.callAsync(request, KeyPairIssueResponse.class, options);
    }

    /**
     * Sends a KeyPairGetRequest.
     * The caller needs the role ROLE_ADMIN.
     */
    public CompletableFuture<KeyPairGetResponse> keyPairGet(KeyPairGetRequest request, RequestOption... options) {
        return caller.callAsync(request, KeyPairGetResponse.class, options);
    }

    /**
     * Sends a KeyPairInvalidateRequest.
     * The caller needs the role ROLE_ADMIN.
     */
    public CompletableFuture<KeyPairInvalidateResponse> keyPairInvalidate(KeyPairInvalidateRequest request, RequestOption... options) {
        return caller.callAsync(request, KeyPairInvalidateResponse.class, options);
    }

    /**
     * Sends a KeyPairReactivateRequest.
     * The caller needs the role ROLE_ADMIN.
     */
    public CompletableFuture<KeyPairReactivateResponse> keyPairReactivate(KeyPairReactivateRequest request, RequestOption... options) {
        return caller.callAsync(request, KeyPairReactivateResponse.class, options);
    }

    /**
     * Sends a KeyPairDeleteRequest.
     * Names a key pair, or a trusted key.
     * The caller needs the role ROLE_ADMIN.
     */
    public CompletableFuture<KeyPairDeleteResponse> keyPairDelete(KeyPairDeleteRequest request, RequestOption... options) {
        return caller.callAsync(request, KeyPairDeleteResponse.class, options);
    }

    /**
     * Sends a TrustedKeysGetRequest.
     * The caller needs the role ROLE_ADMIN.
     */
    public CompletableFuture<TrustedKeysGetResponse> trustedKeysGet(TrustedKeysGetRequest request, RequestOption... options) {
        return caller.callAsync(request, TrustedKeysGetResponse.class, options);
    }

    /**
     * Sends a TrustedKeyRegisterRequest.
     * The caller needs the role ROLE_ADMIN.
     */
    public CompletableFuture<TrustedKeyRegisterResponse> trustedKeyRegister(TrustedKeyRegisterRequest request, RequestOption... options) {
        return caller.callAsync(request, TrustedKeyRegisterResponse.class, options);
    }

    /**
     * Sends a TrustedKeyInvalidateRequest.
     * The caller needs the role ROLE_ADMIN.
     */
    public CompletableFuture<TrustedKeyInvalidateResponse> trustedKeyInvalidate(TrustedKeyInvalidateRequest request, RequestOption... options) {
        return caller.callAsync(request, TrustedKeyInvalidateResponse.class, options);
    }

    /**
     * Sends a TrustedKeyReactivateRequest.
     * The caller needs the role ROLE_ADMIN.
     */
    public CompletableFuture<TrustedKeyReactivateResponse> trustedKeyReactivate(TrustedKeyReactivateRequest request, RequestOption... options) {
        return caller.callAsync(request, TrustedKeyReactivateResponse.class, options);
    }

    /**
     * Sends a TrustedKeyDeleteRequest.
     * Names a key pair, or a trusted key.
     * The caller needs the role ROLE_ADMIN.
     */
    public CompletableFuture<TrustedKeyDeleteResponse> trustedKeyDelete(TrustedKeyDeleteRequest request, RequestOption... options) {
        return caller.callAsync(request, TrustedKeyDeleteResponse.class, options);
    }

    /**
     * Sends an OidcProvidersGetRequest.
     * A request for the list of them.
     */
    public CompletableFuture<OidcProvidersGetResponse> oidcProvidersGet(OidcProvidersGetRequest request, RequestOption... options) {
        return caller.callAsync(request, OidcProvidersGetResponse.class, options);
    }

    /**
     * Sends an OidcProviderRegisterRequest.
     * The caller needs the role ROLE_ADMIN.
     */
    public CompletableFuture<OidcProviderRegisterResponse> oidcProviderRegister(OidcProviderRegisterRequest request, RequestOption... options) {
        return caller.callAsync(request, OidcProviderRegisterResponse.class, options);
    }

    /**
     * Sends an OidcProviderUpdateRequest.
     * A change: absent members stay, and <code>null</code> or an empty list removes the value.
     * The caller needs the role ROLE_ADMIN.
     */
    public CompletableFuture<OidcProviderUpdateResponse> oidcProviderUpdate(OidcProviderUpdateRequest request, RequestOption... options) {
        return caller.callAsync(request, OidcProviderUpdateResponse.class, options);
    }

    /**
     * Sends an OidcProviderDeleteRequest.
     * A request about one of them.
     * The caller needs the role ROLE_ADMIN.
     */
    public CompletableFuture<OidcProviderDeleteResponse> oidcProviderDelete(OidcProviderDeleteRequest request, RequestOption... options) {
        return caller.callAsync(request, OidcProviderDeleteResponse.class, options);
    }

    /**
     * Sends an OidcProviderInvalidateRequest.
     * A request about one of them.
     * The caller needs the role ROLE_ADMIN.
     */
    public CompletableFuture<OidcProviderInvalidateResponse> oidcProviderInvalidate(OidcProviderInvalidateRequest request, RequestOption... options) {
        return caller.callAsync(request, OidcProviderInvalidateResponse.class, options);
    }

    /**
     * Sends an OidcProviderReactivateRequest.
     * The caller needs the role ROLE_ADMIN.
     */
    public CompletableFuture<OidcProviderReactivateResponse> oidcProviderReactivate(OidcProviderReactivateRequest request, RequestOption... options) {
        return caller.callAsync(request, OidcProviderReactivateResponse.class, options);
    }

    /**
     * Sends an OidcProvidersReloadRequest.
     * A request about all of them.
     * The caller needs the role ROLE_ADMIN.
     */
    public CompletableFuture<OidcProvidersReloadResponse> oidcProvidersReload(OidcProvidersReloadRequest request, RequestOption... options) {
        return caller.callAsync(request, OidcProvidersReloadResponse.class, options);
    }

    /**
     * Sends a LogLevelGetRequest.
     * A request for a setting as it is.
     * The caller needs the role ROLE_ADMIN.
     */
    public CompletableFuture<LogLevelGetResponse> logLevelGet(LogLevelGetRequest request, RequestOption... options) {
        return caller.callAsync(request, LogLevelGetResponse.class, options);
    }

    /**
     * Sends a LogLevelSetRequest.
     * The caller needs the role ROLE_ADMIN.
     */
    public CompletableFuture<LogLevelSetResponse> logLevelSet(LogLevelSetRequest request, RequestOption... options) {
        return caller.callAsync(request, LogLevelSetResponse.class, options);
    }

    /**
     * Sends a TraceSamplerGetRequest.
     * A request for a setting as it is.
     * The caller needs the role ROLE_ADMIN.
     */
    public CompletableFuture<TraceSamplerGetResponse> traceSamplerGet(TraceSamplerGetRequest request, RequestOption... options) {
        return caller.callAsync(request, TraceSamplerGetResponse.class, options);
    }

    /**
     * Sends a TraceSamplerSetRequest.
     * The caller needs the role ROLE_ADMIN.
     */
    public CompletableFuture<TraceSamplerSetResponse> traceSamplerSet(TraceSamplerSetRequest request, RequestOption... options) {
        return caller.callAsync(request, TraceSamplerSetResponse.class, options);
    }
}
