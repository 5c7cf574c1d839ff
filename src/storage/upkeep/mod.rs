//! What is done in the background for the database itself: indexes are filled, those that searches
//! miss are made, the log is copied back, what has expired is removed, and pages are checked.

mod adaptive;
mod damaged_pages;
mod fill;
mod log;
mod run_retention;
mod stored_bytes;
mod topic_retention;
