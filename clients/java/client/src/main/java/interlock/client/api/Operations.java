// Generated from clients/schema by `mvn -Pgenerate -pl generator compile`; do not edit.
package interlock.client.api;

import interlock.client.Answers;
import interlock.client.Caller;
import interlock.client.RequestOption;
import java.util.Set;

/**
 * All operations of the server. Each method waits for the answer; the streamed ones return at once,
 * and are read as the answer arrives.
 *
 * <p>A failed request is an {@link interlock.client.InterlockException}.
 */
public final class Operations {

    private static final Set<String> STREAMED = Set.of(
            "EntityGetAllRequest",
            "EntityChangesMetadataGetRequest",
            "EntityStatsGetRequest",
            "EntityStatsByStateGetRequest",
            "EntitySearchRequest",
            "SnapshotGetRequest",
            "EntityChangesSubscribeRequest",
            "EntitySearchSubscribeRequest",
            "RunHistorySubscribeRequest");

    private final Caller caller;

    /** Operations whose requests that caller sends. */
    public Operations(Caller caller) {
        this.caller = caller;
    }

    /** Whether a request of that type is answered by several events. */
    public static boolean isStreamed(String eventType) {
        return STREAMED.contains(eventType);
    }

    /** Sends an EntityModelImportRequest. */
    public EntityModelImportResponse entityModelImport(EntityModelImportRequest request, RequestOption... options) {
        return caller.call(request, EntityModelImportResponse.class, options);
    }

    /** Sends an EntityModelExportRequest. */
    public EntityModelExportResponse entityModelExport(EntityModelExportRequest request, RequestOption... options) {
        return caller.call(request, EntityModelExportResponse.class, options);
    }

    /** Sends an EntityModelTransitionRequest. */
    public EntityModelTransitionResponse entityModelTransition(EntityModelTransitionRequest request, RequestOption... options) {
        return caller.call(request, EntityModelTransitionResponse.class, options);
    }

    /** Sends an EntityModelDeleteRequest. */
    public EntityModelDeleteResponse entityModelDelete(EntityModelDeleteRequest request, RequestOption... options) {
        return caller.call(request, EntityModelDeleteResponse.class, options);
    }

    /**
     * Sends an EntityModelGetAllRequest.
     * A payload in which nothing is looked at.
     */
    public EntityModelGetAllResponse entityModelGetAll(EntityModelGetAllRequest request, RequestOption... options) {
        return caller.call(request, EntityModelGetAllResponse.class, options);
    }

    /** Sends an EntityModelSetChangeLevelRequest. */
    public EntityModelSetChangeLevelResponse entityModelSetChangeLevel(EntityModelSetChangeLevelRequest request, RequestOption... options) {
        return caller.call(request, EntityModelSetChangeLevelResponse.class, options);
    }

    /** Sends an EntityModelSetUniqueKeysRequest. */
    public EntityModelSetUniqueKeysResponse entityModelSetUniqueKeys(EntityModelSetUniqueKeysRequest request, RequestOption... options) {
        return caller.call(request, EntityModelSetUniqueKeysResponse.class, options);
    }

    /** Sends an EntityModelValidateRequest. */
    public EntityModelValidateResponse entityModelValidate(EntityModelValidateRequest request, RequestOption... options) {
        return caller.call(request, EntityModelValidateResponse.class, options);
    }

    /** Sends an EntityModelSetIndexesRequest. */
    public EntityModelSetIndexesResponse entityModelSetIndexes(EntityModelSetIndexesRequest request, RequestOption... options) {
        return caller.call(request, EntityModelSetIndexesResponse.class, options);
    }

    /** Sends an EntityWorkflowImportRequest. */
    public EntityWorkflowImportResponse entityWorkflowImport(EntityWorkflowImportRequest request, RequestOption... options) {
        return caller.call(request, EntityWorkflowImportResponse.class, options);
    }

    /** Sends an EntityWorkflowExportRequest. */
    public EntityWorkflowExportResponse entityWorkflowExport(EntityWorkflowExportRequest request, RequestOption... options) {
        return caller.call(request, EntityWorkflowExportResponse.class, options);
    }

