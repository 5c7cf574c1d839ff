#![cfg(test)]

use proptest::prelude::*;

use super::rate::EXACT_MAX;
use super::*;
use crate::dialect::flo::Document;
use crate::program::RateLimit;

fn plan(members: &str) -> Plan {
    let text = format!(
        "kind: Workflow\nname: w\nversion: \"1\"\nstart: {{run: \"@plan/p\"}}\nplans: {{p: {{{members}}}}}"
    );
    let (document, findings) = Document::read_in(None, text.as_bytes());
    let program = document.unwrap_or_else(|| panic!("{findings}")).compile();
    program.plans["p"].clone()
}

/// A plan of executors with these names and members.
fn of(executors: &[(&str, &str)], more: &str) -> Plan {
    let executors: Vec<String> = executors
        .iter()
        .map(|(name, members)| format!("{{name: {name}, action: \"@actions/{name}\"{members}}}"))
        .collect();
    plan(&format!("executors: [{}]{more}", executors.join(", ")))
}

const fn at(milliseconds: i64) -> Timestamp {
    Timestamp::from_micros(1_000_000_000_000 + milliseconds * 1_000)
}

fn order(state: &mut PlanState, plan: &Plan, now: Timestamp, chance: u64) -> Vec<String> {
    match state.choose(plan, None, now, chance) {
        Chosen::Executors(names) => names.iter().map(ToString::to_string).collect(),
        Chosen::Cached { .. } => panic!("nothing is cached"),
    }
}

const THREE: [(&str, &str); 3] = [
    ("a", ", priority: 1"),
    ("b", ", priority: 2"),
    ("c", ", priority: 1"),
];

#[test]
fn a_static_order_is_by_priority_and_then_by_document() {
    let plan = of(&THREE, "");
    let mut state = PlanState::default();
    for _ in 0..3 {
        assert_eq!(order(&mut state, &plan, at(0), 0), ["b", "a", "c"]);
    }
}

#[test]
fn a_round_robin_rotates_once_for_each_pass() {
    let plan = of(&THREE, ", selection: round-robin");
    let mut state = PlanState::default();
    let firsts: Vec<String> = (0..6)
        .map(|_| order(&mut state, &plan, at(0), 0).remove(0))
        .collect();
    assert_eq!(firsts, ["b", "a", "c", "b", "a", "c"]);
}

#[test]
fn a_random_selection_reaches_every_order_about_equally() {
    let plan = of(&THREE, ", selection: random");
    let mut state = PlanState::default();
    let mut counts = HashMap::new();
    for seed in 0..6_000_u64 {
        let chance = seed.wrapping_mul(0x9E37_79B9_7F4A_7C15);
        *counts
            .entry(order(&mut state, &plan, at(0), chance))
            .or_insert(0) += 1;
    }
    assert_eq!(counts.len(), 6);
    assert!(
        counts.values().all(|count| (800..1_200).contains(count)),
        "{counts:?}"
    );
}

#[test]
fn a_breaker_opens_at_the_threshold_and_lets_probes_through_after_the_cooldown() {
    let plan = of(
        &[(
            "a",
            ", breaker: {failure_threshold: 2, cooldown_ms: 100, half_open_max_calls: 2}",
        )],
        "",
    );
    let mut state = PlanState::default();
    let breaker = |state: &mut PlanState, now| state.view(&plan, now)[0].breaker;
    // Success resets the count.
    for sample in [
        Sample::Failure,
        Sample::Success,
        Sample::NoAnswer,
        Sample::Other,
        Sample::Failure,
    ] {
        assert_eq!(state.permit(&plan, "a", &[], at(0)), Permit::Granted);
        state.record(&plan, "a", sample, at(0));
    }
    assert_eq!(breaker(&mut state, at(0)), BreakerView::Closed);
    state.record(&plan, "a", Sample::Failure, at(10));
    assert_eq!(
        breaker(&mut state, at(10)),
        BreakerView::Open { until: at(110) }
    );
    assert_eq!(state.permit(&plan, "a", &[], at(109)), Permit::Open);
    // Two probes, and no third.
    assert_eq!(
        breaker(&mut state, at(110)),
        BreakerView::HalfOpen { calls: 0 }
    );
    for expected in [Permit::Granted, Permit::Granted, Permit::Open] {
        assert_eq!(state.permit(&plan, "a", &[], at(110)), expected);
    }
    // A failed probe opens it again, with a new cooldown.
    state.record(&plan, "a", Sample::Failure, at(120));
    assert_eq!(
        breaker(&mut state, at(120)),
        BreakerView::Open { until: at(220) }
    );
    assert_eq!(state.permit(&plan, "a", &[], at(220)), Permit::Granted);
    state.record(&plan, "a", Sample::Success, at(221));
    assert_eq!(breaker(&mut state, at(221)), BreakerView::Closed);
}

