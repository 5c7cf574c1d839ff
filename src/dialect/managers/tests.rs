//! Ticks against the documentation, and against a small model that is slow and obviously right.

use std::collections::{BTreeMap, BTreeSet};

use super::{
    FilePath, ItemRef, Manager, ManagerStatus, Registry, Seen, StateFile, Work, WorkStatus,
};
use crate::dialect::flo::generate::Chance;

const FILE: &str = "com.finmars.standard-workflow:workflow-manager-20240821095322.json";

/// A manager of workers with items of these statuses.
fn manager(workers: &[(&str, &[&str])]) -> Manager {
    let workers = workers.iter().enumerate().map(|(order, (status, items))| {
        let items = items.iter().enumerate().map(|(at, status)| {
            format!("{{\"status\": \"{status}\", \"state_path\": \"/states/{order}/{at}\"}}")
        });
        let items: Vec<_> = items.collect();
        format!(
            "{{\"order\": {order}, \"configuration_code\": \"org.acme\", \"user_code\": \"w{order}\", \
             \"status\": \"{status}\", \"items\": [{}]}}",
            items.join(", ")
        )
    });
    let workers: Vec<_> = workers.collect();
    let text = format!(
        "{{\"status\": \"in-progress\", \"workers\": [{}]}}",
        workers.join(", ")
    );
    Manager::read(&text).expect("a manager")
}

/// The statuses of a manager, its workers and their items.
fn shown(manager: &Manager) -> (&'static str, Vec<(&'static str, Vec<&'static str>)>) {
    let workers = manager.workers.iter().map(|worker| {
        let items = worker.items.iter().map(|item| item.status.as_str());
        (worker.status.as_str(), items.collect())
    });
    (manager.status.as_str(), workers.collect())
}

/// Ticks as if everything could be started, and reads what was written.
fn tick(manager: &Manager, seen: &BTreeMap<ItemRef, Seen>) -> (Manager, Vec<ItemRef>) {
    let mut manager = manager.clone();
    let starts = manager.tick(FILE, seen).now;
    for start in &starts {
        manager.started(
            start.of,
            &format!("run-{}-{}", start.of.worker, start.of.item),
        );
    }
    let started = starts.into_iter().map(|start| start.of).collect();
    let text = manager.edited();
    let read = text.map(|text| Manager::read(&text).expect("still a manager"));
    (read.unwrap_or(manager), started)
}

/// That the work of all items that are in progress has ended so.
fn all(manager: &Manager, state: &StateFile, work: &Work) -> BTreeMap<ItemRef, Seen> {
    let seen = Seen {
        state: state.clone(),
        work: work.clone(),
    };
    let awaited = manager.awaited().into_iter();
    awaited.map(|of| (of, seen.clone())).collect()
}

#[test]
fn workers_come_in_order_and_the_items_of_one_side_by_side() {
    let running = |manager: &Manager| all(manager, &StateFile::Absent, &Work::Running);
    let ended = |manager: &Manager| all(manager, &StateFile::Absent, &Work::Completed);
    let to_do = &["to-do", "to-do", "to-do"][..];
    let begun = manager(&[("to-do", to_do), ("to-do", &["to-do"])]);
    // The first item alone, the others at the next tick.
    let (now, started) = tick(&begun, &running(&begun));
    assert_eq!(started.len(), 1);
    assert_eq!(
        shown(&now),
        (
            "in-progress",
            vec![
                ("in-progress", vec!["in-progress", "to-do", "to-do"]),
                ("to-do", vec!["to-do"])
            ]
        )
    );
    let (now, started) = tick(&now, &running(&now));
    assert_eq!(started.len(), 2);
    let (same, started) = tick(&now, &running(&now));
    assert!(started.is_empty());
    assert_eq!(shown(&same), shown(&now));
    // The next worker begins in the tick that finishes the one before.
    let (now, started) = tick(&now, &ended(&now));
    assert_eq!(started, [ItemRef { worker: 1, item: 0 }]);
    assert_eq!(shown(&now).1[0], ("success", vec!["success"; 3]));
    let (now, _) = tick(&now, &ended(&now));
    assert_eq!(shown(&now).0, "done");
    let (_, started) = tick(&now, &ended(&now));
    assert!(started.is_empty());
}

