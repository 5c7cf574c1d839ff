//! A query of an author, with parameters `:name`.
//!
//! It reads: it begins with `SELECT`, `WITH` or `VALUES`, and is one statement.

use indexmap::IndexMap;

use super::{
    statement::{Dialect, Kind, Statement},
    value::Value,
};

/// A part of a text, as far as parameters are concerned.
enum Part<'a> {
    /// Text that stays as it is.
    Plain(&'a str),
    Name(&'a str),
    /// The end of a statement.
    End,
}

/// Parses a query, and binds the values of its parameters.
pub(super) fn query(
    text: &str,
    dialect: Dialect,
    params: &IndexMap<String, &serde_json::value::RawValue>,
) -> Result<Statement, String> {
    let mut statement = Statement::new(dialect);
    statement.kind = Kind::Rows;
    statement.is_foreign = true;
    let mut known: Vec<(&str, usize)> = Vec::new();
    let mut has_ended = false;
    for part in parts(text, dialect)? {
        match part {
            Part::End => has_ended = true,
            Part::Plain(text) if has_ended => {
                if !text.trim().is_empty() {
                    return Err("`query` must be one statement".to_owned());
                }
            }
            Part::Plain(text) => {
                statement.sql(text);
            }
            Part::Name(_) if has_ended => {
                return Err("`query` must be one statement".to_owned());
            }
            Part::Name(name) => {
                if let Some((_, place)) = known.iter().find(|(other, _)| *other == name) {
                    statement.value_again(*place);
                    continue;
                }
                let value = params.get(name);
                let value = value.ok_or_else(|| format!("`params` has no member `{name}`"))?;
                known.push((name, statement.values.len()));
                statement.value(Value::of(value.get()));
            }
        }
    }
    let reads = ["select", "with", "values"];
    let first: String = statement
        .text()
        .trim_start_matches(|next: char| next.is_whitespace() || next == '(')
        .chars()
        .take_while(char::is_ascii_alphabetic)
        .collect();
    if !reads.contains(&&*first.to_ascii_lowercase()) {
        return Err("`query` must begin with SELECT, WITH or VALUES".to_owned());
    }
    Ok(statement)
}

/// The parts of a text. Comments are dropped.
fn parts(text: &str, dialect: Dialect) -> Result<Vec<Part<'_>>, String> {
    let bytes = text.as_bytes();
    let (mut parts, mut begun, mut at) = (Vec::new(), 0, 0);
    let mut has_ended = false;
    let unfinished = || "`query` has a text, a name or a comment without an end".to_owned();
    while at < bytes.len() {
        let rest = &text[at..];
        let end = match bytes[at] {
            quote @ (b'\'' | b'"' | b'`') => {
                let escapes = dialect == Dialect::Mysql && quote != b'`'
                    || dialect == Dialect::Postgres && quote == b'\'' && is_escaping(bytes, at);
                at = after_quote(bytes, at, quote, escapes).ok_or_else(unfinished)?;
                continue;
            }
            b'[' if dialect == Dialect::Sqlite => {
                at += rest.find(']').ok_or_else(unfinished)? + 1;
                continue;
            }
            b'$' if dialect == Dialect::Postgres => match dollar_quote(rest) {
                Some(tag) => {
                    let closing = rest[tag..].find(&rest[..tag]).ok_or_else(unfinished)?;
                    at += tag + closing + tag;
                    continue;
                }
                None => at + 1,
            },
            b'-' if is_line_comment(rest, dialect) => at + rest.find('\n').unwrap_or(rest.len()),
            b'#' if dialect == Dialect::Mysql => at + rest.find('\n').unwrap_or(rest.len()),
            b'/' if rest.starts_with("/*") => {
                // These are text that MySQL executes, and nested ones end elsewhere.
                if rest.starts_with("/*!") || rest.starts_with("/*M!") {
                    return Err("`query` must not have comments that are executed".to_owned());
                }
                let end = rest[2..].find("*/").ok_or_else(unfinished)? + 4;
                if rest[2..end - 2].contains("/*") {
                    return Err("`query` must not have comments within comments".to_owned());
                }
                at + end
            }
            b';' => {
                parts.push(Part::Plain(&text[begun..at]));
                parts.push(Part::End);
                has_ended = true;
                at += 1;
                begun = at;
                continue;
            }
            b':' if rest.starts_with("::") => {
                at += 2;
                continue;
            }
            b':' => match name_length(&rest[1..]) {
                0 => {
                    at += 1;
                    continue;
                }
                length => {
                    parts.push(Part::Plain(&text[begun..at]));
                    parts.push(Part::Name(&rest[1..=length]));
                    at += 1 + length;
                    begun = at;
                    continue;
                }
            },
            next if dialect == Dialect::Mysql
                && !has_ended
                && next.is_ascii_alphabetic()
                && !is_within_name(bytes, at) =>
            {
                let (word, after) = rest.split_at(name_length(rest));
                if writes(word, &text[..at], after) {
                    return Err(format!("`query` must only read: it has {word}"));
                }
                at += word.len();
                continue;
            }
            b'?' | b'@' if dialect != Dialect::Postgres => {
                return Err("`query` must have parameters of the form `:name` only".to_owned());
            }
            _ => {
                at += rest.chars().next().map_or(1, char::len_utf8);
                continue;
            }
        };
        // A comment is a space; a `$` that quotes nothing may be a placeholder of the database.
        if bytes[at] == b'$' {
            if rest[1..].starts_with(|next: char| next.is_ascii_digit())
                && !is_within_name(bytes, at)
            {
                return Err("`query` must have parameters of the form `:name` only".to_owned());
            }
            at = end;
            continue;
        }
        parts.push(Part::Plain(&text[begun..at]));
        parts.push(Part::Plain(" "));
        at = end;
        begun = at;
    }
    parts.push(Part::Plain(&text[begun..]));
    Ok(parts)
}