    /** Sends an EntityWorkflowDiagramRequest. */
    public EntityWorkflowDiagramResponse entityWorkflowDiagram(EntityWorkflowDiagramRequest request, RequestOption... options) {
        return caller.call(request, EntityWorkflowDiagramResponse.class, options);
    }

    /** Sends an EntityCreateRequest. */
    public EntityTransactionResponse entityCreate(EntityCreateRequest request, RequestOption... options) {
        return caller.call(request, EntityTransactionResponse.class, options);
    }

    /** Sends an EntityCreateCollectionRequest. */
    public EntityTransactionResponse entityCreateCollection(EntityCreateCollectionRequest request, RequestOption... options) {
        return caller.call(request, EntityTransactionResponse.class, options);
    }

    /** Sends an EntityUpdateRequest. */
    public EntityTransactionResponse entityUpdate(EntityUpdateRequest request, RequestOption... options) {
        return caller.call(request, EntityTransactionResponse.class, options);
    }

    /** Sends an EntityUpdateCollectionRequest. */
    public EntityTransactionResponse entityUpdateCollection(EntityUpdateCollectionRequest request, RequestOption... options) {
        return caller.call(request, EntityTransactionResponse.class, options);
    }

    /** Sends an EntityPatchRequest. */
    public EntityTransactionResponse entityPatch(EntityPatchRequest request, RequestOption... options) {
        return caller.call(request, EntityTransactionResponse.class, options);
    }

    /** Sends an EntityTransitionRequest. */
    public EntityTransitionResponse entityTransition(EntityTransitionRequest request, RequestOption... options) {
        return caller.call(request, EntityTransitionResponse.class, options);
    }

    /** Sends an EntityDeleteRequest. */
    public EntityDeleteResponse entityDelete(EntityDeleteRequest request, RequestOption... options) {
        return caller.call(request, EntityDeleteResponse.class, options);
    }

    /** Sends an EntityDeleteAllRequest. */
    public EntityDeleteAllResponse entityDeleteAll(EntityDeleteAllRequest request, RequestOption... options) {
        return caller.call(request, EntityDeleteAllResponse.class, options);
    }

    /** Sends an EntityGetRequest. */
    public EntityResponse entityGet(EntityGetRequest request, RequestOption... options) {
        return caller.call(request, EntityResponse.class, options);
    }

    /** Sends an EntityGetAllRequest. */
    public Answers<EntityResponse> entityGetAll(EntityGetAllRequest request, RequestOption... options) {
        return caller.stream(request, EntityResponse.class, options);
    }

    /** Sends an EntityTransitionsGetRequest. */
    public EntityTransitionsGetResponse entityTransitionsGet(EntityTransitionsGetRequest request, RequestOption... options) {
        return caller.call(request, EntityTransitionsGetResponse.class, options);
    }

    /** Sends an EntityChangesMetadataGetRequest. */
    public Answers<EntityChangesMetadataResponse> entityChangesMetadataGet(EntityChangesMetadataGetRequest request, RequestOption... options) {
        return caller.stream(request, EntityChangesMetadataResponse.class, options);
    }

    /** Sends a WorkflowExplainRequest. */
    public WorkflowExplainResponse workflowExplain(WorkflowExplainRequest request, RequestOption... options) {
        return caller.call(request, WorkflowExplainResponse.class, options);
    }

    /** Sends an EntityAuditGetRequest. */
    public EntityAuditGetResponse entityAuditGet(EntityAuditGetRequest request, RequestOption... options) {
        return caller.call(request, EntityAuditGetResponse.class, options);
    }

    /** Sends an EntityAuditFinishedGetRequest. */
    public EntityAuditFinishedGetResponse entityAuditFinishedGet(EntityAuditFinishedGetRequest request, RequestOption... options) {
        return caller.call(request, EntityAuditFinishedGetResponse.class, options);
    }

    /** Sends an EntityStatsGetRequest. */
    public Answers<EntityStatsResponse> entityStatsGet(EntityStatsGetRequest request, RequestOption... options) {
        return caller.stream(request, EntityStatsResponse.class, options);
    }

    /** Sends an EntityStatsByStateGetRequest. */
    public Answers<EntityStatsByStateResponse> entityStatsByStateGet(EntityStatsByStateGetRequest request, RequestOption... options) {
        return caller.stream(request, EntityStatsByStateResponse.class, options);
    }

