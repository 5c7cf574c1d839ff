//! Connections to `PostgreSQL`.
//!
//! The server says of which type each parameter is; values are sent as text and read by the server
//! as that type, and rows come back as the JSON that the server makes of them. So every type has a
//! form, and numbers keep their digits.

use std::{collections::HashMap, fmt::Write as _, sync::Arc};

use futures_util::TryStreamExt as _;
use sqlx::{
    AssertSqlSafe, ConnectOptions as _, Connection as _, Either, Executor as _, Row as _,
    SqlSafeStr as _, Statement as _,
};
use sqlx_postgres::{PgConnectOptions, PgConnection, PgSslMode, PgTypeInfo, types::Oid};

use super::{
    frames::Protocol,
    link::{Done, Fault, Rows},
    relay::{PORT, Relay},
    server::Server,
    statement::{Kind, Statement},
    value::Value,
};
use crate::connector::RESULT_BYTES_MAX;
use crate::expr::quoted;

/// How many statements a connection keeps, and how many lists of types it knows the names of.
const STATEMENTS_KEPT: usize = 64;

/// The names of types by their numbers. With -1, types with a length have the names that do not cut
/// values: `bpchar`, not `character`.
const NAMES: &str =
    "SELECT format_type(o, -1) FROM unnest($1) WITH ORDINALITY AS t(o, n) ORDER BY n";

/// A connection.
#[derive(Debug)]
pub(super) struct Link {
    connection: PgConnection,
    pub(super) relay: Relay,
    /// The names of the types of parameters.
    names: HashMap<Vec<Oid>, Arc<[Box<str>]>>,
    /// How many statements were asked about.
    asked: u64,
}

impl Link {
    pub(super) async fn open(server: &Arc<Server>) -> Result<Self, Fault> {
        let relay = Relay::open(server, Protocol::Postgres).await?;
        // What the environment of this process says of another database is not used.
        let options = PgConnectOptions::new_without_pgpass()
            .socket(relay.folder())
            .port(PORT)
            .username(&server.user)
            .password(
                server
                    .password
                    .as_ref()
                    .map_or("", |password| password.expose()),
            )
            .database(&server.database)
            .application_name("interlock")
            .statement_cache_capacity(STATEMENTS_KEPT)
            // The relay encrypts.
            .ssl_mode(PgSslMode::Disable)
            .disable_statement_logging();
        let connected = options.connect().await.map_err(fault);
        let mut connection = connected.map_err(|fault| relay.explained(fault))?;
        // A call is abandoned at its deadline, and so is what it executes.
        let limit = i32::try_from(server.limit.as_millis()).unwrap_or(i32::MAX);
        let limit = format!("SET statement_timeout = {limit}");
        let set = sqlx::raw_sql(AssertSqlSafe(limit))
            .execute(&mut connection)
            .await;
        set.map_err(|error| relay.explained(fault(error)))?;
        Ok(Self {
            connection,
            relay,
            names: HashMap::new(),
            asked: 0,
        })
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
        if done.is_err() {
            // A type may have another name since.
            self.names.clear();
        }
        done.map_err(|fault| self.relay.explained_result(fault))
    }

    async fn executed(&mut self, statement: &Statement) -> Result<Done, Fault> {
        let types = self.types(statement).await?;
        let inner = statement.text_with(|text, place, value| {
            append_placeholder(text, place, value, &types[place]);
        });
        let text = match statement.kind {
            // What is larger than a result may be is not sent. `.*` has an alias mean the row, also
            // where a column has the same name.
            Kind::Rows => format!(
                "SELECT CASE WHEN octet_length(r) <= {RESULT_BYTES_MAX} THEN r END \
                 FROM (SELECT row_to_json(q.*)::text AS r FROM ({inner}\n) q OFFSET 0) rows"
            ),
            Kind::Written => format!(
                "WITH w AS ({inner}), first AS (SELECT row_to_json(w.*)::text AS r FROM w LIMIT 1) \
                 SELECT (SELECT r FROM first WHERE octet_length(r) <= {RESULT_BYTES_MAX}), \
                 (SELECT count(*) FROM w)"
            ),
            Kind::Plain => inner,
        };
        let mut query = sqlx::query(AssertSqlSafe(text));
        for (value, kind) in statement.values.iter().zip(types.iter()) {
            query = query.bind(sent(value, kind));
        }
        let mut done = Done::default();
        match statement.kind {
            Kind::Rows => {
                let mut rows = Rows::default();
                let mut found = self.connection.fetch(query);
                while let Some(row) = found.try_next().await.map_err(fault)? {
                    let row: Option<String> = row.try_get(0).map_err(fault)?;
                    rows.push(row.ok_or(Fault::TooLarge)?)?;
                }
                done.rows = rows;
            }
            Kind::Written => {
                let row = self.connection.fetch_one(query).await.map_err(fault)?;
                let first: Option<String> = row.try_get(0).map_err(fault)?;
                if let Some(first) = first {
                    done.rows.push_written(first);
                }
                let affected: i64 = row.try_get(1).map_err(fault)?;
                done.affected = affected.unsigned_abs();
            }
            Kind::Plain => {
                let executed = query.execute(&mut self.connection).await.map_err(fault)?;
                done.affected = executed.rows_affected();
            }
        }
        Ok(done)
    }

