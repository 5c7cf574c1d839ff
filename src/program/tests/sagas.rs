//! Sagas: forward, back, and what interrupts them (`orchestration.md` 2.4).
#![cfg(test)]

use std::time::Duration;

use super::driven::{Do, Driven};
use crate::expr::{Scope, Template};
use crate::program::*;

/// A call whose request has these members.
fn call(connector: &str, operation: &str, data: &[(&str, &str)]) -> Call {
    let scope = Scope {
        steps: Some(&|_| true),
        has_error: true,
        has_columns: false,
    };
    let data = data.iter().map(|(name, text)| {
        let value = Template::of_text(text, &scope).expect("an expression");
        ((*name).into(), value)
    });
    Call {
        connector: connector.into(),
        request: Template::Object(vec![
            ("operation".into(), Template::literal(operation)),
            ("payload".into(), Template::Object(data.collect())),
        ]),
    }
}

fn step(action: Option<Call>, undo: Option<Call>) -> SagaStep {
    SagaStep {
        pause: None,
        call: action,
        undo,
        skips_failure: false,
        timeout: None,
    }
}

/// A step that calls `http` and is undone there, too.
fn charged(operation: &str) -> SagaStep {
    let undo = call("http", &format!("undo {operation}"), &[]);
    step(Some(call("http", operation, &[])), Some(undo))
}

fn awaiting(event: &str, timeout: Option<u64>) -> SagaStep {
    SagaStep {
        pause: Some(Pause::Signal {
            event: event.into(),
            timeout: timeout.map(Duration::from_millis),
        }),
        ..step(None, None)
    }
}

