//! Connections to `MySQL` and `MariaDB`.

use std::fmt::Write as _;

use base64::{Engine as _, engine::general_purpose::STANDARD};
use chrono::{DateTime, NaiveDate, NaiveDateTime, SecondsFormat, Utc};
use futures_util::TryStreamExt as _;
use serde_json::value::RawValue;
use sqlx::{
    AssertSqlSafe, Column as _, ConnectOptions as _, Connection as _, Executor as _, Row as _,
    Type, TypeInfo as _, ValueRef as _,
};
use sqlx_mysql::{MySql, MySqlConnectOptions, MySqlConnection, MySqlRow, MySqlSslMode};

use super::{
    link::{Done, Fault, Rows},
    server::{Security, Server},
    statement::{Kind, Statement},
    value::Value,
};
use crate::expr::quoted;

/// The digits that its decimals may have, and how many of them behind the point.
const DECIMAL_DIGITS: usize = 65;
const DECIMAL_SCALE: usize = 30;

/// A connection.
#[derive(Debug)]
pub(super) struct Link(MySqlConnection);

impl Link {
    pub(super) async fn open(server: &Server) -> Result<Self, Fault> {
        let (place, security) = (server.place().await?, server.security());
        let mut options = MySqlConnectOptions::new()
            .host(&place)
            .port(server.port.unwrap_or(3306))
            .username(&server.user)
            .database(&server.database)
            .ssl_mode(match security {
                Security::None => MySqlSslMode::Disabled,
                Security::Prefer => MySqlSslMode::Preferred,
                Security::Require => MySqlSslMode::Required,
                Security::VerifyAuthority(_) => MySqlSslMode::VerifyCa,
                Security::Verify(_) => MySqlSslMode::VerifyIdentity,
            })
            .disable_statement_logging();
        if let Some(password) = &server.password {
            options = options.password(password.expose());
        }
        if let Some(authorities) = security.authorities() {
            options = options.ssl_ca_from_pem(authorities.into());
        }
        options.connect().await.map(Self).map_err(fault)
    }

    pub(super) async fn control(&mut self, text: &'static str) -> Result<(), Fault> {
        let done = sqlx::raw_sql(text).execute(&mut self.0).await;
        done.map(|_| ()).map_err(fault)
    }

    pub(super) async fn is_alive(&mut self) -> bool {
        self.0.ping().await.is_ok()
    }

    pub(super) async fn run(&mut self, statement: &Statement) -> Result<Done, Fault> {
        let mut order = Vec::new();
        let text = statement.text_with(|text, place, value| {
            order.push(place);
            append_placeholder(text, value);
        });
        let mut query = sqlx::query(AssertSqlSafe(text));
        for place in order {
            query = match &statement.values[place] {
                Value::Null => query.bind(None::<String>),
                Value::Bool(truth) => query.bind(i64::from(*truth)),
                Value::Int(number) => query.bind(*number),
                value @ (Value::Decimal(_) | Value::Text(_) | Value::Json(_)) => {
                    query.bind(value.text())
                }
            };
        }
        if statement.kind != Kind::Rows {
            let done = query.execute(&mut self.0).await.map_err(fault)?;
            let id = i64::try_from(done.last_insert_id()).ok();
            return Ok(Done {
                rows: Rows::default(),
                affected: done.rows_affected(),
                id: id.filter(|id| *id > 0),
            });
        }
        let mut rows = Rows::default();
        let mut found = self.0.fetch(query);
        while let Some(row) = found.try_next().await.map_err(fault)? {
            rows.push(json(&row).map_err(fault)?)?;
        }
        Ok(Done {
            rows,
            ..Done::default()
        })
    }
}

/// A placeholder; one of a decimal is a decimal, since a text would be computed with as a binary
/// fraction.
fn append_placeholder(text: &mut String, value: &Value) {
    let scale = match value {
        Value::Decimal(digits) => scale(digits),
        Value::Null | Value::Bool(_) | Value::Int(_) | Value::Text(_) | Value::Json(_) => None,
    };
    match scale {
        Some(scale) => {
            let _ = write!(text, "CAST(? AS DECIMAL({DECIMAL_DIGITS},{scale}))");
        }
        None => text.push('?'),
    }
}

