//! Connections to `MySQL` and `MariaDB`.
//!
//! They compare a number with a text by reading the text as a number, as far as it is one: 0 is
//! equal to every text without a digit at its beginning. So a value that is compared with a column
//! is made one of the type of the column before.

use std::{collections::HashMap, fmt::Write as _, sync::Arc, time::Duration};

use base64::{Engine as _, engine::general_purpose::STANDARD};
use chrono::{DateTime, NaiveDate, NaiveDateTime, SecondsFormat, Utc};
use futures_util::TryStreamExt as _;
use serde_json::value::RawValue;
use sqlx::{
    AssertSqlSafe, Column as _, ConnectOptions as _, Connection as _, Executor as _, Row as _,
    Type, TypeInfo as _, ValueRef as _,
};
use sqlx_mysql::{
    MySql, MySqlConnectOptions, MySqlConnection, MySqlRow, MySqlSslMode, types::MySqlTime,
};

use super::{
    frames::Protocol,
    link::{Done, Fault, Rows},
    relay::Relay,
    server::Server,
    statement::{Kind, Statement, Use},
    value::Value,
};
use crate::connector::RESULT_BYTES_MAX;
use crate::entity::Number;
use crate::expr::quoted;

/// The digits that its decimals may have, and how many of them behind the point.
const DECIMAL_DIGITS: usize = 65;
const DECIMAL_SCALE: usize = 30;

/// The longest time limit that both servers accept.
const LIMIT_MAX: Duration = Duration::from_millis(0xffff_ffff);

/// The types of the columns of a table; without a schema, of the one that is connected to.
const TYPES: &str = "SELECT CAST(column_name AS CHAR), CAST(data_type AS CHAR) \
     FROM information_schema.columns \
     WHERE table_schema = COALESCE(?, DATABASE()) AND table_name = ?";

/// A connection.
#[derive(Debug)]
pub(super) struct Link {
    connection: MySqlConnection,
    pub(super) relay: Relay,
}

/// The columns of a table, by names in lower case.
type Columns = HashMap<String, Column>;

/// The type of a column, as far as it matters for values.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Column {
    Number,
    Text,
    /// Bytes, with which a number is compared as with a text.
    Bytes,
    /// A date with a time.
    Time,
    /// A date, or a time of the clock.
    DateOrClock,
    Other,
}

impl Column {
    fn of(kind: &str) -> Self {
        match kind {
            "tinyint" | "smallint" | "mediumint" | "int" | "bigint" | "decimal" | "float"
            | "double" | "year" | "bit" => Self::Number,
            "char" | "varchar" | "tinytext" | "text" | "mediumtext" | "longtext" | "enum"
            | "set" => Self::Text,
            "binary" | "varbinary" | "tinyblob" | "blob" | "mediumblob" | "longblob" => Self::Bytes,
            "datetime" | "timestamp" => Self::Time,
            "date" | "time" => Self::DateOrClock,
            _ => Self::Other,
        }
    }
}

impl Link {
    pub(super) async fn open(server: &Arc<Server>) -> Result<Self, Fault> {
        let relay = Relay::open(server, Protocol::Mysql).await?;
        let mut options = MySqlConnectOptions::new()
            .socket(relay.path())
            .username(&server.user)
            .database(&server.database)
            // The relay verifies the server.
            .ssl_mode(match server.security() {
                None => MySqlSslMode::Disabled,
                Some(security) if security.is_required => MySqlSslMode::Required,
                Some(_) => MySqlSslMode::Preferred,
            })
            .disable_statement_logging();
        if let Some(password) = &server.password {
            options = options.password(password.expose());
        }
        let connected = options.connect().await.map_err(fault);
        let mut connection = connected.map_err(|fault| relay.explained(fault))?;
        // A call is abandoned at its deadline, and so is what it executes: the servers do not look
        // at a connection while they execute a statement of it.
        let limits = AssertSqlSafe(limits(server.limit));
        let set = sqlx::raw_sql(limits).execute(&mut connection).await;
        match set.map_err(fault) {
            // Servers of other makers do not know all of them.
            Ok(_) | Err(Fault::Refused(_)) => {}
            Err(fault) => return Err(relay.explained(fault)),
        }
        Ok(Self { connection, relay })
    }

    /// The statement with values of the types of their columns, as they are now: a table that was
    /// altered since would be written otherwise than it is meant.
    async fn typed(&mut self, statement: &Statement) -> Result<Option<Statement>, Fault> {
        let Some(name) = statement.table_of_values() else {
            return Ok(None);
        };
        let columns = self.columns(name).await?;
        let mut typed = statement.clone();
        typed.map_values(|what, value| {
            let (name, is_compared) = match what {
                Use::Compared(name) => (name, true),
                Use::Stored(name) => (name, false),
                Use::Other => return None,
            };
            let column = columns.get(&name.to_lowercase())?;
            value_for(*column, is_compared, value)
        });
        Ok(Some(typed))
    }