    /**
     * Sends an EntityStatsQueryRequest.
     * Strict: what it does not know was meant to say something.
     */
    public EntityStatsQueryResponse entityStatsQuery(EntityStatsQueryRequest request, RequestOption... options) {
        return caller.call(request, EntityStatsQueryResponse.class, options);
    }

    /** Sends an EntitySearchRequest. */
    public Answers<EntityResponse> entitySearch(EntitySearchRequest request, RequestOption... options) {
        return caller.stream(request, EntityResponse.class, options);
    }

    /** Sends an EntitySearchExplainRequest. */
    public EntitySearchExplainResponse entitySearchExplain(EntitySearchExplainRequest request, RequestOption... options) {
        return caller.call(request, EntitySearchExplainResponse.class, options);
    }

    /** Sends an EntitySnapshotSearchRequest. */
    public EntitySnapshotSearchResponse entitySnapshotSearch(EntitySnapshotSearchRequest request, RequestOption... options) {
        return caller.call(request, EntitySnapshotSearchResponse.class, options);
    }

    /** Sends a SnapshotGetStatusRequest. */
    public EntitySnapshotSearchResponse snapshotGetStatus(SnapshotGetStatusRequest request, RequestOption... options) {
        return caller.call(request, EntitySnapshotSearchResponse.class, options);
    }

    /** Sends a SnapshotGetRequest. */
    public Answers<EntityResponse> snapshotGet(SnapshotGetRequest request, RequestOption... options) {
        return caller.stream(request, EntityResponse.class, options);
    }

    /** Sends a SnapshotCancelRequest. */
    public EntitySnapshotSearchResponse snapshotCancel(SnapshotCancelRequest request, RequestOption... options) {
        return caller.call(request, EntitySnapshotSearchResponse.class, options);
    }

    /**
     * Sends an EntityChangesSubscribeRequest.
     * The answer has no end; it does not resume after a lost connection.
     */
    public Answers<EntityChangeEvent> entityChangesSubscribe(EntityChangesSubscribeRequest request, RequestOption... options) {
        return caller.listen(request, EntityChangeEvent.class, options);
    }

    /**
     * Sends an EntitySearchSubscribeRequest.
     * The answer has no end; it does not resume after a lost connection.
     */
    public Answers<EntitySearchSubscribeAnswer> entitySearchSubscribe(EntitySearchSubscribeRequest request, RequestOption... options) {
        return caller.listen(request, EntitySearchSubscribeAnswer.TYPES, options);
    }

    /** Sends a RunStartRequest. */
    public RunStartResponse runStart(RunStartRequest request, RequestOption... options) {
        return caller.call(request, RunStartResponse.class, options);
    }

    /** Sends a RunGetRequest. */
    public RunGetResponse runGet(RunGetRequest request, RequestOption... options) {
        return caller.call(request, RunGetResponse.class, options);
    }

    /** Sends a RunsGetRequest. */
    public RunsGetResponse runsGet(RunsGetRequest request, RequestOption... options) {
        return caller.call(request, RunsGetResponse.class, options);
    }

    /** Sends a RunSignalRequest. */
    public RunSignalResponse runSignal(RunSignalRequest request, RequestOption... options) {
        return caller.call(request, RunSignalResponse.class, options);
    }

    /** Sends a RunCancelRequest. */
    public RunCancelResponse runCancel(RunCancelRequest request, RequestOption... options) {
        return caller.call(request, RunCancelResponse.class, options);
    }

    /** Sends a RunHistoryGetRequest. */
    public RunHistoryGetResponse runHistoryGet(RunHistoryGetRequest request, RequestOption... options) {
        return caller.call(request, RunHistoryGetResponse.class, options);
    }

    /**
     * Sends a RunHistorySubscribeRequest.
     * The answer has no end; it does not resume after a lost connection.
     */
    public Answers<RunHistoryEvent> runHistorySubscribe(RunHistorySubscribeRequest request, RequestOption... options) {
        return caller.listen(request, RunHistoryEvent.class, options);
    }

