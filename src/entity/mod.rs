//! A stored document: its content, its identity, its metadata.
//!
//! May use: [`crate::id`], [`crate::clock`].
//! A document is stored as the text that was received, numbers digit for digit; [`Document`] is the
//! same text with an index into it, so reading a value never changes it.

mod document;
mod image;
mod key;
mod number;
mod patch;
mod path;
mod place;
mod projection;
mod scan;
mod temporal;
mod xml;

pub use document::{Document, DocumentError, DocumentMembers, Elements, Json, Shape, Value};
pub use image::{
    Actor, ActorKind, Change, ChangeKind, Changed, Image, Position, Sequence, UnknownActorKind,
};
pub use key::{Key, KeyRange};
pub use number::{Number, NumberClass};
pub use patch::{Patch, PatchError};
pub use path::{Path, PathError, Step};
pub use place::{dotted, steps_to};
pub use projection::{ProjectedPaths, Projection};
pub use scan::{is_closed, is_too_deep, is_unicode, skip_string};
pub use temporal::{Temporal, TemporalClass};
pub use xml::XmlError;

/// How deep a document may nest (`models-and-entities.md` §4.2).
pub const DEPTH_MAX: usize = 256;
