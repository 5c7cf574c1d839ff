//! Compiles `proto/` with `protox`, so no `protoc` has to be installed.

use std::{env, error::Error, fs, path::PathBuf};

use prost::Message as _;

/// The files that hold the wire contract; what they import is found beside them.
const PROTOS: [&str; 2] = [
    "io/cloudevents/v1/cloudevents.proto",
    "org/cyoda/cloud/api/grpc/cloud_events_service.proto",
];

fn main() -> Result<(), Box<dyn Error>> {
    println!("cargo:rerun-if-changed=proto");
    let descriptors = protox::compile(PROTOS, ["proto"])?;
    let out = PathBuf::from(env::var("OUT_DIR")?);
    fs::write(out.join("descriptors.bin"), descriptors.encode_to_vec())?;
    tonic_prost_build::configure()
        .bytes(".")
        .btree_map(".")
        .compile_fds(descriptors)?;
    Ok(())
}
