//! Why an expression is refused, or has no value.

use super::budget::TooMuchWork;

/// Why an expression is refused, or has no value.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum CelError {
    #[error("it is longer than {0} bytes")]
    TooLong(usize),
    #[error("it nests too deep, or has more than two macros within each other; make it simpler")]
    TooDeep,
    #[error("it is not valid CEL: {0}")]
    Syntax(String),
    #[error("`{0}` is not known here; known are {1}")]
    Undeclared(String, &'static str),
    #[error("there is no function `{0}`")]
    NoFunction(String),
    #[error("`step.{0}` is not the result of an earlier step")]
    NoStep(String),
    #[error("write the name of the step, as in `step.NAME.field`")]
    StepWithoutName,
    #[error("`error` is known in compensate and on_failure only")]
    NoErrorHere,
    #[error("`{0}` is missing")]
    Missing(String),
    #[error("the row has no column `{0}`")]
    NoColumn(String),
    #[error("{0}")]
    Failed(String),
    #[error("its value has no form in JSON: {0}")]
    NotJson(&'static str),
    #[error("its value is not true or false")]
    NotTruth,
    #[error("its value is larger than {0} bytes")]
    TooLarge(usize),
    #[error("its values are too large to be computed with")]
    TooMuchWork,
}

impl From<TooMuchWork> for CelError {
    fn from(_: TooMuchWork) -> Self {
        Self::TooMuchWork
    }
}