    async fn columns(&mut self, name: &str) -> Result<Columns, Fault> {
        let (schema, table) = name
            .split_once('.')
            .map_or((None, name), |(schema, table)| (Some(schema), table));
        let query = sqlx::query_as(TYPES).bind(schema).bind(table);
        let found: Vec<(String, String)> =
            query.fetch_all(&mut self.connection).await.map_err(fault)?;
        let columns = found.into_iter();
        let columns = columns.map(|(name, kind)| (name.to_lowercase(), Column::of(&kind)));
        Ok(columns.collect())
    }

    pub(super) async fn control(&mut self, text: &'static str) -> Result<(), Fault> {
        self.relay.begin();
        let done = sqlx::raw_sql(text).execute(&mut self.connection).await;
        done.map(|_| ())
            .map_err(|error| self.relay.explained(fault(error)))
    }

    pub(super) async fn is_alive(&mut self) -> bool {
        self.relay.begin();
        self.connection.ping().await.is_ok()
    }

    pub(super) async fn run(&mut self, statement: &Statement) -> Result<Done, Fault> {
        self.relay.begin();
        let done = self.executed(statement).await;
        done.map_err(|fault| self.relay.explained_result(fault))
    }

    async fn executed(&mut self, statement: &Statement) -> Result<Done, Fault> {
        let typed = self.typed(statement).await?;
        let statement = typed.as_ref().unwrap_or(statement);
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
            let done = query.execute(&mut self.connection).await.map_err(fault)?;
            let id = i64::try_from(done.last_insert_id()).ok();
            return Ok(Done {
                rows: Rows::default(),
                affected: done.rows_affected(),
                id: id.filter(|id| *id > 0),
            });
        }
        let mut rows = Rows::default();
        let mut found = self.connection.fetch(query);
        while let Some(row) = found.try_next().await.map_err(fault)? {
            let row = json(&row).map_err(fault)?;
            rows.push(row.ok_or(Fault::TooLarge)?)?;
        }
        Ok(Done {
            rows,
            ..Done::default()
        })
    }
}

/// What has the server end statements, and what waits for locks, after a time limit. `MariaDB` executes
/// the first comment, and `MySQL` the second, whose limit is one of reads.
fn limits(limit: Duration) -> String {
    let limit = limit.min(LIMIT_MAX);
    let (seconds, millis) = (limit.as_secs_f64(), limit.as_millis());
    let waits = millis.div_ceil(1_000).max(1);
    format!(
        "SET SESSION innodb_lock_wait_timeout = {waits}, lock_wait_timeout = {waits} \
         /*M!100101 , max_statement_time = {seconds:.3} */ /*!50708 , max_execution_time = {millis} */"
    )
}

/// A value as one of the type of a column; none if it stays as it is.
fn value_for(column: Column, is_compared: bool, value: &Value) -> Option<Value> {
    match (column, value) {
        (Column::Text, Value::Bool(truth)) => {
            Some(Value::Text(u8::from(*truth).to_string().into()))
        }
        (Column::Text | Column::Bytes, Value::Int(_) | Value::Decimal(_)) => {
            value.text().map(into_text)
        }
        (Column::Number, Value::Text(text)) => match Number::parse(text) {
            Some(_) => Some(Value::of(text)),
            // Nothing is equal to null.
            None => is_compared.then_some(Value::Null),
        },
        (Column::Time | Column::DateOrClock, Value::Text(text))
            if is_compared && !is_like_time(text) =>
        {
            Some(Value::Null)
        }
        (Column::Time, Value::Text(text)) => in_utc(text).map(into_text),
        _ => None,
    }
}

/// Whether a text can be a time. The database reads any other one as midnight.
fn is_like_time(text: &str) -> bool {
    let is_of_time = |next: char| next.is_ascii_digit() || "-+:. TZ".contains(next);
    text.starts_with(|next: char| next.is_ascii_digit() || next == '-')
        && text.chars().all(is_of_time)
}

fn into_text(text: String) -> Value {
    Value::Text(text.into())
}

/// A time with a zone, as the database writes times in UTC, which is the zone of its connections.
fn in_utc(text: &str) -> Option<String> {
    let time = DateTime::parse_from_rfc3339(text).ok()?;
    Some(time.naive_utc().format("%Y-%m-%d %H:%M:%S%.6f").to_string())
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

/// A row as a JSON object; none of one that is larger than a result may be.
fn json(row: &MySqlRow) -> Result<Option<String>, sqlx::Error> {
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
            // Before it is copied: a server may send values of a gigabyte.
            let bytes = row.try_get_unchecked::<&[u8], _>(at)?.len();
            if bytes > RESULT_BYTES_MAX {
                return Ok(None);
            }
            append(
                row,
                at,
                if is_text { "TEXT" } else { kind.name() },
                &mut text,
            )?;
        }
    }
    text.push('}');
    Ok(Some(text))
}

