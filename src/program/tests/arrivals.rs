//! Answers, children, entities, cancels and crashes (1.12, 1.13, `runs.md` §5, §6).
#![cfg(test)]

use super::checks::step;
use super::driven::{Do, Driven, flow};
use crate::program::*;

#[test]
fn the_exchange_of_the_transcript_has_its_history() {
    let document = include_str!("../../../tests/it/fixtures/flo/order-approval.yaml");
    let mut driven = Driven::new(document, r#"{"order_id":"ORD-123","amount":99.99}"#);
    assert_eq!(driven.run.status, Status::Pending);
    driven.play(&[]);
    let input = driven.task().input.clone();
    assert_eq!(driven.text(&input), r#"{"order":"ORD-123","amount":99.99}"#);
    driven
        .act(Do::Answer("success", r#"{"charge_id":"ch_1"}"#))
        .expect("taken");
    assert_eq!(driven.run.status, Status::Waiting);
    assert_eq!(driven.run.sequence, 7);
    assert_eq!(
        driven.run.due(),
        Some(driven.now.after(std::time::Duration::from_hours(1)))
    );
    let matched = driven.act(Do::Signal(
        "approval",
        r#"{"decision":"approved","approver":"m"}"#,
    ));
    assert_eq!(matched, Ok(true));
    assert_eq!(driven.history[0].kind, EventKind::WorkflowStarted);
    assert_eq!(
        &*driven.history[0].detail,
        r#"{"order_id":"ORD-123","amount":99.99}"#
    );
    assert_eq!(
        driven.events(),
        [
            "step_started start",
            "awaiting_action charge-payment",
            "action_completed success",
            "step_completed start",
            "step_started await_approval",
            "waiting_for_signal approval",
            "signal_received approval",
            "signal_matched approval",
            "step_completed await_approval",
            "workflow_completed OrderCompleted",
        ]
    );
    assert_eq!(driven.run.status, Status::Completed);
    assert_eq!(
        driven.output().as_deref(),
        Some(r#"{"charge":"ch_1","by":"m"}"#)
    );
    let signalled = driven.act(Do::Signal("approval", "null"));
    assert_eq!(signalled, Err(Refusal::Finished(Status::Completed)));
}

#[test]
fn a_child_that_cannot_start_is_an_execution_outcome() {
    let document = flow(
        "{run: \"@workflow/c\", transitions: {failure: flo.Failed}}",
        "",
    );
    for (child, outcome, event) in [
        (
            StartedChild::Missing,
            "target_not_found",
            Some("child_not_found c"),
        ),
        (StartedChild::Disabled, "target_disabled", None),
    ] {
        let mut driven = Driven::new(&document, "{}");
        driven.child = child;
        driven.play(&[]);
        assert_eq!(driven.outcome("_start"), outcome);
        assert_eq!(
            driven
                .events()
                .iter()
                .find(|event| event.starts_with("child"))
                .map(String::as_str),
            event
        );
    }
    let mut driven = Driven::new(&document, "{}");
    driven.run.depth = 10;
    driven.play(&[]);
    assert_eq!(driven.outcome("_start"), "execution_failure");
    assert_eq!(driven.asked, []);
}

#[test]
fn what_comes_at_its_time_is_due_although_the_clock_was_set_back() {
    let hour = std::time::Duration::from_hours(1);
    let mut driven = Driven::new(
        &flow(
            "{waitForSignal: {type: go, timeoutMs: 1000, onTimeout: flo.Failed}, transitions: {success: flo.Completed}}",
            "",
        ),
        "{}",
    );
    driven.play(&[]);
    let at = driven.run.due().expect("a time limit");
    driven.now = driven.now.before(hour);
    let earlier = at.before(hour / 2);
    assert_eq!(driven.arrive(Arrival::Due { at: earlier }), Ok(false));
    assert_eq!(driven.arrive(Arrival::Due { at }), Ok(true));
    assert_eq!(driven.run.status, Status::Failed);
}

#[test]
fn a_cancelled_run_gives_up_what_is_out_and_never_changes_again() {
    let mut driven = Driven::new(&step("success: flo.Completed", ""), "{}");
    driven.play(&[Do::Cancel]);
    assert_eq!(
        driven.events(),
        [
            "step_started start",
            "awaiting_action a",
            "workflow_cancelled cancelled by user"
        ]
    );
    assert!(matches!(
        driven.effects.last(),
        Some(Effect::GiveUp { ordinal: 1, .. })
    ));
    assert_eq!(
        driven.act(Do::Cancel),
        Err(Refusal::Finished(Status::Cancelled))
    );
    // A late answer is recorded and not applied.
    assert_eq!(driven.act(Do::Answer("success", "{}")), Ok(false));
    assert_eq!(
        driven.events().last().map(String::as_str),
        Some("late_answer success")
    );
    assert_eq!(driven.run.status, Status::Cancelled);
    let at = driven.now;
    for arrival in [Arrival::Start, Arrival::Due { at }, Arrival::EntityMoved] {
        assert_eq!(driven.arrive(arrival), Ok(false));
    }
    let mut parent = Driven::new(
        &flow(
            "{run: \"@workflow/c\", transitions: {success: flo.Completed}}",
            "",
        ),
        "{}",
    );
    parent.child = StartedChild::Started {
        run: "wfrun-2".into(),
    };
    parent.play(&[Do::Cancel]);
    assert!(matches!(
        parent.effects.last(),
        Some(Effect::CancelChild { .. })
    ));
}

#[test]
fn only_the_task_that_is_out_can_be_answered() {
    let document = step(
        "success: flo.Completed, failure: flo.Failed",
        ", retry: {max_attempts: 3, initial_delay_ms: 10}",
    );
    let mut driven = Driven::new(&document, "{}");
    driven.play(&[Do::Lost]);
    let late = |driven: &mut Driven, ordinal| {
        driven.arrive(Arrival::Answered {
            ordinal,
            answer: Answer::Outcome {
                outcome: "success".into(),
                output: "{}".into(),
            },
        })
    };
    // While the retry waits, and after it was sent.
    assert_eq!(late(&mut driven, 1), Ok(false));
    driven.act(Do::After(10)).expect("due");
    assert_eq!(late(&mut driven, 1), Ok(false));
    assert_eq!(driven.run.status, Status::Waiting);
    assert_eq!(late(&mut driven, 2), Ok(true));
    assert_eq!(late(&mut driven, 2), Ok(false));
    assert_eq!(driven.run.status, Status::Completed);
    assert_eq!(
        driven
            .events()
            .iter()
            .filter(|event| *event == "late_answer success")
            .count(),
        3
    );
}

#[test]
fn the_idempotency_key_stays_until_an_execution_is_answered() {
    let document = step(
        "failure: flo.Failed",
        ", retry: {max_attempts: 9, initial_delay_ms: 0}",
    );
    let mut driven = Driven::new(&document, "{}");
    let mut keys = Vec::new();
    driven.play(&[]);
    for act in [
        Do::Lost,
        Do::Lost,
        Do::Answer("failure", "{}"),
        Do::Lost,
        Do::Answer("failure", "{}"),
    ] {
        keys.push((driven.task().ordinal, driven.task().key));
        driven.act(act).expect("taken");
    }
    assert_eq!(keys, [(1, 1), (2, 1), (3, 1), (4, 4), (5, 4)]);
    assert_eq!((driven.task().ordinal, driven.task().key), (6, 6));
}

#[test]
fn no_step_rewrites_the_history_of_its_run() {
    let round = "steps: {again: {run: \"@actions/a\", transitions: {success: again}}}";
    let document = flow(
        "{run: \"@actions/a\", transitions: {success: again}}",
        round,
    );
    let mut driven = Driven::new(&document, "{}");
    driven.play(&[Do::Answer("success", "{\"some\":\"output\"}"); 10]);
    let early = serde_json::to_string(&driven.run).expect("JSON").len();
    let before = driven.history.len();
    for _ in 0..2_000 {
        driven
            .act(Do::Answer("success", "{\"some\":\"output\"}"))
            .expect("taken");
    }
    assert_eq!(driven.history.len(), before + 2_000 * 4);
    let late = serde_json::to_string(&driven.run).expect("JSON").len();
    assert!(late < early + 40, "{early} {late}");
}

#[test]
fn steps_of_entities_end_in_the_turn_and_refusals_are_outcomes() {
    let document = |transitions: &str| {
        flow(
            &format!(
                "{{run: \"@entity/update\", input: {{entityId: $.input.e}}, transitions: {{{transitions}}}}}"
            ),
            "",
        )
    };
    let refused = |code: &str| EntityAnswer::Refused {
        code: code.into(),
        message: "m".into(),
        retryable: false,
    };
    for (transitions, answer, outcome, status) in [
        (
            "success: flo.Completed",
            EntityAnswer::Done {
                output: "{}".into(),
            },
            "success",
            Status::Completed,
        ),
        (
            "entity_not_found: flo.TimedOut, failure: flo.Failed",
            refused("ENTITY_NOT_FOUND"),
            "entity_not_found",
            Status::TimedOut,
        ),
        (
            "failure: flo.Failed",
            refused("ENTITY_NOT_FOUND"),
            "failure",
            Status::Failed,
        ),
    ] {
        let mut driven = Driven::new(&document(transitions), "{\"e\":\"1\"}");
        driven.entity.push_back(answer);
        driven.play(&[]);
        assert_eq!(driven.outcome("_start"), outcome);
        assert_eq!(driven.run.status, status);
        if status == Status::Failed {
            let error = driven.run.error.as_ref().expect("an error");
            assert_eq!(error.code.as_deref(), Some("ENTITY_NOT_FOUND"));
            assert_eq!(&*error.message, "step start: m");
        }
        assert_eq!(
            driven.events()[..3],
            [
                "step_started start".to_owned(),
                format!("action_completed {outcome}"),
                "step_completed start".to_owned()
            ]
        );
        assert_eq!(
            driven.asked[0],
            Ask::Entity {
                step: EntityStep::Update,
                input: "{\"entityId\":\"1\"}".into(),
                wanted: Wanted::default()
            }
        );
    }
}

#[test]
fn steps_of_entities_have_turns_of_their_own_after_conflicts() {
    let document = flow(
        "{run: \"@entity/get\", input: {entityId: a}, transitions: {success: written}}",
        "steps: {written: {run: \"@entity/update\", input: {entityId: b}, retry: {max_attempts: 3, initial_delay_ms: 0}, transitions: {success: flo.Completed}}}",
    );
    let done = EntityAnswer::Done {
        output: "{}".into(),
    };
    let conflict = EntityAnswer::Refused {
        code: "CONFLICT".into(),
        message: "m".into(),
        retryable: true,
    };
    let answers = [done.clone(), conflict, done];
    let of = |is_apart| {
        let mut driven = Driven::new(&document, "{}");
        driven.is_apart = is_apart;
        driven.entity.extend(answers.iter().cloned());
        driven
    };
    let mut together = of(false);
    together.play(&[]);
    assert_eq!(together.run.status, Status::Completed);
    let mut apart = of(true);
    apart.arrive(Arrival::Start).expect("starts");
    for asked in 0..3 {
        assert_eq!(apart.asked.len(), asked, "one with each turn");
        assert_eq!(apart.run.due(), Some(apart.now), "at once");
        apart.act(Do::After(0)).expect("goes on");
    }
    assert_eq!(apart.run.status, Status::Completed);
    assert_eq!(apart.events(), together.events());
    assert_eq!(apart.run.steps, together.run.steps);
}

#[test]
fn an_entity_is_awaited_until_a_state_or_a_time() {
    let document = flow(
        "{run: \"@entity/await\", input: {entityId: e, states: [A, B], timeoutMs: 100}, transitions: {B: flo.Completed, success: flo.Failed, timeout: flo.TimedOut, entity_not_found: flo.Cancelled}}",
        "",
    );
    let reached = |state: &str| EntityAnswer::Reached {
        state: state.into(),
        output: "{}".into(),
    };
    let play = |answers: &[EntityAnswer], script: &[Do]| {
        let mut driven = Driven::new(&document, "{}");
        driven.entity.extend(answers.iter().cloned());
        driven.play(script);
        driven
    };
    assert_eq!(play(&[reached("B")], &[]).run.status, Status::Completed);
    assert_eq!(play(&[reached("A")], &[]).run.status, Status::Failed);
    let waits = EntityAnswer::NotYet { seen: Some(7) };
    let unseen = EntityAnswer::NotYet { seen: None };
    let driven = play(
        &[unseen, waits.clone(), waits.clone()],
        &[Do::Moved, Do::Moved],
    );
    assert_eq!(driven.run.status, Status::Waiting);
    assert_eq!(driven.events(), ["step_started start"]);
    let since = driven.asked.iter().map(|ask| {
        let Ask::Entity { wanted, .. } = ask else {
            panic!("{ask:?}");
        };
        wanted.since
    });
    let since: Vec<_> = since.collect();
    assert_eq!(since, [Since::Now, Since::Parked, Since::Position(7)]);
    assert_eq!(
        play(&[waits.clone(), reached("B")], &[Do::Moved])
            .run
            .status,
        Status::Completed
    );
    assert_eq!(
        play(
            &[waits.clone(), waits.clone()],
            &[Do::After(99), Do::After(1)]
        )
        .run
        .status,
        Status::TimedOut
    );
    let late = EntityAnswer::NotYet { seen: None };
    let driven = play(&[late, reached("B")], &[Do::After(100)]);
    assert_eq!(
        driven.run.status,
        Status::Completed,
        "it was reached in time"
    );
    let gone = EntityAnswer::Refused {
        code: "ENTITY_NOT_FOUND".into(),
        message: "m".into(),
        retryable: false,
    };
    assert_eq!(
        play(&[waits, gone], &[Do::Moved]).run.status,
        Status::Cancelled
    );
    for states in ["", ", states: []"] {
        let malformed = flow(
            &format!(
                "{{run: \"@entity/await\", input: {{entityId: e{states}}}, transitions: {{failure: flo.Failed}}}}"
            ),
            "",
        );
        let mut driven = Driven::new(&malformed, "{}");
        driven.play(&[]);
        assert!(
            driven
                .text(&driven.run.results["_start"].output.clone())
                .contains("BAD_REQUEST"),
            "{states}"
        );
    }
}

#[test]
fn the_task_that_is_out_is_known_after_a_crash() {
    let mut driven = Driven::new(
        &step("success: flo.Completed", ", input: {n: $.input.n}"),
        "{\"n\":1}",
    );
    driven.play(&[]);
    let sent = driven.task().clone();
    assert_eq!(driven.run.outstanding(), Some(&sent));
    assert_eq!(driven.text(&sent.input), "{\"n\":1}");
    driven.act(Do::Answer("pending", "{}")).expect("accepted");
    assert_eq!(driven.run.outstanding(), None);
}

#[test]
fn what_is_enough_for_one_commit_is_committed_before_the_next_step_and_is_no_wait() {
    let document = flow(
        "{run: \"@entity/get\", input: {entityId: a}, transitions: {success: again}}",
        "steps: {again: {run: \"@entity/get\", input: {entityId: a}, transitions: {success: again}}}",
    );
    let done = EntityAnswer::Done {
        output: "{}".into(),
    };
    let of = |is_full| {
        let mut driven = Driven::new(&document, "{}");
        driven.is_full = is_full;
        driven.entity.extend(vec![done.clone(); 256]);
        driven.arrive(Arrival::Start).expect("starts");
        driven
    };
    let together = of(false);
    let mut parted = of(true);
    for asked in 0..=256 {
        assert_eq!(parted.asked.len(), asked, "one with each turn");
        assert_eq!(parted.run.due(), Some(parted.now), "at once");
        parted.act(Do::After(0)).expect("goes on");
    }
    for driven in [together, parted] {
        let events = driven.events();
        let completed = |event: &&String| event.starts_with("step_completed");
        assert_eq!(events.iter().filter(completed).count(), 256);
        let last = events.last().map(String::as_str);
        assert_eq!(last, Some("workflow_failed max step limit reached"));
    }
}
