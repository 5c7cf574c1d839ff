//! Random sagas, as the file that describes them.
#![cfg(test)]

use std::fmt::Write as _;

use super::super::random::Random;

pub(super) const SAGAS: [&str; 4] = ["one", "two", "three", "four"];

const STEPS: [&str; 5] = ["a", "b", "c", "d", "e"];

pub(super) fn hcl(random: &mut Random) -> String {
    let mut text =
        "connector \"ledger\" {\n type = \"ledger\"\n}\nconnector \"things\" {\n type = \
                    \"entity\"\n}\n"
            .to_owned();
    for name in SAGAS {
        let _ = writeln!(text, "saga \"{name}\" {{");
        if random.chance(25) {
            let _ = writeln!(text, "timeout = \"{}ms\"", random.between(200, 900));
        }
        let count = usize::try_from(random.between(1, 5)).expect("small");
        for step in &STEPS[..count] {
            text.push_str(&step_of(random, step));
        }
        for block in ["on_complete", "on_failure"] {
            if random.chance(40) {
                let _ = writeln!(
                    text,
                    "{block} {{\n connector = \"ledger\"\n operation = \"POST /{block}\"\n body = \
                     {{ id = \"input.id\" }}\n}}"
                );
            }
        }
        text.push_str("}\n");
    }
    text
}

fn step_of(random: &mut Random, name: &str) -> String {
    let mut text = format!("step \"{name}\" {{\n");
    let is_entity = random.chance(30);
    match random.below(10) {
        0 | 1 => {
            let _ = writeln!(text, "delay = \"{}ms\"", random.between(1, 300));
        }
        2 | 3 => {
            text.push_str("await = \"go\"\n");
            if random.chance(50) {
                let _ = writeln!(text, "timeout = \"{}ms\"", random.between(50, 600));
            }
        }
        4 | 5 if !is_entity => {
            let _ = writeln!(text, "timeout = \"{}ms\"", random.between(100, 200));
        }
        _ => {}
    }
    if random.chance(15) {
        text.push_str("on_error = \"skip\"\n");
    }
    let id = format!("id = \"input.id + ':{name}'\"");
    let (action, undo) = if is_entity {
        (
            format!(
                "connector = \"things\"\n operation = \"INSERT\"\n target = \"thing/1\"\n data = {{ {id} }}"
            ),
            format!(
                "connector = \"things\"\n operation = \"DELETE\"\n target = \"thing/1\"\n where = {{ id = \"step.{name}.id\" }}"
            ),
        )
    } else {
        let call = |path| {
            format!("connector = \"ledger\"\n operation = \"POST /{path}\"\n body = {{ {id} }}")
        };
        (call("locks"), call("releases"))
    };
    let _ = writeln!(
        text,
        "action {{\n {action}\n}}\ncompensate {{\n {undo}\n}}\n}}"
    );
    text
}
