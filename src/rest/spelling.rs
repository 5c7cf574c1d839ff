//! The table of spellings: which request and path says which event (`rest.md` §2–§4, §12).

use axum::http::Method;

use super::{
    answer::Answered::{self, First, Lines, List, Value},
    parts::Parts,
    write as w,
};
use crate::error::Failure;
use crate::event::EventType::{
    self, EntityChangesMetadataGetRequest, EntityCreateCollectionRequest, EntityCreateRequest,
    EntityDeleteAllRequest, EntityDeleteRequest, EntityGetAllRequest, EntityGetRequest,
    EntityModelDeleteRequest, EntityModelExportRequest, EntityModelGetAllRequest,
    EntityModelImportRequest, EntityModelSetUniqueKeysRequest, EntityModelTransitionRequest,
    EntityPatchRequest, EntitySearchRequest, EntitySnapshotSearchRequest,
    EntityStatsByStateGetRequest, EntityStatsGetRequest, EntityTransitionRequest,
    EntityTransitionsGetRequest, EntityUpdateCollectionRequest, EntityUpdateRequest,
    EntityWorkflowExportRequest, EntityWorkflowImportRequest, SnapshotCancelRequest,
    SnapshotGetRequest, SnapshotGetStatusRequest,
};

/// One REST route: a spelling of one event type.
pub struct Spelling {
    pub method: Method,
    pub path: &'static str,
    pub request: EventType,
    /// Makes the payload of the event, which has that id.
    pub(super) write: fn(&Parts, &str) -> Result<String, Failure>,
    pub(super) read: Answered,
}

const fn spell(
    method: Method,
    path: &'static str,
    request: EventType,
    write: fn(&Parts, &str) -> Result<String, Failure>,
    read: Answered,
) -> Spelling {
    Spelling {
        method,
        path,
        request,
        write,
        read,
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
    spell(POST, "/model/import/{dataFormat}/{converter}/{entityName}/{modelVersion}", EntityModelImportRequest, w::import_model, Value(w::model_id)),
    spell(GET, "/model/export/{converter}/{entityName}/{modelVersion}", EntityModelExportRequest, w::export_model, Value(w::payload)),
    spell(PUT, "/model/{entityName}/{modelVersion}/lock", EntityModelTransitionRequest, w::lock, Value(w::locked)),
    spell(PUT, "/model/{entityName}/{modelVersion}/unlock", EntityModelTransitionRequest, w::unlock, Value(w::unlocked)),
    spell(PUT, "/model/{entityName}/{modelVersion}/unique-keys", EntityModelSetUniqueKeysRequest, w::unique_keys, Value(w::keys_set)),
    spell(GET, "/model/", EntityModelGetAllRequest, w::nothing, Value(w::models)),
    spell(DELETE, "/model/{entityName}/{modelVersion}", EntityModelDeleteRequest, w::model, Value(w::model_deleted)),
    spell(POST, "/model/{entityName}/{modelVersion}/workflow/import", EntityWorkflowImportRequest, w::import_workflows, Value(w::workflows_imported)),
    spell(GET, "/model/{entityName}/{modelVersion}/workflow/export", EntityWorkflowExportRequest, w::model, Value(w::workflows)),
    // Entities (`rest.md` §3).
    spell(POST, "/entity/{first}/{second}/{third}", EntityCreateRequest, w::create, Value(w::chunks)),
    spell(POST, "/entity/{first}", EntityCreateCollectionRequest, w::create_collection, Value(w::chunks)),
    spell(PUT, "/entity/{first}", EntityUpdateCollectionRequest, w::update_collection, Value(w::chunks)),
    spell(GET, "/entity/{first}", EntityGetRequest, w::get, Value(w::envelope)),
    spell(DELETE, "/entity/{first}", EntityDeleteRequest, w::delete, Value(w::deleted)),
    spell(GET, "/entity/{first}/{second}", EntityGetAllRequest, w::list, List(w::envelope)),
    spell(DELETE, "/entity/{first}/{second}", EntityDeleteAllRequest, w::delete_all, Value(w::all_deleted)),
    spell(PUT, "/entity/{first}/{second}", EntityUpdateRequest, w::update, Value(w::transaction)),
    spell(PATCH, "/entity/{first}/{second}", EntityPatchRequest, w::patch, Value(w::transaction)),
    spell(PUT, "/entity/{first}/{second}/{third}", EntityUpdateRequest, w::update_by_transition, Value(w::transaction)),
    spell(PATCH, "/entity/{first}/{second}/{third}", EntityPatchRequest, w::patch_by_transition, Value(w::transaction)),
    spell(GET, "/entity/{entityId}/changes", EntityChangesMetadataGetRequest, w::changes, List(w::change)),
    spell(GET, "/entity/{entityId}/transitions", EntityTransitionsGetRequest, w::transitions, Value(w::transition_names)),
    spell(POST, "/entity/{entityId}/transitions/{transition}", EntityTransitionRequest, w::transition, Value(w::available)),
    spell(GET, "/platform-api/entity/fetch/transitions", EntityTransitionsGetRequest, w::transitions_of_class, Value(w::transition_names)),
    spell(PUT, "/platform-api/entity/transition", EntityTransitionRequest, w::transition_by_query, Value(w::available)),
    spell(GET, "/entity/stats", EntityStatsGetRequest, w::stats, List(w::count)),
    spell(GET, "/entity/stats/{entityName}/{modelVersion}", EntityStatsGetRequest, w::stats_of_model, First(w::count)),
    spell(GET, "/entity/stats/states", EntityStatsByStateGetRequest, w::stats, List(w::count_in_state)),
    spell(GET, "/entity/stats/states/{entityName}/{modelVersion}", EntityStatsByStateGetRequest, w::stats_of_model, List(w::count_in_state)),
    // Search (`rest.md` §4).
    spell(POST, "/search/direct/{entityName}/{modelVersion}", EntitySearchRequest, w::search, Lines(w::envelope)),
    spell(POST, "/search/{entityName}/{modelVersion}", EntitySearchRequest, w::search_cut_off, List(w::envelope)),
    spell(POST, "/search/async/{entityName}/{modelVersion}", EntitySnapshotSearchRequest, w::submit_search, Value(w::snapshot_id)),
    spell(GET, "/search/async/{jobId}/status", SnapshotGetStatusRequest, w::snapshot, Value(w::snapshot_status)),
    spell(GET, "/search/async/{jobId}", SnapshotGetRequest, w::snapshot, List(w::envelope)),
    spell(PUT, "/search/async/{jobId}/cancel", SnapshotCancelRequest, w::snapshot, Value(w::snapshot_status)),
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
            let takes_many = !matches!(spelling.read, Value(_));
            assert_eq!(
                route.answers == Answers::Many,
                takes_many,
                "{} {}",
                spelling.method,
                spelling.path
            );
        }
    }
}
