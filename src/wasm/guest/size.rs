//! How much of a module there is to compile, read before it is compiled.
//!
//! A few bytes declare thousands of local variables, and the compiler, which nothing stops, works
//! for each of them.

use super::start::{HEADER, Section, number};

/// The most functions of a module.
const FUNCTIONS_MAX: u32 = 50_000;

/// The most local variables of all functions of a module together. The largest modules that
/// compilers write have a tenth of that.
const LOCALS_MAX: u64 = 2_000_000;

const CODE: u8 = 10;

/// The types of references that are followed by what they refer to.
const REFERENCES: [u8; 2] = [0x63, 0x64];

/// Whether a module can be compiled soon. What else is wrong with it is found by the compiler.
pub(super) fn check(module: &[u8]) -> Result<(), String> {
    let mut rest = module.get(HEADER..).unwrap_or_default();
    while let Some((section, after)) = Section::read(rest) {
        if section.id == CODE {
            return check_code(section.content);
        }
        rest = after;
    }
    Ok(())
}

fn check_code(content: &[u8]) -> Result<(), String> {
    let unreadable = || "its functions cannot be read".to_owned();
    let (count, mut rest) = number(content).ok_or_else(unreadable)?;
    if count > FUNCTIONS_MAX {
        return Err(format!(
            "it has {count} functions; it may have {FUNCTIONS_MAX}"
        ));
    }
    let mut locals = 0;
    for _ in 0..count {
        let (body, next) = body(rest).ok_or_else(unreadable)?;
        locals += locals_of(body).ok_or_else(unreadable)?;
        if locals > LOCALS_MAX {
            return Err(format!(
                "its functions have more than {LOCALS_MAX} local variables together"
            ));
        }
        rest = next;
    }
    Ok(())
}

/// The next function, and what follows it.
fn body(bytes: &[u8]) -> Option<(&[u8], &[u8])> {
    let (size, after) = number(bytes)?;
    after.split_at_checked(usize::try_from(size).ok()?)
}

/// How many local variables a function declares.
fn locals_of(body: &[u8]) -> Option<u64> {
    let (groups, mut rest) = number(body)?;
    let mut locals = 0;
    for _ in 0..groups {
        let (count, after) = number(rest)?;
        let (kind, after) = after.split_first()?;
        rest = after;
        if REFERENCES.contains(kind) {
            let end = rest.iter().position(|byte| byte & 0x80 == 0)?;
            rest = &rest[end + 1..];
        }
        locals += u64::from(count);
    }
    Some(locals)
}

#[cfg(test)]
mod tests {
    use super::super::{compile, start::leb};
    use super::*;

    /// A module with so many functions, each with so many local variables.
    fn module(functions: u32, locals: u32) -> Vec<u8> {
        let section = |id: u8, content: &[u8]| {
            let length = leb(u32::try_from(content.len()).expect("short"));
            [&[id][..], &length, content].concat()
        };
        let body = [&[1][..], &leb(locals), &[0x7f, 0x0b]].concat();
        let length = leb(u32::try_from(body.len()).expect("short"));
        let body = [&length[..], &body].concat();
        let (count, all) = (leb(functions), functions as usize);
        [
            &b"\0asm\x01\0\0\0"[..],
            &section(1, &[1, 0x60, 0, 0]),
            &section(3, &[&count[..], &vec![0; all]].concat()),
            &section(CODE, &[&count[..], &body.repeat(all)].concat()),
        ]
        .concat()
    }

    #[test]
    fn a_module_that_takes_long_to_compile_is_refused_before_it_is_compiled() {
        for (module, expected) in [
            (module(2, 30_000), "export"),
            (module(67, 30_000), "local variables"),
            (module(FUNCTIONS_MAX + 1, 0), "functions"),
        ] {
            let findings = compile(&module).expect_err("exports nothing");
            let listed = findings.listed();
            let first = listed.first().expect("a finding");
            assert!(first.message.contains(expected), "{}", first.message);
        }
    }
}
