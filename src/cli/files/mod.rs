//! `interlock files`: JSON documents under paths, copied out to a folder and back (`runs.md` §8).

mod folder;

use std::{path::PathBuf, process::ExitCode};

use clap::Subcommand;
use serde::Deserialize;
use serde_json::value::RawValue;

use super::{
    client,
    output::Table,
    remote::{Error, Options, Service, with_service},
};
use folder::{Folder, Local};

pub(super) use folder::Error as FolderError;

#[derive(Subcommand)]
pub(super) enum Command {
    /// List files, by path.
    #[command(
        visible_alias = "ls",
        after_help = "Example:\n  interlock files list /states/managers/"
    )]
    List {
        /// What the paths begin with.
        #[arg(default_value = "/")]
        prefix: String,
        #[command(flatten)]
        options: Options,
    },
    /// Copy the files of a namespace into a folder.
    #[command(after_help = "\
Example:
  interlock files pull ./states

The versions are kept in DIR/.interlock-files.json. A file that was edited in the folder and not
pushed is left as it is and reported; the exit code is 1. A folder has the files of one namespace.")]
    Pull {
        dir: PathBuf,
        #[command(flatten)]
        options: Options,
    },
    /// Copy what was edited in a folder back.
    #[command(after_help = "\
Example:
  interlock files push ./states

A file that was changed on the server after it was pulled is not overwritten but reported; the exit
code is 1. Pull into another folder to compare. What belongs to editors (names that begin with a dot
or #, or end with ~) is left out, unless it was pulled.")]
    Push {
        dir: PathBuf,
        /// Also delete files that were pulled and are not in the folder any more.
        #[arg(long)]
        delete: bool,
        #[command(flatten)]
        options: Options,
    },
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Listed {
    path: String,
    version: String,
    size: u64,
    updated_at: String,
}

#[derive(Deserialize)]
struct Shown<'a> {
    #[serde(borrow)]
    content: &'a RawValue,
    version: String,
}

#[derive(Deserialize)]
struct Written {
    version: String,
}

pub(super) fn run(command: &Command) -> ExitCode {
    match command {
        Command::List { prefix, options } => with_service(options, |to| list(to, prefix)),
        Command::Pull { dir, options } => with_service(options, |from| pull(from, dir.clone())),
        Command::Push {
            dir,
            delete,
            options,
        } => with_service(options, |to| push(to, dir.clone(), *delete)),
    }
}

/// Why a file is not pulled that was edited.
const EDITED: &str = "was edited in the folder; push it, or move it away";

/// The files of the namespace, by path.
async fn files(service: &Service<'_>, prefix: &str) -> Result<Vec<Box<RawValue>>, Error> {
    let request = |object| service.in_namespace(object).text("prefix", prefix);
    service.items("FilesGet", usize::MAX, request).await
}

async fn list(service: Service<'_>, prefix: &str) -> Result<(), Error> {
    let mut table = Table::new(["PATH", "SIZE", "VERSION", "UPDATED"]);
    for item in files(&service, prefix).await? {
        if service.is_json() {
            show!("{item}");
            continue;
        }
        let listed: Listed = client::read(item.get())?;
        let size = listed.size.to_string();
        table.row([listed.path, size, listed.version, listed.updated_at]);
    }
    if !service.is_json() {
        show!("{table}");
    }
    Ok(())
}

async fn pull(service: Service<'_>, dir: PathBuf) -> Result<(), Error> {
    let mut folder = Folder::make(dir, service.namespace())?;
    let pulled = pull_all(&service, &mut folder).await;
    // What was pulled is remembered even if the rest could not be.
    folder.save()?;
    let (copied, refused) = pulled?;
    finish(&format!("{copied} pulled"), refused)
}

