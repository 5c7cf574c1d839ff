//! What is told to those who ask for help: topics, over HTTP and on the command line alike.
//!
//! May use: [`crate::error`], [`crate::telemetry`], [`crate::auth`], [`crate::dialect`],
//! [`crate::operation`].
//! A topic is a Markdown file in `topics/` and a row of [`topics`]; its first heading is the
//! title, its first paragraph the synopsis, its second headings the sections. A line that is
//! `{{name}}` stands for a table that is made of the code's own ([`made`]). To add a topic: the
//! file, the row, and a mention in another topic's `see also`.

mod actions;
mod made;
mod render;
mod topics;

use serde_json::{Value, json};

pub use actions::Output;
pub use render::plain;

/// The version of the form in which topics are told.
const SCHEMA: u32 = 1;

/// A setting, as it is told.
#[derive(Debug, Clone)]
pub struct Setting {
    pub name: String,
    /// What kind of value it takes.
    pub kind: String,
    pub default: &'static str,
    pub meaning: &'static str,
    pub has_effect: bool,
}

/// What is told that only others know.
#[derive(Debug, Clone)]
pub struct Facts {
    pub settings: Vec<Setting>,
    /// The paths of REST, each with the name of the event it spells.
    pub paths: Vec<(&'static str, String)>,
    /// Makes the `OpenAPI` document of a server, which is large and seldom asked for.
    pub openapi: fn(server: &str) -> Value,
    /// Where the paths of REST are.
    pub server: String,
}

impl Facts {
    fn openapi(&self) -> Value {
        (self.openapi)(&self.server)
    }
}

/// Every topic.
#[derive(Debug, Clone)]
pub struct Library {
    topics: Vec<Topic>,
    facts: Facts,
}

/// Something that help is given about.
#[derive(Debug, Clone)]
pub struct Topic {
    /// From the most general name to its own.
    pub path: Vec<String>,
    pub title: String,
    pub synopsis: String,
    /// The whole, in Markdown.
    pub body: String,
    pub sections: Vec<Section>,
    pub see_also: &'static [&'static str],
    /// What can be asked of it beside what it says.
    pub actions: &'static [&'static str],
}

/// A part of a topic, under a heading.
#[derive(Debug, Clone)]
pub struct Section {
    pub name: String,
    pub body: String,
}

/// What was asked for.
pub enum Found<'a> {
    Everything,
    Topic(&'a Topic),
    Output(Output),
}

/// Why nothing was found.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum Error {
    #[error("`{0}` is no name of a topic: those are letters, digits, `-` and `_`")]
    Name(String),
    #[error("there is no topic `{asked}`; did you mean `{nearest}`?")]
    Unknown { asked: String, nearest: String },
}

impl Library {
    pub fn new(facts: Facts) -> Self {
        Self {
            topics: topics::all(&facts),
            facts,
        }
    }

    pub fn topics(&self) -> &[Topic] {
        &self.topics
    }

    /// What a path of names, between dots or slashes, leads to.
    pub fn find(&self, path: &str) -> Result<Found<'_>, Error> {
        let names: Vec<&str> = path
            .split(['/', '.'])
            .filter(|name| !name.is_empty())
            .collect();
        let is_name = |name: &str| {
            let fits = |byte: u8| byte.is_ascii_alphanumeric() || b"-_".contains(&byte);
            name.bytes().all(fits)
        };
        if let Some(name) = names.iter().find(|name| !is_name(name)) {
            return Err(Error::Name((*name).to_owned()));
        }
        if names.is_empty() {
            return Ok(Found::Everything);
        }
        if let Some(topic) = self.topic(&names) {
            return Ok(Found::Topic(topic));
        }
        let (last, above) = names.split_last().unwrap_or((&"", &[]));
        let output = self
            .topic(above)
            .and_then(|topic| actions::run(topic, last, &self.facts));
        output
            .map(Found::Output)
            .ok_or_else(|| self.unknown(&names))
    }

    fn topic(&self, names: &[&str]) -> Option<&Topic> {
        let is_it = |topic: &&Topic| {
            topic.path.len() == names.len()
                && topic
                    .path
                    .iter()
                    .zip(names)
                    .all(|(one, other)| one.eq_ignore_ascii_case(other))
        };
        self.topics.iter().find(is_it)
    }

    fn unknown(&self, names: &[&str]) -> Error {
        let asked = names.join(".");
        let lower = asked.to_ascii_lowercase();
        let nearest = self
            .topics
            .iter()
            .map(Topic::name)
            .min_by_key(|name| strsim::levenshtein(&lower, &name.to_ascii_lowercase()));
        Error::Unknown {
            asked,
            nearest: nearest.unwrap_or_default(),
        }
    }

    /// Every topic, as programs are told (`rest.md` §8).
    pub fn describe(&self) -> Value {
        let roots = self.topics.iter().filter(|topic| topic.path.len() == 1);
        json!({
            "schema": SCHEMA,
            "version": env!("CARGO_PKG_VERSION"),
            "topics": roots.map(|topic| self.describe_topic(topic)).collect::<Value>()
        })
    }

    /// One topic and those below it, as programs are told.
    pub fn describe_topic(&self, topic: &Topic) -> Value {
        let sections = topic
            .sections
            .iter()
            .map(|section| json!({"name": section.name, "body": section.body}));
        let mut described = json!({
            "topic": topic.name(),
            "path": topic.path,
            "title": topic.title,
            "synopsis": topic.synopsis,
            "body": topic.body,
            "sections": sections.collect::<Value>(),
            "see_also": topic.see_also,
            "stability": "stable",
            "actions": topic.actions
        });
        let children: Vec<_> = self
            .children(topic)
            .map(|child| self.describe_topic(child))
            .collect();
        if !children.is_empty() {
            described["children"] = children.into();
        }
        described
    }

    /// The topics right below one.
    pub fn children<'a>(&'a self, topic: &'a Topic) -> impl Iterator<Item = &'a Topic> {
        self.topics.iter().filter(move |child| {
            child.path.len() == topic.path.len() + 1 && child.path.starts_with(&topic.path)
        })
    }

    /// A topic in Markdown, and where to read on.
    pub fn with_references(&self, topic: &Topic) -> String {
        let mut text = topic.body.clone();
        let children = self
            .children(topic)
            .map(|child| child.path[topic.path.len()].as_str());
        let name = topic.path.join(" ");
        for (what, names) in [
            (
                format!("More below `interlock help {name}`"),
                children.collect::<Vec<_>>(),
            ),
            (
                format!("What `interlock help {name} …` prints"),
                topic.actions.to_vec(),
            ),
            ("See also".to_owned(), topic.see_also.to_vec()),
        ] {
            if !names.is_empty() {
                text = format!("{text}\n{what}: {}.\n", names.join(", "));
            }
        }
        text
    }

    /// Every topic on a line, in Markdown.
    pub fn summary(&self) -> String {
        let roots = self.topics.iter().filter(|topic| topic.path.len() == 1);
        let lines = roots.map(|topic| format!("| `{}` | {} |\n", topic.name(), topic.synopsis));
        format!(
            "# Help\n\nInterlock keeps records that move through workflows.\n\n| Topic | Tells |\n|---|---|\n{}",
            lines.collect::<String>()
        )
    }
}

impl Topic {
    /// The path, with dots.
    pub fn name(&self) -> String {
        self.path.join(".")
    }
}

#[cfg(test)]
mod tests;