/// How many digits a decimal has behind the point, if its decimals can have so many.
fn scale(digits: &str) -> Option<usize> {
    let fraction = digits.split_once('.').map_or("", |(_, fraction)| fraction);
    let fits = digits.len() <= DECIMAL_DIGITS
        && fraction.len() <= DECIMAL_SCALE
        && !digits.contains(['e', 'E']);
    fits.then_some(fraction.len())
}

/// A row as a JSON object.
fn json(row: &MySqlRow) -> Result<String, sqlx::Error> {
    let mut text = String::from("{");
    for (at, column) in row.columns().iter().enumerate() {
        if at > 0 {
            text.push(',');
        }
        text.push_str(&quoted(column.name()));
        text.push(':');
        if row.try_get_raw(at)?.is_null() {
            text.push_str("null");
        } else {
            let kind = column.type_info();
            // A text that is compared byte by byte has the type of bytes, and a character set.
            let is_text = <String as Type<MySql>>::compatible(kind);
            append(
                row,
                at,
                if is_text { "TEXT" } else { kind.name() },
                &mut text,
            )?;
        }
    }
    text.push('}');
    Ok(text)
}

fn append(row: &MySqlRow, at: usize, kind: &str, to: &mut String) -> Result<(), sqlx::Error> {
    let text = || row.try_get_unchecked::<String, _>(at);
    let written = match kind {
        "FLOAT" => {
            // With the digits of its own width.
            row.try_get_unchecked::<f32, _>(at)?.to_string()
        }
        "DOUBLE" => serde_json::Value::from(row.try_get_unchecked::<f64, _>(at)?).to_string(),
        "DECIMAL" => text()?,
        "DATE" => quoted(&row.try_get::<NaiveDate, _>(at)?.to_string()),
        "DATETIME" => {
            let time: NaiveDateTime = row.try_get(at)?;
            quoted(&time.format("%Y-%m-%dT%H:%M:%S%.f").to_string())
        }
        "TIMESTAMP" => {
            let time: DateTime<Utc> = row.try_get(at)?;
            quoted(&time.to_rfc3339_opts(SecondsFormat::AutoSi, true))
        }
        "TIME" => {
            let time: sqlx_mysql::types::MySqlTime = row.try_get(at)?;
            quoted(&time.to_string())
        }
        "JSON" => {
            let text = text()?;
            let value: &RawValue =
                serde_json::from_str(&text).map_err(|error| sqlx::Error::Decode(error.into()))?;
            value.get().to_owned()
        }
        kind if kind.contains("BLOB") || kind.contains("BINARY") || kind == "GEOMETRY" => {
            quoted(&STANDARD.encode(row.try_get_unchecked::<Vec<u8>, _>(at)?))
        }
        kind if kind.ends_with("UNSIGNED") || kind == "BIT" || kind == "YEAR" => {
            row.try_get_unchecked::<u64, _>(at)?.to_string()
        }
        kind if kind.contains("INT") || kind == "BOOLEAN" => {
            row.try_get_unchecked::<i64, _>(at)?.to_string()
        }
        _ => quoted(&text()?),
    };
    to.push_str(&written);
    Ok(())
}

#[expect(clippy::needless_pass_by_value, reason = "for map_err")]
fn fault(error: sqlx::Error) -> Fault {
    /// Deadlocks, and locks that were waited for too long.
    const TO_REPEAT: [u16; 2] = [1205, 1213];
    /// Unknown users and databases, too many connections, and the server's shutdown.
    const GONE: [u16; 5] = [1040, 1044, 1045, 1049, 1053];
    let Some(refused) = error.as_database_error() else {
        return Fault::Gone(error.to_string());
    };
    let number = refused
        .try_downcast_ref::<sqlx_mysql::MySqlDatabaseError>()
        .map_or(0, sqlx_mysql::MySqlDatabaseError::number);
    if TO_REPEAT.contains(&number) {
        return Fault::Busy;
    }
    if GONE.contains(&number) {
        return Fault::Gone(refused.message().to_owned());
    }
    Fault::Refused(refused.message().to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_decimal_is_a_decimal_of_its_own_scale() {
        let placeholder = |value: Value| {
            let mut text = String::new();
            append_placeholder(&mut text, &value);
            text
        };
        let decimal = placeholder(Value::Decimal("99.990".into()));
        assert_eq!(decimal, "CAST(? AS DECIMAL(65,3))");
        assert_eq!(placeholder(Value::Decimal("1e3".into())), "?");
        assert_eq!(placeholder(Value::Int(1)), "?");
    }
}