#[test]
fn a_worker_that_failed_holds_up_those_after_it() {
    let of = manager(&[
        ("in-progress", &["success", "in-progress"]),
        ("to-do", &["to-do"]),
    ]);
    let seen = all(
        &of,
        &StateFile::Absent,
        &Work::Failed("it broke".to_owned()),
    );
    let (now, started) = tick(&of, &seen);
    assert!(started.is_empty());
    assert_eq!(shown(&now).0, "in-progress", "a later worker is to be done");
    assert_eq!(shown(&now).1[0], ("error", vec!["success", "error"]));
    let text = now.edited().unwrap_or_default();
    assert!(text.is_empty(), "nothing more is to be written: {text}");
    let (again, started) = tick(&now, &BTreeMap::new());
    assert!(started.is_empty());
    assert_eq!(shown(&again), shown(&now));
    let alone = manager(&[("in-progress", &["in-progress"])]);
    let seen = all(&alone, &StateFile::Absent, &Work::Failed("no".to_owned()));
    assert_eq!(shown(&tick(&alone, &seen).0).0, "error");
}

#[test]
fn workers_that_people_left_out_are_passed_over() {
    let of = manager(&[
        ("skip", &["to-do"]),
        ("ignore", &["in-progress"]),
        ("success", &[]),
        ("to-do", &[]),
        ("to-do", &["skip", "ignore"]),
        ("to-do", &["skip", "to-do", "success"]),
    ]);
    let (now, started) = tick(&of, &BTreeMap::new());
    assert_eq!(started, [ItemRef { worker: 5, item: 1 }]);
    let statuses: Vec<_> = shown(&now).1.iter().map(|(status, _)| *status).collect();
    assert_eq!(
        statuses,
        [
            "skip",
            "ignore",
            "success",
            "success",
            "skip",
            "in-progress"
        ]
    );
    for status in ["paused", "done", "error", "to-do"] {
        let text = format!("{{\"status\": \"{status}\", \"workers\": []}}");
        let mut other = Manager::read(&text).expect("a manager");
        assert!(other.tick(FILE, &BTreeMap::new()).now.is_empty());
        assert_eq!(other.edited(), None, "{status}");
    }
}

#[test]
fn the_state_file_counts_and_then_the_end_of_the_work() {
    let says = |status| StateFile::Says(status, None);
    let failed = || Work::Failed("it broke".to_owned());
    for (state, work, item) in [
        (StateFile::Absent, Work::Running, "in-progress"),
        (StateFile::Absent, Work::None, "in-progress"),
        (StateFile::Absent, Work::Completed, "success"),
        (StateFile::Absent, failed(), "error"),
        (StateFile::Absent, Work::Gone, "error"),
        (says(WorkStatus::InProgress), Work::Running, "in-progress"),
        (says(WorkStatus::InProgress), Work::Completed, "success"),
        (says(WorkStatus::InProgress), failed(), "error"),
        (says(WorkStatus::ToDo), Work::Running, "in-progress"),
        (says(WorkStatus::Success), Work::Running, "success"),
        (says(WorkStatus::Success), failed(), "success"),
        (says(WorkStatus::Skip), Work::Running, "skip"),
        (says(WorkStatus::Ignore), Work::Running, "ignore"),
        (says(WorkStatus::Error), Work::Completed, "error"),
        (StateFile::nonsense("it is"), Work::Running, "error"),
    ] {
        let of = manager(&[("in-progress", &["in-progress"])]);
        let (now, _) = tick(&of, &all(&of, &state, &work));
        assert_eq!(shown(&now).1[0].1, [item], "{state:?} {work:?}");
    }
}

#[test]
fn state_files_are_read_and_what_is_nonsense_is_said() {
    for (content, read) in [
        (
            "{\"status\": \"success\"}",
            StateFile::Says(WorkStatus::Success, None),
        ),
        (
            "{\"status\": \"done\", \"error\": null}",
            StateFile::Says(WorkStatus::Success, None),
        ),
        (
            "{\"error\": {\"code\": 1.50}, \"status\": \"error\"}",
            StateFile::Says(WorkStatus::Error, Some("{\"code\": 1.50}".into())),
        ),
    ] {
        assert_eq!(StateFile::read(content), read);
    }
    for content in [
        "",
        "[]",
        "{",
        "{}",
        "{\"status\": 1}",
        "{\"status\": \"paused\"}",
    ] {
        assert!(
            matches!(StateFile::read(content), StateFile::Nonsense(_)),
            "{content}"
        );
    }
    assert_eq!(
        StateFile::begun_again("{\"status\": \"error\", \"n\": 1.0, \"error\": \"no\"}").as_deref(),
        Some("{\"status\": \"in-progress\", \"n\": 1.0, \"error\": null}")
    );
    assert_eq!(StateFile::begun_again("{\"status\": \"to-do\"}"), None);
    assert_eq!(StateFile::begun_again("{"), None);
}