#[test]
fn a_breaker_knows_the_failures_that_are_not_committed_yet() {
    let plan = of(
        &[(
            "a",
            ", breaker: {failure_threshold: 2, cooldown_ms: 100, half_open_max_calls: 1}",
        )],
        "",
    );
    let mut state = PlanState::default();
    for (uncommitted, expected) in [
        (&[Sample::Failure][..], Permit::Granted),
        (&[Sample::Failure, Sample::NoAnswer], Permit::Open),
        (
            &[Sample::Failure, Sample::Success, Sample::Failure],
            Permit::Granted,
        ),
        // They were not committed.
        (&[], Permit::Granted),
    ] {
        let permit = state.permit(&plan, "a", uncommitted, at(0));
        assert_eq!(permit, expected, "{uncommitted:?}");
    }
    for _ in 0..2 {
        state.record(&plan, "a", Sample::Failure, at(0));
    }
    // A probe that has failed opens it, and one that has succeeded closes it.
    for (uncommitted, expected) in [
        (&[][..], Permit::Granted),
        (&[], Permit::Open),
        (&[Sample::Failure], Permit::Open),
        (&[Sample::Success], Permit::Granted),
    ] {
        let permit = state.permit(&plan, "a", uncommitted, at(100));
        assert_eq!(permit, expected, "{uncommitted:?}");
    }
}

#[test]
fn a_probe_that_is_given_back_or_never_ends_does_not_block_the_executor() {
    let plan = of(
        &[(
            "a",
            ", breaker: {failure_threshold: 1, cooldown_ms: 100, half_open_max_calls: 1}",
        )],
        "",
    );
    let mut state = PlanState::default();
    state.record(&plan, "a", Sample::Failure, at(0));
    assert_eq!(state.permit(&plan, "a", &[], at(100)), Permit::Granted);
    assert_eq!(state.permit(&plan, "a", &[], at(100)), Permit::Open);
    state.give_back("a", at(100));
    assert_eq!(state.permit(&plan, "a", &[], at(101)), Permit::Granted);
    assert_eq!(state.permit(&plan, "a", &[], at(200)), Permit::Open);
    assert_eq!(state.permit(&plan, "a", &[], at(201)), Permit::Granted);
}

#[test]
fn a_rate_limit_slides_and_has_no_effect_on_the_breaker() {
    let plan = of(
        &[("a", ", rate_limit: {max_per_second: 2, max_per_minute: 3}")],
        "",
    );
    let mut state = PlanState::default();
    for (now, expected) in [
        (0, Permit::Granted),
        (400, Permit::Granted),
        (999, Permit::Limited),
        (1_000, Permit::Granted),
        (2_000, Permit::Limited),
        (59_999, Permit::Limited),
        (60_000, Permit::Granted),
    ] {
        assert_eq!(state.permit(&plan, "a", &[], at(now)), expected, "{now}");
    }
    assert_eq!(
        state.view(&plan, at(60_000))[0].breaker,
        BreakerView::Closed
    );
    let never = of(&[("a", ", rate_limit: {max_per_hour: 0}")], "");
    assert_eq!(
        PlanState::default().permit(&never, "a", &[], at(0)),
        Permit::Limited
    );
}

#[test]
fn a_limited_look_does_not_take_a_probe() {
    let plan = of(
        &[(
            "a",
            ", breaker: {failure_threshold: 1, cooldown_ms: 100, half_open_max_calls: 1}, rate_limit: {max_per_second: 1}",
        )],
        "",
    );
    let mut state = PlanState::default();
    assert_eq!(state.permit(&plan, "a", &[], at(0)), Permit::Granted);
    state.record(&plan, "a", Sample::Failure, at(0));
    assert_eq!(state.permit(&plan, "a", &[], at(100)), Permit::Limited);
    assert_eq!(
        state.view(&plan, at(100))[0].breaker,
        BreakerView::HalfOpen { calls: 0 }
    );
    assert_eq!(state.permit(&plan, "a", &[], at(1_000)), Permit::Granted);
}

