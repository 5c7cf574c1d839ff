//! Where settings come from: the environment and files, the first that has a value first
//! (`config-and-cli.md` §0).

use std::{
    collections::HashMap,
    io,
    path::{Path, PathBuf},
    str::FromStr,
    time::Duration,
};

use super::settings::{Effect, Kind, OURS, SETTINGS, Setting, THEIRS};
use crate::rest::truth;

/// An invalid setting.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum ConfigError {
    #[error("{setting}=`{value}` is not {expected}")]
    Value {
        setting: String,
        value: String,
        expected: String,
    },
    #[error("{setting} names {file}, which cannot be used: {reason}")]
    File {
        setting: String,
        file: String,
        reason: String,
    },
    #[error(
        "the settings file {} cannot be read: {reason}; make it readable for the user of this process, or remove it",
        .path.display()
    )]
    Unreadable { path: PathBuf, reason: String },
    #[error(
        "{}, line {line}: this is not a setting; write NAME=value, with quotes around a value that has spaces",
        .path.display()
    )]
    Line { path: PathBuf, line: usize },
    #[error("the value of {0} is not UTF-8")]
    NotText(String),
    #[error("{0}")]
    Together(String),
}

/// The settings file of the machine.
pub const SYSTEM_FILE: &str = "/etc/interlock/interlock.env";

/// What is checked and not needed here, and why.
const NEVER: &[(&[&str], &str)] = &[
    (
        &["GOSSIP_ADDR", "GOSSIP_STABILITY_WINDOW", "SEED_NODES"],
        "which nodes there are is in the database",
    ),
    (
        &["TX_TTL", "TX_REAP_INTERVAL"],
        "a transaction ends with the request and the call that it belongs to",
    ),
    (
        &["TX_OUTCOME_TTL"],
        "the outcome of a transaction is known for as long as its commit",
    ),
    (
        &[
            "SCHEDULER_BATCH_SIZE",
            "SCHEDULER_COORDINATOR",
            "SCHEDULER_DISTRIBUTION",
        ],
        "each node takes its share of what is due, without a coordinator",
    ),
];

/// The largest count, and the longest duration of 100 years: with larger ones, sums overflow.
const COUNT_MAX: usize = 1 << 40;
const DURATION_MAX: Duration = Duration::from_hours(100 * 366 * 24);

/// A duration, in words.
const DURATION: &str = "a duration like 500ms, 30s, 5m or 1h, of at most 100 years";

/// The byte order mark.
const MARK: char = '\u{feff}';

/// How long a path is that is shown, in bytes.
const PATH_SHOWN_MAX: usize = 255;

/// How many letters a misspelled name differs in, at most.
const MISSPELLED_MAX: usize = 2;

pub(super) type Variables = HashMap<String, String>;

/// Variables of several sources; the first that has a value wins.
#[derive(Debug, Default)]
pub struct Sources {
    pub(super) sources: Vec<Variables>,
    pub(super) warnings: Vec<String>,
}

impl Sources {
    /// The environment of the process and the files that belong to it.
    pub fn of_process() -> Result<Self, ConfigError> {
        check_is_text()?;
        let environment = process_environment();
        let user = user_file_of(&environment);
        Self::new(
            environment,
            Path::new("."),
            user.as_deref(),
            Path::new(SYSTEM_FILE),
        )
    }

    /// The environment before the files of profiles, `.env`, the user's file and the system's.
    pub fn new(
        environment: Variables,
        folder: &Path,
        user: Option<&Path>,
        system: &Path,
    ) -> Result<Self, ConfigError> {
        let mut warnings = Vec::new();
        let mut last: Vec<Variables> = Vec::new();
        for path in [Some(folder.join(".env").as_path()), user, Some(system)]
            .into_iter()
            .flatten()
        {
            last.extend(read_file(path, &mut warnings)?);
        }
        let mut sources = Self {
            sources: vec![environment],
            warnings,
        };
        sources.sources.extend(last);
        let profiles = sources.profiles(folder)?;
        sources.sources.splice(1..1, profiles);
        Ok(sources)
    }

    /// Warnings about the files.
    pub fn warnings(&self) -> &[String] {
        &self.warnings
    }

    /// The files of profiles, the one with precedence first.
    fn profiles(&mut self, folder: &Path) -> Result<Vec<Variables>, ConfigError> {
        let Some((_, list)) = self.raw("PROFILES") else {
            return Ok(Vec::new());
        };
        let mut found = Vec::new();
        for profile in list
            .split(',')
            .map(str::trim)
            .filter(|profile| !profile.is_empty())
        {
            if profile.contains(['/', '\\']) || profile.contains("..") {
                self.warnings.push(format!("the profile `{profile}` is skipped: the name of a profile must not contain slashes or `..`"));
                continue;
            }
            found.extend(read_file(
                &folder.join(format!(".env.{profile}")),
                &mut self.warnings,
            )?);
        }
        if found.is_empty() && !list.trim().is_empty() {
            self.warnings
                .push(format!("no file was found for the profiles `{list}`"));
        }
        found.reverse();
        Ok(found)
    }

