//! The conformance checklist, `workflow-engine.md` §14: each row is one test, named after it.

mod calls;
mod machine;
mod time;