    /**
     * Sends a PlanGetRequest.
     * A plan of a definition.
     */
    public PlanGetResponse planGet(PlanGetRequest request, RequestOption... options) {
        return caller.call(request, PlanGetResponse.class, options);
    }

    /** Sends an ActionInvokeRequest. */
    public ActionInvokeResponse actionInvoke(ActionInvokeRequest request, RequestOption... options) {
        return caller.call(request, ActionInvokeResponse.class, options);
    }

    /** Sends a TaskGetRequest. */
    public TaskGetResponse taskGet(TaskGetRequest request, RequestOption... options) {
        return caller.call(request, TaskGetResponse.class, options);
    }

    /** Sends a TasksGetRequest. */
    public TasksGetResponse tasksGet(TasksGetRequest request, RequestOption... options) {
        return caller.call(request, TasksGetResponse.class, options);
    }

    /** Sends a ComputeMembersGetRequest. */
    public ComputeMembersGetResponse computeMembersGet(ComputeMembersGetRequest request, RequestOption... options) {
        return caller.call(request, ComputeMembersGetResponse.class, options);
    }

    /**
     * Sends a NodesGetRequest.
     * The caller needs the role ROLE_ADMIN.
     */
    public NodesGetResponse nodesGet(NodesGetRequest request, RequestOption... options) {
        return caller.call(request, NodesGetResponse.class, options);
    }

    /**
     * Sends a WorkerRegisterRequest.
     * The caller needs the role ROLE_M2M.
     */
    public WorkerRegisterResponse workerRegister(WorkerRegisterRequest request, RequestOption... options) {
        return caller.call(request, WorkerRegisterResponse.class, options);
    }

    /**
     * Sends a WorkerHeartbeatRequest.
     * The caller needs the role ROLE_M2M.
     */
    public WorkerHeartbeatResponse workerHeartbeat(WorkerHeartbeatRequest request, RequestOption... options) {
        return caller.call(request, WorkerHeartbeatResponse.class, options);
    }

    /**
     * Sends a WorkerDrainRequest.
     * Names a worker.
     * The caller needs the role ROLE_M2M.
     */
    public WorkerDrainResponse workerDrain(WorkerDrainRequest request, RequestOption... options) {
        return caller.call(request, WorkerDrainResponse.class, options);
    }

    /**
     * Sends a WorkerDeregisterRequest.
     * Names a worker.
     * The caller needs the role ROLE_M2M.
     */
    public WorkerDeregisterResponse workerDeregister(WorkerDeregisterRequest request, RequestOption... options) {
        return caller.call(request, WorkerDeregisterResponse.class, options);
    }

    /** Sends a WorkersGetRequest. */
    public WorkersGetResponse workersGet(WorkersGetRequest request, RequestOption... options) {
        return caller.call(request, WorkersGetResponse.class, options);
    }

    /**
     * Sends a WorkerGetRequest.
     * Names a worker.
     */
    public WorkerGetResponse workerGet(WorkerGetRequest request, RequestOption... options) {
        return caller.call(request, WorkerGetResponse.class, options);
    }

    /**
     * Sends a TaskAwaitRequest.
     * The caller needs the role ROLE_M2M.
     */
    public TaskAwaitResponse taskAwait(TaskAwaitRequest request, RequestOption... options) {
        return caller.call(request, TaskAwaitResponse.class, options);
    }

    /**
     * Sends a TaskCompleteRequest.
     * The caller needs the role ROLE_M2M.
     */
    public TaskCompleteResponse taskComplete(TaskCompleteRequest request, RequestOption... options) {
        return caller.call(request, TaskCompleteResponse.class, options);
    }

    /**
     * Sends a TaskFailRequest.
     * The caller needs the role ROLE_M2M.
     */
    public TaskFailResponse taskFail(TaskFailRequest request, RequestOption... options) {
        return caller.call(request, TaskFailResponse.class, options);
    }

    /**
     * Sends a TaskTouchRequest.
     * The caller needs the role ROLE_M2M.
     */
    public TaskTouchResponse taskTouch(TaskTouchRequest request, RequestOption... options) {
        return caller.call(request, TaskTouchResponse.class, options);
    }