#[test]
fn attempts_are_counted_over_the_last_second_minute_and_hour() {
    let plan = of(&[("a", "")], "");
    let mut state = PlanState::default();
    for now in [0, 100_000, 3_000_000, 3_059_500, 3_060_000] {
        assert_eq!(state.permit(&plan, "a", &[], at(now)), Permit::Granted);
    }
    let view = &state.view(&plan, at(3_060_000))[0];
    assert_eq!(
        (view.last_second, view.last_minute, view.last_hour),
        (2, 3, 5)
    );
    let view = &state.view(&plan, at(9_000_000))[0];
    assert_eq!(
        (view.last_second, view.last_minute, view.last_hour),
        (0, 0, 0)
    );
}

/// The check of the contract: one that failed ten of ten, its breaker open, against a clean one.
#[test]
fn health_weighs_answers_and_successes_and_the_breaker() {
    let plan = of(
        &[("a", ""), ("b", "")],
        ", selection: health-weighted, health: {window_ms: 1000, decay: 0.5, min_samples: 10}",
    );
    let mut state = PlanState::default();
    for _ in 0..9 {
        state.record(&plan, "a", Sample::Failure, at(0));
    }
    // Too few samples: by priority.
    assert_eq!(order(&mut state, &plan, at(0), 0), ["a", "b"]);
    state.record(&plan, "a", Sample::Failure, at(0));
    assert_eq!(order(&mut state, &plan, at(0), 0), ["b", "a"]);
    let view = state.view(&plan, at(0));
    assert_eq!(
        (view[0].api_rate, view[0].business_rate, view[0].samples),
        (1.0, 0.0, 10)
    );
    assert!(
        (view[0].score - 0.07).abs() < 1e-9 && view[0].score <= 0.1,
        "{}",
        view[0].score
    );
    assert!((view[1].score - 1.0).abs() < 1e-9);
    // Samples outside of the window are forgotten.
    assert_eq!(state.view(&plan, at(1_001))[0].samples, 0);
    assert_eq!(order(&mut state, &plan, at(1_001), 0), ["a", "b"]);
}

#[test]
fn the_newest_sample_weighs_one_and_each_older_one_by_its_rank_less() {
    let plan = of(&[("a", "")], ", health: {decay: 0.5, min_samples: 1}");
    let mut state = PlanState::default();
    // Oldest to newest: the weights are 1/8, 1/4, 1/2 and 1.
    for sample in [
        Sample::Success,
        Sample::NoAnswer,
        Sample::Failure,
        Sample::Other,
    ] {
        state.record(&plan, "a", sample, at(0));
    }
    let view = &state.view(&plan, at(0))[0];
    let (api, business) = ((0.125 + 0.5 + 1.0) / 1.875, 0.125 / 1.875);
    assert!((view.api_rate - api).abs() < 1e-9, "{view:?}");
    assert!((view.business_rate - business).abs() < 1e-9, "{view:?}");
    assert!(
        (view.score - (0.7 * api + 0.3 * business)).abs() < 1e-9,
        "{view:?}"
    );
}

#[test]
fn nothing_from_while_the_clock_was_ahead_counts_once_it_is_right() {
    let plan = of(
        &[(
            "a",
            ", rate_limit: {max_per_second: 1, max_per_minute: 20000}, \
             breaker: {failure_threshold: 1, cooldown_ms: 1000}",
        )],
        ", cache: {key: k, ttl_ms: 100}",
    );
    let mut state = PlanState::default();
    let ahead = at(30 * 86_400_000);
    assert_eq!(state.permit(&plan, "a", &[], ahead), Permit::Granted);
    state.record(&plan, "a", Sample::Failure, ahead);
    state.keep(&plan, "k", "{}".into(), ahead);
    assert_ne!(state.permit(&plan, "a", &[], ahead), Permit::Granted);
    let chosen = state.choose(&plan, Some("k"), at(0), 0);
    assert!(!matches!(chosen, Chosen::Cached { .. }), "{chosen:?}");
    let view = &state.view(&plan, at(0))[0];
    assert_eq!((view.last_second, view.last_minute), (0, 0));
    assert_eq!(state.permit(&plan, "a", &[], at(0)), Permit::Granted);
}