    /// The first value given, and the name it was given under.
    pub(super) fn raw(&self, name: &str) -> Option<(String, String)> {
        self.sources
            .iter()
            .find_map(|source| given_in(source, name))
    }

    /// The file that a secret is in, if the first source that gives the secret names one.
    fn secret_file(&self, name: &str) -> Option<(String, String)> {
        let in_file = format!("{name}_FILE");
        let found = self.sources.iter().find_map(|source| {
            let file = given_in(source, &in_file).filter(|(_, path)| !path.is_empty());
            let is_given = file.is_some() || given_in(source, name).is_some();
            is_given.then_some(file)
        });
        found.flatten()
    }

    /// A setting's value as text: from its file, from where it is given, or its default.
    pub(super) fn text(&self, setting: &Setting) -> Result<(String, String), ConfigError> {
        if setting.kind == Kind::Secret
            && let Some((full, path)) = self.secret_file(setting.name)
        {
            let read = match std::fs::read_to_string(&path) {
                // It would switch off what the secret is for.
                Ok(read) if read.trim_start_matches(MARK).trim().is_empty() => {
                    Err("it is empty".to_owned())
                }
                read => read.map_err(|error| error.to_string()),
            };
            return match read {
                // Some editors begin a file with a byte order mark.
                Ok(read) => Ok((full, read.trim_start_matches(MARK).trim_end().to_owned())),
                Err(reason) => Err(ConfigError::File {
                    setting: full,
                    file: shown(&path),
                    reason,
                }),
            };
        }
        let (full, value) = self
            .raw(setting.name)
            .unwrap_or_else(|| (setting.documented(), setting.default.to_owned()));
        // An empty value counts only where text is expected.
        if value.is_empty() && !matches!(setting.kind, Kind::Text | Kind::Secret | Kind::List) {
            return Ok((full, setting.default.to_owned()));
        }
        Ok((full, value))
    }

    /// The name a setting was given under, or its documented one.
    pub(super) fn given_as(&self, name: &str) -> String {
        self.raw(name)
            .map_or_else(|| format!("{THEIRS}{name}"), |(full, _)| full)
    }

    pub(super) fn read<T>(
        &self,
        name: &str,
        expected: &str,
        parse: impl FnOnce(&str) -> Option<T>,
    ) -> Result<T, ConfigError> {
        let setting = Setting::find(name)
            .ok_or_else(|| ConfigError::Together(format!("there is no setting {name}")))?;
        let (full, value) = self.text(setting)?;
        parse(value.trim()).ok_or_else(|| ConfigError::Value {
            setting: full,
            value,
            expected: expected.to_owned(),
        })
    }

    pub(super) fn number<T: FromStr>(&self, name: &str) -> Result<T, ConfigError> {
        self.read(name, "a whole number of at least 0", |text| {
            text.parse().ok()
        })
    }

    pub(super) fn port(&self, name: &str) -> Result<u16, ConfigError> {
        self.read(name, "a port, which is a number up to 65535", |text| {
            text.parse().ok()
        })
    }

    /// A count that may be 0.
    pub(super) fn count_or_none(&self, name: &str) -> Result<usize, ConfigError> {
        self.read(name, "a whole number of at least 0", |text| {
            text.parse().ok()
        })
    }

    /// A count that must be above 0.
    pub(super) fn count(&self, name: &str) -> Result<usize, ConfigError> {
        let expected = format!("a whole number above 0, at most {COUNT_MAX}");
        self.read(name, &expected, |text| {
            let count = text.parse().ok();
            count.filter(|count| (1..=COUNT_MAX).contains(count))
        })
    }

    pub(super) fn duration(&self, name: &str) -> Result<Duration, ConfigError> {
        self.read(name, DURATION, parse_duration)
    }

    /// A duration, of which 0 means that there is none.
    pub(super) fn duration_or_none(&self, name: &str) -> Result<Option<Duration>, ConfigError> {
        let duration = self.duration(name)?;
        Ok((!duration.is_zero()).then_some(duration))
    }

    /// A duration without which nothing could be done.
    pub(super) fn positive_duration(&self, name: &str) -> Result<Duration, ConfigError> {
        self.read(
            name,
            "a duration above 0, like 10s, of at most 100 years",
            |text| parse_duration(text).filter(|duration| !duration.is_zero()),
        )
    }

    pub(super) fn truth(&self, name: &str) -> Result<bool, ConfigError> {
        self.read(name, "true or false", truth)
    }

