//! The table of operations: what drives the stream, the methods, the gateway and the command
//! line (`stream.md` §4).

use super::{
    Route, audit_entity::AuditEntity, audit_finished::AuditFinished, cancel_search::CancelSearch,
    count_by_state::CountByState, count_entities::CountEntities, create_entities::CreateEntities,
    create_entity::CreateEntity, delete_entities::DeleteEntities, delete_entity::DeleteEntity,
    delete_model::DeleteModel, export_model::ExportModel, export_workflows::ExportWorkflows,
    get_entity::GetEntity, import_model::ImportModel, import_workflows::ImportWorkflows,
    list_changes::ListChanges, list_entities::ListEntities, list_models::ListModels,
    list_transitions::ListTransitions, lock_model::LockModel, patch_entity::PatchEntity,
    search_entities::SearchEntities, search_results::SearchResults, search_status::SearchStatus,
    set_unique_keys::SetUniqueKeys, submit_search::SubmitSearch,
    transition_entity::TransitionEntity, update_entities::UpdateEntities,
    update_entity::UpdateEntity,
};

/// Every operation there is.
pub const ROUTES: &[Route] = &[
    Route::to::<ImportModel>(),
    Route::to::<ExportModel>(),
    Route::to::<LockModel>(),
    Route::to::<DeleteModel>(),
    Route::to::<ListModels>(),
    Route::to::<SetUniqueKeys>(),
    Route::to::<ImportWorkflows>(),
    Route::to::<ExportWorkflows>(),
    Route::to::<CreateEntity>(),
    Route::to::<CreateEntities>(),
    Route::to::<UpdateEntity>(),
    Route::to::<UpdateEntities>(),
    Route::to::<PatchEntity>(),
    Route::to::<TransitionEntity>(),
    Route::to::<DeleteEntity>(),
    Route::to::<DeleteEntities>(),
    Route::to::<GetEntity>(),
    Route::to::<ListEntities>(),
    Route::to::<ListTransitions>(),
    Route::to::<ListChanges>(),
    Route::to::<AuditEntity>(),
    Route::to::<AuditFinished>(),
    Route::to::<CountEntities>(),
    Route::to::<CountByState>(),
    Route::to::<SearchEntities>(),
    Route::to::<SubmitSearch>(),
    Route::to::<SearchStatus>(),
    Route::to::<SearchResults>(),
    Route::to::<CancelSearch>(),
];