/// Whether a word makes a statement of `MySQL` one that writes: `WITH …` may begin such a one, and
/// within a transaction nothing else keeps it from writing.
fn writes(word: &str, before: &str, after: &str) -> bool {
    let before = before.trim_end();
    let is = |other: &str| word.eq_ignore_ascii_case(other);
    let locks = || {
        let from = before.len().saturating_sub(3);
        before
            .get(from..)
            .is_some_and(|last| last.eq_ignore_ascii_case("for"))
    };
    let is_function = || after.trim_start().starts_with('(');
    // After a dot it is a column.
    !before.ends_with('.')
        && (is("delete")
            || is("into")
            || (is("update") && !locks())
            || ((is("insert") || is("replace")) && !is_function()))
}

/// Whether a comment to the end of the line begins here. In `MySQL` a space follows its sign, and
/// `1--1` is a subtraction.
fn is_line_comment(rest: &str, dialect: Dialect) -> bool {
    let Some(after) = rest.strip_prefix("--") else {
        return false;
    };
    dialect != Dialect::Mysql || !after.starts_with(|next: char| next > ' ')
}

/// The place behind a text in quotes that begins here.
fn after_quote(bytes: &[u8], from: usize, quote: u8, escapes: bool) -> Option<usize> {
    let mut at = from + 1;
    loop {
        match bytes.get(at)? {
            b'\\' if escapes => at += 2,
            found if *found == quote => {
                // Two are one within.
                if bytes.get(at + 1) != Some(&quote) {
                    return Some(at + 1);
                }
                at += 2;
            }
            _ => at += 1,
        }
    }
}

/// Whether a quote of `PostgreSQL` begins a text with escapes: `E'…'`.
fn is_escaping(bytes: &[u8], at: usize) -> bool {
    at > 0 && matches!(bytes[at - 1], b'e' | b'E') && !is_within_name(bytes, at - 1)
}

fn is_within_name(bytes: &[u8], at: usize) -> bool {
    at > 0 && {
        let before = bytes[at - 1];
        before == b'_' || before.is_ascii_alphanumeric() || !before.is_ascii()
    }
}

/// The length of `$tag$` at the beginning.
fn dollar_quote(text: &str) -> Option<usize> {
    let end = text[1..].find('$')?;
    let tag = &text[1..=end];
    let is_tag = !tag.starts_with(|next: char| next.is_ascii_digit())
        && tag
            .chars()
            .all(|next| next == '_' || next.is_alphanumeric());
    is_tag.then_some(end + 2)
}

