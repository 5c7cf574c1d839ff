//! Random sagas, as the files that describe them.

use std::fmt::Write as _;

use crate::support::Random;

/// What a step leaves behind, unless it is undone.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Effect {
    /// A row of the first database.
    Row,
    /// A row of the second one.
    Note,
    /// A charge at an HTTP server.
    Charge,
    /// An entity.
    Thing,
    /// A lock that a compute member keeps.
    Lock,
}

/// What a step waits for before it calls.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Pause {
    No,
    Delay,
    /// A signal that a client sends.
    Signal,
    /// A signal that nobody sends: the saga times out.
    Silence,
}

#[derive(Debug, Clone)]
pub(super) struct Step {
    pub(super) name: &'static str,
    pub(super) effect: Effect,
    pub(super) pause: Pause,
    pub(super) skips: bool,
    /// Whether its call has little time, so that it may succeed too late.
    pub(super) is_hasty: bool,
}

#[derive(Debug, Clone)]
pub(super) struct Saga {
    pub(super) name: String,
    pub(super) steps: Vec<Step>,
    /// Whether it has little time as a whole.
    pub(super) is_hasty: bool,
}

/// Where the systems are.
pub(super) struct Systems {
    pub(super) rows: String,
    pub(super) notes: String,
    pub(super) bank: String,
}

const NAMES: [&str; 6] = ["a", "b", "c", "d", "e", "f"];

impl Step {
    fn random(random: &mut Random, name: &'static str) -> Self {
        let effects = [
            Effect::Row,
            Effect::Note,
            Effect::Charge,
            Effect::Thing,
            Effect::Lock,
        ];
        let effect = *random.pick(&effects);
        let pause = match random.below(20) {
            0..4 => Pause::Delay,
            4..8 => Pause::Signal,
            8 => Pause::Silence,
            _ => Pause::No,
        };
        // A step that is skipped and succeeds too late is neither done nor undone for certain.
        let is_slow = matches!(effect, Effect::Charge | Effect::Lock);
        let skips = random.chance(15);
        Self {
            name,
            effect,
            pause,
            skips,
            is_hasty: is_slow && !skips && pause == Pause::No && random.chance(30),
        }
    }

    /// Whether it can be made to fail: an entity is created in any case.
    pub(super) fn can_fail(&self) -> bool {
        self.effect != Effect::Thing
    }

    fn hcl(&self) -> String {
        let name = self.name;
        let mut text = format!("  step \"{name}\" {{\n");
        text.push_str(match self.pause {
            Pause::No if self.is_hasty => "    timeout = \"50ms\"\n",
            Pause::No => "",
            Pause::Delay => "    delay = \"30ms\"\n",
            Pause::Signal => "    await = \"go\"\n    timeout = \"1h\"\n",
            Pause::Silence => "    await = \"never\"\n    timeout = \"100ms\"\n",
        });
        if self.skips {
            text.push_str("    on_error = \"skip\"\n");
        }
        let id = format!("id = \"input.id + ':{name}'\"");
        let data = format!("{{ {id}, step = \"{name}\", bad = \"input.bad\" }}");
        let (connector, action, undo) = match self.effect {
            Effect::Row | Effect::Note => {
                let target = "target = \"effects\"";
                (
                    if self.effect == Effect::Row {
                        "rows"
                    } else {
                        "notes"
                    },
                    format!("operation = \"UPSERT\"\n      {target}\n      data = {data}"),
                    format!("operation = \"DELETE\"\n      {target}\n      where = {{ {id} }}"),
                )
            }
            Effect::Charge => (
                "bank",
                format!("operation = \"POST /charges\"\n      body = {data}"),
                format!("operation = \"POST /refunds\"\n      body = {data}"),
            ),
            Effect::Lock => (
                "ledger",
                format!("operation = \"POST /locks\"\n      body = {data}"),
                format!("operation = \"POST /releases\"\n      body = {data}"),
            ),
            Effect::Thing => {
                let target = "target = \"thing/1\"";
                let by_id = format!("where = {{ id = \"step.{name}.id\" }}");
                (
                    "things",
                    format!("operation = \"INSERT\"\n      {target}\n      data = {{ {id} }}"),
                    format!("operation = \"DELETE\"\n      {target}\n      {by_id}"),
                )
            }
        };
        for (block, call) in [("action", action), ("compensate", undo)] {
            let _ = write!(
                text,
                "    {block} {{\n      connector = \"{connector}\"\n      {call}\n    }}\n"
            );
        }
        text.push_str("  }\n");
        text
    }
}

impl Saga {
    pub(super) fn random(random: &mut Random, number: usize) -> Self {
        let count = 2 + random.below(4);
        let mut steps: Vec<Step> = NAMES[..count]
            .iter()
            .map(|name| Step::random(random, name))
            .collect();
        // Something is there to be undone.
        steps[0].pause = Pause::No;
        Self {
            name: format!("saga{number}"),
            steps,
            is_hasty: random.chance(20),
        }
    }

    pub(super) fn waits_for_signals(&self) -> bool {
        self.steps.iter().any(|step| step.pause == Pause::Signal)
    }

    pub(super) fn step(&self, name: &str) -> Option<&Step> {
        self.steps.iter().find(|step| step.name == name)
    }

    fn hcl(&self) -> String {
        let mut text = format!("saga \"{}\" {{\n", self.name);
        if self.is_hasty {
            text.push_str("  timeout = \"250ms\"\n");
        }
        for step in &self.steps {
            text.push_str(&step.hcl());
        }
        for (block, more) in [
            ("on_complete", ""),
            ("on_failure", ", reason = \"error.message\""),
        ] {
            let data = format!("{{ id = \"input.id\", block = \"{block}\"{more} }}");
            let _ = write!(
                text,
                "  {block} {{\n    connector = \"rows\"\n    operation = \"UPSERT\"\n    target = \
                 \"ends\"\n    data = {data}\n  }}\n"
            );
        }
        text.push_str("}\n");
        text
    }
}

/// The file of all of them.
pub(super) fn hcl(sagas: &[Saga], systems: &Systems) -> String {
    let Systems { rows, notes, bank } = systems;
    let mut text = String::new();
    for (name, path) in [("rows", rows), ("notes", notes)] {
        let _ = write!(
            text,
            "connector \"{name}\" {{\n  type = \"database\"\n  driver = \"sqlite\"\n  database = \
             \"{path}\"\n}}\n"
        );
    }
    let _ = write!(
        text,
        "connector \"bank\" {{\n  type = \"http\"\n  base_url = \"{bank}\"\n  retry {{\n    \
         attempts = 8\n  }}\n}}\n"
    );
    text.push_str("connector \"things\" {\n  type = \"entity\"\n}\n");
    text.push_str("connector \"ledger\" {\n  type = \"ledger\"\n}\n");
    for saga in sagas {
        text.push_str(&saga.hcl());
    }
    text
}
