//! The table that shows runs to readers outside (`orchestration.md` 2.5).

use std::fmt::Write as _;

use super::{
    Databases, failed,
    statement::{Dialect, Statement},
};
use crate::connector::{CallFailed, Request};
use crate::expr::quoted;

/// A run, in the words of that table. Times are texts as in RFC 3339, in UTC.
#[derive(Debug, Clone, Default)]
pub struct MirrorRow<'a> {
    pub id: &'a str,
    pub saga_name: &'a str,
    pub status: &'a str,
    pub current_step: usize,
    /// JSON, as are the next two.
    pub input: &'a str,
    pub step_results: &'a str,
    pub signal_data: Option<&'a str>,
    pub resume_at: Option<&'a str>,
    pub await_event: Option<&'a str>,
    pub expires_at: Option<&'a str>,
    pub step_expires_at: Option<&'a str>,
    pub error: Option<&'a str>,
    pub created_at: &'a str,
    pub updated_at: &'a str,
}

impl MirrorRow<'_> {
    /// The row as a request that inserts or replaces it.
    fn request(&self, table: &str, dialect: Dialect) -> String {
        let text = |value: Option<&str>| value.map_or_else(|| "null".to_owned(), quoted);
        let json = |value: &str| match dialect {
            // A column of texts has the text of the value.
            Dialect::Sqlite => quoted(value),
            Dialect::Mysql if !value.starts_with(['{', '[']) => quoted(value),
            Dialect::Mysql | Dialect::Postgres => value.to_owned(),
        };
        let time = |value: Option<&str>| match (value, dialect) {
            // Its times have neither a `T` nor a zone.
            (Some(value), Dialect::Mysql) => {
                quoted(value.trim_end_matches('Z').replace('T', " ").as_str())
            }
            (value, _) => text(value),
        };
        let members = [
            ("id", quoted(self.id)),
            ("saga_name", quoted(self.saga_name)),
            ("status", quoted(self.status)),
            ("current_step", self.current_step.to_string()),
            ("input", json(self.input)),
            ("step_results", json(self.step_results)),
            (
                "signal_data",
                self.signal_data.map_or_else(|| "null".to_owned(), json),
            ),
            ("resume_at", time(self.resume_at)),
            ("await_event", text(self.await_event)),
            ("expires_at", time(self.expires_at)),
            ("step_expires_at", time(self.step_expires_at)),
            ("error", text(self.error)),
            ("created_at", time(Some(self.created_at))),
            ("updated_at", time(Some(self.updated_at))),
        ];
        let mut request = format!(
            "{{\"operation\":\"UPSERT\",\"target\":{},\"payload\":{{",
            quoted(table)
        );
        let mut sign = "";
        for (name, value) in members {
            let _ = write!(request, "{sign}\"{name}\":{value}");
            sign = ",";
        }
        request.push_str("}}");
        if dialect == Dialect::Postgres {
            without_nul(request)
        } else {
            request
        }
    }
}

/// A JSON text without the one character that `PostgreSQL` cannot store.
fn without_nul(text: String) -> String {
    const NUL: &str = "\\u0000";
    if !text.contains(NUL) {
        return text;
    }
    let mut clean = String::with_capacity(text.len());
    let mut rest = &*text;
    while let Some(at) = rest.find('\\') {
        let (before, escape) = rest.split_at(at);
        clean.push_str(before);
        let kept = if let Some(kept) = escape.strip_prefix(NUL) {
            clean.push('\u{fffd}');
            kept
        } else {
            // The sign after a backslash belongs to it, and may be one itself.
            clean.push_str(&escape[..2]);
            &escape[2..]
        };
        rest = kept;
    }
    clean.push_str(rest);
    clean
}

impl Databases {
    /// Writes a row; with `creates`, the table is made if it is missing.
    pub(in crate::connector) async fn mirror(
        &self,
        table: &str,
        creates: bool,
        row: &MirrorRow<'_>,
    ) -> Result<(), CallFailed> {
        let request = row.request(table, self.place.dialect());
        let request = Request::parse(&request).map_err(CallFailed::failed)?;
        let nothing = |_: &str, _: &str, _: &str| Err("nothing is computed".to_owned());
        match self.call(&request, &nothing).await {
            Err(CallFailed::Failed { .. }) if creates => {}
            done => return done.map(|_| ()),
        }
        self.make_mirror(table).await?;
        self.call(&request, &nothing).await.map(|_| ())
    }

