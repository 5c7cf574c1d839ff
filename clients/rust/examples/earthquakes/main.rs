//! Loads a week of earthquake reports, has some of them reviewed, and shows what became of them.
//!
//! It is the loader, with `--with-member` the compute member as well; or, with `--member`, the
//! compute member alone, until it is stopped with Ctrl-C or SIGTERM.

mod load;
mod member;

use std::{env, path::PathBuf, process::ExitCode, time::Duration};

use interlock_client::{Client, ConnectOptions, Error, ErrorKind, Result};

use self::load::Loader;

const USAGE: &str = "\
Usage: earthquakes [--with-member | --member] [--server HOST:PORT] [--files FOLDER]

  --with-member  be the compute member as well, on one stream
  --member       be the compute member only
  --server       its gRPC port; localhost:9090 if absent
  --files        the folder with models, workflows and data";

struct Arguments {
    server: String,
    files: PathBuf,
    with_member: bool,
    member_only: bool,
}

fn arguments() -> Option<Arguments> {
    let mut read = Arguments {
        server: "localhost:9090".to_owned(),
        files: concat!(
            env!("CARGO_MANIFEST_DIR"),
            "/../python/examples/earthquakes"
        )
        .into(),
        with_member: false,
        member_only: false,
    };
    let mut given = env::args().skip(1);
    while let Some(one) = given.next() {
        match one.as_str() {
            "--with-member" => read.with_member = true,
            "--member" => read.member_only = true,
            "--server" => read.server = given.next()?,
            "--files" => read.files = given.next()?.into(),
            _ => return None,
        }
    }
    Some(read)
}

#[tokio::main]
async fn main() -> ExitCode {
    let Some(arguments) = arguments() else {
        eprintln!("{USAGE}");
        return ExitCode::from(2);
    };
    match run(arguments).await {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("\n{error}\n{}", advice(&error));
            ExitCode::FAILURE
        }
    }
}

fn advice(error: &Error) -> &'static str {
    match error.kind() {
        ErrorKind::ConnectionLost => "Is the server running? `interlock` starts it.",
        ErrorKind::ComputeUnavailable => {
            "No member serves the reports, so they cannot be assessed.\n\
             Start `earthquakes --member` in another terminal, or add --with-member."
        }
        _ => error.remedy().unwrap_or_default(),
    }
}

async fn run(arguments: Arguments) -> Result<()> {
    let options = ConnectOptions::new(arguments.server).connect_timeout(Duration::from_secs(5));
    if arguments.member_only {
        return member::member(options).run().await;
    }
    let folder = arguments.files;
    if !arguments.with_member {
        let client = Client::connect(options).await?;
        return Loader::new(&client, &folder).load().await;
    }
    let membership = member::member(options).join().await?;
    let loaded = Loader::new(membership.client(), &folder).load().await;
    membership.leave().await;
    loaded
}
