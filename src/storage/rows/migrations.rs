//! The steps that bring a database up to date.

use sqlx::{
    SqlSafeStr as _,
    migrate::{Migration, MigrationType, Migrator},
};

/// Of files: the number before the name, the name, and the statements. They are recorded as the
/// driver's own macro would record them.
pub(in crate::storage) fn migrator(files: &[(i64, &'static str, &'static str)]) -> Migrator {
    let migrations = files.iter().map(|(version, name, text)| {
        let name = name.replace('_', " ").into();
        let statements = text.into_sql_str();
        Migration::new(*version, name, MigrationType::Simple, statements, false)
    });
    Migrator::with_migrations(migrations.collect())
}
