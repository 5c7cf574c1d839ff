//! The codes of findings about the files of a bundle (`runs.md` §7).

use crate::dialect::rule::{Rule, error, warning};

pub const RULES: [Rule; 16] = [
    error(
        "S101",
        "a file is not HCL, or nests too deep; the location is the line",
    ),
    error("S102", "a block or attribute is unknown there"),
    error(
        "S103",
        "a value is missing, of the wrong kind, or not one of the known words",
    ),
    error(
        "S104",
        "a name is given twice: in one place, in two bundles of a namespace, or by a step workflow",
    ),
    error("S105", "a state or a state machine is not declared"),
    error(
        "S106",
        "an expression is not valid CEL, is too long, or reads something that is not there",
    ),
    error(
        "S107",
        "a duration is not whole numbers with `ms`, `s`, `m`, `h` or `d`",
    ),
    error("S201", "`env()` names a variable that has no value"),
    error("S202", "the settings of the service forbid the connector"),
    error(
        "S203",
        "a route is taken by another one or by the service itself",
    ),
    warning(
        "S301",
        "a saga or flow has no `from`, so no request starts it",
    ),
    warning(
        "S302",
        "an attribute has no effect, such as `port` and `api`",
    ),
    warning(
        "S303",
        "a connector is not declared: in `from` it is a `rest` one, else a compute member serves it",
    ),
    warning(
        "S304",
        "there is no such model yet, or no workflow of it has the transition",
    ),
    warning(
        "S305",
        "a text in `set` looks like a sum over columns, but is written as it stands",
    ),
    warning(
        "S306",
        "a text is written as it stands, but looks like one that reads `input`, `step` or `error`, or has single quotes that stay",
    ),
];
