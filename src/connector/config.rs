//! The configuration of a connector, with its secrets.

use std::{collections::BTreeMap, fmt, time::Duration};

use serde::{Deserialize, Deserializer, de::Error as _};

/// The configuration of a connector, read from JSON by its `type`.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(tag = "type", rename_all = "snake_case")]
pub enum Config {
    /// The REST port of this service.
    Rest,
    Http(Http),
    Database(Database),
    Email(Email),
    /// Entities of this service.
    Entity,
    /// Any other type: a compute member.
    #[serde(other)]
    Member,
}

/// A text that is shown nowhere.
#[derive(Clone, PartialEq, Eq, Deserialize)]
#[serde(transparent)]
pub struct Secret(Box<str>);

impl Secret {
    pub(super) fn expose(&self) -> &str {
        &self.0
    }
}

impl From<&str> for Secret {
    fn from(text: &str) -> Self {
        Self(text.into())
    }
}

impl fmt::Debug for Secret {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Secret")
    }
}

/// An HTTP server.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
pub struct Http {
    pub base_url: Box<str>,
    #[serde(default, deserialize_with = "milliseconds")]
    pub timeout: Option<Duration>,
    /// Sent with each request. Values may be secret.
    #[serde(default)]
    pub headers: BTreeMap<Box<str>, Secret>,
    pub auth: Option<HttpAuth>,
    #[serde(default)]
    pub retry: Retry,
    /// Certificates of authorities in PEM form, or for operators the file that has them.
    pub tls_ca: Option<Box<str>>,
}

#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(tag = "type", rename_all = "snake_case")]
pub enum HttpAuth {
    Bearer {
        token: Secret,
    },
    Basic {
        username: Box<str>,
        password: Secret,
    },
    ApiKey {
        #[serde(default = "api_key_header")]
        header: Box<str>,
        key: Secret,
    },
}

fn api_key_header() -> Box<str> {
    "X-API-Key".into()
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
pub struct Retry {
    /// How often a request is sent, at most.
    #[serde(deserialize_with = "attempts")]
    pub attempts: u32,
}

/// Headers that have credentials.
const CREDENTIALS: [&str; 3] = ["authorization", "proxy-authorization", "cookie"];

/// The most connections and attempts that a connector may ask for.
const COUNT_MAX: u32 = 100;

impl Default for Retry {
    fn default() -> Self {
        Self { attempts: 1 }
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Driver {
    Sqlite,
    Postgres,
    Mysql,
}

impl Driver {
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Sqlite => "sqlite",
            Self::Postgres => "postgres",
            Self::Mysql => "mysql",
        }
    }
}

/// A database: a file, or one of a server.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
pub struct Database {
    pub driver: Driver,
    /// The path of the file, or the name.
    pub database: Box<str>,
    pub host: Option<Box<str>>,
    #[serde(default, deserialize_with = "port")]
    pub port: Option<u16>,
    pub user: Option<Box<str>>,
    pub password: Option<Secret>,
    #[serde(default)]
    pub tls: DatabaseTls,
    pub tls_ca: Option<Box<str>>,
    #[serde(default, deserialize_with = "connections")]
    pub max_connections: Option<usize>,
    #[serde(default, deserialize_with = "milliseconds")]
    pub timeout: Option<Duration>,
}

/// Whether connections to a database server are encrypted.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum DatabaseTls {
    None,
    /// If the server can, without verifying its certificate.
    #[default]
    Prefer,
    /// Always; with `tls_ca`, the certificate is verified.
    Require,
}

/// An SMTP server.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
pub struct Email {
    pub host: Box<str>,
    #[serde(default, deserialize_with = "port")]
    pub port: Option<u16>,
    pub username: Option<Box<str>>,
    pub password: Option<Secret>,
    #[serde(default)]
    pub tls: SmtpTls,
    pub tls_ca: Option<Box<str>>,
    pub from: Box<str>,
    /// The recipient of messages that name none.
    pub to: Option<Box<str>>,
    /// The template of messages that name none.
    pub template: Option<Box<str>>,
    /// The texts of the bundle's templates by path.
    #[serde(default)]
    pub templates: BTreeMap<Box<str>, Box<str>>,
    #[serde(default, deserialize_with = "milliseconds")]
    pub timeout: Option<Duration>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum SmtpTls {
    None,
    /// The connection is made secure before anything is said.
    #[default]
    StartTls,
    Tls,
}

impl Config {
    /// The label in metrics.
    pub const fn kind(&self) -> &'static str {
        match self {
            Self::Rest => "rest",
            Self::Http(_) => "http",
            Self::Database(_) => "database",
            Self::Email(_) => "email",
            Self::Entity => "entity",
            Self::Member => "member",
        }
    }

    /// Whether this module serves it; others are entities, members, or cannot be called.
    pub const fn is_built_in(&self) -> bool {
        matches!(self, Self::Http(_) | Self::Database(_) | Self::Email(_))
    }

    /// The time limit of one call, where it is not the usual one.
    pub const fn timeout(&self) -> Option<Duration> {
        match self {
            Self::Http(http) => http.timeout,
            Self::Database(database) => database.timeout,
            Self::Email(email) => email.timeout,
            Self::Rest | Self::Entity | Self::Member => None,
        }
    }

    /// The user with the password, which HTTP sends as one text.
    pub(super) fn pair(&self) -> Option<String> {
        match self {
            Self::Http(http) => match &http.auth {
                Some(HttpAuth::Basic { username, password }) => {
                    Some(format!("{username}:{}", password.expose()))
                }
                Some(HttpAuth::Bearer { .. } | HttpAuth::ApiKey { .. }) | None => None,
            },
            // As the mechanism PLAIN sends it.
            Self::Email(Email {
                username: Some(username),
                password: Some(password),
                ..
            }) => Some(format!("\0{username}\0{}", password.expose())),
            Self::Database(_) | Self::Email(_) | Self::Rest | Self::Entity | Self::Member => None,
        }
    }

