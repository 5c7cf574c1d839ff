//! Gives the start function of a module a name.
//!
//! The interpreter calls a start function while it makes the instance, and such a call cannot be
//! paused: one that loops for ever would keep its thread. So the start section is taken out of the
//! binary and its function exported instead; it is then called like any other.

/// The name under which the start function is exported.
pub(super) const NAME: &str = "interlock:start";

pub(super) const HEADER: usize = 8;
const EXPORTS: u8 = 7;
const START: u8 = 8;

/// The module with its start function exported; none if it has none, or cannot be read.
pub(super) fn exported(module: &[u8]) -> Option<Vec<u8>> {
    let mut sections = Vec::new();
    let mut rest = module.get(HEADER..)?;
    while !rest.is_empty() {
        let (section, after) = Section::read(rest)?;
        sections.push(section);
        rest = after;
    }
    let at = sections.iter().position(|section| section.id == START)?;
    let (function, after) = number(sections.remove(at).content)?;
    if !after.is_empty() {
        return None;
    }
    let export = export(function);
    let mut written = module[..HEADER].to_vec();
    let mut is_exported = false;
    for (place, section) in sections.iter().enumerate() {
        if section.id == EXPORTS && !is_exported {
            let (count, exports) = number(section.content)?;
            put(&mut written, count.checked_add(1)?, &[exports, &export]);
            is_exported = true;
            continue;
        }
        // Without exports there is nowhere else: the section goes where the start section was.
        if place == at && !is_exported {
            put(&mut written, 1, &[&export]);
            is_exported = true;
        }
        written.extend_from_slice(section.whole);
    }
    if !is_exported {
        put(&mut written, 1, &[&export]);
    }
    Some(written)
}

pub(super) struct Section<'a> {
    pub(super) id: u8,
    pub(super) content: &'a [u8],
    whole: &'a [u8],
}

impl<'a> Section<'a> {
    pub(super) fn read(bytes: &'a [u8]) -> Option<(Self, &'a [u8])> {
        let (id, after) = bytes.split_first()?;
        let (length, after) = number(after)?;
        let (content, rest) = after.split_at_checked(usize::try_from(length).ok()?)?;
        let whole = &bytes[..bytes.len() - rest.len()];
        let id = *id;
        Some((Self { id, content, whole }, rest))
    }
}

/// Appends a section of exports.
fn put(written: &mut Vec<u8>, count: u32, exports: &[&[u8]]) {
    let mut content = leb(count);
    for exports in exports {
        content.extend_from_slice(exports);
    }
    written.push(EXPORTS);
    written.extend(leb(u32::try_from(content.len()).unwrap_or(u32::MAX)));
    written.extend(content);
}

/// The entry of the function: its name, its kind, its number.
fn export(function: u32) -> Vec<u8> {
    // Short enough for one byte.
    let mut entry = vec![NAME.len().to_le_bytes()[0]];
    entry.extend_from_slice(NAME.as_bytes());
    entry.push(0);
    entry.extend(leb(function));
    entry
}

/// A number in LEB128, and what follows it.
pub(super) fn number(bytes: &[u8]) -> Option<(u32, &[u8])> {
    let mut value = 0_u64;
    for (place, byte) in bytes.iter().take(5).enumerate() {
        value |= u64::from(byte & 0x7f) << (7 * place);
        if byte & 0x80 == 0 {
            return Some((u32::try_from(value).ok()?, &bytes[place + 1..]));
        }
    }
    None
}

pub(super) fn leb(mut value: u32) -> Vec<u8> {
    let mut bytes = Vec::new();
    loop {
        let low = (value & 0x7f) as u8;
        value >>= 7;
        if value == 0 {
            bytes.push(low);
            return bytes;
        }
        bytes.push(low | 0x80);
    }
}
