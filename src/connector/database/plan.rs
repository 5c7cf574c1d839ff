//! What a request means: statements with bound values.

use indexmap::IndexMap;
use serde_json::value::RawValue;

use super::{
    query::query,
    statement::{Dialect, Kind, Statement},
    value::Value,
};
use crate::connector::Request;
use crate::expr::{members, string};
use crate::text;

/// The members of an object, whose values are JSON texts.
pub(super) type ObjectMembers<'a> = IndexMap<String, &'a RawValue>;

/// What is to be done.
#[derive(Debug)]
pub(super) enum Plan {
    Read(Statement),
    Write(Write),
    Computed(Box<Computed>),
}

/// Statements that are executed together or not at all.
#[derive(Debug)]
pub(super) struct Write {
    pub(super) statements: Vec<Statement>,
    /// Whether more than one row is a failure.
    pub(super) is_of_one: bool,
    /// Whether a statement is only executed if those before it have written nothing.
    pub(super) is_either: bool,
}

/// An update of which some values are computed from the row.
#[derive(Debug)]
pub(super) struct Computed {
    /// Returns the rows, and locks them.
    pub(super) select: Statement,
    /// `UPDATE … SET ` with the other values.
    pub(super) begun: Statement,
    pub(super) columns: Vec<ComputedColumn>,
    pub(super) is_of_one: bool,
    /// ` WHERE …`, which selects the rows.
    pub(super) filter: Statement,
}

/// A column whose value is computed.
#[derive(Debug)]
pub(super) struct ComputedColumn {
    pub(super) name: String,
    pub(super) expression: String,
    /// The values that the expression may use besides the row: JSON.
    pub(super) values: Box<str>,
}

/// The name under which the place of a row is read.
pub(super) const ROW: &str = "$row";

/// The name under which the table of a row is read; one of several if the table is partitioned.
pub(super) const TABLE: &str = "$table";

/// A value in `set`.
enum Assigned {
    Value(Value),
    /// Another column, more or less a value.
    Column {
        column: String,
        sign: &'static str,
        value: Value,
    },
    Computed {
        expression: String,
        values: Box<str>,
    },
}

impl Plan {
    /// Whether it inserts what it has not found.
    pub(super) const fn is_either(&self) -> bool {
        matches!(
            self,
            Self::Write(Write {
                is_either: true,
                ..
            })
        )
    }

    pub(super) fn of(request: &Request<'_>, dialect: Dialect) -> Result<Self, String> {
        let operation = request.operation.trim().to_ascii_uppercase();
        let (word, count) = match operation.rsplit_once('_') {
            Some((word, count @ ("ONE" | "MANY"))) => (word, count),
            Some(_) | None => (&*operation, ""),
        };
        let is_of_one = count == "ONE";
        match (word, count) {
            ("INSERT", _) => insert(request, dialect, count),
            ("UPSERT", "") => upsert(request, dialect),
            ("UPDATE", _) => update(request, dialect, is_of_one),
            ("DELETE", _) => {
                let mut statement = Statement::new(dialect);
                statement.sql("DELETE FROM ").table(target(request)?)?;
                append_filter(&mut statement, &filter(request)?)?;
                Ok(Self::Write(Write {
                    statements: vec![returning(statement)],
                    is_of_one,
                    is_either: false,
                }))
            }
            ("SELECT" | "GET" | "", "") => read(request, dialect),
            _ => {
                let shown = text::start(&request.operation, 100);
                Err(format!(
                    "a database has no operation `{shown}`; use SELECT, GET, INSERT, UPDATE, DELETE or UPSERT"
                ))
            }
        }
    }
}

fn target<'a>(request: &'a Request<'_>) -> Result<&'a str, String> {
    let target = request.target.as_deref();
    target.ok_or_else(|| "`target` must name a table".to_owned())
}