/// Items may share a state file, so that a long reason would be written for each.
#[test]
fn long_reasons_are_cut_so_that_the_next_tick_can_read_the_manager() {
    let written = |items: usize, state: &StateFile| {
        let of = manager(&[("in-progress", &vec!["in-progress"; items])]);
        let mut ended = of.clone();
        ended.tick(FILE, &all(&of, state, &Work::Running));
        let text = ended.edited().expect("the reasons");
        let json: serde_json::Value = serde_json::from_str(&text).expect("JSON");
        let error = json["workers"][0]["items"][0]["error"].as_str();
        (text.len(), error.expect("a text").to_owned())
    };
    let long = "é".repeat(1 << 19);
    let object = format!("{{\"status\": \"error\", \"error\": {{\"why\": \"{long}\"}}}}");
    let text = format!("{{\"status\": \"error\", \"error\": \"{long}\"}}");
    let signs = format!(
        "{{\"status\": \"error\", \"error\": \"{}\"}}",
        "\\u0001".repeat(1 << 17)
    );
    let status = format!("{{\"status\": \"{long}\"}}");
    for (content, begin) in [
        (&object, "{\"why\": \"éé"),
        (&text, "éé"),
        (&signs, "\u{1}\u{1}"),
        (&status, "the state file has the unknown status `éé"),
    ] {
        let state = StateFile::read(content);
        let (length, error) = written(1, &state);
        assert!(error.starts_with(begin) && error.ends_with('…'), "{error}");
        assert!((600..5_000).contains(&length), "{length}");
        let (length, error) = written(20_000, &state);
        assert!(error.starts_with(begin) && error.ends_with('…'), "{error}");
        assert!(length < 12 << 20, "{length}");
    }
    let work = Work::failed(&long);
    assert!(matches!(work, Work::Failed(why) if why.len() < 5_000));
}

#[test]
fn documents_stay_as_people_wrote_them() {
    let text = r#"{
  "note": "kept", "amount": 1.500,
  "status": "in-progress",
  "workers": [
    {"user_code": "b", "configuration_code": "org.acme", "order": 2, "status": "to-do", "x": 1e2},
    {
      "order": 1, "configuration_code": "org.acme", "user_code": "a",
      "status": "done",
      "items": [{"status": "done", "state_path": "/s/1"}]
    },
    {"order": 2, "configuration_code": "org.acme", "user_code": "c", "status": "to-do",
     "state": {"first": {"state_path": "/s/2", "n": 0.10}, "second": {"status": "to-do", "state_path": "/s/3"}}},
    {"configuration_code": "org.acme", "user_code": "d", "state": {"state_path": "/s/4", "status": "skip"}}
  ]
}"#;
    let mut of = Manager::read(text).expect("a manager");
    let targets: Vec<_> = of
        .workers
        .iter()
        .map(|worker| worker.target.clone())
        .collect();
    let named = |name: &str| Ok(format!("org.acme:{name}"));
    assert_eq!(targets, [named("a"), named("b"), named("c"), named("d")]);
    let items: Vec<_> = of.workers.iter().map(|worker| worker.items.len()).collect();
    assert_eq!(items, [1, 0, 2, 1]);
    assert_eq!(of.workers[2].items[0].name.as_deref(), Some("first"));
    let starts = of.tick(FILE, &BTreeMap::new()).now;
    assert_eq!(starts.len(), 1);
    of.started(starts[0].of, "wfrun-1");
    let expected = text
        .replace(
            "\"status\": \"to-do\", \"x\"",
            "\"status\": \"success\", \"x\"",
        )
        .replace(
            "\"user_code\": \"c\", \"status\": \"to-do\"",
            "\"user_code\": \"c\", \"status\": \"in-progress\"",
        )
        .replace(
            "\"n\": 0.10}",
            "\"n\": 0.10, \"status\": \"in-progress\", \"workflow_id\": \"wfrun-1\"}",
        );
    assert_eq!(of.edited(), Some(expected));
}

