//! `interlock backup` and `interlock restore`: copies of the database in a file.

use std::{
    io::{IsTerminal as _, stderr},
    path::{Path, PathBuf},
    process::ExitCode,
    time::Instant,
};

use super::{block_on, failed};
use crate::app::config::Config;
use crate::clock::Clock;
use crate::storage::{Copied, CopyError, DatabaseLocation, Storage};

pub(super) fn back_up(config: &Config, to: &Path) -> ExitCode {
    let started = Instant::now();
    let copying = Storage::back_up(&config.storage, to, &progress);
    report(block_on(copying), |copied| {
        let from = match &config.storage.place {
            DatabaseLocation::File(path) => format!(" from {}", path.display()),
            DatabaseLocation::Memory | DatabaseLocation::Server(_) => String::new(),
        };
        let content = content(copied, started);
        let mut text = format!("copied {content}{from} to {}", to.display());
        if let Some(key) = key_beside(&config.storage.place).filter(|key| key.exists()) {
            text += &note_on_key(&key);
        }
        text
    })
}

/// The file of the key that the service makes for the variables of bundles.
fn key_beside(place: &DatabaseLocation) -> Option<PathBuf> {
    let DatabaseLocation::File(database) = place else {
        return None;
    };
    let mut name = database.clone().into_os_string();
    name.push(".key");
    Some(PathBuf::from(name))
}

fn note_on_key(key: &Path) -> String {
    format!(
        "\nvariables of bundles are encrypted with {}, which is not part of the backup; keep a copy of it in another place",
        key.display()
    )
}

pub(super) fn restore(config: &Config, from: &Path, replace: bool) -> ExitCode {
    let started = Instant::now();
    let now = Clock::System.now();
    let copying = Storage::restore(&config.storage, from, replace, now, &progress);
    report(block_on(copying), |restored| {
        let mut text = format!(
            "restored {} from {}",
            content(&restored.copied, started),
            from.display()
        );
        if let Some(kept) = &restored.kept {
            text += &note_on(kept);
        }
        let key = key_beside(&config.storage.place).filter(|key| !key.exists());
        if let Some(key) = key
            && restored.has_variables
            && config.seal.is_none()
        {
            text += &note_on_missing_key(&key);
        }
        text
    })
}

fn note_on_missing_key(key: &Path) -> String {
    format!(
        "\nvariables of bundles are encrypted, and the key {} is missing; put its copy there or set INTERLOCK_KEY_ENCRYPTION_KEY, else apply the bundles again",
        key.display()
    )
}

fn note_on(kept: &Path) -> String {
    format!(
        "\nthe database that was there is now {}; delete it, with its -wal file if there is one, when it is not needed any more",
        kept.display()
    )
}

fn content(copied: &Copied, started: Instant) -> String {
    let newest = if copied.sequence.0 == 0 {
        "without any commit".to_owned()
    } else {
        format!("up to position {} of {}", copied.sequence.0, copied.at)
    };
    format!(
        "{} in {:.1} s, {newest},",
        megabytes(copied.bytes),
        started.elapsed().as_secs_f64()
    )
}

/// A size, to a tenth.
fn megabytes(bytes: u64) -> String {
    format!("{}.{} MB", bytes / 1_000_000, bytes / 100_000 % 10)
}

/// One line that is written over, where somebody looks at it.
fn progress(copied: u64, total: u64) {
    if stderr().is_terminal() && total > 0 {
        eprint!("\r{:3} % of {}", copied * 100 / total, megabytes(total));
    }
}

fn report<T>(
    done: std::io::Result<Result<T, CopyError>>,
    text: impl FnOnce(&T) -> String,
) -> ExitCode {
    if stderr().is_terminal() {
        // Clears the line of the progress.
        eprint!("\r\x1b[K");
    }
    match done {
        Ok(Ok(done)) => {
            show!("{}", text(&done));
            ExitCode::SUCCESS
        }
        Ok(Err(error)) => failed(&error),
        Err(error) => failed(&error),
    }
}
