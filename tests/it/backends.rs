//! The tests that the suite runs over `PostgreSQL`, too: some of each area. All others run there
//! with `INTERLOCK_TEST_BACKEND=postgres cargo test --test it`.

use std::process::Command;

/// By module.
const CHOSEN: &[(&str, &[&str])] = &[
    (
        "entity",
        &[
            "an_entity_is_made_changed_and_deleted_and_its_history_stays",
            "numbers_survive_digit_for_digit_through_every_door",
            "a_stale_precondition_is_refused_and_changes_nothing",
            "of_concurrent_updates_each_is_done_or_refused_and_none_is_lost",
            "a_collection_is_made_whole_or_not_at_all",
            "pages_follow_the_order_of_ids_and_see_the_past",
            "deleting_all_is_one_transaction_and_may_mean_those_of_then",
            "a_tenant_sees_nothing_of_another",
        ],
    ),
    (
        "model",
        &[
            "a_model_goes_through_its_life",
            "a_model_outlives_a_restart",
            "concurrent_imports_all_end_up_in_the_schema",
        ],
    ),
    (
        "workflow",
        &[
            "the_first_workflow_whose_criterion_holds_is_chosen_and_kept",
            "of_two_concurrent_transitions_one_commits",
            "workflows_and_the_choice_of_one_outlive_a_restart",
        ],
    ),
    (
        "processor",
        &[
            "a_processor_is_sent_the_entity_and_may_replace_its_document",
            "a_failing_processor_fails_the_request_and_nothing_is_kept",
        ],
    ),
    (
        "segments",
        &["what_fails_after_a_segment_leaves_the_entity_as_it_was_committed"],
    ),
    (
        "search",
        &[
            "what_satisfies_the_condition_is_found_in_the_order_of_ids",
            "results_are_sorted_with_missing_values_last",
            "a_search_sees_the_past_as_it_was",
            "a_search_that_begins_after_an_answer_sees_what_was_answered",
        ],
    ),
    (
        "index",
        &[
            "what_indexes_find_is_what_a_walk_over_everything_finds",
            "an_index_is_seen_to_serve",
            "an_entity_with_very_many_values_is_found_by_each_and_costs_one_key",
        ],
    ),
    (
        "sorting",
        &[
            "a_walk_over_an_index_sorts_as_sorting_does",
            "a_walk_over_large_documents_goes_on_where_a_part_ends",
        ],
    ),
    (
        "statistics",
        &["entities_are_counted_and_added_up_by_what_they_hold"],
    ),
    (
        "deletion",
        &[
            "only_what_matches_is_deleted_however_much_it_is",
            "what_matched_at_a_time_is_deleted_as_it_is_now",
        ],
    ),
    (
        "history",
        &[
            "reads_of_any_time_agree_with_the_history_of_a_thousand_versions",
            "what_is_deleted_is_gone_now_and_there_before",
        ],
    ),
    (
        "audit",
        &[
            "a_create_with_a_processor_is_told_step_by_step",
            "guards_and_timers_say_why_and_when",
        ],
    ),
    (
        "feed",
        &[
            "every_change_is_told_with_what_it_was",
            "a_feed_can_be_resumed_after_any_sequence_also_inside_a_commit",
            "filters_leave_out_and_deleted_models_keep_their_name",
        ],
    ),
    (
        "live",
        &["the_result_comes_first_and_then_what_enters_is_changed_and_leaves"],
    ),
    (
        "snapshots",
        &[
            "a_search_runs_on_its_own_and_its_result_is_read_in_pages_through_grpc",
            "a_request_with_a_key_starts_or_cancels_one_search",
        ],
    ),
    (
        "timers",
        &[
            "a_timer_is_fired_by_the_system_for_whoever_armed_it",
            "of_two_timers_the_first_takes_the_entity_and_ends_the_other",
            "what_a_timer_began_before_a_crash_is_still_done_for_whoever_armed_it",
        ],
    ),
    (
        "message",
        &[
            "a_message_is_kept_as_it_was_sent",
            "many_are_deleted_at_once_and_unknown_ones_are_no_error",
            "messages_outlive_the_process",
        ],
    ),
    (
        "unique_keys",
        &[
            "of_sixty_four_creates_with_one_key_one_succeeds_on_the_stream",
            "a_value_is_freed_by_a_change_a_deletion_and_the_deletion_of_all",
            "claims_survive_kill_nine",
        ],
    ),
    (
        "idempotency",
        &[
            "every_operation_that_writes_is_done_once",
            "of_many_repeats_at_once_one_does_the_work",
            "outcomes_survive_kill_nine_if_and_only_if_the_work_does",
        ],
    ),
    (
        "execution",
        &["a_run_that_was_killed_after_its_commit_goes_on_by_itself"],
    ),
    (
        "tasks",
        &[
            "a_task_is_sent_as_documented_and_its_answer_ends_the_step",
            "a_lease_is_kept_over_a_crash_until_it_ends",
        ],
    ),
    (
        "runs",
        &[
            "starts_with_one_key_create_one_run_however_many_come_at_once",
            "runs_and_their_timers_outlive_a_crash",
            "runs_are_found_by_definition_status_attributes_and_text",
            "a_run_waits_for_its_child_and_a_cancel_takes_both",
            "entity_steps_are_committed_with_the_run_and_await_resumes_it",
        ],
    ),
    (
        "schedules",
        &["an_interval_starts_runs_with_the_input_of_the_schedule"],
    ),
    (
        "topics",
        &[
            "events_are_read_as_they_were_published_and_outlive_a_restart",
            "a_repeated_id_is_answered_with_its_first_sequence",
            "publishers_at_once_get_sequences_without_gaps",
            "old_events_are_removed_and_their_sequences_are_not_given_again",
        ],
    ),
    (
        "files",
        &[
            "a_file_is_read_as_it_was_written_and_outlives_a_restart",
            "files_are_listed_by_path_in_pages_of_their_namespace",
            "of_many_at_once_one_creates_a_file_and_all_may_replace_it",
        ],
    ),
    (
        "sagas",
        &[
            "a_saga_that_fails_undoes_what_it_did_and_says_so",
            "a_route_starts_its_saga_with_what_its_request_says",
        ],
    ),
    (
        "managers",
        &["managers_are_ticked_on_schedule_also_after_a_restart"],
    ),
];

#[test]
fn the_chosen_tests_pass_over_postgresql() {
    let names = CHOSEN
        .iter()
        .flat_map(|(module, tests)| tests.iter().map(move |test| format!("{module}::{test}")));
    let names: Vec<String> = names.collect();
    let program = std::env::current_exe().expect("this program");
    let done = Command::new(program)
        // Beside the tests of this process, which have the machine for themselves otherwise.
        .args(["--exact", "--test-threads", "1"])
        .args(&names)
        .env("INTERLOCK_TEST_BACKEND", "postgres")
        .output()
        .expect("runs");
    let said = String::from_utf8_lossy(&done.stdout);
    assert!(done.status.success(), "{said}");
    // A name that is wrong would be left out in silence.
    let passed = format!("{} passed", names.len());
    assert!(said.contains(&passed), "{passed}: {said}");
}