    /** Sends a RunDefinitionCreateRequest. */
    public RunDefinitionCreateResponse runDefinitionCreate(RunDefinitionCreateRequest request, RequestOption... options) {
        return caller.call(request, RunDefinitionCreateResponse.class, options);
    }

    /** Sends a RunDefinitionValidateRequest. */
    public RunDefinitionValidateResponse runDefinitionValidate(RunDefinitionValidateRequest request, RequestOption... options) {
        return caller.call(request, RunDefinitionValidateResponse.class, options);
    }

    /** Sends a RunDefinitionsGetRequest. */
    public RunDefinitionsGetResponse runDefinitionsGet(RunDefinitionsGetRequest request, RequestOption... options) {
        return caller.call(request, RunDefinitionsGetResponse.class, options);
    }

    /**
     * Sends a RunDefinitionGetRequest.
     * A version of a definition, or its latest.
     */
    public RunDefinitionGetResponse runDefinitionGet(RunDefinitionGetRequest request, RequestOption... options) {
        return caller.call(request, RunDefinitionGetResponse.class, options);
    }

    /** Sends a RunDefinitionSetEnabledRequest. */
    public RunDefinitionSetEnabledResponse runDefinitionSetEnabled(RunDefinitionSetEnabledRequest request, RequestOption... options) {
        return caller.call(request, RunDefinitionSetEnabledResponse.class, options);
    }

    /** Sends a RunDefinitionDeleteRequest. */
    public RunDefinitionDeleteResponse runDefinitionDelete(RunDefinitionDeleteRequest request, RequestOption... options) {
        return caller.call(request, RunDefinitionDeleteResponse.class, options);
    }

    /**
     * Sends a BundleApplyRequest.
     * The caller needs the role ROLE_ADMIN.
     */
    public BundleApplyResponse bundleApply(BundleApplyRequest request, RequestOption... options) {
        return caller.call(request, BundleApplyResponse.class, options);
    }

    /**
     * Sends a BundlesGetRequest.
     * The caller needs the role ROLE_ADMIN.
     */
    public BundlesGetResponse bundlesGet(BundlesGetRequest request, RequestOption... options) {
        return caller.call(request, BundlesGetResponse.class, options);
    }

    /**
     * Sends a BundleGetRequest.
     * The caller needs the role ROLE_ADMIN.
     */
    public BundleGetResponse bundleGet(BundleGetRequest request, RequestOption... options) {
        return caller.call(request, BundleGetResponse.class, options);
    }

    /**
     * Sends a BundleDeleteRequest.
     * The caller needs the role ROLE_ADMIN.
     */
    public BundleDeleteResponse bundleDelete(BundleDeleteRequest request, RequestOption... options) {
        return caller.call(request, BundleDeleteResponse.class, options);
    }

    /** Sends a MachinesGetRequest. */
    public MachinesGetResponse machinesGet(MachinesGetRequest request, RequestOption... options) {
        return caller.call(request, MachinesGetResponse.class, options);
    }

    /** Sends a MachineTransitionRequest. */
    public MachineTransitionResponse machineTransition(MachineTransitionRequest request, RequestOption... options) {
        return caller.call(request, MachineTransitionResponse.class, options);
    }

    /** Sends an ActionRegisterRequest. */
    public ActionRegisterResponse actionRegister(ActionRegisterRequest request, RequestOption... options) {
        return caller.call(request, ActionRegisterResponse.class, options);
    }

    /** Sends an ActionsGetRequest. */
    public ActionsGetResponse actionsGet(ActionsGetRequest request, RequestOption... options) {
        return caller.call(request, ActionsGetResponse.class, options);
    }

    /**
     * Sends an ActionGetRequest.
     * An action by its name.
     */
    public ActionGetResponse actionGet(ActionGetRequest request, RequestOption... options) {
        return caller.call(request, ActionGetResponse.class, options);
    }

    /** Sends an ActionSetEnabledRequest. */
    public ActionSetEnabledResponse actionSetEnabled(ActionSetEnabledRequest request, RequestOption... options) {
        return caller.call(request, ActionSetEnabledResponse.class, options);
    }

