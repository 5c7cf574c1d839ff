//! The compatibility profile: which behaviour clients see where two servers differ (`stream.md` §5).
//!
//! May use: [`crate::error`].
//! Each difference is a method here, named after what it changes; the code concerned calls it.

use http::StatusCode;

use crate::error::Code;

/// The compatibility profile.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Compat {
    /// The documented behaviour.
    #[default]
    Documented,
    /// The behaviour of the server `cyoda` 0.8.3.
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

    /// The status of `TRANSITION_NOT_FOUND` (`workflow-engine.md` §7.5).
    pub const fn transition_not_found(self) -> StatusCode {
        if self.is_cyoda() {
            StatusCode::BAD_REQUEST
        } else {
            StatusCode::NOT_FOUND
        }
    }

    /// The code if a processor does not answer in time (`workflow-engine.md` §6.3).
    pub const fn processor_timeout(self) -> Code {
        if self.is_cyoda() {
            Code::DispatchTimeout
        } else {
            Code::WorkflowFailed
        }
    }

    /// The code if a member disconnects during a call made after a commit
    /// (`workflow-engine.md` §6.3).
    pub const fn disconnect_after_commit(self) -> Code {
        if self.is_cyoda() {
            Code::ComputeMemberDisconnected
        } else {
            Code::WorkflowFailed
        }
    }

    /// Whether a single write that `If-Match` rejected is audited, although nothing else of it is
    /// stored (`models-and-entities.md` §8).
    pub const fn refused_writes_are_audited(self) -> bool {
        self.is_cyoda()
    }

    /// Whether a request for the history of an entity that never existed ends the
    /// server-streaming method with a status, instead of an in-band failure (`grpc.md` §8.3).
    pub const fn missing_history_is_a_status(self) -> bool {
        !self.is_cyoda()
    }

    /// Whether JSON Patch is answered with `NOT_IMPLEMENTED` (`grpc.md` §8.2).
    pub const fn json_patch_is_unknown(self) -> bool {
        self.is_cyoda()
    }

    /// Whether a field declared as text rejects times, and the other way round
    /// (`models-and-entities.md` §3.4).
    pub const fn times_are_no_texts(self) -> bool {
        self.is_cyoda()
    }

    /// Whether models are imported from samples only, not from a `SIMPLE_VIEW` (`rest.md` §2.2).
    pub const fn models_come_from_samples(self) -> bool {
        self.is_cyoda()
    }

    /// Whether a condition on an unknown field is rejected even if the change level lets the
    /// model grow that field (`search.md` §3).
    pub const fn unknown_fields_are_refused(self) -> bool {
        self.is_cyoda()
    }

    /// Whether an operand has to be a value of the declared types also where the field may hold
    /// other values (`search.md` §4).
    pub const fn operands_are_declared(self) -> bool {
        self.is_cyoda()
    }

    /// Whether more matches than the given `limit` fail a search, instead of being cut off
    /// (`grpc.md` §8.3).
    pub const fn limits_refuse(self) -> bool {
        self.is_cyoda()
    }

    /// Whether deleting all entities of a model ignores `pointInTime` and returns no ids
    /// (`grpc.md` §8.2).
    pub const fn all_are_deleted_as_of_now(self) -> bool {
        self.is_cyoda()
    }

    /// Whether the deletion of one entity ignores `If-Match` (`rest.md` §3.7).
    pub const fn deletions_ignore_if_match(self) -> bool {
        self.is_cyoda()
    }

    /// Whether a processor without `executionMode` is `SYNC`, not `ASYNC_NEW_TX`
    /// (`workflow-engine.md` §6.1).
    pub const fn absent_mode_is_sync(self) -> bool {
        self.is_cyoda()
    }

    /// Whether an unknown mode is rejected instead of acting as `SYNC` (`workflow-engine.md` §4.5).
    pub const fn unknown_mode_is_refused(self) -> bool {
        self.is_cyoda()
    }

    /// Whether a processor of an unknown type calls a member (`workflow-engine.md` §1.6).
    pub const fn unknown_type_is_a_call(self) -> bool {
        self.is_cyoda()
    }

    /// Whether a member that has one of the required tags is called (`grpc.md` §11).
    pub const fn any_tag_suffices(self) -> bool {
        self.is_cyoda()
    }

    /// Whether an absent `manual` means false (`workflow-engine.md` §1.3).
    pub const fn manual_may_be_absent(self) -> bool {
        self.is_cyoda()
    }

    /// Whether any name of a state is accepted, with a warning (`workflow-engine.md` §1.2).
    pub const fn any_state_name(self) -> bool {
        self.is_cyoda()
    }

    /// Whether unknown members of a definition are rejected instead of ignored
    /// (`workflow-engine.md` §4.4).
    pub const fn unknown_members_are_refused(self) -> bool {
        self.is_cyoda()
    }

    /// Whether an import keeps the value of `active` (`workflow-engine.md` §4.2).
    pub const fn active_is_kept(self) -> bool {
        self.is_cyoda()
    }

    /// Whether REPLACE needs at least one workflow (`workflow-engine.md` §4.4).
    pub const fn replacing_needs_workflows(self) -> bool {
        self.is_cyoda()
    }

    /// Whether `Idempotency-Key` is ignored (`models-and-entities.md` §8).
    pub const fn idempotency_keys_are_ignored(self) -> bool {
        self.is_cyoda()
    }

    /// Whether `asyncResult` and `crossoverToAsyncMs` are rejected (`workflow-engine.md` §4.5).
    pub const fn async_results_are_refused(self) -> bool {
        self.is_cyoda()
    }

    /// Whether an unknown retry policy is rejected instead of acting as `NONE`
    /// (`workflow-engine.md` §4.5).
    pub const fn unknown_retry_policy_is_refused(self) -> bool {
        self.is_cyoda()
    }

    /// Whether definitions that can only fail when they run are imported: processors of the type
    /// `internalized`, and criteria of unknown types or with unknown operators. Settings of criteria's
    /// functions that are of another type are ignored (`workflow-engine.md` §4.5).
    pub const fn runs_find_out(self) -> bool {
        self.is_cyoda()
    }

    /// Whether a search may be sorted by one element of a list, such as `lines[0].sku`
    /// (`search.md` §7).
    pub const fn elements_may_sort(self) -> bool {
        !self.is_cyoda()
    }

    /// Whether `IS_NULL` holds below a missing list (`search.md` §3).
    pub const fn absent_lists_are_null(self) -> bool {
        self.is_cyoda()
    }

    /// Whether the list of transitions contains disabled ones (`workflow-engine.md` §10).
    pub const fn disabled_transitions_are_listed(self) -> bool {
        self.is_cyoda()
    }

    /// Whether `previousTransition` in the criteria of a run is the transition that the request
    /// names, not that of the last committed write (`workflow-engine.md` §2.10).
    pub const fn previous_transition_is_the_requested(self) -> bool {
        self.is_cyoda()
    }

    /// Whether `version` must be one of 1.1 to 1.3, and is exported as 1.3
    /// (`workflow-engine.md` §4.3).
    pub const fn schema_version_counts(self) -> bool {
        self.is_cyoda()
    }
}