    /// The credentials that the other system is sent, which no result has. Of the headers these are
    /// the values of `env()`, which are given, and what is a credential by its name: to cut out
    /// others, such as `Accept`, would damage results.
    pub(super) fn secrets(&self, values: &[Secret]) -> Vec<&Secret> {
        match self {
            Self::Http(http) => {
                let auth = http.auth.iter().map(|auth| match auth {
                    HttpAuth::Bearer { token } => token,
                    HttpAuth::Basic { password, .. } => password,
                    HttpAuth::ApiKey { key, .. } => key,
                });
                let headers = http.headers.iter().filter(|(name, value)| {
                    let mut credentials = CREDENTIALS.iter();
                    values.contains(value)
                        || credentials.any(|known| known.eq_ignore_ascii_case(name))
                });
                auth.chain(headers.map(|(_, value)| value)).collect()
            }
            Self::Database(database) => database.password.iter().collect(),
            Self::Email(email) => email.password.iter().collect(),
            Self::Rest | Self::Entity | Self::Member => Vec::new(),
        }
    }
}

fn milliseconds<'de, D: Deserializer<'de>>(from: D) -> Result<Option<Duration>, D::Error> {
    let given = Option::<u64>::deserialize(from)?;
    Ok(given.map(Duration::from_millis))
}

/// A number from 1 to `max`, or its digits as a variable gives them.
fn number<'de, D: Deserializer<'de>>(from: D, max: u32) -> Result<Option<u32>, D::Error> {
    #[derive(Deserialize)]
    #[serde(untagged)]
    enum Given {
        Number(u32),
        Digits(Box<str>),
    }
    let number = match Option::deserialize(from)? {
        None => return Ok(None),
        Some(Given::Number(number)) => Some(number),
        Some(Given::Digits(text)) => text.trim().parse().ok(),
    };
    let number = number.filter(|number| (1..=max).contains(number));
    // The value is not quoted: it may be secret.
    let invalid = || D::Error::custom(format!("a number is not a whole one from 1 to {max}"));
    number.map(Some).ok_or_else(invalid)
}

fn port<'de, D: Deserializer<'de>>(from: D) -> Result<Option<u16>, D::Error> {
    let port = number(from, u16::MAX.into())?;
    Ok(port.and_then(|port| port.try_into().ok()))
}

fn connections<'de, D: Deserializer<'de>>(from: D) -> Result<Option<usize>, D::Error> {
    let connections = number(from, COUNT_MAX)?;
    Ok(connections.and_then(|connections| connections.try_into().ok()))
}

fn attempts<'de, D: Deserializer<'de>>(from: D) -> Result<u32, D::Error> {
    Ok(number(from, COUNT_MAX)?.unwrap_or(1))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(text: &str) -> Config {
        serde_json::from_str(text).expect(text)
    }

    #[test]
    fn a_configuration_is_read_by_its_type() {
        assert_eq!(read(r#"{"type":"rest","port":1}"#), Config::Rest);
        assert_eq!(read(r#"{"type":"entity"}"#), Config::Entity);
        assert_eq!(read(r#"{"type":"kafka","x":1}"#), Config::Member);
        let Config::Http(http) = read(
            r#"{"type":"http","base_url":"http://a","timeout":1500,"headers":{"x-a":"1"},
                "auth":{"type":"api_key","key":"k"},"retry":{"attempts":3}}"#,
        ) else {
            panic!("http");
        };
        assert_eq!(http.timeout, Some(Duration::from_millis(1_500)));
        assert_eq!(http.retry.attempts, 3);
        let Config::Email(email) =
            read(r#"{"type":"email","driver":"smtp","host":"h","from":"a@b","tls":"starttls"}"#)
        else {
            panic!("email");
        };
        assert_eq!(email.tls, SmtpTls::StartTls);
    }

    #[test]
    fn numbers_may_be_the_digits_that_a_variable_gives() {
        let config = |port: &str, connections: &str| {
            let text = format!(
                r#"{{"type":"database","driver":"postgres","database":"d","port":{port},
                    "max_connections":{connections}}}"#
            );
            serde_json::from_str::<Config>(&text)
        };
        let Config::Database(database) = config("\"5432\"", "\"8\"").expect("digits") else {
            panic!("database");
        };
        assert_eq!(
            (database.port, database.max_connections),
            (Some(5_432), Some(8))
        );
        for refused in [
            "\"secret\"",
            "\"\"",
            "\"65536\"",
            "\"0\"",
            "\"-1\"",
            "0",
            "1.5",
        ] {
            let error = config(refused, "1").expect_err(refused).to_string();
            assert!(!error.contains("secret"), "{error}");
        }
        assert!(config("1", "\"101\"").is_err());
    }

    #[test]
    fn no_secret_is_shown() {
        let config = read(
            r#"{"type":"http","base_url":"http://a","headers":{"x-a":"hidden1","x-b":"text/csv",
                "Cookie":"hidden3"},"auth":{"type":"basic","username":"u","password":"hidden2"}}"#,
        );
        let shown = format!("{config:?}");
        assert!(!shown.contains("hidden"), "{shown}");
        let secrets = config.secrets(&["hidden1".into()]).into_iter();
        let secrets: Vec<_> = secrets.map(Secret::expose).collect();
        assert_eq!(secrets, ["hidden2", "hidden3", "hidden1"]);
    }
}