fn object<'a>(value: Option<&'a RawValue>, name: &str) -> Result<ObjectMembers<'a>, String> {
    match value.map(RawValue::get) {
        None | Some("null") => Ok(ObjectMembers::new()),
        Some(text) => members(text).ok_or_else(|| format!("`{name}` must be an object")),
    }
}

/// The filter of a write, which must select by at least one value.
fn filter<'a>(request: &Request<'a>) -> Result<ObjectMembers<'a>, String> {
    let filter = object(request.filter, "where")?;
    if filter.is_empty() {
        return Err("`where` is missing: all rows would be changed".to_owned());
    }
    if filter.values().all(|value| value.get() == "null") {
        return Err("`where` has no value but null".to_owned());
    }
    Ok(filter)
}

fn append_filter(statement: &mut Statement, filter: &ObjectMembers<'_>) -> Result<(), String> {
    let mut word = " WHERE ";
    for (name, value) in filter {
        statement.sql(word).column(name)?;
        match Value::of(value.get()) {
            Value::Null => statement.sql(" IS NULL"),
            Value::Json(_) => {
                return Err(format!(
                    "`{name}` cannot be compared with a list or an object"
                ));
            }
            value @ (Value::Bool(_) | Value::Int(_) | Value::Decimal(_) | Value::Text(_)) => {
                statement.sql(" = ").compared(name, value)
            }
        };
        word = " AND ";
    }
    Ok(())
}

/// A statement that returns what it writes, where the database can.
pub(super) fn returning(mut statement: Statement) -> Statement {
    statement.kind = Kind::Written;
    if statement.dialect().can_return() {
        statement.sql(" RETURNING *");
    }
    statement
}

fn read(request: &Request<'_>, dialect: Dialect) -> Result<Plan, String> {
    let params = object(request.params, "params")?;
    if let Some(text) = &request.query {
        return Ok(Plan::Read(query(text, dialect, &params)?));
    }
    let mut statement = Statement::new(dialect);
    statement.kind = Kind::Rows;
    statement.sql("SELECT * FROM ").table(target(request)?)?;
    append_filter(&mut statement, &params)?;
    Ok(Plan::Read(statement))
}

fn insert(request: &Request<'_>, dialect: Dialect, count: &str) -> Result<Plan, String> {
    let table = target(request)?;
    let payload = request.payload.map_or("null", RawValue::get);
    let mut statements = Vec::new();
    if payload.starts_with('[') && count != "ONE" {
        let rows: Vec<&RawValue> = serde_json::from_str(payload)
            .map_err(|error| format!("the payload cannot be read: {error}"))?;
        if rows.is_empty() {
            return Err("the payload has no rows".to_owned());
        }
        for row in rows {
            let row = members(row.get()).ok_or("the payload must be a list of objects")?;
            statements.push(returning(inserted(table, &row, dialect)?));
        }
    } else {
        let row = members(payload).ok_or("the payload must be an object")?;
        statements.push(returning(inserted(table, &row, dialect)?));
    }
    Ok(Plan::Write(Write {
        statements,
        is_of_one: false,
        is_either: false,
    }))
}

fn inserted(table: &str, row: &ObjectMembers<'_>, dialect: Dialect) -> Result<Statement, String> {
    let mut statement = Statement::new(dialect);
    statement.sql("INSERT INTO ").table(table)?;
    if row.is_empty() {
        statement.sql(match dialect {
            Dialect::Mysql => " () VALUES ()",
            Dialect::Sqlite | Dialect::Postgres => " DEFAULT VALUES",
        });
        return Ok(statement);
    }
    let mut sign = " (";
    for name in row.keys() {
        statement.sql(sign).column(name)?;
        sign = ", ";
    }
    let mut sign = ") VALUES (";
    for (name, value) in row {
        statement.sql(sign).stored(name, Value::of(value.get()));
        sign = ", ";
    }
    statement.sql(")");
    Ok(statement)
}