    /// The types of the parameters as they are now, as the server writes them: a table that was
    /// altered since would be written otherwise than it is meant.
    async fn types(&mut self, statement: &Statement) -> Result<Arc<[Box<str>]>, Fault> {
        if statement.values.is_empty() {
            return Ok(Arc::default());
        }
        // The driver asks once for each text, so this is another one.
        self.asked += 1;
        let text = format!("/* {} */ {}", self.asked, statement.text());
        let asked = AssertSqlSafe(text).into_sql_str();
        let prepared = self.connection.prepare(asked).await.map_err(fault)?;
        let oids: Vec<Oid> = match prepared.parameters() {
            Some(Either::Left(types)) => types.iter().filter_map(PgTypeInfo::oid).collect(),
            Some(Either::Right(_)) | None => Vec::new(),
        };
        if let Some(known) = self.names.get(&oids) {
            return Ok(Arc::clone(known));
        }
        let names: Vec<String> = sqlx::query_scalar(NAMES)
            .bind(oids.clone())
            .fetch_all(&mut self.connection)
            .await
            .map_err(fault)?;
        let names: Arc<[Box<str>]> = names.into_iter().map(Into::into).collect();
        if names.len() != statement.values.len() {
            return Err(Fault::Refused(
                "the types of its values are unknown".to_owned(),
            ));
        }
        if self.names.len() == STATEMENTS_KEPT {
            self.names.clear();
        }
        self.names.insert(oids, Arc::clone(&names));
        Ok(names)
    }
}

/// A placeholder for text that the server reads as a value of the type.
fn append_placeholder(text: &mut String, place: usize, value: &Value, kind: &str) {
    let number = place + 1;
    let is_list = matches!(value, Value::Json(json) if json.starts_with('['));
    let _ = if is_list && kind.ends_with("[]") {
        write!(
            text,
            "(ARRAY(SELECT jsonb_array_elements_text(${number}::text::jsonb))::{kind})"
        )
    } else {
        write!(text, "(${number}::text::{kind})")
    };
}

/// The text that is sent for a value of this type.
fn sent(value: &Value, kind: &str) -> Option<String> {
    match value {
        Value::Text(text) if ["json", "jsonb"].contains(&kind) => Some(quoted(text)),
        Value::Null
        | Value::Bool(_)
        | Value::Int(_)
        | Value::Decimal(_)
        | Value::Text(_)
        | Value::Json(_) => value.text(),
    }
}

#[expect(clippy::needless_pass_by_value, reason = "for map_err")]
fn fault(error: sqlx::Error) -> Fault {
    /// Serialization failures, deadlocks, and locks that are not available.
    const TO_REPEAT: [&str; 3] = ["40001", "40P01", "55P03"];
    /// Classes of codes: of connections, of the server's shutdown, of missing resources, and of
    /// unknown users and databases.
    const GONE: [&str; 5] = ["08", "57P", "53", "28", "3D"];
    /// Text that is no value of a type: by its form, out of range, not a date, and no such date.
    const UNFIT: [&str; 4] = ["22P02", "22003", "22007", "22008"];
    let Some(refused) = error.as_database_error() else {
        return Fault::Gone(error.to_string());
    };
    let code = refused.code().unwrap_or_default();
    if TO_REPEAT.contains(&&*code) {
        return Fault::Busy;
    }
    if GONE.iter().any(|class| code.starts_with(class)) {
        return Fault::Gone(refused.message().to_owned());
    }
    let reason = refused.message().to_owned();
    if UNFIT.contains(&&*code) {
        return Fault::Unfit(reason);
    }
    Fault::Refused(reason)
}
