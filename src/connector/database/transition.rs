//! A row whose `status` moves on: read, checked by the caller, and written in one transaction
//! (`orchestration.md` 2.6).

use std::{fmt, sync::Arc};

use super::{
    BACKOFF, Compute, Databases, execute, failed,
    link::{Fault, Link, too_large, unsettled},
    plan::Plan,
    read,
    statement::{Dialect, Kind, Statement},
    value::Value,
};
use crate::connector::{CallFailed, Held, Request};
use crate::expr::members;

/// The column with the state, and the one that identifies a row.
const STATUS: &str = "status";
const ID: &str = "id";

/// A row in an open transaction that has locked it. Dropping it changes nothing.
pub struct RowTransaction {
    link: Link,
    table: Box<str>,
    id: Value,
    row: Option<Box<str>>,
    /// As it was read: null and empty are not a state, and still compared.
    status: Value,
    held: Held,
}

impl fmt::Debug for RowTransaction {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("RowTransaction")
            .field("table", &self.table)
            .finish_non_exhaustive()
    }
}

/// A failure of the table.
fn refused(table: &str, reason: &str) -> CallFailed {
    CallFailed::failed(format!("{table}: {reason}"))
}

fn fault_of(table: &str, fault: Fault) -> CallFailed {
    match fault {
        Fault::Refused(reason) | Fault::Taken(reason) | Fault::Unfit(reason) => {
            refused(table, &reason)
        }
        Fault::TooLarge => refused(table, &too_large()),
        Fault::Gone(reason) => CallFailed::Unavailable {
            message: format!("{table}: {reason}"),
        },
        Fault::Unsettled(reason) => CallFailed::Lost {
            message: format!("{table}: {}", unsettled(&reason)),
        },
        Fault::Busy => CallFailed::Unavailable {
            message: format!("{table}: the database is locked"),
        },
    }
}

impl Databases {
    /// Reads a row in a transaction that stays open, with the value of its `id` as JSON.
    pub(in crate::connector) async fn open_row(
        &self,
        table: &str,
        id: &str,
        held: Held,
    ) -> Result<RowTransaction, CallFailed> {
        let id = Value::of(id);
        let select = selecting(self.place.dialect(), table, &id);
        let select = select.map_err(|reason| refused(table, &reason))?;
        let mut backoff = BACKOFF;
        let (link, mut rows) = loop {
            match self.locked(&select).await {
                Ok(begun) => break begun,
                Err(Fault::Busy) => backoff.wait().await,
                Err(fault) => return Err(fault_of(table, fault)),
            }
        };
        if rows.len() > 1 {
            return Err(refused(table, "the `id` belongs to several rows"));
        }
        let row = rows.pop();
        let status = row.as_deref().and_then(members);
        let status = status.and_then(|row| row.get(STATUS).map(|status| Value::of(status.get())));
        if row.is_some() && status.is_none() {
            return Err(refused(table, "the table has no column `status`"));
        }
        Ok(RowTransaction {
            link,
            table: table.into(),
            id,
            row: row.map(Into::into),
            status: status.unwrap_or(Value::Null),
            held,
        })
    }

    async fn locked(&self, select: &Statement) -> Result<(Link, Vec<String>), Fault> {
        let mut link = self.begun().await?;
        let rows = match link.run(select).await {
            Ok(done) => done.rows.all,
            // No row has an id that is no value of its column's type.
            Err(Fault::Unfit(_)) => Vec::new(),
            Err(fault) => return Err(fault),
        };
        Ok((link, rows))
    }
}

fn selecting(dialect: Dialect, table: &str, id: &Value) -> Result<Statement, String> {
    if !matches!(id, Value::Int(_) | Value::Decimal(_) | Value::Text(_)) {
        return Err("the `id` must be a text or a number".to_owned());
    }
    let mut select = Statement::new(dialect);
    select.kind = Kind::Rows;
    select.sql("SELECT * FROM ").table(table)?;
    select
        .sql(" WHERE ")
        .column(ID)?
        .sql(" = ")
        .compared(ID, id.clone());
    if dialect != Dialect::Sqlite {
        select.sql(" FOR UPDATE");
    }
    Ok(select)
}