    pub(super) fn string(&self, name: &str) -> Result<String, ConfigError> {
        self.read(name, "a text", |text| Some(text.to_owned()))
    }

    /// One of the setting's choices.
    pub(super) fn choice(&self, name: &str) -> Result<&'static str, ConfigError> {
        let Some(Setting {
            kind: Kind::Choice(choices),
            ..
        }) = Setting::find(name)
        else {
            return Err(ConfigError::Together(format!(
                "{name} is not a setting with choices"
            )));
        };
        let expected = format!("one of {}", choices.join(", "));
        self.read(name, &expected, |text| {
            choices.iter().copied().find(|choice| *choice == text)
        })
    }

    /// Checks settings that have no effect yet, and reports names that are unknown.
    pub(super) fn check_others(&mut self) -> Result<(), ConfigError> {
        for setting in SETTINGS
            .iter()
            .filter(|setting| setting.effect == Effect::Later)
        {
            if setting.kind == Kind::Secret {
                self.text(setting)?;
            }
            let Some((full, value)) = self.raw(setting.name) else {
                continue;
            };
            let (expected, fits) = match setting.kind {
                Kind::Truth => ("true or false", truth(&value).is_some()),
                Kind::Duration => (DURATION, parse_duration(&value).is_some()),
                Kind::Number => ("a whole number", value.parse::<i64>().is_ok()),
                Kind::Port => ("a port", value.parse::<u16>().is_ok()),
                Kind::Choice(choices) => ("one of its choices", choices.contains(&value.as_str())),
                Kind::Text | Kind::List | Kind::Secret => ("", true),
            };
            if !fits && !value.is_empty() {
                return Err(ConfigError::Value {
                    setting: full,
                    value,
                    expected: expected.to_owned(),
                });
            }
            if value != setting.default {
                let mut reasons = NEVER.iter();
                let reason = reasons.find(|(names, _)| names.contains(&setting.name));
                self.warnings.push(match reason {
                    Some((_, reason)) => format!("{full} has no effect: {reason}"),
                    None => format!("{full} has no effect yet"),
                });
            }
        }
        let mut warnings = Vec::new();
        for name in self.unknown(OURS) {
            let (setting, _) = nearest(name);
            let meant = setting.name;
            warnings.push(format!(
                "{OURS}{name} is not a setting; did you mean {OURS}{meant}?"
            ));
        }
        // Other programs have settings with this prefix, so only what is nearly a name is reported.
        for name in self.unknown(THEIRS) {
            let (setting, distance) = nearest(name);
            if distance <= MISSPELLED_MAX && distance * 4 <= name.len() {
                let meant = setting.documented();
                warnings.push(format!(
                    "{THEIRS}{name} is not a setting; did you mean {meant}?"
                ));
            }
        }
        warnings.extend(self.files_of_others());
        self.warnings.extend(warnings);
        Ok(())
    }

    /// Warnings of files that are named for settings which are no secrets.
    fn files_of_others(&self) -> Vec<String> {
        let given = self.sources.iter().flat_map(HashMap::keys);
        let mut warnings: Vec<_> = given
            .filter_map(|full| {
                let value = full.strip_suffix("_FILE")?;
                let name = [OURS, THEIRS]
                    .iter()
                    .find_map(|it| value.strip_prefix(it))?;
                let setting = Setting::find(name)?;
                let is_setting = Setting::find(&format!("{name}_FILE")).is_some();
                let is_ignored = setting.kind != Kind::Secret && !is_setting;
                is_ignored.then(|| {
                    format!(
                        "{full} has no effect: only secrets are read from files; set {value} itself"
                    )
                })
            })
            .collect();
        warnings.sort_unstable();
        warnings.dedup();
        warnings
    }

    /// The names with a prefix that are not settings, without the prefix.
    fn unknown(&self, prefix: &str) -> Vec<&str> {
        let given = self
            .sources
            .iter()
            .flat_map(HashMap::keys)
            .filter_map(|name| name.strip_prefix(prefix));
        let is_known = |name: &str| {
            let in_file = name.strip_suffix("_FILE");
            Setting::find(name).is_some()
                || in_file.is_some_and(|name| Setting::find(name).is_some())
        };
        let mut unknown: Vec<_> = given.filter(|name| !is_known(name)).collect();
        unknown.sort_unstable();
        unknown.dedup();
        unknown
    }
}