#[test]
fn items_are_started_in_groups_of_limited_size() {
    let of = |options: usize, items: usize| {
        let item = r#"{"status": "to-do", "state_path": "/s"}"#;
        let text = format!(
            r#"{{"status": "in-progress", "workers": [{{"status": "in-progress",
            "configuration_code": "c", "user_code": "u", "import_options": {{"o": "{}"}},
            "items": [{}]}}]}}"#,
            "x".repeat(options),
            vec![item; items].join(",")
        );
        Manager::read(&text).expect("a manager")
    };
    for (options, items, groups) in [
        (0, 1_000, &[1_000][..]),
        (0, 2_001, &[1_000, 1_000, 1]),
        (1_500_000, 5, &[2, 2, 1]),
        (5_000_000, 2, &[1, 1]),
    ] {
        let mut manager = of(options, items);
        for (at, expected) in groups.iter().enumerate() {
            let starts = manager.tick(FILE, &BTreeMap::new());
            assert_eq!(starts.now.len(), *expected, "{options} {items}");
            assert_eq!(starts.are_more, at + 1 < groups.len(), "{options} {items}");
            assert_eq!(manager.workers[0].status, WorkStatus::InProgress);
        }
        assert!(manager.tick(FILE, &BTreeMap::new()).now.is_empty());
    }
}

#[test]
fn the_payload_is_that_of_the_item_or_the_options_of_its_worker() {
    let text = r#"{"status": "in-progress", "workers": [{"order": 7, "configuration_code": "c", "user_code": "u",
        "download_options": {"a": 1.50, "b": 1}, "import_options": {"b": [2]}, "state_options": null,
        "items": [
            {"status": "to-do", "state_path": "/s"},
            {"status": "to-do", "state_path": "/s", "payload": {"n": 12345678901234567890, "item": "own"}},
            {"status": "to-do", "state_path": "/s", "payload": [1]}
        ]}]}"#;
    let of = Manager::read(text).expect("a manager");
    let worker = &of.workers[0];
    assert_eq!(
        of.payload("m.json", worker, 0).as_deref(),
        Ok(r#"{"a":1.50,"b":[2],"state_path":"/s","manager":"m.json","worker":7,"item":0}"#)
    );
    assert_eq!(
        of.payload("m.json", worker, 1).as_deref(),
        Ok(
            r#"{"n":12345678901234567890,"item":1,"state_path":"/s","manager":"m.json","worker":7}"#
        )
    );
    assert!(of.payload("m.json", worker, 2).is_err());
}

#[test]
fn what_is_wrong_with_an_item_ends_it_and_with_more_is_reported() {
    let text = r#"{"status": "in-progress", "workers": [{"order": 1, "configuration_code": "c", "user_code": "u", "status": "in-progress",
        "items": [
            {"status": "bogus", "state_path": "/s"},
            {"status": 1, "state_path": "/s"},
            {"status": "to-do"},
            {"status": "to-do", "state_path": "/../s"},
            {"status": "in-progress", "state_path": 1},
            {"status": "to-do", "state_path": "/s", "payload": "p"},
            {"status": "to-do", "state_path": "/s"}
        ]}]}"#;
    let of = Manager::read(text).expect("a manager");
    let (now, started) = tick(&of, &BTreeMap::new());
    assert_eq!(started, [ItemRef { worker: 0, item: 6 }]);
    let statuses = &shown(&now).1[0].1;
    assert_eq!(statuses[..6], ["error"; 6]);
    for (own, broken) in [
        ("com.finmars.standard-workflow", "workflow-manager"),
        ("", ""),
    ] {
        let codes = if own.is_empty() {
            String::new()
        } else {
            format!("\"configuration_code\": \"{own}\", \"user_code\": \"{broken}\", ")
        };
        let text = format!(
            "{{\"status\": \"in-progress\", \"workers\": [{{{codes}\"items\": [{{\"state_path\": \"/s\"}}]}}]}}"
        );
        let (now, started) = tick(&Manager::read(&text).expect("a manager"), &BTreeMap::new());
        assert!(started.is_empty());
        assert_eq!(shown(&now).1[0].1, ["error"]);
    }
    for broken in [
        "",
        "[]",
        "{",
        "{}",
        "{\"workers\": {}}",
        "{\"workers\": [1]}",
        "{\"status\": \"success\", \"workers\": []}",
        "{\"status\": 1, \"workers\": []}",
        "{\"status\": \"to-do\", \"status\": \"to-do\", \"workers\": []}",
        "{\"workers\": [{\"status\": \"paused\"}]}",
        "{\"workers\": [{\"order\": \"1\"}]}",
        "{\"workers\": [{\"order\": 1.5}]}",
        "{\"workers\": [{\"state_type\": \"weekly\"}]}",
        "{\"workers\": [{\"items\": {}}]}",
        "{\"workers\": [{\"items\": [1]}]}",
        "{\"workers\": [{\"state\": []}]}",
    ] {
        assert!(Manager::read(broken).is_err(), "{broken}");
    }
}