    /**
     * Sends an ActionDeleteRequest.
     * An action by its name.
     */
    public ActionDeleteResponse actionDelete(ActionDeleteRequest request, RequestOption... options) {
        return caller.call(request, ActionDeleteResponse.class, options);
    }

    /** Sends a FilePutRequest. */
    public FilePutResponse filePut(FilePutRequest request, RequestOption... options) {
        return caller.call(request, FilePutResponse.class, options);
    }

    /** Sends a FileGetRequest. */
    public FileGetResponse fileGet(FileGetRequest request, RequestOption... options) {
        return caller.call(request, FileGetResponse.class, options);
    }

    /** Sends a FileDeleteRequest. */
    public FileDeleteResponse fileDelete(FileDeleteRequest request, RequestOption... options) {
        return caller.call(request, FileDeleteResponse.class, options);
    }

    /** Sends a FilesGetRequest. */
    public FilesGetResponse filesGet(FilesGetRequest request, RequestOption... options) {
        return caller.call(request, FilesGetResponse.class, options);
    }

    /** Sends a ManagerCreateRequest. */
    public ManagerCreateResponse managerCreate(ManagerCreateRequest request, RequestOption... options) {
        return caller.call(request, ManagerCreateResponse.class, options);
    }

    /** Sends a ManagersGetRequest. */
    public ManagersGetResponse managersGet(ManagersGetRequest request, RequestOption... options) {
        return caller.call(request, ManagersGetResponse.class, options);
    }

    /** Sends a ManagerGetRequest. */
    public ManagerGetResponse managerGet(ManagerGetRequest request, RequestOption... options) {
        return caller.call(request, ManagerGetResponse.class, options);
    }

    /** Sends a ManagerControlRequest. */
    public ManagerControlResponse managerControl(ManagerControlRequest request, RequestOption... options) {
        return caller.call(request, ManagerControlResponse.class, options);
    }

    /** Sends a ManagerTickRequest. */
    public ManagerTickResponse managerTick(ManagerTickRequest request, RequestOption... options) {
        return caller.call(request, ManagerTickResponse.class, options);
    }

    /** Sends a TopicPublishRequest. */
    public TopicPublishResponse topicPublish(TopicPublishRequest request, RequestOption... options) {
        return caller.call(request, TopicPublishResponse.class, options);
    }

    /** Sends a TopicGetRequest. */
    public TopicGetResponse topicGet(TopicGetRequest request, RequestOption... options) {
        return caller.call(request, TopicGetResponse.class, options);
    }

    /** Sends a TopicsGetRequest. */
    public TopicsGetResponse topicsGet(TopicsGetRequest request, RequestOption... options) {
        return caller.call(request, TopicsGetResponse.class, options);
    }

    /**
     * Sends an IncidentsGetRequest.
     * The caller needs the role ROLE_ADMIN.
     */
    public IncidentsGetResponse incidentsGet(IncidentsGetRequest request, RequestOption... options) {
        return caller.call(request, IncidentsGetResponse.class, options);
    }

    /**
     * Sends an IncidentRetryRequest.
     * The caller needs the role ROLE_ADMIN.
     */
    public IncidentRetryResponse incidentRetry(IncidentRetryRequest request, RequestOption... options) {
        return caller.call(request, IncidentRetryResponse.class, options);
    }

    /**
     * Sends an IncidentCancelRequest.
     * The caller needs the role ROLE_ADMIN.
     */
    public IncidentCancelResponse incidentCancel(IncidentCancelRequest request, RequestOption... options) {
        return caller.call(request, IncidentCancelResponse.class, options);
    }

    /** Sends a MessageCreateRequest. */
    public MessageCreateResponse messageCreate(MessageCreateRequest request, RequestOption... options) {
        return caller.call(request, MessageCreateResponse.class, options);
    }

    /** Sends a MessageGetRequest. */
    public MessageGetResponse messageGet(MessageGetRequest request, RequestOption... options) {
        return caller.call(request, MessageGetResponse.class, options);
    }

    /**
     * Sends a MessageDeleteRequest.
     * One message, which must be there, or any number, which need not.
     */
    public MessageDeleteResponse messageDelete(MessageDeleteRequest request, RequestOption... options) {
        return caller.call(request, MessageDeleteResponse.class, options);
    }

