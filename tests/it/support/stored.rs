//! What a server has stored: read, changed and searched without the server, in its database,
//! whichever that is.

use std::{
    fs,
    path::{Path, PathBuf},
};

use rusqlite::{Connection, types::Value};

use super::{Server, database::Database};

impl Server {
    fn file(&self) -> PathBuf {
        self.folder().join(".local/share/interlock/interlock.db")
    }

    /// The first value that a query finds, as text.
    pub(crate) fn stored(&self, query: &str) -> String {
        if let Some(database) = self.database() {
            return database.execute(query);
        }
        let database = Connection::open(self.file()).expect("a database");
        let found = database.query_row(query, [], |row| row.get(0));
        match found.expect(query) {
            Value::Null => String::new(),
            Value::Integer(number) => number.to_string(),
            Value::Real(number) => number.to_string(),
            Value::Text(text) => text,
            Value::Blob(bytes) => format!("{bytes:?}"),
        }
    }

    /// Executes statements in its database.
    pub(crate) fn change_stored(&self, statements: &str) {
        if let Some(database) = self.database() {
            database.execute(statements);
            return;
        }
        let database = Connection::open(self.file()).expect("a database");
        database.execute_batch(statements).expect(statements);
    }

    /// An SQL expression for an id that nothing has.
    pub(crate) fn random_id(&self) -> &'static str {
        match self.database() {
            Some(_) => "gen_random_uuid()",
            None => "randomblob(16)",
        }
    }

    /// How many bytes it takes to store what it has stored.
    pub(crate) fn stored_bytes(&self) -> u64 {
        if let Some(database) = self.database() {
            let size = database.execute("select pg_database_size(current_database())");
            return size.parse().expect("a number");
        }
        size_of(&self.folder())
    }

    /// A folder with everything that it has stored.
    pub(crate) fn stored_files(&self) -> PathBuf {
        if let Some(database) = self.database().map(Database::dump) {
            fs::write(self.folder().join("database.sql"), database).expect("writes");
        }
        self.folder()
    }
}

/// The size of all files in a folder.
fn size_of(folder: &Path) -> u64 {
    let files = fs::read_dir(folder).expect("readable");
    files
        .map(|file| file.expect("readable").path())
        .map(|path| {
            if path.is_dir() {
                size_of(&path)
            } else {
                path.metadata().map_or(0, |file| file.len())
            }
        })
        .sum()
}