fn name_length(text: &str) -> usize {
    let is_name = |next: char| next == '_' || next.is_ascii_alphanumeric();
    if text.starts_with(|next: char| next.is_ascii_digit()) {
        return 0;
    }
    text.find(|next| !is_name(next)).unwrap_or(text.len())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::expr::members;

    fn read(text: &str, dialect: Dialect) -> Result<(String, usize), String> {
        let params = members(r#"{"id":1,"name":"x"}"#).expect("an object");
        query(text, dialect, &params).map(|found| (found.text(), found.values.len()))
    }

    #[test]
    fn parameters_are_found_outside_of_texts_names_and_comments() {
        let sqlite = |text| read(text, Dialect::Sqlite);
        let text = "SELECT ':id', \":id\", `:id`, [:id] FROM t -- :id\nWHERE id = :id AND /* :id */ n = :name OR id = :id;";
        let (found, values) = sqlite(text).expect("a query");
        assert_eq!(
            found,
            "SELECT ':id', \":id\", `:id`, [:id] FROM t  \nWHERE id = ?1 AND   n = ?2 OR id = ?1"
        );
        assert_eq!(values, 2);
        let postgres = |text| read(text, Dialect::Postgres);
        let (found, _) =
            postgres("SELECT id::text, $a$ :id ; $a$, E'\\':id', a[1:2] FROM t WHERE id = :id")
                .expect("a query");
        assert!(found.ends_with("a[1:2] FROM t WHERE id = $1"), "{found}");
        assert!(found.contains("$a$ :id ; $a$, E'\\':id'"), "{found}");
    }

    #[test]
    fn a_query_is_one_statement_that_reads() {
        for dialect in [Dialect::Sqlite, Dialect::Postgres, Dialect::Mysql] {
            for refused in [
                "",
                "DELETE FROM t",
                "ATTACH 'x' AS y",
                "/* SELECT */ PRAGMA x",
                "SELECT 1; DELETE FROM t",
                "SELECT 1; -- a\n DELETE FROM t",
                "SELECT :missing",
                "SELECT 'a",
                "SELECT 1 /* a",
                "SELECT 1 /* /* */ ; DELETE FROM t -- */",
                "SELECT /*! 1 */ 2",
            ] {
                assert!(read(refused, dialect).is_err(), "{dialect:?}: {refused}");
            }
        }
        assert!(read("SELECT $1", Dialect::Postgres).is_err());
        assert!(read("SELECT ?1", Dialect::Sqlite).is_err());
        assert!(read("SELECT '\\'; DELETE FROM t; '", Dialect::Postgres).is_err());
        assert!(read("SELECT '\\'; DELETE FROM t; '", Dialect::Sqlite).is_err());
        assert!(read("(SELECT 1);", Dialect::Sqlite).is_ok());
        for dialect in [Dialect::Sqlite, Dialect::Postgres, Dialect::Mysql] {
            let (found, _) =
                read("SELECT 日本 AS größe FROM t WHERE é = :id", dialect).expect("one");
            assert!(
                found.starts_with("SELECT 日本 AS größe FROM t WHERE é = "),
                "{found}"
            );
        }
        for accepted in [
            " with a as (select 1) select * from a",
            "SELECT replace(a, 'delete', 'x'), t.update, `into` FROM t FOR UPDATE",
            "SELECT 1--1, :id",
        ] {
            assert!(read(accepted, Dialect::Mysql).is_ok(), "{accepted}");
        }
        for refused in [
            "WITH a AS (SELECT 1 AS x) DELETE FROM t",
            "with a as (select 1) update t set b = 1",
            "SELECT 1 INTO OUTFILE 'x'",
        ] {
            assert!(read(refused, Dialect::Mysql).is_err(), "{refused}");
        }
        let (found, values) = read("SELECT 1 --x\n AND id = :id", Dialect::Sqlite).expect("one");
        assert_eq!((&*found, values), ("SELECT 1  \n AND id = ?1", 1));
        let (found, _) = read("SELECT 5--x\n AND id = :id", Dialect::Mysql).expect("one");
        assert!(found.contains("--x"), "{found}");
    }
}