/// Inserts a row, or updates the one with the same key: the columns of `where`, else `id`.
fn upsert(request: &Request<'_>, dialect: Dialect) -> Result<Plan, String> {
    let keys = object(request.filter, "where")?;
    let mut row = object(request.payload, "the payload")?;
    for (name, value) in object(request.set, "set")? {
        row.insert(name, value);
    }
    let keys: Vec<String> = if keys.is_empty() {
        if !row.contains_key("id") {
            return Err("UPSERT needs `where` with the key, or a member `id`".to_owned());
        }
        vec!["id".to_owned()]
    } else {
        let names = keys.keys().cloned().collect();
        row.extend(keys);
        names
    };
    let table = target(request)?;
    let is_all_key = row.keys().all(|name| keys.contains(name));
    // A row that is all key is set to itself, so that it is returned.
    let is_set = |name: &str| is_all_key || !keys.iter().any(|key| key == name);
    let mut insert = inserted(table, &row, dialect)?;
    let has_key = |name: &String| row.get(name).is_some_and(|value| value.get() != "null");
    // No row has a key without a value.
    if dialect == Dialect::Mysql && keys.iter().all(has_key) {
        // It cannot name the key whose row is updated, and would update that of any other one.
        let mut update = Statement::new(dialect);
        update.sql("UPDATE ").table(table)?;
        let mut sign = " SET ";
        for (name, value) in row.iter().filter(|(name, _)| is_set(name)) {
            update.sql(sign).column(name)?.sql(" = ");
            update.stored(name, Value::of(value.get()));
            sign = ", ";
        }
        let key = |(name, _): &(&String, &&RawValue)| keys.contains(*name);
        let keys = row.iter().filter(key);
        append_filter(
            &mut update,
            &keys.map(|(name, value)| (name.clone(), *value)).collect(),
        )?;
        return Ok(Plan::Write(Write {
            statements: vec![returning(update), returning(insert)],
            is_of_one: false,
            is_either: true,
        }));
    }
    if dialect == Dialect::Mysql {
        return Ok(Plan::Write(Write {
            statements: vec![returning(insert)],
            is_of_one: false,
            is_either: false,
        }));
    }
    let mut sign = " ON CONFLICT (";
    for key in &keys {
        insert.sql(sign).column(key)?;
        sign = ", ";
    }
    let mut sign = ") DO UPDATE SET ";
    for name in row.keys().filter(|name| is_set(name)) {
        insert.sql(sign).column(name)?;
        insert.sql(" = excluded.").column(name)?;
        sign = ", ";
    }
    Ok(Plan::Write(Write {
        statements: vec![returning(insert)],
        is_of_one: false,
        is_either: false,
    }))
}

fn update(request: &Request<'_>, dialect: Dialect, is_of_one: bool) -> Result<Plan, String> {
    let table = target(request)?;
    let filter = filter(request)?;
    let mut assigned: IndexMap<String, Assigned> = IndexMap::new();
    for (name, value) in object(request.payload, "the payload")? {
        assigned.insert(name, Assigned::Value(Value::of(value.get())));
    }
    for (name, value) in object(request.set, "set")? {
        let value = assignment(value.get()).map_err(|reason| format!("`set.{name}` {reason}"))?;
        assigned.insert(name, value);
    }
    if assigned.is_empty() {
        return Err("UPDATE has nothing to set".to_owned());
    }
    let mut statement = Statement::new(dialect);
    statement.sql("UPDATE ").table(table)?.sql(" SET ");
    let (mut sign, mut columns) = ("", Vec::new());
    for (name, value) in assigned {
        if let Assigned::Computed { expression, values } = value {
            columns.push(ComputedColumn {
                name,
                expression,
                values,
            });
            continue;
        }
        statement.sql(sign).column(&name)?.sql(" = ");
        sign = ", ";
        match value {
            Assigned::Value(value) => {
                statement.stored(&name, value);
            }
            Assigned::Column {
                column,
                sign,
                value,
            } => {
                statement.column(&column)?.sql(sign).value(value);
            }
            Assigned::Computed { .. } => {}
        }
    }
    if columns.is_empty() {
        append_filter(&mut statement, &filter)?;
        return Ok(Plan::Write(Write {
            statements: vec![returning(statement)],
            is_of_one,
            is_either: false,
        }));
    }
    if !sign.is_empty() {
        statement.sql(", ");
    }
    let mut condition = Statement::new(dialect);
    append_filter(&mut condition, &filter)?;
    Ok(Plan::Computed(Box::new(Computed {
        select: locked(table, &filter, dialect)?,
        begun: statement,
        columns,
        is_of_one,
        filter: condition,
    })))
}

