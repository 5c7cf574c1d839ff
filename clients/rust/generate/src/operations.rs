//! Writes the operations and the error codes.

use std::fmt::Write as _;

use super::{
    names::{article, comment, indented, pascal, snake},
    schema::{Operation, Protocol, description},
    write::HEADER,
};

pub(crate) fn operations(protocol: &Protocol) -> String {
    let mut out = HEADER.to_owned();
    out.push_str("use crate::{Answers, Client, Request};\n\nuse super::types::*;\n\n");
    out.push_str("/// The operations of the server.\nimpl Client {\n");
    for operation in &protocol.operations {
        out.push_str(&method(protocol, operation));
    }
    out.push_str("}\n\n");
    for operation in &protocol.operations {
        if operation.responses.len() > 1 {
            out.push_str(&union(operation));
        }
    }
    let streamed = protocol.operations.iter().filter(|one| one.streaming);
    let streamed: Vec<_> = streamed.map(|one| format!("{:?}", one.request)).collect();
    let _ = write!(
        out,
        "/// The types of requests that are answered by several events.\n\
         pub(crate) const STREAMED: &[&str] = &[{}];\n\n",
        streamed.join(", ")
    );
    let mut single: Vec<_> = protocol
        .operations
        .iter()
        .flat_map(|operation| &operation.responses)
        .map(String::as_str)
        .collect();
    single.sort_unstable();
    single.dedup();
    let _ = writeln!(out, "crate::request::answers! {{ {} }}", single.join(", "));
    out
}

fn method(protocol: &Protocol, operation: &Operation) -> String {
    let request = &operation.request;
    let mut docs = format!("Sends {} `{request}`.\n", article(request));
    let about = description(&protocol.files[request]);
    if !about.is_empty() {
        let _ = write!(docs, "\n{about}\n");
    }
    if !operation.role.is_empty() {
        let _ = write!(docs, "\nThe caller needs the role `{}`.\n", operation.role);
    }
    if operation.endless {
        docs.push_str("\nThe answer has no end. It does not resume after a lost connection.\n");
    }
    let answer = if operation.responses.len() > 1 {
        union_name(operation)
    } else {
        operation.responses[0].clone()
    };
    let (kind, send) = match (operation.streaming, operation.endless) {
        (false, _) => ("Request", "call"),
        (true, false) => ("Answers", "stream"),
        (true, true) => ("Answers", "listen"),
    };
    format!(
        "{}pub fn {}(&self, request: &{request}) -> {kind}<{answer}> {{\n\
         self.{send}({request:?}, request)\n}}\n\n",
        comment(&docs),
        snake(base(request)),
    )
}

fn base(request: &str) -> &str {
    request.strip_suffix("Request").unwrap_or(request)
}

fn union_name(operation: &Operation) -> String {
    format!("{}Answer", base(&operation.request))
}

fn union(operation: &Operation) -> String {
    let name = union_name(operation);
    let variant = |response: &String| format!("{response}({response}),\n");
    let variants: Vec<_> = operation.responses.iter().map(variant).collect();
    let variants = variants.concat();
    format!(
        "/// One event of the answer to {} `{}`.\n#[derive(Clone, Debug, PartialEq)]\n\
         #[non_exhaustive]\npub enum {name} {{\n{variants}}}\n\n\
         crate::request::union_answer! {{ {name}: {} }}\n\n",
        article(&operation.request),
        operation.request,
        operation.responses.join(", "),
    )
}

/// Codes of failures that the client finds itself.
const OWN: &[(&str, bool, &str)] = &[
    (
        "ANSWER_NOT_READ",
        false,
        "the program did not read a streamed answer within a transaction for too long while others waited for the stream; send no requests until it is read, or ask for less at once",
    ),
    (
        "CLIENT_CLOSED",
        false,
        "the client or the member was closed; make another one",
    ),
    (
        "CONNECTION_LOST",
        false,
        "there is no connection, or it ended before the answer; it is retryable if the request was certainly not sent",
    ),
    (
        "INVALID_JSON",
        false,
        "a value has no form in JSON, or JSON does not have the expected form; correct the type",
    ),
    (
        "INVALID_OPTIONS",
        false,
        "an address, a certificate, metadata or another setting of the client cannot be used; correct it",
    ),
    (
        "MESSAGE_TOO_LARGE",
        false,
        "the server would not accept a message of this size; send less",
    ),
    (
        "NOT_SUPPORTED",
        false,
        "a request cannot be made this way; use a client",
    ),
    (
        "REQUEST_TIMEOUT",
        false,
        "the request was not answered within the time that the program gave it, and was cancelled; read before you repeat it",
    ),
    (
        "SERVER_ERROR",
        false,
        "the server gave no reason; look into its log",
    ),
    (
        "SERVER_NOT_UNDERSTOOD",
        false,
        "the server is of a version that this client does not understand; use the client of that version",
    ),
];

pub(crate) fn codes(protocol: &Protocol) -> String {
    let mut out = HEADER.to_owned();
    out.push_str("crate::error::codes! {\n");
    for one in &protocol.errors {
        out.push_str(&code(&one.code, one.status, one.retryable, &one.meaning));
    }
    for (name, retryable, meaning) in OWN {
        if !protocol.errors.iter().any(|one| one.code == *name) {
            out.push_str(&code(name, 0, *retryable, meaning));
        }
    }
    out + "}\n"
}

fn code(name: &str, status: u16, retryable: bool, meaning: &str) -> String {
    let text = format!(
        "{}{} = {name:?}, {status}, {retryable}, {meaning:?};\n",
        comment(&format!("{}.", first_upper(meaning))),
        pascal(name)
    );
    indented(&text, 4)
}

fn first_upper(text: &str) -> String {
    let mut letters = text.chars();
    letters.next().map_or_else(String::new, |first| {
        first.to_uppercase().chain(letters).collect()
    })
}
