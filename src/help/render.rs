//! Renders Markdown as text for a terminal.

use std::fmt::Write as _;

/// Removes the marks that only a renderer needs, and aligns tables in columns.
pub fn plain(markdown: &str) -> String {
    let mut text = String::new();
    let mut table: Vec<Vec<String>> = Vec::new();
    let mut in_code = false;
    for line in markdown.lines() {
        if !in_code && line.starts_with('|') {
            table.extend(cells(line));
            continue;
        }
        write_table(&mut text, &mut table);
        if line.starts_with("```") {
            in_code = !in_code;
        } else if in_code {
            let _ = writeln!(text, "    {line}");
        } else if let Some(title) = line.strip_prefix("# ") {
            let underline = "=".repeat(title.chars().count());
            let _ = writeln!(text, "{title}\n{underline}");
        } else if let Some(title) = line.strip_prefix("## ") {
            let underline = "-".repeat(title.chars().count());
            let _ = writeln!(text, "{title}\n{underline}");
        } else if line.starts_with("###") {
            let title = unmarked(line.trim_start_matches('#').trim_start());
            let _ = writeln!(text, "{title}");
        } else {
            text.push_str(&unmarked(line));
            text.push('\n');
        }
    }
    write_table(&mut text, &mut table);
    text
}

fn unmarked(text: &str) -> String {
    without_links(&text.replace("**", "").replace('`', ""))
}

/// Writes `[text](https://…)` as `text (https://…)`.
fn without_links(text: &str) -> String {
    let mut shown = String::new();
    let mut rest = text;
    while let Some((before, after)) = rest.split_once("](http") {
        let (Some(begin), Some(end)) = (before.rfind('['), after.find(')')) else {
            break;
        };
        let (before, label) = (&before[..begin], &before[begin + 1..]);
        let _ = write!(shown, "{before}{label} (http{})", &after[..end]);
        rest = &after[end + 1..];
    }
    shown + rest
}

/// The cells of a row; none of the line below the heading.
fn cells(line: &str) -> Option<Vec<String>> {
    let inner = line.trim().trim_start_matches('|').trim_end_matches('|');
    if inner.bytes().all(|byte| b"|-: ".contains(&byte)) {
        return None;
    }
    let inner = inner.replace("\\|", "\u{0}");
    let cells = inner.split('|');
    Some(
        cells
            .map(|cell| unmarked(cell.trim()).replace('\u{0}', "|"))
            .collect(),
    )
}

fn write_table(text: &mut String, table: &mut Vec<Vec<String>>) {
    let columns = table.iter().map(Vec::len).max().unwrap_or_default();
    let width = |column: usize| {
        let cells = table.iter().filter_map(|row| row.get(column));
        cells
            .map(|cell| cell.chars().count())
            .max()
            .unwrap_or_default()
    };
    let widths: Vec<usize> = (0..columns).map(width).collect();
    for row in table.drain(..) {
        let padded: Vec<String> = row
            .iter()
            .zip(&widths)
            .map(|(cell, width)| format!("{cell:<width$}"))
            .collect();
        let _ = writeln!(text, "  {}", padded.join("  ").trim_end());
    }
}