    /** Sends an AccountGetRequest. */
    public AccountGetResponse accountGet(AccountGetRequest request, RequestOption... options) {
        return caller.call(request, AccountGetResponse.class, options);
    }

    /**
     * Sends a ClientsGetRequest.
     * The caller needs the role ROLE_ADMIN.
     */
    public ClientsGetResponse clientsGet(ClientsGetRequest request, RequestOption... options) {
        return caller.call(request, ClientsGetResponse.class, options);
    }

    /**
     * Sends a ClientCreateRequest.
     * The caller needs the role ROLE_ADMIN.
     */
    public ClientCreateResponse clientCreate(ClientCreateRequest request, RequestOption... options) {
        return caller.call(request, ClientCreateResponse.class, options);
    }

    /**
     * Sends a ClientSecretResetRequest.
     * Names a client.
     * The caller needs the role ROLE_ADMIN.
     */
    public ClientSecretResetResponse clientSecretReset(ClientSecretResetRequest request, RequestOption... options) {
        return caller.call(request, ClientSecretResetResponse.class, options);
    }

    /**
     * Sends a ClientDeleteRequest.
     * Names a client.
     * The caller needs the role ROLE_ADMIN.
     */
    public ClientDeleteResponse clientDelete(ClientDeleteRequest request, RequestOption... options) {
        return caller.call(request, ClientDeleteResponse.class, options);
    }

    /**
     * Sends a KeyPairIssueRequest.
     * The caller needs the role ROLE_ADMIN.
     */
    public KeyPairIssueResponse keyPairIssue(KeyPairIssueRequest request, RequestOption... options) {
        return caller.call(request, KeyPairIssueResponse.class, options);
    }

    /**
     * Sends a KeyPairGetRequest.
     * The caller needs the role ROLE_ADMIN.
     */
    public KeyPairGetResponse keyPairGet(KeyPairGetRequest request, RequestOption... options) {
        return caller.call(request, KeyPairGetResponse.class, options);
    }

    /**
     * Sends a KeyPairInvalidateRequest.
     * The caller needs the role ROLE_ADMIN.
     */
    public KeyPairInvalidateResponse keyPairInvalidate(KeyPairInvalidateRequest request, RequestOption... options) {
        return caller.call(request, KeyPairInvalidateResponse.class, options);
    }

    /**
     * Sends a KeyPairReactivateRequest.
     * The caller needs the role ROLE_ADMIN.
     */
    public KeyPairReactivateResponse keyPairReactivate(KeyPairReactivateRequest request, RequestOption... options) {
        return caller.call(request, KeyPairReactivateResponse.class, options);
    }

    /**
     * Sends a KeyPairDeleteRequest.
     * Names a key pair, or a trusted key.
     * The caller needs the role ROLE_ADMIN.
     */
    public KeyPairDeleteResponse keyPairDelete(KeyPairDeleteRequest request, RequestOption... options) {
        return caller.call(request, KeyPairDeleteResponse.class, options);
    }

    /**
     * Sends a TrustedKeysGetRequest.
     * The caller needs the role ROLE_ADMIN.
     */
    public TrustedKeysGetResponse trustedKeysGet(TrustedKeysGetRequest request, RequestOption... options) {
        return caller.call(request, TrustedKeysGetResponse.class, options);
    }

    /**
     * Sends a TrustedKeyRegisterRequest.
     * The caller needs the role ROLE_ADMIN.
     */
    public TrustedKeyRegisterResponse trustedKeyRegister(TrustedKeyRegisterRequest request, RequestOption... options) {
        return caller.call(request, TrustedKeyRegisterResponse.class, options);
    }

    /**
     * Sends a TrustedKeyInvalidateRequest.
     * The caller needs the role ROLE_ADMIN.
     */
    public TrustedKeyInvalidateResponse trustedKeyInvalidate(TrustedKeyInvalidateRequest request, RequestOption... options) {
        return caller.call(request, TrustedKeyInvalidateResponse.class, options);
    }

    /**
     * Sends a TrustedKeyReactivateRequest.
     * The caller needs the role ROLE_ADMIN.
     */
    public TrustedKeyReactivateResponse trustedKeyReactivate(TrustedKeyReactivateRequest request, RequestOption... options) {
        return caller.call(request, TrustedKeyReactivateResponse.class, options);
    }

