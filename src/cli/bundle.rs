//! `interlock apply` and `interlock bundle`: sagas and state machines in HCL (`runs.md` §7).

use std::{path::PathBuf, process::ExitCode};

use clap::{Args, Subcommand};
use serde::Deserialize;

use super::{
    client,
    output::{Finding, Table},
    remote::{Error, Options, Service, maybe, report, with_service},
};
use crate::app::bundles::{environment_of, files_of_bundle};
use crate::dialect::saga;
use crate::event::payload::{Object, bundles::Removed, list};

#[derive(Args)]
pub(super) struct Apply {
    /// The files, or folders of files: `*.hcl`, and templates of mails.
    #[arg(short, long = "file", value_name = "FILE|DIR", required = true, num_args = 1..)]
    files: Vec<PathBuf>,
    /// The name of the bundle; by default that of the block `service`, else `default`.
    #[arg(long)]
    bundle: Option<String>,
    /// Report what would be done, and store nothing.
    #[arg(long)]
    dry_run: bool,
    #[command(flatten)]
    options: Options,
}

#[derive(Subcommand)]
pub(super) enum Command {
    /// List bundles.
    #[command(visible_alias = "ls", after_help = "Example:\n  interlock bundle list")]
    List {
        #[command(flatten)]
        options: Options,
    },
    /// Print the files of a bundle, or with --format json all of it.
    #[command(after_help = "Example:\n  interlock bundle show shop --format json | jq .routes")]
    Show {
        /// The name of the bundle.
        bundle: String,
        #[command(flatten)]
        options: Options,
    },
    /// Delete a bundle. Runs that are live continue.
    #[command(after_help = "Example:\n  interlock bundle delete shop")]
    Delete {
        /// The name of the bundle.
        bundle: String,
        #[command(flatten)]
        options: Options,
    },
}

#[derive(Deserialize)]
struct Applied {
    bundle: String,
    version: u64,
    change: String,
    sagas: Vec<String>,
    machines: Vec<String>,
    routes: Vec<String>,
    connectors: Vec<String>,
    removed: Option<Removed>,
    findings: Vec<Finding>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Listed {
    bundle: String,
    version: u64,
    sagas: Vec<String>,
    machines: Vec<String>,
    routes: Vec<String>,
    connectors: Vec<String>,
    applied_at: String,
}

#[derive(Deserialize)]
struct Shown {
    files: Vec<File>,
}

#[derive(Deserialize)]
struct File {
    path: String,
    text: String,
}

pub(super) fn apply(given: &Apply) -> ExitCode {
    with_service(&given.options, |to| applied(to, given))
}

pub(super) fn run(command: &Command) -> ExitCode {
    match command {
        Command::List { options } => with_service(options, listed),
        Command::Show { bundle, options } => with_service(options, |to| show(to, bundle)),
        Command::Delete { bundle, options } => with_service(options, |to| delete(to, bundle)),
    }
}

async fn applied(service: Service<'_>, given: &Apply) -> Result<(), Error> {
    let files = files_of_bundle(&given.files)?;
    let read: Vec<_> = files
        .iter()
        .map(|file| saga::File {
            path: &file.path,
            text: &file.text,
        })
        .collect();
    let variables = environment_of(saga::variables(&read));
    let sent: Vec<_> = files
        .iter()
        .map(|file| {
            let object = Object::new().text("path", &file.path);
            object.text("text", &file.text).finish()
        })
        .collect();
    let request = |object| {
        let object = service.in_namespace(object);
        let object = maybe(object, "bundle", given.bundle.as_deref());
        let object = object
            .raw("files", &list(&sent))
            .object("variables", |object| {
                let variables = variables.iter();
                variables.fold(object, |object, (name, value)| object.text(name, value))
            });
        object.truth("dryRun", given.dry_run)
    };
    let answer = service.ask("BundleApply", request).await?;
    let applied: Applied = client::read(&answer)?;
    if !applied.findings.is_empty() {
        report(&applied.findings);
    }
    let declared = [
        &applied.sagas,
        &applied.machines,
        &applied.routes,
        &applied.connectors,
    ];
    if declared.into_iter().all(Vec::is_empty) {
        eprintln!("warning: the bundle declares nothing");
    }
    if service.is_json() {
        show!("{answer}");
        return Ok(());
    }
    let done = if given.dry_run { "Checked" } else { "Applied" };
    let (bundle, version, change) = (applied.bundle, applied.version, applied.change);
    show!("{done} bundle: {bundle} (version {version}, {change})");
    let removed = applied
        .removed
        .as_ref()
        .map_or_else(Vec::new, Removed::named);
    for (what, names) in [
        ("sagas", applied.sagas),
        ("machines", applied.machines),
        ("routes", applied.routes),
        ("connectors", applied.connectors),
        ("removed", removed),
    ] {
        if !names.is_empty() {
            show!("  {what}: {}", names.join(", "));
        }
    }
    Ok(())
}

async fn listed(service: Service<'_>) -> Result<(), Error> {
    let request = |object| service.in_namespace(object);
    let items = service.items("BundlesGet", usize::MAX, request).await?;
    let mut table = Table::new([
        "BUNDLE",
        "VERSION",
        "SAGAS",
        "MACHINES",
        "ROUTES",
        "CONNECTORS",
        "APPLIED",
    ]);
    for item in &items {
        if service.is_json() {
            show!("{item}");
            continue;
        }
        let listed: Listed = client::read(item.get())?;
        table.row([
            listed.bundle,
            listed.version.to_string(),
            listed.sagas.len().to_string(),
            listed.machines.len().to_string(),
            listed.routes.len().to_string(),
            listed.connectors.len().to_string(),
            listed.applied_at,
        ]);
    }
    if !service.is_json() {
        show!("{table}");
    }
    Ok(())
}

async fn show(service: Service<'_>, bundle: &str) -> Result<(), Error> {
    let request = |object| service.in_namespace(object).text("bundle", bundle);
    let answer = service.ask("BundleGet", request).await?;
    if service.is_json() {
        show!("{answer}");
        return Ok(());
    }
    let shown: Shown = client::read(&answer)?;
    for (at, file) in shown.files.iter().enumerate() {
        if at > 0 {
            show!("");
        }
        show!("# {}\n{}", file.path, file.text.trim_end());
    }
    Ok(())
}

async fn delete(service: Service<'_>, bundle: &str) -> Result<(), Error> {
    let request = |object| service.in_namespace(object).text("bundle", bundle);
    let answer = service.ask("BundleDelete", request).await?;
    if service.is_json() {
        show!("{answer}");
    } else {
        show!("Deleted bundle: {bundle}");
    }
    Ok(())
}