/// A file of a secret, as errors name it. What does not look like a path may be the secret itself.
fn shown(path: &str) -> String {
    let is_rooted = path.strip_prefix('/').and_then(|path| path.split_once('/'));
    let is_rooted = is_rooted.is_some_and(|(root, _)| Path::new("/").join(root).is_dir());
    let is_relative = path.starts_with("./") || path.starts_with("../");
    let is_plain = |char: char| char.is_ascii_alphanumeric() || "/._-@".contains(char);
    if (is_rooted || is_relative) && path.len() <= PATH_SHOWN_MAX && path.chars().all(is_plain) {
        format!("the file {path}")
    } else {
        "a file whose name is not shown, because it may be the secret itself (set a secret without \
         _FILE)"
            .to_owned()
    }
}

/// The value of a setting in one source, and the name it has there.
fn given_in(source: &Variables, name: &str) -> Option<(String, String)> {
    [OURS, THEIRS].iter().find_map(|prefix| {
        let full = format!("{prefix}{name}");
        source.get(&full).map(|value| (full, value.clone()))
    })
}

/// The variables of a file, if it is there. A line of something else is a warning, since the `.env`
/// of a working folder may belong to another program.
pub(super) fn read_file(
    path: &Path,
    warnings: &mut Vec<String>,
) -> Result<Option<Variables>, ConfigError> {
    if path.is_dir() {
        warnings.push(format!("{} is a folder, so it is skipped", path.display()));
        return Ok(None);
    }
    let text = match std::fs::read_to_string(path) {
        Ok(text) => text,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
        Err(error) => {
            return Err(ConfigError::Unreadable {
                path: path.to_owned(),
                reason: error.to_string(),
            });
        }
    };
    let mut variables = Variables::new();
    for line in dotenvy::from_read_iter(text.as_bytes()) {
        match line {
            Ok((name, value)) => {
                variables.insert(name, value);
            }
            Err(dotenvy::Error::LineParse(part, _)) => {
                // It may hold a secret, so it is named by its number.
                let (line, is_ours) = line_of(&part, &text);
                if is_ours {
                    return Err(ConfigError::Line {
                        path: path.to_owned(),
                        line,
                    });
                }
                let path = path.display();
                warnings.push(format!("{path}, line {line}: this is not a setting"));
            }
            Err(error) => {
                let path = path.display();
                warnings.push(format!("{path} has a line that cannot be used: {error}"));
            }
        }
    }
    Ok(Some(variables))
}

/// The number of the line that has a part, and whether it is about a setting of ours; one that is,
/// if several lines have the part.
fn line_of(part: &str, text: &str) -> (usize, bool) {
    let mut first = None;
    for (at, _) in text.match_indices(part) {
        let number = text[..at].matches('\n').count() + 1;
        let line = text[at..].lines().next().unwrap_or_default();
        let begun = text[..at].rsplit('\n').next().unwrap_or_default();
        let is_ours = |prefix| begun.contains(prefix) || line.contains(prefix);
        if [OURS, THEIRS].into_iter().any(is_ours) {
            return (number, true);
        }
        first = first.or(Some(number));
    }
    (first.unwrap_or(1), false)
}

/// Fails if a setting of the environment is not text.
fn check_is_text() -> Result<(), ConfigError> {
    for (name, value) in std::env::vars_os() {
        let name = name.to_string_lossy();
        let is_ours = [OURS, THEIRS].iter().any(|prefix| name.starts_with(prefix));
        if is_ours && value.to_str().is_none() {
            return Err(ConfigError::NotText(name.into_owned()));
        }
    }
    Ok(())
}

pub(super) fn process_environment() -> Variables {
    std::env::vars_os()
        .filter_map(|(name, value)| Some((name.into_string().ok()?, value.into_string().ok()?)))
        .collect()
}

/// The settings file of the user who runs this process.
pub fn user_file() -> Option<PathBuf> {
    user_file_of(&process_environment())
}

fn user_file_of(environment: &Variables) -> Option<PathBuf> {
    let home = home_folder(environment, "XDG_CONFIG_HOME", ".config");
    home.map(|home| home.join("interlock/interlock.env"))
}

pub(super) fn home_folder(
    environment: &Variables,
    variable: &str,
    below_home: &str,
) -> Option<PathBuf> {
    let given = environment
        .get(variable)
        .filter(|path| !path.is_empty())
        .map(PathBuf::from);
    given.or_else(|| {
        environment
            .get("HOME")
            .filter(|path| !path.is_empty())
            .map(|home| Path::new(home).join(below_home))
    })
}

fn parse_duration(text: &str) -> Option<Duration> {
    let duration = humantime::parse_duration(text).ok();
    duration.filter(|duration| *duration <= DURATION_MAX)
}

/// The setting with the most similar name, and how many letters differ.
fn nearest(name: &str) -> (&'static Setting, usize) {
    let distances = SETTINGS
        .iter()
        .map(|setting| (setting, strsim::levenshtein(name, setting.name)));
    distances
        .min_by_key(|(_, distance)| *distance)
        .unwrap_or((&SETTINGS[0], usize::MAX))
}