    /**
     * Sends a TrustedKeyDeleteRequest.
     * Names a key pair, or a trusted key.
     * The caller needs the role ROLE_ADMIN.
     */
    public TrustedKeyDeleteResponse trustedKeyDelete(TrustedKeyDeleteRequest request, RequestOption... options) {
        return caller.call(request, TrustedKeyDeleteResponse.class, options);
    }

    /**
     * Sends an OidcProvidersGetRequest.
     * A request for the list of them.
     */
    public OidcProvidersGetResponse oidcProvidersGet(OidcProvidersGetRequest request, RequestOption... options) {
        return caller.call(request, OidcProvidersGetResponse.class, options);
    }

    /**
     * Sends an OidcProviderRegisterRequest.
     * The caller needs the role ROLE_ADMIN.
     */
    public OidcProviderRegisterResponse oidcProviderRegister(OidcProviderRegisterRequest request, RequestOption... options) {
        return caller.call(request, OidcProviderRegisterResponse.class, options);
    }

    /**
     * Sends an OidcProviderUpdateRequest.
     * A change: absent members stay, and <code>null</code> or an empty list removes the value.
     * The caller needs the role ROLE_ADMIN.
     */
    public OidcProviderUpdateResponse oidcProviderUpdate(OidcProviderUpdateRequest request, RequestOption... options) {
        return caller.call(request, OidcProviderUpdateResponse.class, options);
    }

    /**
     * Sends an OidcProviderDeleteRequest.
     * A request about one of them.
     * The caller needs the role ROLE_ADMIN.
     */
    public OidcProviderDeleteResponse oidcProviderDelete(OidcProviderDeleteRequest request, RequestOption... options) {
        return caller.call(request, OidcProviderDeleteResponse.class, options);
    }

    /**
     * Sends an OidcProviderInvalidateRequest.
     * A request about one of them.
     * The caller needs the role ROLE_ADMIN.
     */
    public OidcProviderInvalidateResponse oidcProviderInvalidate(OidcProviderInvalidateRequest request, RequestOption... options) {
        return caller.call(request, OidcProviderInvalidateResponse.class, options);
    }

    /**
     * Sends an OidcProviderReactivateRequest.
     * The caller needs the role ROLE_ADMIN.
     */
    public OidcProviderReactivateResponse oidcProviderReactivate(OidcProviderReactivateRequest request, RequestOption... options) {
        return caller.call(request, OidcProviderReactivateResponse.class, options);
    }

    /**
     * Sends an OidcProvidersReloadRequest.
     * A request about all of them.
     * The caller needs the role ROLE_ADMIN.
     */
    public OidcProvidersReloadResponse oidcProvidersReload(OidcProvidersReloadRequest request, RequestOption... options) {
        return caller.call(request, OidcProvidersReloadResponse.class, options);
    }

    /**
     * Sends a LogLevelGetRequest.
     * A request for a setting as it is.
     * The caller needs the role ROLE_ADMIN.
     */
    public LogLevelGetResponse logLevelGet(LogLevelGetRequest request, RequestOption... options) {
        return caller.call(request, LogLevelGetResponse.class, options);
    }

    /**
     * Sends a LogLevelSetRequest.
     * The caller needs the role ROLE_ADMIN.
     */
    public LogLevelSetResponse logLevelSet(LogLevelSetRequest request, RequestOption... options) {
        return caller.call(request, LogLevelSetResponse.class, options);
    }

    /**
     * Sends a TraceSamplerGetRequest.
     * A request for a setting as it is.
     * The caller needs the role ROLE_ADMIN.
     */
    public TraceSamplerGetResponse traceSamplerGet(TraceSamplerGetRequest request, RequestOption... options) {
        return caller.call(request, TraceSamplerGetResponse.class, options);
    }

    /**
     * Sends a TraceSamplerSetRequest.
     * The caller needs the role ROLE_ADMIN.
     */
    public TraceSamplerSetResponse traceSamplerSet(TraceSamplerSetRequest request, RequestOption... options) {
        return caller.call(request, TraceSamplerSetResponse.class, options);
    }
}
