pub mod clock;
pub mod condition;
pub mod entity;
pub mod error;
pub mod id;
pub mod model;
pub mod workflow;