#[test]
fn an_item_cannot_start_its_own_manager() {
    let text = r#"{"status": "in-progress", "configuration_code": "c", "user_code": "m", "workers": [
        {"configuration_code": "c", "user_code": "m", "items": [{"state_path": "/s"}]}]}"#;
    let mut manager = Manager::read(text).expect("a manager");
    assert!(manager.tick(FILE, &BTreeMap::new()).now.is_empty());
    let text = manager.edited().expect("it has changed");
    assert!(text.contains("a manager cannot start managers"), "{text}");
}

#[test]
fn the_registry_has_each_file_in_one_list() {
    let done = Some(ManagerStatus::Done);
    let files = |files: &[(&str, super::Filed)]| {
        let files = files
            .iter()
            .map(|(name, filed)| ((*name).to_owned(), *filed));
        files.collect::<BTreeMap<_, _>>()
    };
    let lists = |registry: &Registry| {
        let lists = registry.lists().map(|(_, names)| names.join(" "));
        lists.collect::<Vec<_>>()
    };
    let text = r#"{"done": ["b", "a", 1, "gone"], "in-progress": ["c", "b", "x"], "paused": {}, "other": []}"#;
    let before = Registry::read(text);
    let after = before.filed(&files(&[
        ("a", done),
        ("b", Some(ManagerStatus::Error)),
        ("c", Some(ManagerStatus::Paused)),
        ("n", Some(ManagerStatus::InProgress)),
        ("m", Some(ManagerStatus::InProgress)),
        ("x", None),
        ("y", None),
    ]));
    assert_eq!(lists(&after), ["y", "x m n", "b a", "c"]);
    assert!(!after.is_written_as(text));
    let written = after.text();
    assert!(after.is_written_as(&written));
    assert_eq!(Registry::read(&written), after);
    for broken in ["", "[]", "{", "{\"to-do\": 1}"] {
        assert_eq!(Registry::read(broken), Registry::default());
    }
    assert_eq!(
        Registry::default().text(),
        "{\n  \"to-do\": [],\n  \"in-progress\": [],\n  \"done\": [],\n  \"paused\": []\n}"
    );
}

/// The statuses of workers and of their items.
type Statuses = Vec<(WorkStatus, Vec<WorkStatus>)>;

/// What a tick makes of the statuses of workers and items, as the documentation says it.
fn model(
    workers: &[(WorkStatus, Vec<WorkStatus>)],
    ends: &dyn Fn(usize, usize) -> WorkStatus,
) -> (Statuses, BTreeSet<(usize, usize)>) {
    use WorkStatus::{Error, InProgress, ToDo};
    let (mut after, mut started) = (workers.to_vec(), BTreeSet::new());
    for (at, (status, items)) in workers.iter().enumerate() {
        if *status == Error {
            break;
        }
        if status.is_finished() {
            continue;
        }
        let mut now = items.clone();
        for (item, now) in now.iter_mut().enumerate() {
            if *now == InProgress {
                *now = ends(at, item);
            }
        }
        let mut first = true;
        for (item, now) in now.iter_mut().enumerate() {
            if *now == ToDo && (first || *status == InProgress) {
                *now = InProgress;
                first = false;
                started.insert((at, item));
            }
        }
        let worker = WorkStatus::of_parts(now.iter().copied());
        after[at] = (worker, now);
        if !worker.is_finished() || worker == Error {
            break;
        }
    }
    (after, started)
}

