//! What is generated from the protocol of the server by `cargo run --package generate`.

#[allow(
    clippy::doc_markdown,
    clippy::enum_variant_names,
    clippy::large_enum_variant,
    clippy::new_without_default,
    clippy::redundant_field_names,
    clippy::struct_excessive_bools,
    clippy::struct_field_names,
    clippy::too_long_first_doc_paragraph,
    clippy::too_many_arguments,
    clippy::use_self,
    clippy::wrong_self_convention,
    missing_docs,
    unused_qualifications,
    reason = "as the schemas have it"
)]
pub(crate) mod types;

#[allow(
    clippy::doc_markdown,
    clippy::enum_variant_names,
    clippy::large_enum_variant,
    clippy::wildcard_imports,
    missing_docs,
    reason = "as the schemas have it"
)]
pub(crate) mod operations;

#[allow(
    clippy::doc_markdown,
    clippy::too_many_lines,
    reason = "as the index of the schemas has it"
)]
pub(crate) mod codes;

#[allow(
    clippy::all,
    clippy::pedantic,
    missing_docs,
    unused_qualifications,
    unreachable_pub,
    dead_code,
    reason = "as prost makes it"
)]
pub(crate) mod cloudevents;

#[allow(
    clippy::all,
    clippy::pedantic,
    missing_docs,
    unused_qualifications,
    unreachable_pub,
    dead_code,
    reason = "as tonic makes it"
)]
pub(crate) mod service;
