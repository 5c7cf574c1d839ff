//! Which of two behaviours a client sees where documents differ (`stream.md` §5).
//!
//! May use: [`crate::error`].
//! Every difference is a method here, named after what it changes; whoever is concerned asks.

use http::StatusCode;

use crate::error::Code;

/// The profile: what clients are used to.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Compat {
    /// The recommended column of the tables of differences.
    #[default]
    Documented,
    /// What the server `cyoda` 0.8.3 does.
    Cyoda08,
}

impl Compat {
    const fn is_cyoda(self) -> bool {
        matches!(self, Self::Cyoda08)
    }

    /// The name in `INTERLOCK_COMPAT`.
    pub fn from_name(name: &str) -> Option<Self> {
        match name {
            "documented" => Some(Self::Documented),
            "cyoda-0.8" => Some(Self::Cyoda08),
            _ => None,
        }
    }

    /// The status of `TRANSITION_NOT_FOUND` (`workflow-engine.md` W21).
    pub const fn transition_not_found(self) -> StatusCode {
        if self.is_cyoda() {
            StatusCode::BAD_REQUEST
        } else {
            StatusCode::NOT_FOUND
        }
    }

    /// The code of a processor that did not answer in time (W22, `grpc.md` G4).
    pub const fn processor_timeout(self) -> Code {
        if self.is_cyoda() {
            Code::DispatchTimeout
        } else {
            Code::WorkflowFailed
        }
    }

    /// The code of a member that left during a call made after a commit (`grpc.md` G5).
    pub const fn disconnect_after_commit(self) -> Code {
        if self.is_cyoda() {
            Code::ComputeMemberDisconnected
        } else {
            Code::WorkflowFailed
        }
    }

    /// Whether the audit tells of a single write that `If-Match` refused, of which nothing else is
    /// kept (`models-and-entities.md` §8).
    pub const fn refused_writes_are_audited(self) -> bool {
        self.is_cyoda()
    }

    /// Whether the server-streaming method ends with a status where the history of an entity is
    /// asked for that there is none of, instead of answering so in-band.
    pub const fn missing_history_is_a_status(self) -> bool {
        !self.is_cyoda()
    }

    /// Whether JSON Patch is answered with `NOT_IMPLEMENTED`.
    pub const fn json_patch_is_unknown(self) -> bool {
        self.is_cyoda()
    }

    /// Whether a text that reads as a time is none where a text is declared, and the other way
    /// round (`models-and-entities.md` §3.4).
    pub const fn times_are_no_texts(self) -> bool {
        self.is_cyoda()
    }

    /// Whether a model is made from samples only, not from a `SIMPLE_VIEW` too (`rest.md` §2.2).
    pub const fn models_come_from_samples(self) -> bool {
        self.is_cyoda()
    }

    /// Whether a condition on an unknown field is refused even where the model may still grow
    /// one (`search.md` §3).
    pub const fn unknown_fields_are_refused(self) -> bool {
        self.is_cyoda()
    }

    /// Whether more matches than a `limit` that was sent end a search, instead of being left out
    /// (`grpc.md` §8.3).
    pub const fn limits_refuse(self) -> bool {
        self.is_cyoda()
    }

    /// Whether deleting all entities of a model looks at no `pointInTime` and tells no ids
    /// (`grpc.md` §8.2).
    pub const fn all_are_deleted_as_of_now(self) -> bool {
        self.is_cyoda()
    }

    /// Whether a processor without `executionMode` is `SYNC`, not `ASYNC_NEW_TX` (W3).
    pub const fn absent_mode_is_sync(self) -> bool {
        self.is_cyoda()
    }

    /// Whether a mode that is not known is refused, not taken as `SYNC` (W4).
    pub const fn unknown_mode_is_refused(self) -> bool {
        self.is_cyoda()
    }

    /// Whether a type of processor that is not known is a call of a member (W1a).
    pub const fn unknown_type_is_a_call(self) -> bool {
        self.is_cyoda()
    }

    /// Whether `manual` may be left out, meaning false (`workflow-engine.md` §1.3).
    pub const fn manual_may_be_absent(self) -> bool {
        self.is_cyoda()
    }

    /// Whether the name of a state may be anything, with a warning (§1.2).
    pub const fn any_state_name(self) -> bool {
        self.is_cyoda()
    }

    /// Whether members of a definition that are not known are refused, not ignored (W9).
    pub const fn unknown_members_are_refused(self) -> bool {
        self.is_cyoda()
    }

    /// Whether an import keeps what a workflow says of being active (W8).
    pub const fn active_is_kept(self) -> bool {
        self.is_cyoda()
    }

    /// Whether REPLACE needs workflows (W25).
    pub const fn replacing_needs_workflows(self) -> bool {
        self.is_cyoda()
    }

    /// Whether `Idempotency-Key` says nothing (`models-and-entities.md` §8).
    pub const fn idempotency_keys_are_ignored(self) -> bool {
        self.is_cyoda()
    }

    /// Whether a processor may not have an asynchronous result, nor a time after which it has one
    /// (`corrections.md` §7).
    pub const fn async_results_are_refused(self) -> bool {
        self.is_cyoda()
    }

    /// Whether a retry policy that is not known is refused, not taken as `NONE`
    /// (`corrections.md` §7).
    pub const fn unknown_retry_policy_is_refused(self) -> bool {
        self.is_cyoda()
    }

    /// Whether what only fails when it is run is imported: processors of the type `internalized`,
    /// and criteria of types and with operators that are not known (`corrections.md` §7).
    pub const fn runs_find_out(self) -> bool {
        self.is_cyoda()
    }

    /// Whether a search may be sorted by an element of a list, named by its number
    /// (`corrections.md` §11).
    pub const fn elements_may_sort(self) -> bool {
        !self.is_cyoda()
    }

    /// Whether `IS_NULL` holds below a list that is not there (`corrections.md` §11).
    pub const fn absent_lists_are_null(self) -> bool {
        self.is_cyoda()
    }

    /// Whether the transitions of a state are listed with those that are disabled
    /// (`corrections.md` §12).
    pub const fn disabled_transitions_are_listed(self) -> bool {
        self.is_cyoda()
    }

    /// Whether `previousTransition` is, in the criteria of a run, the transition that the run was
    /// asked for, not that of the last committed write (`corrections.md` §12).
    pub const fn previous_transition_is_the_requested(self) -> bool {
        self.is_cyoda()
    }

    /// Whether `version` must be one of 1.1 to 1.3, and is exported as 1.3 (W7).
    pub const fn schema_version_counts(self) -> bool {
        self.is_cyoda()
    }
}