impl RowTransaction {
    /// The row as a JSON object; none if there is no such row.
    pub fn row(&self) -> Option<&str> {
        self.row.as_deref()
    }

    /// The state: the text of `status`, unless it is null or empty.
    pub fn status(&self) -> Option<String> {
        self.status.text().filter(|status| !status.is_empty())
    }

    /// Executes a request of the same database in this transaction. After a failure, only dropping
    /// it makes sense.
    ///
    /// # Errors
    /// The database refuses it.
    pub async fn call(
        &mut self,
        request: &str,
        compute: &Compute<'_>,
    ) -> Result<Arc<str>, CallFailed> {
        let request = Request::parse(request).map_err(CallFailed::failed)?;
        let plan = Plan::of(&request, self.held.database().place.dialect());
        let plan = plan.map_err(|reason| failed(&request, Fault::Refused(reason)))?;
        let done = match &plan {
            Plan::Read(statement) if statement.is_foreign => {
                self.link.read_within(statement).await.map(read)
            }
            Plan::Read(_) | Plan::Write(_) | Plan::Computed(_) => {
                execute(&mut self.link, &plan, compute).await
            }
        };
        let done = done.map_err(|fault| failed(&request, fault));
        match done {
            Ok(result) => Ok(self.held.scrub().result(result.into())),
            Err(failure) => Err(self.held.scrub().failure(failure)),
        }
    }

    /// Writes another state and commits.
    ///
    /// # Errors
    /// The row is not as it was read, or the database refuses it; nothing has changed.
    pub async fn finish(mut self, status: &str) -> Result<(), CallFailed> {
        let table = &self.table;
        let statement = self.moving(status);
        let statement = statement.map_err(|reason| refused(table, &reason))?;
        let moved = self.link.run(&statement).await;
        let moved = moved.map_err(|fault| fault_of(table, fault))?;
        if moved.affected != 1 {
            return Err(refused(table, "the row has changed meanwhile"));
        }
        self.committed().await
    }

    /// Commits what [`Self::call`] has done, and leaves the state as it is.
    ///
    /// # Errors
    /// The database refuses it.
    pub async fn committed(mut self) -> Result<(), CallFailed> {
        let mut backoff = BACKOFF;
        loop {
            match self.link.commit().await {
                Ok(()) => break,
                // Readers of the file are waited for; the transaction is still open. In a server it
                // is not any more.
                Err(Fault::Busy) if self.held.database().place.dialect() == Dialect::Sqlite => {
                    backoff.wait().await;
                }
                Err(fault) => return Err(fault_of(&self.table, fault)),
            }
        }
        self.held.database().keep(self.link);
        Ok(())
    }

    fn moving(&self, status: &str) -> Result<Statement, String> {
        let dialect = self.held.database().place.dialect();
        let mut statement = Statement::new(dialect);
        statement.sql("UPDATE ").table(&self.table)?.sql(" SET ");
        statement.column(STATUS)?.sql(" = ");
        statement.stored(STATUS, Value::Text(status.into()));
        statement.sql(" WHERE ").column(ID)?.sql(" = ");
        statement
            .compared(ID, self.id.clone())
            .sql(" AND ")
            .column(STATUS)?;
        match &self.status {
            Value::Null => statement.sql(" IS NULL"),
            status @ (Value::Bool(_)
            | Value::Int(_)
            | Value::Decimal(_)
            | Value::Text(_)
            | Value::Json(_)) => statement.sql(" = ").compared(STATUS, status.clone()),
        };
        Ok(statement)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_id_is_a_text_or_a_number() {
        assert!(selecting(Dialect::Sqlite, "orders", &Value::Int(1)).is_ok());
        for refused in ["null", "{}", "[1]", "true"] {
            let id = Value::of(refused);
            assert!(
                selecting(Dialect::Sqlite, "orders", &id).is_err(),
                "{refused}"
            );
        }
    }
}
