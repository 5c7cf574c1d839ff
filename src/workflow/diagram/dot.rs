//! Diagrams in Graphviz's DOT.

use std::fmt::Write as _;

use super::{Frame, Kind, visible};

const HEAD: &str = r#"digraph workflows {
    graph [fontname="Helvetica", compound=true];
    node [fontname="Helvetica", shape=box, style=rounded];
    edge [fontname="Helvetica", fontsize=10];
"#;

pub(super) fn write(frames: &[Frame<'_>]) -> String {
    let mut text = HEAD.to_owned();
    for frame in frames {
        let _ = write_frame(&mut text, frame);
    }
    text + "}\n"
}

fn write_frame(text: &mut String, frame: &Frame<'_>) -> std::fmt::Result {
    writeln!(text, "    subgraph \"cluster_{}\" {{", frame.id)?;
    writeln!(text, "        label=\"{}\";", escaped(&frame.title))?;
    writeln!(
        text,
        "        \"{}\" [shape=point, width=0.15, label=\"\"];",
        frame.id
    )?;
    for state in &frame.states {
        let label = escaped(state.name);
        let border = if state.is_terminal {
            ", peripheries=2"
        } else {
            ""
        };
        writeln!(
            text,
            "        \"{}\" [label=\"{label}\"{border}];",
            state.id
        )?;
    }
    writeln!(text, "        \"{}\" -> \"{}\";", frame.id, frame.initial)?;
    for arrow in &frame.arrows {
        let lines: Vec<_> = arrow.lines.iter().map(|line| escaped(line)).collect();
        writeln!(
            text,
            "        \"{}\" -> \"{}\" [label=\"{}\"{}];",
            arrow.from,
            arrow.to,
            lines.join("\\n"),
            style(arrow.kind)
        )?;
    }
    writeln!(text, "    }}")
}

const fn style(kind: Kind) -> &'static str {
    match kind {
        Kind::Automated => "",
        Kind::Manual => ", style=dashed",
        Kind::Scheduled => ", color=blue, fontcolor=blue",
        Kind::Disabled => ", style=dotted, color=gray, fontcolor=gray",
    }
}

/// Escapes text for Graphviz, which interprets `\N` and `&lt;` in labels.
fn escaped(text: &str) -> String {
    let mut safe = String::with_capacity(text.len());
    for char in text.chars().map(visible) {
        match char {
            '"' => safe.push_str("\\\""),
            '\\' => safe.push_str("\\\\"),
            '&' => safe.push_str("&amp;"),
            other => safe.push(other),
        }
    }
    safe
}