fn saga(steps: Vec<(&str, SagaStep)>, change: impl FnOnce(&mut Saga)) -> Driven {
    let (names, steps): (Vec<_>, Vec<_>) = steps.into_iter().unzip();
    let mut form = Saga {
        bundle: "digest".into(),
        order: names.into_iter().map(Into::into).collect(),
        timeout: None,
        on_complete: None,
        on_failure: None,
    };
    change(&mut form);
    let program = Program::of_saga("s", "1", form, steps);
    // As it is stored.
    let stored = serde_json::to_string(&program).expect("JSON");
    let program = serde_json::from_str(&stored).expect("as stored");
    Driven::of(program, r#"{"amount":99.990,"user":7}"#)
}

fn with_on_failure(form: &mut Saga) {
    let data = [("reason", "error.message"), ("user", "input.user")];
    form.on_failure = Some(call("mail", "send", &data));
}

/// The requests of the tasks that were sent, with their keys.
fn sent(driven: &Driven) -> Vec<String> {
    let sent = driven.effects.iter().filter_map(|effect| match effect {
        Effect::Send(task) => {
            let purpose = task.purpose.as_ref().expect("a call");
            let request = driven.text(&task.input);
            Some(format!("{purpose} {} {request}", task.action))
        }
        Effect::GiveUp { .. }
        | Effect::CancelChild { .. }
        | Effect::Record { .. }
        | Effect::Keep { .. }
        | Effect::Log(_) => None,
    });
    sent.collect()
}

#[test]
fn results_are_read_by_later_steps_and_digits_stay() {
    let pay = call(
        "http",
        "POST /charges",
        &[("amount", "input.amount"), ("order", "step.order.id")],
    );
    let steps = vec![
        ("order", step(Some(call("db", "INSERT", &[])), None)),
        ("pay", step(Some(pay), None)),
    ];
    let mut driven = saga(steps, |form| {
        form.on_complete = Some(call("db", "UPDATE", &[("id", "step.order.id")]));
    });
    driven.play(&[
        Do::Answer("success", r#"{"id":12345678901234567890}"#),
        Do::Answer("success", "{}"),
        Do::Answer("success", "{}"),
    ]);
    assert_eq!(driven.run.status, Status::Completed);
    assert_eq!(
        sent(&driven),
        [
            r#"order:action db {"operation":"INSERT","payload":{}}"#,
            r#"pay:action http {"operation":"POST /charges","payload":{"amount":99.990,"order":12345678901234567890}}"#,
            r#"on_complete db {"operation":"UPDATE","payload":{"id":12345678901234567890}}"#,
        ]
    );
    assert_eq!(
        driven.events(),
        [
            "step_started order",
            "action_completed success",
            "step_completed order",
            "step_started pay",
            "action_completed success",
            "step_completed pay",
            "callback_completed on_complete",
            "workflow_completed ",
        ]
    );
}

#[test]
fn what_has_completed_is_undone_newest_first_and_then_on_failure_is_called() {
    let steps = vec![
        ("a", charged("a")),
        ("b", charged("b")),
        ("nothing", step(None, None)),
        ("c", charged("c")),
    ];
    let mut driven = saga(steps, with_on_failure);
    driven.play(&[
        Do::Answer("success", "{}"),
        Do::Answer("success", "{}"),
        Do::Answer("failure", r#"{"error":"POST /c answered 402"}"#),
        Do::Answer("failure", r#"{"error":"no"}"#),
        Do::Answer("success", "{}"),
        Do::Answer("failure", "{}"),
    ]);
    assert_eq!(driven.run.status, Status::Failed);
    let message = r#"step "c" failed: POST /c answered 402"#;
    let error = driven.run.error.as_ref().expect("an error");
    assert_eq!(&*error.message, message);
    assert!(!driven.run.is_compensated());
    let state = driven.run.saga.as_ref().expect("a saga");
    assert_eq!(state.errors.len(), 1);
    assert_eq!(
        (&*state.errors[0].step, &*state.errors[0].message),
        ("b", "no")
    );
    assert_eq!(
        driven.events()[11..],
        [
            "compensation_started b",
            "compensation_failed b",
            "compensation_started a",
            "compensation_completed a",
            "callback_failed on_failure",
            &format!("workflow_failed {message}"),
        ]
    );
    assert_eq!(
        sent(&driven)[5],
        format!(
            "on_failure mail {{\"operation\":\"send\",\"payload\":{{\"reason\":{},\"user\":7}}}}",
            crate::expr::quoted(message)
        )
    );
}

#[test]
fn a_step_that_says_skip_is_left_out_and_not_undone() {
    let skipped = SagaStep {
        skips_failure: true,
        ..charged("b")
    };
    let mut driven = saga(
        vec![("a", charged("a")), ("b", skipped), ("c", charged("c"))],
        |_| {},
    );
    driven.play(&[
        Do::Answer("success", "{}"),
        Do::Lost,
        Do::Answer("declined", "{}"),
        Do::Answer("success", "{}"),
    ]);
    assert_eq!(driven.run.status, Status::Failed);
    assert_eq!(
        driven.events(),
        [
            "step_started a",
            "action_completed success",
            "step_completed a",
            "step_started b",
            "action_lost execution_failure",
            "step_skipped b",
            "step_started c",
            "action_completed declined",
            "step_completed c",
            "compensation_started a",
            "compensation_completed a",
            "workflow_failed step \"c\" failed: the outcome was \"declined\"",
        ]
    );
    assert!(!driven.run.is_compensated(), "b may have been done");
    let declined = Arrival::Answered {
        ordinal: 2,
        answer: Answer::Outcome {
            outcome: "declined".into(),
            output: "{}".into(),
        },
    };
    assert_eq!(driven.arrive(declined), Ok(false));
    assert!(driven.run.is_compensated());
}

#[test]
fn a_delay_and_a_signal_park_the_run_and_other_signals_are_refused() {
    let confirmed = SagaStep {
        call: Some(call("http", "POST /x", &[("by", "input.signal.by")])),
        ..awaiting("confirmed", None)
    };
    let delay = SagaStep {
        pause: Some(Pause::Delay(Duration::from_mins(1))),
        ..step(None, None)
    };
    let mut driven = saga(vec![("wait", delay), ("confirm", confirmed)], |_| {});
    driven.play(&[Do::After(59_999)]);
    assert!(driven.run.waiting.is_some());
    assert_eq!(
        driven.act(Do::Signal("confirmed", "{}")),
        Err(Refusal::NotAwaited(None))
    );
    driven.act(Do::After(1)).expect("is due");
    assert_eq!(
        driven.act(Do::Signal("denied", "{}")),
        Err(Refusal::NotAwaited(Some("confirmed".into())))
    );
    driven
        .act(Do::Signal("confirmed", r#"{"by":"me"}"#))
        .expect("is awaited");
    driven.act(Do::Answer("success", "{}")).expect("is out");
    assert_eq!(driven.run.status, Status::Completed);
    assert_eq!(
        sent(&driven),
        [r#"confirm:action http {"operation":"POST /x","payload":{"by":"me"}}"#]
    );
    assert_eq!(
        driven.events(),
        [
            "step_started wait",
            "delay_started wait",
            "delay_expired wait",
            "step_completed wait",
            "step_started confirm",
            "waiting_for_signal confirmed",
            "signal_received confirmed",
            "signal_matched confirmed",
            "action_completed success",
            "step_completed confirm",
            "workflow_completed ",
        ]
    );
}

#[test]
fn a_signal_that_does_not_come_and_a_saga_that_takes_too_long_time_out() {
    let steps = || vec![("a", charged("a")), ("wait", awaiting("go", Some(5_000)))];
    let mut driven = saga(steps(), with_on_failure);
    driven.play(&[
        Do::Answer("success", "{}"),
        Do::After(5_000),
        Do::Answer("success", "{}"),
        Do::Answer("success", "{}"),
    ]);
    assert_eq!(driven.run.status, Status::TimedOut);
    let last = driven.events().pop();
    assert_eq!(
        last.as_deref(),
        Some("workflow_timed_out await step timeout (event: go)")
    );

    let mut driven = saga(steps(), |form| form.timeout = Some(Duration::from_secs(4)));
    driven.play(&[
        Do::Answer("success", "{}"),
        Do::After(3_999),
        Do::After(1),
        Do::Answer("success", "{}"),
    ]);
    assert_eq!(driven.run.status, Status::TimedOut);
    let last = driven.events().pop();
    assert_eq!(last.as_deref(), Some("workflow_timed_out saga timeout"));
}

#[test]
fn a_wait_that_says_skip_is_left_out_when_its_signal_does_not_come() {
    let skipped = SagaStep {
        call: Some(call("http", "POST /x", &[("by", "input.signal.by")])),
        undo: Some(call("http", "undo POST /x", &[])),
        skips_failure: true,
        ..awaiting("go", Some(5_000))
    };
    let last = step(Some(call("http", "POST /c", &[("of", "step.wait")])), None);
    let mut driven = saga(
        vec![("a", charged("a")), ("wait", skipped), ("c", last)],
        with_on_failure,
    );
    driven.play(&[
        Do::Answer("success", "{}"),
        Do::After(5_000),
        Do::Answer("success", "{}"),
    ]);
    assert_eq!(driven.run.status, Status::Completed);
    assert_eq!(
        sent(&driven)[1..],
        [r#"c:action http {"operation":"POST /c","payload":{"of":null}}"#]
    );
    assert_eq!(
        driven.events()[3..],
        [
            "step_started wait",
            "waiting_for_signal go",
            "signal_timeout ",
            "step_skipped wait",
            "step_started c",
            "action_completed success",
            "step_completed c",
            "workflow_completed ",
        ]
    );
}

#[test]
fn a_cancel_waits_for_the_call_that_is_out_and_undoes_it() {
    let steps = || vec![("a", charged("a")), ("b", charged("b"))];
    let mut driven = saga(steps(), with_on_failure);
    driven.play(&[Do::Answer("success", "{}"), Do::Cancel]);
    assert_eq!(driven.run.status, Status::Waiting);
    // It is cancelled already.
    assert_eq!(driven.act(Do::Cancel), Ok(false));
    driven.act(Do::Answer("success", "{}")).expect("is out");
    driven.act(Do::Answer("success", "{}")).expect("undoes b");
    driven.act(Do::Answer("success", "{}")).expect("undoes a");
    assert_eq!(driven.run.status, Status::Cancelled);
    assert_eq!(
        driven.events()[4..],
        [
            "action_completed success",
            "step_completed b",
            "compensation_started b",
            "compensation_completed b",
            "compensation_started a",
            "compensation_completed a",
            "workflow_cancelled cancelled by user",
        ]
    );
    assert_eq!(
        driven.act(Do::Cancel),
        Err(Refusal::Finished(Status::Cancelled))
    );
}

#[test]
fn a_success_that_comes_too_late_is_undone_also_after_the_end() {
    let mut driven = saga(vec![("a", charged("a"))], |_| {});
    driven.play(&[Do::Cancel, Do::After(30_000)]);
    assert_eq!(driven.run.status, Status::Cancelled);
    let late = |ordinal| Arrival::Answered {
        ordinal,
        answer: Answer::Outcome {
            outcome: "success".into(),
            output: "{}".into(),
        },
    };
    assert_eq!(driven.arrive(late(1)), Ok(false));
    assert_eq!(driven.run.status, Status::Cancelled);
    assert_eq!(driven.run.outstanding().map(|task| task.ordinal), Some(2));
    driven.act(Do::Answer("success", "{}")).expect("undoes a");
    assert_eq!(driven.run.outstanding(), None);
    assert_eq!(
        driven.events()[4..],
        [
            "late_answer success",
            "step_completed a",
            "compensation_started a",
            "compensation_completed a",
        ]
    );
    // A second copy of it changes nothing.
    assert_eq!(driven.arrive(late(1)), Ok(false));
    assert_eq!(driven.run.outstanding(), None);
}

#[test]
fn a_success_that_comes_while_on_failure_is_called_is_undone() {
    let limited = SagaStep {
        timeout: Some(Duration::from_secs(5)),
        ..charged("a")
    };
    let mut driven = saga(vec![("a", limited)], with_on_failure);
    driven.play(&[Do::After(5_000)]);
    let late = Arrival::Answered {
        ordinal: 1,
        answer: Answer::Outcome {
            outcome: "success".into(),
            output: "{}".into(),
        },
    };
    assert_eq!(driven.arrive(late), Ok(false));
    driven
        .act(Do::Answer("success", "{}"))
        .expect("on_failure is out");
    driven.act(Do::Answer("success", "{}")).expect("undoes a");
    assert_eq!(driven.run.status, Status::Failed);
    assert_eq!(
        driven.events()[2..],
        [
            "step_completed a",
            "late_answer success",
            "step_completed a",
            "callback_completed on_failure",
            "compensation_started a",
            "compensation_completed a",
            "workflow_failed step \"a\" failed: no answer came in time",
        ]
    );
}

/// Nobody else would know how it ended.
#[test]
fn a_call_that_was_given_up_is_sent_again_after_a_crash() {
    let limited = SagaStep {
        timeout: Some(Duration::from_secs(5)),
        ..charged("a")
    };
    let mut driven = saga(vec![("a", limited)], |_| {});
    driven.play(&[Do::After(5_000)]);
    assert_eq!(driven.run.status, Status::Failed);
    let out: Vec<u64> = driven.run.given_up().map(|task| task.ordinal).collect();
    assert_eq!(out, [1]);
    assert!(driven.run.has_given_up(1) && !driven.run.has_given_up(2));
    let refused = Arrival::Answered {
        ordinal: 1,
        answer: Answer::Outcome {
            outcome: "failure".into(),
            output: "{}".into(),
        },
    };
    assert_eq!(driven.arrive(refused), Ok(false));
    assert_eq!(driven.run.given_up().count(), 0);
}

#[test]
fn a_late_compensation_that_nobody_reports_is_an_error_once_its_time_is_over() {
    let of_member = |operation: &str| call("member", operation, &[]);
    let limited = SagaStep {
        timeout: Some(Duration::from_secs(5)),
        ..step(Some(of_member("a")), Some(of_member("undo a")))
    };
    let mut driven = saga(vec![("a", limited)], |_| {});
    driven.play(&[Do::After(5_000)]);
    assert_eq!(driven.run.status, Status::Failed);
    driven.act(Do::Answer("success", "{}")).expect("recorded");
    assert!(!driven.run.is_compensated(), "it has only begun");
    driven.act(Do::Answer("pending", "{}")).expect("accepted");
    assert!(!driven.run.is_compensated());
    assert_eq!(driven.run.to_undo().collect::<Vec<_>>(), ["a"]);
    assert_eq!(driven.act(Do::After(59_999)), Ok(false));
    assert_eq!(driven.act(Do::After(1)), Ok(true));
    assert_eq!(driven.run.status, Status::Failed);
    assert_eq!(driven.run.due(), None);
    assert_eq!(driven.run.to_undo().count(), 0);
    assert!(!driven.run.is_compensated());
    let errors = &driven.run.saga.as_ref().expect("a saga").errors;
    assert_eq!(
        (&*errors[0].step, &*errors[0].message),
        ("a", "no answer came in time")
    );
    let last = driven.events().pop();
    assert_eq!(last.as_deref(), Some("compensation_failed a"));
}

/// What a repeated call does not settle is no longer waited for.
#[test]
fn a_step_of_which_nobody_knows_whether_it_was_done_is_an_error_of_the_compensation() {
    let mut driven = saga(vec![("a", charged("a"))], |_| {});
    driven.play(&[Do::Lost]);
    assert_eq!(driven.run.status, Status::Failed);
    let lost = |code: &str| Arrival::Answered {
        ordinal: 1,
        answer: Answer::Lost {
            code: code.into(),
            message: "gone".into(),
        },
    };
    assert_eq!(driven.arrive(lost(ANSWER_LOST)), Ok(false));
    assert_eq!(driven.run.given_up().count(), 0);
    assert!(!driven.run.is_compensated());
    let saga_of = driven.run.saga.as_ref().expect("a saga");
    assert_eq!(
        &*saga_of.errors[0].message,
        "it is not known whether the step was done: gone"
    );
    // One that nobody was sent was not done.
    let mut driven = saga(vec![("a", charged("a"))], |_| {});
    driven.play(&[Do::Lost]);
    assert_eq!(driven.arrive(lost(NOT_CALLED)), Ok(false));
    assert!(driven.run.is_compensated());
}

#[test]
fn the_time_limit_of_a_step_makes_it_fail() {
    let limited = SagaStep {
        timeout: Some(Duration::from_secs(5)),
        ..charged("b")
    };
    let mut driven = saga(vec![("a", charged("a")), ("b", limited)], |_| {});
    driven.play(&[
        Do::Answer("success", "{}"),
        Do::After(5_000),
        Do::Answer("success", "{}"),
    ]);
    assert_eq!(driven.run.status, Status::Failed);
    let last = driven.events().pop();
    assert_eq!(
        last.as_deref(),
        Some("workflow_failed step \"b\" failed: no answer came in time")
    );
}

#[test]
fn steps_on_entities_are_done_in_the_turn_and_members_are_waited_for() {
    let steps = vec![
        ("a", step(Some(call("entity", "INSERT", &[])), None)),
        ("b", step(Some(call("entity", "INSERT", &[])), None)),
        ("c", step(Some(call("member", "pay", &[])), None)),
    ];
    let mut driven = saga(steps, |_| {});
    driven.play(&[Do::Answer("pending", "{}"), Do::Answer("success", "{}")]);
    assert_eq!(driven.run.status, Status::Completed);
    assert_eq!(
        driven.events(),
        [
            "step_started a",
            "action_completed success",
            "step_completed a",
            "step_started b",
            "action_completed success",
            "step_completed b",
            "step_started c",
            "awaiting_action member",
            "action_completed success",
            "step_completed c",
            "workflow_completed ",
        ]
    );
}

#[test]
fn a_value_that_cannot_be_computed_fails_its_step_and_is_null_in_callbacks() {
    let broken = [("x", "input.nothing.at.all")];
    let steps = vec![
        ("a", charged("a")),
        ("b", step(Some(call("http", "b", &broken)), None)),
    ];
    let mut driven = saga(steps, |form| {
        form.on_failure = Some(call("mail", "send", &broken));
    });
    driven.play(&[
        Do::Answer("success", "{}"),
        Do::Answer("success", "{}"),
        Do::Answer("success", "{}"),
    ]);
    assert_eq!(driven.run.status, Status::Failed);
    let sent = sent(&driven);
    assert_eq!(
        sent.last().map(|sent| &**sent),
        Some(r#"on_failure mail {"operation":"send","payload":{"x":null}}"#)
    );
}

#[test]
fn a_saga_commits_what_is_enough_for_one_commit_and_goes_on_at_once() {
    let insert = || step(Some(call("entity", "INSERT", &[])), None);
    let mut driven = saga(vec![("one", insert()), ("two", insert())], |_| {});
    driven.is_full = true;
    driven.arrive(Arrival::Start).expect("starts");
    for asked in [0, 2] {
        assert_eq!(driven.asked.len(), asked, "one step with each turn");
        assert_eq!(driven.run.due(), Some(driven.now), "at once");
        driven.act(Do::After(0)).expect("goes on");
    }
    assert_eq!(driven.run.status, Status::Completed);
}

/// A step on an entity that another one undoes.
fn written(name: &'static str) -> (&'static str, SagaStep) {
    let (action, undo) = (call("entity", "INSERT", &[]), call("entity", "DELETE", &[]));
    (name, step(Some(action), Some(undo)))
}

#[test]
fn a_compensation_after_conflicts_has_a_turn_of_its_own() {
    let mut driven = saga(vec![written("a"), written("b")], |_| {});
    let done = driven.here.clone();
    driven.is_apart = true;
    driven.play(&[Do::After(0)]);
    driven.here = Answer::Outcome {
        outcome: "failure".into(),
        output: r#"{"error":"CONFLICT"}"#.into(),
    };
    driven.act(Do::After(0)).expect("b fails");
    assert_eq!(driven.run.status, Status::Waiting);
    assert_eq!(driven.run.due(), Some(driven.now), "at once");
    driven.here = done;
    driven.act(Do::After(0)).expect("a is undone");
    driven.act(Do::After(0)).expect("nothing is left");
    assert_eq!(driven.run.status, Status::Failed);
    assert!(driven.run.is_compensated(), "{:?}", driven.events());
}

#[test]
fn a_compensation_or_callback_whose_entity_others_change_each_time_is_tried_later() {
    let with_callback = |form: &mut Saga| form.on_complete = Some(call("entity", "UPDATE", &[]));
    for (is_undone, end) in [(true, Status::Cancelled), (false, Status::Completed)] {
        let mut steps = vec![written("a")];
        if is_undone {
            steps.push(("wait", awaiting("go", None)));
        }
        let mut driven = saga(steps, with_callback);
        let begins = if is_undone { Do::Cancel } else { Do::After(0) };
        driven.is_apart = !is_undone;
        driven.play(&[]);
        if !is_undone {
            driven.act(Do::After(0)).expect("a is done");
        }
        (driven.is_apart, driven.is_contended) = (true, true);
        driven.act(begins).expect("it is deferred");
        for pause in [1_000, 2_000] {
            let due = driven.now.after(Duration::from_millis(pause));
            assert_eq!(driven.run.due(), Some(due));
            assert!(!driven.run.status.is_end());
            driven.act(Do::After(pause)).expect("it is deferred");
        }
        (driven.is_apart, driven.is_contended) = (false, false);
        driven.act(Do::After(4_000)).expect("is done");
        assert_eq!(driven.run.status, end, "{:?}", driven.events());
        assert_eq!(driven.run.is_compensated(), is_undone);
    }
}

#[test]
fn a_saga_that_is_ended_by_force_says_what_is_not_undone() {
    let steps = || {
        let plain = step(Some(call("http", "c", &[])), None);
        vec![("a", charged("a")), ("b", charged("b")), ("c", plain)]
    };
    let ok = Do::Answer("success", "{}");
    let (done, undone) = ("whether the step was done", "whether the step was undone");
    let fails = Do::Answer("failure", "{}");
    for (script, has_form, expected) in [
        (vec![], true, vec![("a", done)]),
        (vec![ok], true, vec![("b", done), ("a", "is not undone")]),
        (
            vec![ok, ok],
            true,
            vec![("b", "is not undone"), ("a", "is not undone")],
        ),
        // Without the form it is not known that nothing undoes it.
        (
            vec![ok, ok],
            false,
            vec![("c", done), ("b", "is not undone"), ("a", "is not undone")],
        ),
        (
            vec![ok, ok, fails],
            true,
            vec![("b", undone), ("a", "is not undone")],
        ),
    ] {
        let mut driven = saga(steps(), |_| {});
        driven.play(&script);
        let program = Some(&driven.program).filter(|_| has_form);
        let history = driven.run.end_by_force(driven.now, "enough", program);
        driven.history.extend(history);
        let saga = driven.run.saga.as_ref().expect("a saga");
        let errors: Vec<_> = saga.errors.iter().collect();
        assert_eq!(errors.len(), expected.len(), "{errors:?}");
        for (error, (step, message)) in errors.iter().zip(&expected) {
            assert_eq!(&*error.step, *step);
            assert!(error.message.contains(message), "{}", error.message);
        }
        let events = driven.events();
        let (last, before) = events.split_last().expect("events");
        assert_eq!(last, "workflow_cancelled enough");
        let failed = before.iter().rev().take(expected.len()).rev();
        let named = expected
            .iter()
            .map(|(step, _)| format!("compensation_failed {step}"));
        assert!(failed.eq(named.collect::<Vec<_>>().iter()), "{before:?}");
        assert_eq!(driven.run.status, Status::Cancelled);
        assert!(!driven.run.is_compensated());
        assert_eq!(driven.run.to_undo().count(), 0);
        assert!(driven.run.due().is_none() && driven.run.outstanding().is_none());
    }
}
