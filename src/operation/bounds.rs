//! Numbers of a request that have bounds.

use std::ops::RangeInclusive;

use crate::error::Failure;

/// The number, if it is within its bounds and fits the type.
pub(super) fn within<T: TryFrom<i64>>(
    parameter: &'static str,
    number: i64,
    bounds: RangeInclusive<i64>,
) -> Result<T, Failure> {
    let fitting = T::try_from(number).ok();
    fitting.filter(|_| bounds.contains(&number)).ok_or_else(|| {
        let (least, most) = bounds.into_inner();
        let message = format!("{parameter} is {number}; use {least} to {most}");
        Failure::bad_parameter(parameter, message)
    })
}

/// The same for a number that may be left out.
pub(super) fn maybe_within<T: TryFrom<i64>>(
    parameter: &'static str,
    number: Option<i64>,
    bounds: RangeInclusive<i64>,
) -> Result<Option<T>, Failure> {
    number
        .map(|number| within(parameter, number, bounds))
        .transpose()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_outside_their_bounds_or_type_are_refused() {
        assert_eq!(within("max", 3, 1..=3).ok(), Some(3_u64));
        for (number, bounds) in [(0, 1..=3), (4, 1..=3), (-1, -5..=5), (300, 0..=i64::MAX)] {
            assert!(within::<u8>("max", number, bounds).is_err(), "{number}");
        }
        let refused = within::<u64>("max", 4, 1..=3).expect_err("it is too large");
        assert_eq!(refused.message(), "max is 4; use 1 to 3");
    }
}
