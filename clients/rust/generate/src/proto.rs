//! Compiles `proto` with `protox`, so no `protoc` has to be installed.

use std::{collections::BTreeMap, error::Error, fs, path::Path};

const FILES: [&str; 2] = [
    "io/cloudevents/v1/cloudevents.proto",
    "org/cyoda/cloud/api/grpc/cloud_events_service.proto",
];

/// The messages and the client of the service, by the names of their files.
pub(crate) fn compiled(folder: &Path) -> Result<BTreeMap<String, String>, Box<dyn Error>> {
    let out = tempfile::tempdir()?;
    tonic_prost_build::configure()
        .build_server(false)
        .build_transport(false)
        .btree_map(".")
        .out_dir(out.path())
        .compile_fds(protox::compile(FILES, [folder])?)?;
    let mut files = BTreeMap::new();
    for (made, name) in [
        ("io.cloudevents.v1.rs", "cloudevents.rs"),
        ("org.cyoda.cloud.api.grpc.rs", "service.rs"),
    ] {
        let text = fs::read_to_string(out.path().join(made))?;
        // The service names the messages by the modules of their packages.
        let path = "super::super::super::super::super::io::cloudevents::v1::";
        files.insert(name.to_owned(), text.replace(path, "super::cloudevents::"));
    }
    Ok(files)
}
