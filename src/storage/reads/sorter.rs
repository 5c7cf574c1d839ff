//! Sorting what does not fit in memory.

use futures_util::{Stream, TryStreamExt as _};

use crate::entity::Position;
use crate::storage::{Error, backend};

/// Sorts positions by keys, however many; nothing is left of it once it is dropped.
#[derive(Debug)]
pub struct Sorter(backend::Sorter);

impl Sorter {
    pub async fn open() -> Result<Self, Error> {
        Ok(Self(backend::Sorter::open().await?))
    }

    /// Adds a position. Of equal keys the order is any.
    pub async fn add(&mut self, key: Vec<u8>, position: Position) -> Result<(), Error> {
        Ok(self.0.add(key, position).await?)
    }

    /// The positions in the order of their keys.
    pub async fn sorted(
        &mut self,
    ) -> Result<impl Stream<Item = Result<Position, Error>> + Send + Unpin, Error> {
        Ok(self.0.sorted().await?.map_err(Error::from))
    }

    /// Lets go of everything.
    pub async fn close(self) -> Result<(), Error> {
        Ok(self.0.close().await?)
    }
}
