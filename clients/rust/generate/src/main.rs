//! Writes `src/generated` from the protocol of the server: the types, operations and error codes
//! from `clients/schema`, the messages and the service from `proto`.
//!
//! It is executed by `cargo run --package generate`. A test compares what it would write with
//! what is committed.

mod names;
mod operations;
mod proto;
mod schema;
mod types;
mod write;

use std::{
    collections::BTreeMap,
    error::Error,
    fs,
    io::Write as _,
    path::Path,
    process::{Command, Stdio},
};

fn main() -> Result<(), Box<dyn Error>> {
    let client = Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
    for (name, text) in generated(&client.join("../.."))? {
        fs::write(client.join("src/generated").join(name), text)?;
    }
    Ok(())
}

/// All generated files by their names.
fn generated(root: &Path) -> Result<BTreeMap<String, String>, Box<dyn Error>> {
    let protocol = schema::Protocol::read(&root.join("clients/schema"))?;
    let types = types::Types::find(&protocol)?;
    let mut files = BTreeMap::from([
        ("types.rs".to_owned(), write::types(&types)),
        (
            "operations.rs".to_owned(),
            operations::operations(&protocol),
        ),
        ("codes.rs".to_owned(), operations::codes(&protocol)),
    ]);
    files.extend(proto::compiled(&root.join("proto"))?);
    for text in files.values_mut() {
        *text = formatted(text)?;
    }
    Ok(files)
}

fn formatted(source: &str) -> Result<String, Box<dyn Error>> {
    let mut rustfmt = Command::new("rustfmt")
        .args(["--edition", "2024"])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()?;
    let mut input = rustfmt.stdin.take().ok_or("rustfmt has no input")?;
    let source = source.to_owned();
    let writing = std::thread::spawn(move || input.write_all(source.as_bytes()));
    let output = rustfmt.wait_with_output()?;
    writing.join().map_err(|_| "cannot write to rustfmt")??;
    if !output.status.success() {
        return Err("rustfmt does not accept what was generated".into());
    }
    Ok(String::from_utf8(output.stdout)?)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_committed_is_what_would_be_generated() -> Result<(), Box<dyn Error>> {
        let client = Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
        for (name, text) in generated(&client.join("../.."))? {
            let committed = fs::read_to_string(client.join("src/generated").join(&name))?;
            assert!(
                committed == text,
                "src/generated/{name} is stale; run `cargo run --package generate`"
            );
        }
        Ok(())
    }
}
