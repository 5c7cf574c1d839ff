//! The parser of HCL, which keeps where each block, attribute and value begins, and has limits of
//! how deep they may nest.

use std::{ops::Range, thread};

use hcl_edit::{
    Number, Span,
    expr::{Expression, FuncCall, ObjectKey, UnaryOperator},
    parser,
    structure::{self, Structure},
    template::Element,
};

use super::syntax::{Attribute, Block, Body, Content, SourcePosition, Value};

/// The stack for parsing, in bytes: the parser takes 64 levels, and needs some 100 KB for each.
const STACK: usize = 32 << 20;

/// Parses a file, on a thread of its own that ends with the call; else the line of the error, and
/// what it is.
pub(super) fn parse(file: usize, text: &str) -> Result<Body, (u32, String)> {
    let parsed = thread::scope(|scope| {
        let builder = thread::Builder::new().stack_size(STACK);
        let parsing = builder.spawn_scoped(scope, || parse_here(file, text));
        parsing.ok()?.join().ok()
    });
    parsed.unwrap_or_else(|| Err((1, "no thread could read the file; try again".to_owned())))
}

fn parse_here(file: usize, text: &str) -> Result<Body, (u32, String)> {
    let body = parser::parse_body(text).map_err(|error| {
        let line = u32::try_from(error.location().line()).unwrap_or(u32::MAX);
        let column = error.location().column();
        (
            line,
            format!(
                "the file is not HCL: {}, in column {column}",
                error.message()
            ),
        )
    })?;
    let file = File {
        number: file,
        text,
        lines: memchr::memchr_iter(b'\n', text.as_bytes()).collect(),
    };
    Ok(file.body(&body))
}

struct File<'t> {
    number: usize,
    text: &'t str,
    /// Where lines end.
    lines: Vec<usize>,
}

impl File<'_> {
    fn place(&self, span: Option<Range<usize>>) -> SourcePosition {
        let at = span.map_or(0, |span| span.start);
        let line = self.lines.partition_point(|end| *end < at) + 1;
        SourcePosition {
            file: self.number,
            line: u32::try_from(line).unwrap_or(u32::MAX),
        }
    }

    fn body(&self, body: &structure::Body) -> Body {
        let (mut attributes, mut blocks) = (Vec::new(), Vec::new());
        for structure in body {
            match structure {
                Structure::Attribute(attribute) => attributes.push(Attribute {
                    name: attribute.key.as_str().to_owned(),
                    value: self.value(&attribute.value),
                    place: self.place(attribute.span()),
                }),
                Structure::Block(block) => {
                    let text = block.span().and_then(|span| self.text.get(span));
                    blocks.push(Block {
                        kind: block.ident.as_str().to_owned(),
                        labels: block
                            .labels
                            .iter()
                            .map(|label| label.as_str().to_owned())
                            .collect(),
                        body: self.body(&block.body),
                        place: self.place(block.span()),
                        text: text.unwrap_or_default().to_owned(),
                    });
                }
            }
        }
        Body { attributes, blocks }
    }

    fn value(&self, expression: &Expression) -> Value {
        let place = self.place(expression.span());
        let content = match expression {
            Expression::Null(_) => Content::Null,
            Expression::Bool(truth) => Content::Bool(*truth.value()),
            Expression::Number(number) => {
                let written = number.as_repr().map(|written| written.to_string());
                Content::Number(as_json(written, number.value()))
            }
            Expression::String(text) => Content::Text(text.value().clone()),
            Expression::Array(items) => {
                Content::List(items.iter().map(|item| self.value(item)).collect())
            }
            Expression::Object(object) => {
                let members = object.iter().map(|(key, value)| {
                    let name = match key {
                        ObjectKey::Ident(name) => name.as_str(),
                        ObjectKey::Expression(key) => key.as_str()?,
                    };
                    Some((name.to_owned(), self.value(value.expr())))
                });
                members
                    .collect::<Option<_>>()
                    .map_or(Content::Other("a map with a computed key"), Content::Map)
            }
            Expression::Parenthesis(inner) => return self.value(inner.inner()),
            Expression::UnaryOp(operation) if *operation.operator.value() == UnaryOperator::Neg => {
                negative(operation.expr.as_number())
            }
            Expression::FuncCall(call) => variable(call),
            Expression::HeredocTemplate(heredoc) => {
                let mut heredoc = heredoc.clone();
                heredoc.dedent();
                literal(heredoc.template.iter())
            }
            Expression::StringTemplate(template) => literal(template.iter()),
            Expression::Variable(_) | Expression::Traversal(_) => {
                Content::Other("a name without quotes")
            }
            Expression::Conditional(_)
            | Expression::UnaryOp(_)
            | Expression::BinaryOp(_)
            | Expression::ForExpr(_) => Content::Other("an HCL expression"),
        };
        Value { content, place }
    }
}

/// `env("NAME")`.
fn variable(call: &FuncCall) -> Content {
    let is_env = !call.name.is_namespaced() && call.name.name.as_str() == "env";
    let arguments: Vec<_> = call.args.iter().collect();
    match &*arguments {
        [Expression::String(name)] if is_env => Content::Env(name.value().clone()),
        _ if is_env => Content::Other("env() without one name in double quotes"),
        _ => Content::Other("a call of a function other than env"),
    }
}

/// The text of a template into which nothing is inserted.
fn literal<'a>(elements: impl Iterator<Item = &'a Element>) -> Content {
    let mut text = String::new();
    for element in elements {
        match element {
            Element::Literal(part) => text.push_str(part),
            Element::Interpolation(_) | Element::Directive(_) => {
                return Content::Other("a text with ${…} or %{…}");
            }
        }
    }
    Content::Text(text)
}

fn negative(number: Option<&Number>) -> Content {
    let Some(number) = number else {
        return Content::Other("an HCL expression");
    };
    Content::Number(format!("-{number}"))
}

/// A number as JSON writes it, with its digits if they can stay.
fn as_json(written: Option<String>, number: &Number) -> String {
    let is_json = |text: &String| serde_json::from_str::<serde_json::Number>(text).is_ok();
    written
        .filter(is_json)
        .unwrap_or_else(|| number.to_string())
}
