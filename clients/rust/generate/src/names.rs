//! Names of Rust from names of the wire, and comments.

/// The words of a name, in lower case.
fn words(wire: &str) -> Vec<String> {
    let mut words: Vec<String> = Vec::new();
    for part in wire.split(|c: char| !c.is_alphanumeric()) {
        if part.chars().all(|c| !c.is_lowercase()) {
            if !part.is_empty() {
                words.push(part.to_lowercase());
            }
            continue;
        }
        let mut word = String::new();
        for c in part.chars() {
            if c.is_uppercase() && !word.is_empty() {
                words.push(std::mem::take(&mut word));
            }
            word.extend(c.to_lowercase());
        }
        words.push(word);
    }
    words
}

/// `EntityCreate`, for types and their values.
pub(crate) fn pascal(wire: &str) -> String {
    let name: String = words(wire).iter().map(|word| capitalised(word)).collect();
    if name.is_empty() {
        "Any".to_owned()
    } else {
        name
    }
}

/// `entity_create`, for members and functions.
pub(crate) fn snake(wire: &str) -> String {
    words(wire).join("_")
}

/// What serde makes of the name of a member with `rename_all = "camelCase"`.
pub(crate) fn camel_of(snake: &str) -> String {
    let mut parts = snake.split('_');
    let first = parts.next().unwrap_or_default().to_owned();
    parts.fold(first, |name, part| name + &capitalised(part))
}

fn capitalised(word: &str) -> String {
    let mut letters = word.chars();
    letters.next().map_or_else(String::new, |first| {
        first.to_uppercase().chain(letters).collect()
    })
}

/// The name as an identifier.
pub(crate) fn identifier(name: &str) -> String {
    const KEYWORDS: &[&str] = &[
        "as", "async", "await", "box", "break", "const", "continue", "do", "dyn", "else", "enum",
        "extern", "final", "fn", "for", "gen", "if", "impl", "in", "let", "loop", "macro", "match",
        "mod", "move", "mut", "override", "priv", "pub", "ref", "return", "static", "struct",
        "trait", "true", "try", "type", "typeof", "unsafe", "use", "virtual", "where", "while",
        "yield",
    ];
    if KEYWORDS.contains(&name) {
        format!("r#{name}")
    } else {
        name.to_owned()
    }
}

/// A text as a comment of documentation.
pub(crate) fn comment(text: &str) -> String {
    let mut out = String::new();
    for line in text.lines() {
        out.push_str("///");
        if !line.trim().is_empty() {
            out.push(' ');
            out.push_str(&escaped(line.trim_end()));
        }
        out.push('\n');
    }
    out
}

/// The text with every line further to the right, for what rustfmt leaves as it is.
pub(crate) fn indented(text: &str, spaces: usize) -> String {
    let lines: Vec<_> = text
        .lines()
        .map(|line| format!("{:spaces$}{line}\n", ""))
        .collect();
    lines.concat()
}

/// A line in which nothing outside of code is taken for a link or a tag.
fn escaped(line: &str) -> String {
    let mut out = String::new();
    for (index, part) in line.split('`').enumerate() {
        if index > 0 {
            out.push('`');
        }
        if index % 2 == 1 {
            out.push_str(part);
            continue;
        }
        for c in part.chars() {
            if matches!(c, '[' | ']' | '<' | '>') {
                out.push('\\');
            }
            out.push(c);
        }
    }
    out
}

pub(crate) fn article(name: &str) -> &'static str {
    if name.starts_with(['A', 'E', 'I', 'O', 'U']) {
        "an"
    } else {
        "a"
    }
}