async fn pull_all(service: &Service<'_>, folder: &mut Folder) -> Result<(usize, usize), Error> {
    let mut there = Vec::new();
    let (mut copied, mut refused) = (0_usize, 0_usize);
    for item in files(service, "/").await? {
        let listed: Listed = client::read(item.get())?;
        let path = listed.path;
        there.push(path.clone());
        let why = match folder.local(&path) {
            _ if folder::is_reserved(&path) => Some("is reserved for the notes of this command"),
            Ok(Local::Same) if folder.version(&path) == Some(&listed.version) => continue,
            Ok(Local::Same | Local::Gone | Local::Edited) => None,
            Err(error) if error.is_of_kinds() => {
                Some("needs a folder where there is a file; rename one of them")
            }
            Err(error) => return Err(error.into()),
        };
        if let Some(why) = why {
            eprintln!("refused: {path} {why}");
            refused += 1;
            continue;
        }
        let request = |object| service.in_namespace(object).text("path", &path);
        let answer = match service.ask("FileGet", request).await {
            Ok(answer) => answer,
            // It was deleted meanwhile.
            Err(Error::Refused(refusal)) if refusal.is("FILE_NOT_FOUND") => continue,
            Err(error) => return Err(error),
        };
        let shown: Shown<'_> = client::read(&answer)?;
        // It may have been saved meanwhile. What an interrupted pull has written is not an edit.
        let content = shown.content.get();
        if folder.local(&path)? == Local::Edited && !folder.has(&path, content)? {
            eprintln!("refused: {path} {EDITED}");
            refused += 1;
            continue;
        }
        folder.write(&path, content, shown.version)?;
        show!("pulled {path}");
        copied += 1;
    }
    for path in folder.missing_from(&there) {
        if folder.local(&path)? == Local::Edited {
            eprintln!("refused: {path} was deleted on the server and edited in the folder");
            refused += 1;
        } else {
            folder.remove(&path)?;
            show!("removed {path}");
        }
    }
    Ok((copied, refused))
}

async fn push(service: Service<'_>, dir: PathBuf, delete: bool) -> Result<(), Error> {
    let mut folder = Folder::open(dir, service.namespace())?;
    let pushed = push_all(&service, &mut folder, delete).await;
    // What was pushed is remembered even if the rest could not be.
    folder.save()?;
    let Pushed {
        copied,
        deleted,
        refused,
    } = pushed?;
    let deleted = if deleted > 0 {
        format!(", {deleted} deleted")
    } else {
        String::new()
    };
    finish(&format!("{copied} pushed{deleted}"), refused)
}

/// How many files were pushed, deleted on the server, and refused.
#[derive(Default)]
struct Pushed {
    copied: usize,
    deleted: usize,
    refused: usize,
}

async fn push_all(
    service: &Service<'_>,
    folder: &mut Folder,
    delete: bool,
) -> Result<Pushed, Error> {
    let mut pushed = Pushed::default();
    for path in folder.edited()? {
        let content = folder.content(&path)?;
        let base = folder.version(&path).cloned().unwrap_or_default();
        let request = |object| {
            let object = service.in_namespace(object).text("path", &path);
            let object = object.raw("content", content.json.get());
            object.text("ifMatch", &base)
        };
        match service.ask("FilePut", request).await {
            Ok(answer) => {
                let written: Written = client::read(&answer)?;
                folder.note(&path, written.version, content);
                show!("pushed {path}");
                pushed.copied += 1;
            }
            Err(Error::Refused(refusal)) => {
                eprintln!("refused: {path}: {refusal}");
                pushed.refused += 1;
            }
            Err(error) => return Err(error),
        }
    }
    for (path, version) in folder.gone()? {
        if !delete {
            eprintln!("{path} is not in the folder any more; it is deleted with --delete");
            continue;
        }
        let request = |object| {
            let object = service.in_namespace(object).text("path", &path);
            object.text("ifMatch", &version)
        };
        match service.ask("FileDelete", request).await {
            Err(Error::Refused(refusal)) if !refusal.is("FILE_NOT_FOUND") => {
                eprintln!("refused: {path}: {refusal}");
                pushed.refused += 1;
            }
            Err(Error::Refused(_)) | Ok(_) => {
                folder.forget(&path);
                show!("deleted {path}");
                pushed.deleted += 1;
            }
            Err(error) => return Err(error),
        }
    }
    Ok(pushed)
}

fn finish(done: &str, refused: usize) -> Result<(), Error> {
    if refused > 0 {
        return Err(FolderError::Refused(refused).into());
    }
    show!("{done}");
    Ok(())
}
