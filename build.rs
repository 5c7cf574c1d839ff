//! Compiles `proto/` with `protox`, so no `protoc` has to be installed, and packs the assets of the
//! documentation page.

use std::{
    collections::BTreeMap,
    env,
    error::Error,
    fs,
    io::{Cursor, copy},
    path::{Path, PathBuf},
    process::Command,
};

use flate2::{Compression, write::GzEncoder};
use prost::Message as _;
use utoipa_swagger_ui_vendored::SWAGGER_UI_VENDORED;
use zip::ZipArchive;

/// The file of the envelope.
const ENVELOPE: &str = "io/cloudevents/v1/cloudevents.proto";

/// The file of the service between nodes, which is no part of the API.
const PEERS: &str = "interlock/peer/v1/peers.proto";

/// The file of the service, which is about envelopes only.
const SERVICE: &str = "org/cyoda/cloud/api/grpc/cloud_events_service.proto";

fn main() -> Result<(), Box<dyn Error>> {
    println!("cargo:rerun-if-changed=proto");
    let out = PathBuf::from(env::var("OUT_DIR")?);
    let descriptors = protox::compile([ENVELOPE, SERVICE], ["proto"])?;
    fs::write(out.join("descriptors.bin"), descriptors.encode_to_vec())?;
    tonic_prost_build::configure()
        .bytes(".")
        .btree_map(".")
        .compile_fds(protox::compile([ENVELOPE], ["proto"])?)?;
    // The service takes messages as bytes, so that one that cannot be read is answered, and does
    // not end the stream it came on.
    let service = out.join("service");
    fs::create_dir_all(&service)?;
    tonic_prost_build::configure()
        .out_dir(&service)
        .extern_path(
            ".io.cloudevents.v1.CloudEvent",
            "crate::event::frame::Frame",
        )
        .codec_path("crate::event::frame::FrameCodec")
        .compile_fds(descriptors)?;
    tonic_prost_build::configure()
        .out_dir(&service)
        .extern_path(".interlock.peer.v1.Sealed", "crate::event::frame::Frame")
        .codec_path("crate::event::frame::FrameCodec")
        .compile_fds(protox::compile([PEERS], ["proto"])?)?;
    pack_assets(&out)?;
    for database in ["postgres", "sqlite"] {
        list_migrations(&out, database)?;
    }
    println!("cargo:rerun-if-changed=.git/HEAD");
    println!(
        "cargo:rustc-env=BUILD_COMMIT={}",
        git(&["rev-parse", "--short", "HEAD"])
    );
    println!(
        "cargo:rustc-env=BUILD_TIME={}",
        git(&["log", "-1", "--format=%cs"])
    );
    Ok(())
}

/// Writes a list of the migrations of a database: number, name and text of each file.
fn list_migrations(out: &Path, database: &str) -> Result<(), Box<dyn Error>> {
    let folder = Path::new(&env::var("CARGO_MANIFEST_DIR")?)
        .join("src/storage")
        .join(database)
        .join("migrations");
    println!("cargo:rerun-if-changed={}", folder.display());
    let mut list = BTreeMap::new();
    for entry in fs::read_dir(folder)? {
        let path = entry?.path();
        let stem = path.file_stem().ok_or("no name")?.to_string_lossy();
        let (number, name) = stem.split_once('_').ok_or("NNNN_name.sql")?;
        let text = path.to_string_lossy();
        let row = format!(
            "({}, {name:?}, include_str!({text:?})),\n",
            number.parse::<i64>()?
        );
        if list.insert(number.to_owned(), row).is_some() {
            return Err(format!("two migrations have the number {number}").into());
        }
    }
    let list: String = list.into_values().collect();
    fs::write(
        out.join(format!("migrations_{database}.rs")),
        format!("&[\n{list}]\n"),
    )?;
    Ok(())
}

/// The files of Swagger UI that `/docs` needs.
const ASSETS: &[&str] = &["swagger-ui.css", "swagger-ui-bundle.js"];

/// Writes them as they are sent: in gzip.
fn pack_assets(out: &Path) -> Result<(), Box<dyn Error>> {
    let mut archive = ZipArchive::new(Cursor::new(SWAGGER_UI_VENDORED))?;
    for asset in ASSETS {
        let name = archive
            .file_names()
            .filter_map(Result::ok)
            .find(|name| name.ends_with(&format!("/dist/{asset}")))
            .ok_or(*asset)?
            .into_owned();
        let file = fs::File::create(out.join(format!("{asset}.gz")))?;
        let mut packer = GzEncoder::new(file, Compression::best());
        copy(&mut archive.by_name(&name)?, &mut packer)?;
        packer.finish()?;
    }
    Ok(())
}

/// What git says of the source, for the version line; it may not be there.
fn git(arguments: &[&str]) -> String {
    let output = Command::new("git")
        .args(arguments)
        .output()
        .ok()
        .filter(|output| output.status.success());
    let text = output
        .and_then(|output| String::from_utf8(output.stdout).ok())
        .unwrap_or_default();
    if text.trim().is_empty() {
        "unknown".to_owned()
    } else {
        text.trim().to_owned()
    }
}
