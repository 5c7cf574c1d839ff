//! Kinds of numbers in an expression: what its text says is whole, and the same with doubles.
//!
//! JSON has one kind of number, so one that comes from JSON is divided as a double. What the text
//! itself says is whole, such as `7` and `int(input.n)`, is divided as CEL does it.

use ::cel::{
    IdedExpr,
    common::ast::{CallExpr, EntryExpr, Expr, IdedEntryExpr, LiteralValue, operators},
};

use super::meter::call;

/// What gives a whole number if its operands are whole.
const ARITHMETIC: [&str; 6] = [
    operators::ADD,
    operators::SUBSTRACT,
    operators::MULTIPLY,
    operators::DIVIDE,
    operators::MODULO,
    operators::NEGATE,
];

/// The functions and methods whose result is a whole number, whatever they are given.
const WHOLE: [&str; 13] = [
    "getDate",
    "getDayOfMonth",
    "getDayOfWeek",
    "getDayOfYear",
    "getFullYear",
    "getHours",
    "getMilliseconds",
    "getMinutes",
    "getMonth",
    "getSeconds",
    "int",
    "size",
    "uint",
];

/// Whether a call is an operation on numbers that the text says are whole.
pub(super) fn is_whole_arithmetic(call: &CallExpr) -> bool {
    ARITHMETIC.contains(&&*call.func_name) && call.args.iter().all(is_whole)
}

fn is_whole(node: &IdedExpr) -> bool {
    match &node.expr {
        Expr::Literal(LiteralValue::Int(_) | LiteralValue::UInt(_)) => true,
        Expr::Call(call) => WHOLE.contains(&&*call.func_name) || is_whole_arithmetic(call),
        Expr::Comprehension(_)
        | Expr::Ident(_)
        | Expr::List(_)
        | Expr::Literal(_)
        | Expr::Map(_)
        | Expr::Select(_)
        | Expr::Struct(_)
        | Expr::Unspecified => false,
    }
}

/// A tree with doubles in place of whole numbers that are not indexes; none if it has no such
/// number.
pub(super) fn in_doubles(tree: &IdedExpr) -> Option<IdedExpr> {
    let mut doubles = tree.clone();
    doubled(&mut doubles).then_some(doubles)
}

/// Returns whether it has changed something.
fn doubled(node: &mut IdedExpr) -> bool {
    match &mut node.expr {
        Expr::Literal(literal) => {
            let LiteralValue::Int(number) = literal else {
                return false;
            };
            #[expect(clippy::cast_precision_loss, reason = "doubles are rounded")]
            let number = *number.inner() as f64;
            *literal = LiteralValue::Double(number.into());
            true
        }
        // It is computed as the text says, and its result is a double.
        Expr::Call(made) if is_whole_arithmetic(made) => {
            operands_doubled(made);
            let whole = std::mem::take(node);
            *node = call("double", vec![whole]);
            true
        }
        Expr::Call(made) => {
            let is_index = |index: &IdedExpr| matches!(index.expr, Expr::Literal(_));
            let kept = match &*made.args {
                [_, index] if made.func_name == operators::INDEX && is_index(index) => 1,
                _ => 0,
            };
            let args = made.args.len() - kept;
            let parts = made.target.as_deref_mut().into_iter();
            any(parts.chain(&mut made.args[..args]))
        }
        Expr::Comprehension(comprehension) => any([
            &mut comprehension.iter_range,
            &mut comprehension.accu_init,
            &mut comprehension.loop_cond,
            &mut comprehension.loop_step,
            &mut comprehension.result,
        ]),
        Expr::List(list) => any(&mut list.elements),
        Expr::Map(map) => any(map.entries.iter_mut().map(value_of)),
        Expr::Struct(made) => any(made.entries.iter_mut().map(value_of)),
        Expr::Select(select) => doubled(&mut select.operand),
        Expr::Ident(_) | Expr::Unspecified => false,
    }
}

/// What `int` and other functions are given within an operation on whole numbers may come from
/// JSON.
fn operands_doubled(made: &mut CallExpr) {
    for operand in &mut made.args {
        if let Expr::Call(inner) = &mut operand.expr {
            if is_whole_arithmetic(inner) {
                operands_doubled(inner);
            } else {
                any(inner
                    .target
                    .as_deref_mut()
                    .into_iter()
                    .chain(&mut inner.args));
            }
        }
    }
}

/// Changes all of them, and returns whether any has changed.
fn any<'a>(nodes: impl IntoIterator<Item = &'a mut IdedExpr>) -> bool {
    let mut has_changed = false;
    for node in nodes {
        has_changed |= doubled(node);
    }
    has_changed
}

/// The value of an entry: the keys of a map are no numbers of JSON.
fn value_of(entry: &mut IdedEntryExpr) -> &mut IdedExpr {
    match &mut entry.expr {
        EntryExpr::StructField(field) => &mut field.value,
        EntryExpr::MapEntry(entry) => &mut entry.value,
    }
}
