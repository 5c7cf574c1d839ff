//! What a step runs (`orchestration.md` 1.3, `runs.md` §6).

use std::fmt;

use crate::program::{EntityStep, Target};

impl EntityStep {
    pub const ALL: [(&str, Self); 6] = [
        ("create", Self::Create),
        ("update", Self::Update),
        ("transition", Self::Transition),
        ("get", Self::Get),
        ("search", Self::Search),
        ("await", Self::Await),
    ];
}

impl Target {
    /// # Errors
    /// What is wrong with the text, and what would be right.
    pub fn parse(text: &str) -> Result<Self, String> {
        const FORMS: &str =
            "@actions/<name>, @plan/<name>, @workflow/<name>[:<version>] and @entity/<operation>";
        let Some((prefix, name)) = text.split_once('/') else {
            return Err(format!("\"{text}\" is not a target; targets are {FORMS}"));
        };
        if name.is_empty() {
            return Err(format!("\"{text}\" names nothing after the slash"));
        }
        match prefix {
            "@actions" => Ok(Self::Action(name.into())),
            "@plan" => Ok(Self::Plan(name.into())),
            "@workflow" if name.starts_with(':') => {
                Err(format!("\"{text}\" names no workflow before the colon"))
            }
            "@workflow" => Ok(Self::Child(name.into())),
            "@entity" => {
                let known = EntityStep::ALL.iter().find(|(word, _)| *word == name);
                known.map(|(_, step)| Self::Entity(*step)).ok_or_else(|| {
                    let words: Vec<_> = EntityStep::ALL.iter().map(|(word, _)| *word).collect();
                    format!(
                        "\"{name}\" is not an entity operation; there are {}",
                        words.join(", ")
                    )
                })
            }
            _ => Err(format!(
                "\"{prefix}/\" is not a kind of target; targets are {FORMS}"
            )),
        }
    }
}

impl fmt::Display for Target {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Action(name) => write!(f, "@actions/{name}"),
            Self::Plan(name) => write!(f, "@plan/{name}"),
            Self::Child(name) => write!(f, "@workflow/{name}"),
            Self::Entity(step) => {
                let word = EntityStep::ALL.iter().find(|(_, known)| known == step);
                write!(f, "@entity/{}", word.map_or("", |(word, _)| word))
            }
            // No document says so.
            Self::Tick => f.write_str("@tick"),
        }
    }
}
