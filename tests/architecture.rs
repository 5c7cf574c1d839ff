//! The rules of the house that text can show: layers, homes, sizes, names, module docs.
fn main() {}