#[test]
fn outputs_are_cached_until_their_time_or_an_event() {
    let plan = of(
        &[("a", "")],
        ", cache: {key: k, ttl_ms: 100, invalidate_on: [refund]}",
    );
    let mut state = PlanState::default();
    let hit = |state: &mut PlanState, now| {
        matches!(
            state.choose(&plan, Some("k"), now, 0),
            Chosen::Cached { .. }
        )
    };
    assert!(!hit(&mut state, at(0)));
    state.keep(&plan, "k", "{}".into(), at(0));
    assert!(hit(&mut state, at(99)));
    assert!(!hit(&mut state, at(100)));
    state.keep(&plan, "k", "{}".into(), at(200));
    state.invalidate(&plan, &["other".into()].into());
    assert!(hit(&mut state, at(201)));
    state.invalidate(&plan, &["another".into(), "refund".into()].into());
    assert!(!hit(&mut state, at(201)));
    for key in 0..2_000 {
        state.keep(&plan, &key.to_string(), "{}".into(), at(300));
    }
    assert_eq!(state.cache_entries(at(300)), 1_000);
    let large: Arc<str> = "x".repeat(10 << 20).into();
    state.keep(&plan, "one", Arc::clone(&large), at(301));
    state.keep(&plan, "two", large, at(302));
    assert_eq!(state.cache_entries(at(302)), 1);
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 40, ..ProptestConfig::default() })]

    /// However attempts come, no window has more of them than its limit.
    #[test]
    fn a_rate_limit_is_never_exceeded(
        limit in 1_u32..6,
        gaps in proptest::collection::vec(0_i64..800, 1..80),
    ) {
        let plan = of(&[("a", &format!(", rate_limit: {{max_per_second: {limit}}}"))], "");
        let mut state = PlanState::default();
        let (mut now, mut granted) = (0, Vec::new());
        for gap in gaps {
            now += gap;
            let expected = granted.iter().filter(|then| now - **then < 1_000).count();
            let permit = state.permit(&plan, "a", &[], at(now));
            prop_assert_eq!(permit == Permit::Granted, expected < limit as usize);
            if permit == Permit::Granted {
                granted.push(now);
            }
        }
    }

    /// A limit that is too large to be counted exactly is not exceeded either.
    #[test]
    fn a_large_rate_limit_is_never_exceeded(gaps in proptest::collection::vec(0_i64..40_000, 100..150)) {
        let limit = RateLimit { per_second: Some(EXACT_MAX + 1), ..RateLimit::default() };
        let mut attempts = Attempts::default();
        let (mut now, mut granted) = (0, std::collections::VecDeque::new());
        for gap in gaps {
            now += gap;
            for _ in 0..200 {
                let then = Timestamp::from_micros(now);
                if !attempts.are_full(&limit, then) {
                    attempts.count(&limit, then);
                    granted.push_back(now);
                }
            }
            while granted.front().is_some_and(|then| now - then >= 1_000_000) {
                granted.pop_front();
            }
            prop_assert!(granted.len() <= EXACT_MAX as usize + 1);
        }
    }

    /// Whatever is recorded, a score is from 0 to 1.
    #[test]
    fn scores_are_from_0_to_1(samples in proptest::collection::vec(0_usize..4, 0..50), decay in 1_u32..=100) {
        let plan = of(&[("a", "")], &format!(", health: {{decay: {}}}", f64::from(decay) / 100.0));
        let all = [Sample::Success, Sample::Other, Sample::Failure, Sample::NoAnswer];
        let mut state = PlanState::default();
        for (at_ms, sample) in samples.into_iter().enumerate() {
            state.record(&plan, "a", all[sample], at(i64::try_from(at_ms).expect("small")));
            let view = &state.view(&plan, at(100))[0];
            prop_assert!((0.0..=1.0).contains(&view.score), "{view:?}");
        }
    }

    #[test]
    fn every_selection_is_an_order_of_all_executors(seed in any::<u64>(), selection in 0_usize..4) {
        let selection = ["static-order", "round-robin", "random", "health-weighted"][selection];
        let plan = of(&THREE, &format!(", selection: {selection}, health: {{min_samples: 1}}"));
        let mut state = PlanState::default();
        state.record(&plan, "a", Sample::Failure, at(0));
        let mut names = order(&mut state, &plan, at(0), seed);
        names.sort();
        prop_assert_eq!(names, ["a", "b", "c"]);
    }
}