/// Reads rows with their places, for an update in the same transaction.
fn locked(table: &str, filter: &ObjectMembers<'_>, dialect: Dialect) -> Result<Statement, String> {
    let mut select = Statement::new(dialect);
    select.kind = Kind::Rows;
    select.sql(match dialect {
        // A column that is called `rowid` would hide the place of that name.
        Dialect::Sqlite => "SELECT _rowid_ AS `$row`, * FROM ",
        Dialect::Postgres => "SELECT ctid AS \"$row\", tableoid AS \"$table\", * FROM ",
        Dialect::Mysql => "SELECT * FROM ",
    });
    select.table(table)?;
    append_filter(&mut select, filter)?;
    if dialect != Dialect::Sqlite {
        select.sql(" FOR UPDATE");
    }
    Ok(select)
}

fn assignment(json: &str) -> Result<Assigned, String> {
    let value = members(json).filter(|value| value.keys().any(|name| name.starts_with('$')));
    let Some(value) = value else {
        return Ok(Assigned::Value(Value::of(json)));
    };
    let text = |name: &str| value.get(name).and_then(|value| string(value.get()));
    if let Some(expression) = text("$compute") {
        let values = value.get("$values").map_or("{}", |values| values.get());
        return Ok(Assigned::Computed {
            expression,
            values: values.into(),
        });
    }
    if let (Some(plain), 1) = (value.get("$value"), value.len()) {
        return Ok(Assigned::Value(Value::of(plain.get())));
    }
    let column = text("$column").ok_or("has no `$column`")?;
    let sign = match text("$op").as_deref() {
        Some("+") => " + ",
        Some("-") => " - ",
        _ => return Err("has no `$op` that is + or -".to_owned()),
    };
    let value = value.get("$value").ok_or("has no `$value`")?;
    match Value::of(value.get()) {
        value @ (Value::Int(_) | Value::Decimal(_)) => Ok(Assigned::Column {
            column,
            sign,
            value,
        }),
        Value::Null | Value::Bool(_) | Value::Text(_) | Value::Json(_) => Err(format!(
            "adds or subtracts {}, which is not a number",
            value.get()
        )),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn planned(request: &str, dialect: Dialect) -> Result<Vec<(String, Vec<Value>)>, String> {
        let request = Request::parse(request).expect(request);
        let statements = match Plan::of(&request, dialect)? {
            Plan::Read(statement) => vec![statement],
            Plan::Write(write) => write.statements,
            Plan::Computed(computed) => {
                let computed = *computed;
                vec![computed.select, computed.begun, computed.filter]
            }
        };
        let shown = |statement: Statement| (statement.text(), statement.values);
        Ok(statements.into_iter().map(shown).collect())
    }

    fn one(request: &str) -> (String, Vec<Value>) {
        let mut planned = planned(request, Dialect::Sqlite).expect(request);
        assert_eq!(planned.len(), 1, "{request}");
        planned.remove(0)
    }

    #[test]
    fn operations_are_statements_with_bound_values() {
        let (text, values) = one(
            r#"{"operation":"INSERT","target":"orders","payload":{"status":"x'); --","n":7,"o":{"a":1}}}"#,
        );
        assert_eq!(
            text,
            "INSERT INTO `orders` (`status`, `n`, `o`) VALUES (?1, ?2, ?3) RETURNING *"
        );
        let json = Value::Json(r#"{"a":1}"#.into());
        assert_eq!(values, [Value::Text("x'); --".into()), Value::Int(7), json]);
        let (text, values) = one(
            r#"{"operation":"update_one","target":"t","payload":{"a":null},
                "set":{"r":{"$column":"r","$op":"-","$value":1.50}},"where":{"id":1,"b":null}}"#,
        );
        assert_eq!(
            text,
            "UPDATE `t` SET `a` = ?1, `r` = `r` - ?2 WHERE `id` = ?3 AND `b` IS NULL RETURNING *"
        );
        assert_eq!(
            values,
            [Value::Null, Value::Decimal("1.50".into()), Value::Int(1)]
        );
        assert_eq!(
            one(r#"{"operation":"DELETE","target":"t","where":{"id":1}}"#).0,
            "DELETE FROM `t` WHERE `id` = ?1 RETURNING *"
        );
        assert_eq!(
            one(r#"{"operation":"UPSERT","target":"t","payload":{"id":1,"a":2}}"#).0,
            "INSERT INTO `t` (`id`, `a`) VALUES (?1, ?2) ON CONFLICT (`id`) DO UPDATE SET `a` = excluded.`a` RETURNING *"
        );
        assert_eq!(
            one(r#"{"operation":"get","target":"t","params":{"id":"a"}}"#).0,
            "SELECT * FROM `t` WHERE `id` = ?1"
        );
        assert_eq!(
            one(r#"{"operation":"INSERT","target":"t","payload":{}}"#).0,
            "INSERT INTO `t` DEFAULT VALUES RETURNING *"
        );
        let many = r#"{"operation":"INSERT_MANY","target":"t","payload":[{"a":1},{"a":2}]}"#;
        assert_eq!(planned(many, Dialect::Postgres).expect("a plan").len(), 2);
    }

    #[test]
    fn expressions_over_columns_lock_the_rows_they_read() {
        let request = r#"{"operation":"UPDATE","target":"t","set":{"a":1,"b":{"$compute":"b * input.n","$values":{"input":{"n":2}}}},"where":{"id":1}}"#;
        let shown = planned(request, Dialect::Postgres).expect("a plan");
        assert_eq!(
            shown[0].0,
            "SELECT ctid AS \"$row\", tableoid AS \"$table\", * FROM \"t\" WHERE \"id\" = $1 FOR UPDATE"
        );
        assert_eq!(shown[1].0, "UPDATE \"t\" SET \"a\" = $1, ");
    }

    #[test]
    fn senseless_requests_are_rejected() {
        for request in [
            r#"{"operation":"DROP","target":"t"}"#,
            r#"{"operation":"INSERT","payload":{"a":1}}"#,
            r#"{"operation":"INSERT","target":"t","payload":3}"#,
            r#"{"operation":"INSERT","target":"t; DROP TABLE t","payload":{"a":1}}"#,
            r#"{"operation":"INSERT","target":"t","payload":{"a` = 1; --":1}}"#,
            r#"{"operation":"DELETE","target":"t"}"#,
            r#"{"operation":"DELETE","target":"t","where":{}}"#,
            r#"{"operation":"DELETE","target":"t","where":{"id":null}}"#,
            r#"{"operation":"DELETE","target":"t","where":{"id":{"$gt":1}}}"#,
            r#"{"operation":"UPDATE","target":"t","payload":{"a":1}}"#,
            r#"{"operation":"UPDATE","target":"t","where":{"id":1}}"#,
            r#"{"operation":"UPDATE","target":"t","set":{"a":{"$column":"a","$op":"*","$value":1}},"where":{"id":1}}"#,
            r#"{"operation":"UPDATE","target":"t","set":{"a":{"$column":"a","$op":"+","$value":"1"}},"where":{"id":1}}"#,
            r#"{"operation":"UPSERT","target":"t","payload":{"a":1}}"#,
            r#"{"operation":"SELECT"}"#,
        ] {
            assert!(planned(request, Dialect::Sqlite).is_err(), "{request}");
        }
    }
}
