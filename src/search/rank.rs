//! The best matches, up to the limit.

use super::{
    Error, Excess, KEY_BYTES_MAX, Query,
    hits::Hit,
    order::{Keys, Ranked},
};

/// Unsorted hits, hardly more than are needed.
pub(super) struct Best<'a> {
    query: &'a Query<'a>,
    ranked: Vec<Ranked<Hit>>,
    key_bytes: usize,
}

impl<'a> Best<'a> {
    pub(super) const fn new(query: &'a Query<'a>) -> Self {
        Self {
            query,
            ranked: Vec::new(),
            key_bytes: 0,
        }
    }

    /// Fails if there are more matches than allowed, or if their sort keys take too much memory.
    pub(super) fn add(&mut self, keys: Keys, hit: Hit) -> Result<(), Error> {
        let hit = Ranked::new(keys, hit);
        self.key_bytes += hit.key_bytes();
        self.ranked.push(hit);
        match self.query.excess {
            Excess::Refused if self.ranked.len() > self.query.limit => Err(Error::TooMany {
                limit: self.query.limit,
            }),
            Excess::CutOff if self.ranked.len() > 2 * self.query.limit => {
                self.keep_best();
                Ok(())
            }
            Excess::Refused | Excess::CutOff if self.key_bytes > KEY_BYTES_MAX => {
                Err(Error::KeysTooLarge)
            }
            Excess::Refused | Excess::CutOff => Ok(()),
        }
    }

    /// Whether there are as many as are needed.
    pub(super) const fn is_full(&self) -> bool {
        self.ranked.len() >= self.query.limit
    }

    /// Drops those that are not `kept`.
    pub(super) fn retain(&mut self, kept: impl Fn(&Hit) -> bool) {
        self.ranked.retain(|ranked| kept(ranked.item()));
        self.key_bytes = self.ranked.iter().map(Ranked::key_bytes).sum();
    }

    /// The best, sorted.
    pub(super) fn into_items(mut self) -> Vec<Hit> {
        self.keep_best();
        self.ranked.into_iter().map(Ranked::into_item).collect()
    }

    /// Sorts, and drops what is beyond the limit.
    fn keep_best(&mut self) {
        let order = self.query.order;
        self.ranked.sort_by(|one, other| {
            (order.compare(one, other)).then_with(|| one.item().id().cmp(&other.item().id()))
        });
        self.ranked.truncate(self.query.limit);
        self.key_bytes = self.ranked.iter().map(Ranked::key_bytes).sum();
    }
}
