//! Several processes on one database: which there are, which of them drives a run, who has which
//! tasks, and what others have committed.

mod driver;
mod node;
mod pulse;
mod share;

pub use node::NameTaken;
