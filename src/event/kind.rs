//! Every event type, once.

macro_rules! event_types {
    ($($(#[$doc:meta])* $name:ident,)*) => {
        /// The type of an event; its name is the text on the wire.
        #[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
        pub enum EventType { $($(#[$doc])* $name,)* }

        impl EventType {
            pub const ALL: &[Self] = &[$(Self::$name,)*];

            /// The text on the wire.
            pub const fn as_str(self) -> &'static str {
                match self { $(Self::$name => stringify!($name),)* }
            }

            /// The type of that name; names are exact.
            pub fn from_name(name: &str) -> Option<Self> {
                match name { $(stringify!($name) => Some(Self::$name),)* _ => None }
            }
        }
    };
}

event_types! {
    // Compute members (`grpc.md` §9).
    CalculationMemberGreetEvent,
    CalculationMemberJoinEvent,
    CalculationMemberKeepAliveEvent,
    EntityProcessorCalculationRequest,
    EntityProcessorCalculationResponse,
    EntityCriteriaCalculationRequest,
    EntityCriteriaCalculationResponse,
    EntityFunctionCalculationRequest,
    EntityFunctionCalculationResponse,
    TaskCalculationRequest,
    TaskCalculationResponse,
    TaskCancelEvent,

    // The stream itself (`stream.md` §2).
    EventAckResponse,
    EventCancelRequest,
    EventStreamEnd,

    // Who is connected.
    RunStartRequest,
    RunStartResponse,
    RunGetRequest,
    RunGetResponse,
    RunsGetRequest,
    RunsGetResponse,
    RunSignalRequest,
    RunSignalResponse,
    RunCancelRequest,
    RunCancelResponse,
    RunHistoryGetRequest,
    RunHistoryGetResponse,
    RunHistorySubscribeRequest,
    RunHistoryEvent,
    ActionInvokeRequest,
    ActionInvokeResponse,
    TaskGetRequest,
    TaskGetResponse,
    TasksGetRequest,
    TasksGetResponse,
    PlanGetRequest,
    PlanGetResponse,
    ComputeMembersGetRequest,
    ComputeMembersGetResponse,
    NodesGetRequest,
    NodesGetResponse,

    // Workers, and the tasks that they pull (`runs.md` §5).
    TaskAwaitRequest,
    TaskAwaitResponse,
    TaskCompleteRequest,
    TaskCompleteResponse,
    TaskFailRequest,
    TaskFailResponse,
    TaskTouchRequest,
    TaskTouchResponse,
    WorkerDeregisterRequest,
    WorkerDeregisterResponse,
    WorkerDrainRequest,
    WorkerDrainResponse,
    WorkerGetRequest,
    WorkerGetResponse,
    WorkerHeartbeatRequest,
    WorkerHeartbeatResponse,
    WorkerRegisterRequest,
    WorkerRegisterResponse,
    WorkersGetRequest,
    WorkersGetResponse,

    // Models.
    EntityModelDeleteRequest,
    EntityModelDeleteResponse,
    EntityModelExportRequest,
    EntityModelExportResponse,
    EntityModelGetAllRequest,
    EntityModelGetAllResponse,
    EntityModelImportRequest,
    EntityModelImportResponse,
    EntityModelSetChangeLevelRequest,
    EntityModelSetChangeLevelResponse,
    EntityModelSetIndexesRequest,
    EntityModelSetIndexesResponse,
    EntityModelSetUniqueKeysRequest,
    EntityModelSetUniqueKeysResponse,
    EntityModelTransitionRequest,
    EntityModelTransitionResponse,
    EntityModelValidateRequest,
    EntityModelValidateResponse,

    // Workflows.
    EntityWorkflowDiagramRequest,
    EntityWorkflowDiagramResponse,
    EntityWorkflowExportRequest,
    EntityWorkflowExportResponse,
    EntityWorkflowImportRequest,
    EntityWorkflowImportResponse,

    // Definitions of runs (`runs.md` §4).
    RunDefinitionCreateRequest,
    RunDefinitionCreateResponse,
    RunDefinitionDeleteRequest,
    RunDefinitionDeleteResponse,
    RunDefinitionGetRequest,
    RunDefinitionGetResponse,
    RunDefinitionSetEnabledRequest,
    RunDefinitionSetEnabledResponse,
    RunDefinitionValidateRequest,
    RunDefinitionValidateResponse,
    RunDefinitionsGetRequest,
    RunDefinitionsGetResponse,

    // Bundles (`runs.md` §7).
    BundleApplyRequest,
    BundleApplyResponse,
    BundleDeleteRequest,
    BundleDeleteResponse,
    BundleGetRequest,
    BundleGetResponse,
    BundlesGetRequest,
    BundlesGetResponse,
    MachineTransitionRequest,
    MachineTransitionResponse,
    MachinesGetRequest,
    MachinesGetResponse,

    // Actions (`runs.md` §5).
    ActionDeleteRequest,
    ActionDeleteResponse,
    ActionGetRequest,
    ActionGetResponse,
    ActionRegisterRequest,
    ActionRegisterResponse,
    ActionSetEnabledRequest,
    ActionSetEnabledResponse,
    ActionsGetRequest,
    ActionsGetResponse,

    // Files (`runs.md` §8).
    FileDeleteRequest,
    FileDeleteResponse,
    FileGetRequest,
    FileGetResponse,
    FilePutRequest,
    FilePutResponse,
    FilesGetRequest,
    FilesGetResponse,

    // Managers (`runs.md` §8).
    ManagerControlRequest,
    ManagerControlResponse,
    ManagerCreateRequest,
    ManagerCreateResponse,
    ManagerGetRequest,
    ManagerGetResponse,
    ManagerTickRequest,
    ManagerTickResponse,
    ManagersGetRequest,
    ManagersGetResponse,

    // Topics (`runs.md` §5).
    TopicGetRequest,
    TopicGetResponse,
    TopicPublishRequest,
    TopicPublishResponse,
    TopicsGetRequest,
    TopicsGetResponse,

    // Work that has stopped after it failed too often (`runs.md` §11).
    IncidentCancelRequest,
    IncidentCancelResponse,
    IncidentRetryRequest,
    IncidentRetryResponse,
    IncidentsGetRequest,
    IncidentsGetResponse,

    // Messages.
    MessageCreateRequest,
    MessageCreateResponse,
    MessageDeleteRequest,
    MessageDeleteResponse,
    MessageGetRequest,
    MessageGetResponse,

    // The caller.
    AccountGetRequest,
    AccountGetResponse,

    // Who may call (`rest.md` §7).
    ClientCreateRequest,
    ClientCreateResponse,
    ClientDeleteRequest,
    ClientDeleteResponse,
    ClientSecretResetRequest,
    ClientSecretResetResponse,
    ClientsGetRequest,
    ClientsGetResponse,
    KeyPairDeleteRequest,
    KeyPairDeleteResponse,
    KeyPairGetRequest,
    KeyPairGetResponse,
    KeyPairInvalidateRequest,
    KeyPairInvalidateResponse,
    KeyPairIssueRequest,
    KeyPairIssueResponse,
    KeyPairReactivateRequest,
    KeyPairReactivateResponse,
    TrustedKeyDeleteRequest,
    TrustedKeyDeleteResponse,
    TrustedKeyInvalidateRequest,
    TrustedKeyInvalidateResponse,
    TrustedKeyReactivateRequest,
    TrustedKeyReactivateResponse,
    TrustedKeyRegisterRequest,
    TrustedKeyRegisterResponse,
    TrustedKeysGetRequest,
    TrustedKeysGetResponse,
    OidcProvidersGetRequest,
    OidcProvidersGetResponse,
    OidcProviderRegisterRequest,
    OidcProviderRegisterResponse,
    OidcProviderUpdateRequest,
    OidcProviderUpdateResponse,
    OidcProviderDeleteRequest,
    OidcProviderDeleteResponse,
    OidcProviderInvalidateRequest,
    OidcProviderInvalidateResponse,
    OidcProviderReactivateRequest,
    OidcProviderReactivateResponse,
    OidcProvidersReloadRequest,
    OidcProvidersReloadResponse,

    // What an operator may change.
    LogLevelGetRequest,
    LogLevelGetResponse,
    LogLevelSetRequest,
    LogLevelSetResponse,
    TraceSamplerGetRequest,
    TraceSamplerGetResponse,
    TraceSamplerSetRequest,
    TraceSamplerSetResponse,

    // Writes.
    EntityCreateCollectionRequest,
    EntityCreateRequest,
    EntityDeleteAllRequest,
    EntityDeleteAllResponse,
    EntityDeleteRequest,
    EntityDeleteResponse,
    EntityPatchRequest,
    EntityTransactionResponse,
    EntityTransitionRequest,
    EntityTransitionResponse,
    EntityUpdateCollectionRequest,
    EntityUpdateRequest,

    // Reads.
    EntityAuditFinishedGetRequest,
    EntityAuditFinishedGetResponse,
    EntityAuditGetRequest,
    EntityAuditGetResponse,
    EntityChangeEvent,
    EntityChangesMetadataGetRequest,
    EntityChangesMetadataResponse,
    EntityChangesSubscribeRequest,
    EntityGetAllRequest,
    EntityGetRequest,
    EntityResponse,
    EntitySearchExplainRequest,
    EntitySearchExplainResponse,
    EntitySearchRequest,
    EntitySearchSubscribeRequest,
    EntitySnapshotSearchRequest,
    EntitySnapshotSearchResponse,
    EntityStatsByStateGetRequest,
    EntityStatsByStateResponse,
    EntityStatsGetRequest,
    EntityStatsQueryRequest,
    EntityStatsQueryResponse,
    EntityStatsResponse,
    EntityTransitionsGetRequest,
    EntityTransitionsGetResponse,
    SnapshotCancelRequest,
    SnapshotGetRequest,
    SnapshotGetStatusRequest,
    WorkflowExplainRequest,
    WorkflowExplainResponse,
}

impl std::fmt::Display for EventType {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(self.as_str())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_type_has_a_name_that_leads_back_to_it() {
        for kind in EventType::ALL {
            assert_eq!(EventType::from_name(kind.as_str()), Some(*kind));
        }
        assert_eq!(EventType::from_name("entityCreateRequest"), None);
    }
}
