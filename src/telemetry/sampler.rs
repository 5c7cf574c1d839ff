//! The trace sampler (`rest.md` §8).

/// Which requests are traced.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Strategy {
    Always,
    Never,
    /// A fraction of them: above 0, and at most 1.
    Ratio(f64),
}

/// Which requests are traced, and whether their callers decide.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Sampler {
    pub strategy: Strategy,
    /// A request that is part of a trace is traced if that trace is.
    pub parent_based: bool,
}

/// Why a sampler is invalid.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
pub enum BadSampler {
    #[error("the sampler is `{0}`; use always, never or ratio")]
    Unknown(String),
    #[error("ratio is allowed for the sampler `ratio` only")]
    Needless,
    #[error("the sampler `ratio` requires a ratio")]
    Missing,
    #[error("the ratio is {0}; it must be above 0 and at most 1")]
    OutOfBounds(f64),
}

impl Default for Sampler {
    fn default() -> Self {
        Self {
            strategy: Strategy::Always,
            parent_based: true,
        }
    }
}

impl Sampler {
    pub fn new(name: &str, ratio: Option<f64>, parent_based: bool) -> Result<Self, BadSampler> {
        let strategy = match (name, ratio) {
            ("always", None) => Strategy::Always,
            ("never", None) => Strategy::Never,
            ("always" | "never", Some(_)) => return Err(BadSampler::Needless),
            ("ratio", None) => return Err(BadSampler::Missing),
            ("ratio", Some(ratio)) if ratio > 0.0 && ratio <= 1.0 => Strategy::Ratio(ratio),
            ("ratio", Some(ratio)) => return Err(BadSampler::OutOfBounds(ratio)),
            (other, _) => return Err(BadSampler::Unknown(other.to_owned())),
        };
        Ok(Self {
            strategy,
            parent_based,
        })
    }

    /// The name of the strategy.
    pub const fn name(&self) -> &'static str {
        match self.strategy {
            Strategy::Always => "always",
            Strategy::Never => "never",
            Strategy::Ratio(_) => "ratio",
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_ratio_belongs_to_the_sampler_of_that_name() {
        for (name, ratio, fits) in [
            ("always", None, true),
            ("never", None, true),
            ("ratio", Some(0.25), true),
            ("ratio", Some(1.0), true),
            ("ratio", None, false),
            ("ratio", Some(0.0), false),
            ("ratio", Some(-1.0), false),
            ("ratio", Some(1.1), false),
            ("ratio", Some(f64::NAN), false),
            ("always", Some(0.5), false),
            ("never", Some(0.5), false),
            ("sometimes", None, false),
            ("", None, false),
        ] {
            let sampler = Sampler::new(name, ratio, true);
            assert_eq!(sampler.is_ok(), fits, "{name} {ratio:?}");
            assert!(sampler.map_or(true, |sampler| sampler.name() == name));
        }
    }
}