#[test]
fn ticks_equal_the_model_and_nothing_finished_is_started_again() {
    for seed in 0..3_000 {
        let mut random = Chance(seed);
        let workers: Vec<(WorkStatus, Vec<WorkStatus>)> = (0..random.below(4))
            .map(|_| {
                let items = (0..random.below(4)).map(|_| *random.pick(&WorkStatus::ALL));
                let items = items.collect();
                (*random.pick(&WorkStatus::ALL), items)
            })
            .collect();
        let names: Vec<(&str, Vec<&str>)> = workers
            .iter()
            .map(|(status, items)| {
                let items = items.iter().map(|item| item.as_str());
                (status.as_str(), items.collect())
            })
            .collect();
        let names: Vec<(&str, &[&str])> = names
            .iter()
            .map(|(status, items)| (*status, &items[..]))
            .collect();
        let of = manager(&names);
        let ends: Vec<Vec<WorkStatus>> = workers
            .iter()
            .map(|(_, items)| {
                items
                    .iter()
                    .map(|_| *random.pick(&WorkStatus::ALL[1..]))
                    .collect()
            })
            .collect();
        let end = |worker: usize, item: usize| ends[worker][item];
        let seen = of.awaited().into_iter().map(|of| {
            let state = StateFile::Says(end(of.worker, of.item), None);
            let work = Work::Running;
            (of, Seen { state, work })
        });
        let (now, started) = tick(&of, &seen.collect());
        let (expected, starts) = model(&workers, &end);
        let found: Vec<_> = now
            .workers
            .iter()
            .map(|worker| {
                let items = worker.items.iter().map(|item| item.status);
                (worker.status, items.collect::<Vec<_>>())
            })
            .collect();
        assert_eq!(found, expected, "seed {seed}");
        let started: BTreeSet<_> = started.iter().map(|of| (of.worker, of.item)).collect();
        assert_eq!(started, starts, "seed {seed}");
        for (worker, item) in started {
            let before = workers[worker].1[item];
            assert_eq!(before, WorkStatus::ToDo, "seed {seed}");
        }
        // What has come to rest stays as it is.
        let mut still = now;
        for round in 0.. {
            let seen = all(&still, &StateFile::Absent, &Work::Running);
            let (next, started) = tick(&still, &seen);
            if started.is_empty() {
                assert_eq!(shown(&next), shown(&still), "seed {seed}");
                break;
            }
            assert!(round < 10, "seed {seed}");
            still = next;
        }
    }
}

#[test]
fn whatever_people_write_each_file_is_in_one_list_and_their_order_does_not_matter() {
    let names = ["a", "b", "c", "d", "e"];
    for seed in 0..2_000 {
        let mut random = Chance(seed);
        let lists: Vec<String> = ["to-do", "in-progress", "done", "paused"]
            .iter()
            .map(|list| {
                let listed: Vec<_> = (0..random.below(5))
                    .map(|_| format!("\"{}\"", random.pick(&names)))
                    .collect();
                format!("\"{list}\": [{}]", listed.join(","))
            })
            .collect();
        let text = format!("{{{}}}", lists.join(","));
        let mut managers = BTreeMap::new();
        for name in names {
            let status = match random.below(7) {
                0 => continue,
                1 => None,
                other => Some(ManagerStatus::ALL[other - 2]),
            };
            managers.insert(name.to_owned(), status);
        }
        let filed = Registry::read(&text).filed(&managers);
        let mut found: Vec<&String> = filed.lists().flat_map(|(_, names)| names).collect();
        found.sort();
        assert_eq!(found, managers.keys().collect::<Vec<_>>(), "seed {seed}");
        assert_eq!(filed.filed(&managers), filed, "seed {seed}");
        assert!(filed.is_written_as(&filed.text()), "seed {seed}");
    }
}

#[test]
fn the_documented_examples_are_read() {
    let path = "/states/items/import-20240819.json";
    let text = include_str!("tests/manager.json");
    let mut of = Manager::read(text).expect("a manager");
    assert_eq!(of.status, ManagerStatus::ToDo);
    of.promote();
    let starts = of.tick(FILE, &BTreeMap::new()).now;
    assert_eq!(starts.len(), 1);
    assert_eq!(starts[0].target, "org.acme.flows:import-file");
    assert_eq!(
        starts[0].payload,
        format!(
            "{{\"target\":\"trades\",\"state_path\":\"{path}\",\"manager\":\"{FILE}\",\"worker\":1,\"item\":0}}"
        )
    );
    assert_eq!(
        of.workers[0].items[0].state_path,
        Ok(FilePath::parse(path).expect("a path"))
    );
}