    /// Makes the table and its indexes, if they are missing.
    pub(in crate::connector) async fn make_mirror(&self, table: &str) -> Result<(), CallFailed> {
        let named = |reason: String| CallFailed::failed(format!("{table}: {reason}"));
        let statements = creation(table, self.place.dialect()).map_err(named)?;
        let request = Request::parse("{\"operation\":\"CREATE\"}").map_err(CallFailed::failed)?;
        let made = self.write_together(statements).await;
        made.map_err(|fault| failed(&request, fault))
    }
}

/// The table and its indexes.
fn creation(table: &str, dialect: Dialect) -> Result<Vec<Statement>, String> {
    // `MySQL` cannot look up texts without a length, and has no time with a zone. `JSON` of
    // `MariaDB` has at most 32 levels.
    let (name, json, time) = match dialect {
        Dialect::Sqlite => ("TEXT", "TEXT", "TEXT"),
        Dialect::Postgres => ("TEXT", "JSONB", "TIMESTAMPTZ"),
        Dialect::Mysql => ("VARCHAR(255)", "LONGTEXT", "DATETIME(6)"),
    };
    let mut create = Statement::new(dialect);
    create.sql("CREATE TABLE IF NOT EXISTS ").table(table)?;
    create.sql(&format!(
        " (id {name} NOT NULL PRIMARY KEY, saga_name {name} NOT NULL, \
         status {name} NOT NULL DEFAULT 'running', current_step INTEGER NOT NULL DEFAULT 0, \
         input {json}, step_results {json}, signal_data {json}, resume_at {time}, \
         await_event {name}, expires_at {time}, step_expires_at {time}, error TEXT, \
         created_at {time} NOT NULL, updated_at {time} NOT NULL"
    ));
    let plain = table.rsplit('.').next().unwrap_or(table);
    let indexes = [
        ("status", "status"),
        ("resume", "status, resume_at"),
        ("await", "await_event"),
    ];
    let mut all = Vec::new();
    for (name, columns) in indexes {
        let name = format!("idx_{plain}_{name}");
        if dialect == Dialect::Mysql {
            create
                .sql(", INDEX ")
                .column(&name)?
                .sql(&format!(" ({columns})"));
            continue;
        }
        let mut index = Statement::new(dialect);
        index.sql("CREATE INDEX IF NOT EXISTS ");
        // An index of `SQLite` has the schema in its name.
        if let (Dialect::Sqlite, Some((schema, _))) = (dialect, table.split_once('.')) {
            index.column(schema)?.sql(".");
        }
        index.column(&name)?.sql(" ON ");
        if dialect == Dialect::Sqlite {
            index.column(plain)?;
        } else {
            index.table(table)?;
        }
        index.sql(&format!(" ({columns})"));
        all.push(index);
    }
    create.sql(match dialect {
        Dialect::Sqlite | Dialect::Postgres => ")",
        // Its databases may have a character set that lacks most characters.
        Dialect::Mysql => ") CHARACTER SET utf8mb4 COLLATE utf8mb4_bin",
    });
    all.insert(0, create);
    Ok(all)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_table_has_its_indexes_in_every_dialect() {
        for dialect in [Dialect::Sqlite, Dialect::Postgres, Dialect::Mysql] {
            let made = creation("app.mycel_workflows", dialect).expect("statements");
            let made: Vec<_> = made.iter().map(Statement::text).collect();
            let all = made.join("\n");
            for index in ["_status", "_resume", "_await"] {
                assert!(all.contains(index), "{dialect:?}: {all}");
            }
        }
        assert!(creation("a b", Dialect::Sqlite).is_err());
    }

    #[test]
    fn characters_that_postgres_cannot_store_are_replaced() {
        for (given, expected) in [
            (r#"{"a":"x"}"#, r#"{"a":"x"}"#),
            (r#"{"a":"\u0000x\u0000"}"#, "{\"a\":\"\u{fffd}x\u{fffd}\"}"),
            (r#"{"a":"\\u0000"}"#, r#"{"a":"\\u0000"}"#),
            (r#"{"a":"\\\u0000\n"}"#, "{\"a\":\"\\\\\u{fffd}\\n\"}"),
        ] {
            assert_eq!(without_nul(given.to_owned()), expected);
        }
    }
}
