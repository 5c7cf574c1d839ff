//! The codes of findings about step workflows.

use crate::dialect::rule::{Rule, error, warning};

/// Every code (`orchestration.md` 1.2, `runs.md` §11). E505 is not assigned.
pub const RULES: [Rule; 30] = [
    error(
        "E100",
        "the document is not YAML or JSON, is larger than 1 MiB or nests too deep, its root is not a map, or `kind` is not `Workflow`",
    ),
    error("E101", "`name` is missing or empty"),
    error("E102", "`version` is missing or empty"),
    error(
        "E103",
        "`start` is missing, a step has neither or both of `run` and `waitForSignal`, or a wait has no `type`",
    ),
    error(
        "E104",
        "a plan has no executor, or an executor no `name` or no `action`",
    ),
    error(
        "E105",
        "a step name is given twice, is empty or is the reserved `_start`",
    )
    .or_warning("a step name contains a dot, so no path can address the step"),
    error("E106", "two executors of a plan have the same name"),
    error(
        "E107",
        "a terminal is given twice, or has the name of a built-in one",
    ),
    warning("E108", "a key has no meaning there"),
    error(
        "E109",
        "a value is of the wrong kind, out of range or not one of the known words, or a key is given twice (in one or in both spellings); also a name or version over 256 bytes or with control characters, more than 64 search attributes, a reserved name and another namespace than the caller's",
    ),
    error(
        "E201",
        "a transition or `onTimeout` names neither a step nor a terminal",
    ),
    error(
        "E202",
        "`run`, or an executor's `action`, is not a valid target",
    ),
    error("E203", "`@plan/x` without a plan `x` in the document"),
    warning("E204", "a step starts the workflow itself as a child"),
    warning("E301", "no path leads from `start` to the step"),
    warning("E302", "no transition names the terminal"),
    warning("E303", "no transition anywhere reaches a terminal"),
    error(
        "E401",
        "retry: `max_attempts` is 0, or `initial_delay_ms` is larger than `max_delay_ms`",
    ),
    error(
        "E402",
        "breaker: `failure_threshold` or `half_open_max_calls` is 0",
    ),
    warning("E403", "`rate_limit` has no limit"),
    error("E404", "cache: `ttl_ms` is not above 0, or `key` is empty"),
    error(
        "E405",
        "health: `decay` is not above 0 and at most 1, or `window_ms` or `min_samples` is not above 0",
    )
    .or_warning("`selection: health-weighted` without `health`; the defaults are used"),
    error(
        "E501",
        "the `status` of a terminal is not one of the four, or a step and a terminal share a name",
    ),
    warning("E502", "a step has no transitions"),
    warning("E503", "a wait has no `timeoutMs`, so it may last for ever"),
    error(
        "E504",
        "a schedule has neither or both of `cron` and `interval`, or the interval is not above 0",
    ),
    error(
        "E506",
        "`cron` does not have five fields, or one is out of range",
    )
    .or_warning("no month that `cron` names has such a day, so the schedule never starts a run"),
    warning(
        "E507",
        "`@workflow/x`: whether it exists is checked when the step runs",
    ),
    error(
        "E508",
        "a trigger has no `stream`, its `batch_size` is 0, or its `mode` is unknown",
    ),
    warning(
        "E509",
        "`@actions/x`: the service has no action `x` in the namespace yet; a run that comes to the step fails",
    ),
];