fn append(row: &MySqlRow, at: usize, kind: &str, to: &mut String) -> Result<(), sqlx::Error> {
    let text = || row.try_get_unchecked::<String, _>(at);
    let written = match kind {
        "FLOAT" => {
            // With the digits of its own width.
            row.try_get_unchecked::<f32, _>(at)?.to_string()
        }
        "DOUBLE" => serde_json::Value::from(row.try_get_unchecked::<f64, _>(at)?).to_string(),
        "DECIMAL" => number(&text()?),
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
            let time: MySqlTime = row.try_get(at)?;
            quoted(&clock_time(time))
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
        // `TINYINT(1) UNSIGNED` has the name of a truth value.
        "BOOLEAN" if <u64 as Type<MySql>>::compatible(row.column(at).type_info()) => {
            row.try_get_unchecked::<u64, _>(at)?.to_string()
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

/// A decimal without the zeros that `ZEROFILL` puts before it, which JSON does not have.
fn number(digits: &str) -> String {
    let (sign, digits) = match digits.strip_prefix('-') {
        Some(digits) => ("-", digits),
        None => ("", digits),
    };
    let digits = digits.trim_start_matches('0');
    let zero = if digits.is_empty() || digits.starts_with('.') {
        "0"
    } else {
        ""
    };
    format!("{sign}{zero}{digits}")
}

/// A time of the clock, or a difference of up to 838 hours.
fn clock_time(time: MySqlTime) -> String {
    let sign = if time.sign().is_negative() { "-" } else { "" };
    let (hours, minutes, seconds) = (time.hours(), time.minutes(), time.seconds());
    let mut text = format!("{sign}{hours:02}:{minutes:02}:{seconds:02}");
    if time.microseconds() > 0 {
        let _ = write!(text, ".{:06}", time.microseconds());
    }
    text
}

#[expect(clippy::needless_pass_by_value, reason = "for map_err")]
fn fault(error: sqlx::Error) -> Fault {
    /// Deadlocks, and locks that were waited for too long.
    const TO_REPEAT: [u16; 2] = [1205, 1213];
    /// Another row has the value of a unique key.
    const TAKEN: u16 = 1062;
    /// Unknown users and databases, too many connections, the server's shutdown, and a connection
    /// that was ended by somebody or for its idleness.
    const GONE: [u16; 7] = [1040, 1044, 1045, 1049, 1053, 1927, 4031];
    // It is of a value that has no text, such as a date without a month.
    if matches!(
        error,
        sqlx::Error::ColumnDecode { .. } | sqlx::Error::Decode(_)
    ) {
        return Fault::Refused(error.to_string());
    }
    let Some(refused) = error.as_database_error() else {
        return Fault::Gone(error.to_string());
    };
    let number = refused
        .try_downcast_ref::<sqlx_mysql::MySqlDatabaseError>()
        .map_or(0, sqlx_mysql::MySqlDatabaseError::number);
    if TO_REPEAT.contains(&number) {
        return Fault::Busy;
    }
    if number == TAKEN {
        return Fault::Taken(refused.message().to_owned());
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
    fn a_server_gets_time_limits_that_it_accepts() {
        for (millis, waits, seconds, longest) in [
            (1, 1, "0.001", 1),
            (1_500, 2, "1.500", 1_500),
            (u64::MAX, 4_294_968, "4294967.295", 4_294_967_295_u64),
        ] {
            let set = limits(Duration::from_millis(millis));
            let expected = format!(
                "SET SESSION innodb_lock_wait_timeout = {waits}, lock_wait_timeout = {waits} \
                 /*M!100101 , max_statement_time = {seconds} */ \
                 /*!50708 , max_execution_time = {longest} */"
            );
            assert_eq!(set, expected);
        }
    }

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
        assert_eq!(number("-00042.50"), "-42.50");
        assert_eq!(number("0000.50"), "0.50");
        assert_eq!(number("0000"), "0");
    }

    #[test]
    fn a_value_is_compared_as_one_of_the_type_of_its_column() {
        let compared = |column, json: &str| {
            let value = Value::of(json);
            value_for(column, true, &value).unwrap_or(value)
        };
        assert_eq!(compared(Column::Text, "0"), Value::Text("0".into()));
        assert_eq!(compared(Column::Text, "true"), Value::Text("1".into()));
        assert_eq!(compared(Column::Number, "\"3; x\""), Value::Null);
        assert_eq!(compared(Column::Number, "\"\""), Value::Null);
        assert_eq!(compared(Column::Number, "\"3\""), Value::Int(3));
        let time = compared(Column::Time, "\"2026-11-23T10:00:00.5+02:00\"");
        assert_eq!(time, Value::Text("2026-11-23 08:00:00.500000".into()));
        let plain = Value::Text("2026-11-23 10:00:00".into());
        assert_eq!(compared(Column::Time, "\"2026-11-23 10:00:00\""), plain);
        assert_eq!(value_for(Column::Number, false, &plain), None);
        assert_eq!(compared(Column::Bytes, "0"), Value::Text("0".into()));
        for midnight in ["\"\"", "\"x\"", "\"3; x\""] {
            assert_eq!(compared(Column::DateOrClock, midnight), Value::Null);
        }
        let clock = compared(Column::DateOrClock, "\"-09:05:00.5\"");
        assert_eq!(clock, Value::Text("-09:05:00.5".into()));
    }
}
