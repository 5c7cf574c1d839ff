//! Help topics, over HTTP and on the command line.
//!
//! May use: [`crate::error`], [`crate::telemetry`], [`crate::dialect`], [`crate::operation`].
//! A topic is a Markdown file in `topics/` or `design/` and a row of [`topics`]; its first heading
//! is the title, its first paragraph the synopsis, its second-level headings are the sections. A
//! line `{{name}}` is replaced by a table generated from the code ([`made`]). To add a topic: the
//! file, the row, a link in README, and its name in another topic's `see also`.

mod actions;
mod made;
mod render;
mod topics;

use std::sync::OnceLock;

use serde_json::{Value, json};

pub use actions::Output;
pub use render::plain;

/// The version of the JSON form of topics.
const SCHEMA: u32 = 1;

/// A setting, as the help describes it.
#[derive(Debug, Clone)]
pub struct Setting {
    pub name: String,
    /// The type of its value.
    pub kind: String,
    pub default: &'static str,
    pub meaning: &'static str,
    pub has_effect: bool,
}

/// Facts that other modules provide.
#[derive(Debug, Clone)]
pub struct Facts {
    pub settings: Vec<Setting>,
    /// The REST paths, each with the request type it corresponds to.
    pub paths: Vec<(&'static str, String)>,
    /// Makes the `OpenAPI` document of a server; it is large and seldom requested.
    pub openapi: fn(server: &str) -> Value,
    /// The base of the REST paths.
    pub server: String,
}

impl Facts {
    fn openapi(&self) -> Value {
        (self.openapi)(&self.server)
    }
}

/// All topics.
#[derive(Debug, Clone)]
pub struct Library {
    /// Made when they are first needed: a megabyte that most processes never use.
    topics: OnceLock<Vec<Topic>>,
    facts: Facts,
}

/// A help topic.
#[derive(Debug, Clone)]
pub struct Topic {
    /// From the most general name to its own.
    pub path: Vec<String>,
    pub title: String,
    pub synopsis: String,
    /// The whole text, in Markdown.
    pub body: String,
    pub sections: Vec<Section>,
    pub see_also: &'static [&'static str],
    /// Its actions, which produce further output.
    pub actions: &'static [&'static str],
}

/// A section of a topic.
#[derive(Debug, Clone)]
pub struct Section {
    pub name: String,
    pub body: String,
}

/// The result of a look-up.
pub enum Found<'a> {
    Everything,
    Topic(&'a Topic),
    Output(Output),
}

/// Why nothing was found.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum Error {
    #[error("`{0}` is not a valid topic name: use letters, digits, `-` and `_`")]
    Name(String),
    #[error("there is no topic `{asked}`; {}", .meant.as_ref().map_or_else(
        || "`interlock help` lists all topics".to_owned(),
        |meant| format!("did you mean `{meant}`?"),
    ))]
    Unknown {
        asked: String,
        meant: Option<String>,
    },
}

impl Library {
    pub const fn new(facts: Facts) -> Self {
        let topics = OnceLock::new();
        Self { topics, facts }
    }

    pub fn topics(&self) -> &[Topic] {
        self.topics.get_or_init(|| topics::all(&self.facts))
    }

    /// Resolves a path of names, separated by dots or slashes.
    pub fn find(&self, path: &str) -> Result<Found<'_>, Error> {
        let path = path.trim_matches('/');
        if path.is_empty() {
            return Ok(Found::Everything);
        }
        let names: Vec<&str> = path.split(['/', '.']).collect();
        let is_name = |name: &str| {
            let fits = |byte: u8| byte.is_ascii_alphanumeric() || b"-_".contains(&byte);
            !name.is_empty() && name.bytes().all(fits)
        };
        if let Some(name) = names.iter().find(|name| !is_name(name)) {
            return Err(Error::Name((*name).to_owned()));
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
        self.topics().iter().find(is_it)
    }

    fn unknown(&self, names: &[&str]) -> Error {
        let asked = names.join(".");
        let meant = self.meant(&asked.to_ascii_lowercase());
        Error::Unknown { asked, meant }
    }

    /// The topic, or the output of one, that was probably meant.
    fn meant(&self, asked: &str) -> Option<String> {
        let topics = || self.topics().iter();
        let outputs = topics().flat_map(|topic| {
            let of_topic = move |action| format!("{}.{action}", topic.name());
            topic.actions.iter().map(of_topic)
        });
        let names: Vec<_> = topics().map(Topic::name).chain(outputs).collect();
        let is_last = |name: &&String| {
            name.rsplit('.')
                .next()
                .is_some_and(|last| last.eq_ignore_ascii_case(asked))
        };
        let distance = |name: &&String| strsim::levenshtein(asked, &name.to_ascii_lowercase());
        // A mostly different name is not suggested.
        let nearest = || {
            let nearest = names.iter().min_by_key(distance);
            nearest.filter(|name| distance(name) <= asked.len() / 3)
        };
        names.iter().find(is_last).or_else(nearest).cloned()
    }

    /// All topics as JSON (`rest.md` §8).
    pub fn describe(&self) -> Value {
        let roots = self.topics().iter().filter(|topic| topic.path.len() == 1);
        json!({
            "schema": SCHEMA,
            "version": env!("CARGO_PKG_VERSION"),
            "topics": roots.map(|topic| self.describe_topic(topic)).collect::<Value>()
        })
    }

    /// One topic and those below it as JSON.
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

    /// The topics directly below one.
    pub fn children<'a>(&'a self, topic: &'a Topic) -> impl Iterator<Item = &'a Topic> {
        self.topics().iter().filter(move |child| {
            child.path.len() == topic.path.len() + 1 && child.path.starts_with(&topic.path)
        })
    }

    /// A topic in Markdown, with references to further topics.
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

    /// All topics, one per line, in Markdown.
    pub fn summary(&self) -> String {
        let roots = self.topics().iter().filter(|topic| topic.path.len() == 1);
        let lines = roots.map(|topic| format!("| `{}` | {} |\n", topic.name(), topic.synopsis));
        format!(
            "# Help\n\nInterlock is a database service for records with a life cycle.\n\n| Topic | About |\n|---|---|\n{}",
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
