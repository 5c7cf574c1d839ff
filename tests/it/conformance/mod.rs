//! The conformance tests of the workflow engine (`workflow-engine.md` §2 to §9), one test for each rule.

mod calls;
mod machine;
mod time;