#[test]
fn people_pause_resume_and_have_done_again_what_failed() {
    use super::{Part, UnknownPart};
    let text = r#"{"status": "error", "workers": [
        {"order": 1, "configuration_code": "c", "user_code": "one", "status": "error",
         "items": [{"name": "a", "status": "error", "state_path": "/a", "error": "no"}, {"name": "b", "status": "success", "state_path": "/b"}]},
        {"order": 2, "configuration_code": "c", "user_code": "two", "status": "to-do", "items": [{"name": "c", "status": "to-do", "state_path": "/c"}]}
    ]}"#;
    let of = || Manager::read(text).expect("a manager");
    let name = |name: &str| Part::Name(name.to_owned());
    for (worker, item, reset) in [
        (None, None, Some((0, 0))),
        (Some(Part::Number(1)), None, Some((0, 0))),
        (Some(name("1")), None, Some((0, 0))),
        (Some(name("two")), None, None),
        (Some(name("one")), Some(Part::Number(1)), Some((0, 1))),
        (Some(name("one")), Some(name("b")), Some((0, 1))),
    ] {
        let mut manager = of();
        let done = manager
            .reset(worker.as_ref(), item.as_ref())
            .expect("known");
        let expected = reset.map(|(worker, item)| ItemRef { worker, item });
        assert_eq!(done, Vec::from_iter(expected), "{worker:?} {item:?}");
        let Some(of) = expected else {
            assert_eq!(manager.edited(), None);
            continue;
        };
        let edited = manager.edited().expect("something is written");
        let read = Manager::read(&edited).expect("a manager");
        assert_eq!(read.status, ManagerStatus::InProgress);
        assert_eq!(read.workers[of.worker].status, WorkStatus::InProgress);
        let item = &read.workers[of.worker].items[of.item];
        assert_eq!(item.status, WorkStatus::ToDo);
    }
    let unknown = |worker: Part, item: Option<Part>| {
        let UnknownPart(parameter, _) = of().reset(Some(&worker), item.as_ref()).expect_err("none");
        parameter
    };
    assert_eq!(unknown(name("three"), None), "worker");
    assert_eq!(unknown(name("one"), Some(name("z"))), "item");

    let twice = r#"{"status": "done", "workers": [
        {"order": 1, "user_code": "days", "configuration_code": "c", "status": "success", "items": [
            {"name": "2", "status": "success"}, {"name": "1", "status": "success"},
            {"name": "x", "status": "success"}, {"name": "x", "status": "success"}]},
        {"order": 2, "user_code": "days", "configuration_code": "c", "status": "success", "items": []}
    ]}"#;
    let reset = |worker: Part, item: Part| {
        let mut manager = Manager::read(twice).expect("a manager");
        let places = manager.reset(Some(&worker), Some(&item));
        places.map(|places| places.iter().map(|of| of.item).collect::<Vec<_>>())
    };
    assert_eq!(reset(name("1"), name("1")), Ok(vec![1]), "its name");
    assert_eq!(reset(name("1"), Part::Number(1)), Ok(vec![1]), "its place");
    assert_eq!(reset(name("1"), name("2")), Ok(vec![0]), "its name");
    assert_eq!(
        reset(name("1"), name("3")),
        Ok(vec![3]),
        "no item has this name"
    );
    for (worker, item, parameter, numbers) in [
        (name("1"), name("x"), "item", "2, 3"),
        (name("days"), name("2"), "worker", "1, 2"),
    ] {
        let UnknownPart(about, message) = reset(worker, item).expect_err("several");
        assert_eq!(about, parameter);
        assert!(
            message.contains(&format!("with the numbers {numbers};")),
            "{message}"
        );
    }

    for (before, paused, resumed) in [
        ("to-do", "paused", "to-do"),
        ("in-progress", "paused", "in-progress"),
        ("paused", "paused", "in-progress"),
        ("done", "done", "done"),
        ("error", "error", "error"),
    ] {
        let text = format!("{{\"status\": \"{before}\", \"workers\": []}}");
        let mut manager = Manager::read(&text).expect("a manager");
        manager.resume();
        assert_eq!(manager.status.as_str(), resumed);
        let mut manager = Manager::read(&text).expect("a manager");
        manager.pause();
        assert_eq!(manager.status.as_str(), paused);
    }
}
