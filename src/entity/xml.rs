//! XML documents, which are stored and returned as JSON (`models-and-entities.md` §3.6).
//!
//! Attributes and children become members, repeated names become lists, and text becomes a number,
//! a boolean or a string depending on how it is written. Nothing external is loaded: a document
//! type declaration is skipped, and only the five predefined entities are supported.

use std::{
    collections::{HashMap, HashSet},
    sync::Arc,
};

use quick_xml::{
    Reader,
    escape::resolve_predefined_entity,
    events::{BytesRef, BytesStart, Event},
};

use super::{DEPTH_MAX, Document, DocumentError, Number};

/// How many elements and attributes a document may have.
const PARTS_MAX: usize = 500_000;

/// The member with the text of an element that has more than text.
const TEXT: &str = "_text";

/// The member with the value of a root that has only text.
const VALUE: &str = "_value";

/// Why a text is not a valid XML document.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum XmlError {
    #[error("not XML: {0}")]
    Syntax(String),
    #[error("not XML: {0}")]
    Form(&'static str),
    #[error("the entity `&{0};` is unknown; only the five predefined XML entities are allowed")]
    UnknownEntity(String),
    #[error("the encoding `{0}` is not supported; send UTF-8")]
    Encoding(String),
    #[error("nested deeper than {DEPTH_MAX} levels")]
    TooDeep,
    #[error("more than {PARTS_MAX} elements and attributes")]
    TooMany,
    #[error(transparent)]
    Document(#[from] DocumentError),
}

impl Document {
    /// Parses XML.
    pub fn from_xml(text: &str) -> Result<Self, XmlError> {
        let json = Converter::default().convert(text)?;
        Ok(Self::parse(&json)?)
    }
}

/// The JSON form of an element.
enum Tree {
    /// As JSON.
    Leaf(String),
    Object(Vec<(Arc<str>, Field)>),
}

/// The values under one name.
enum Field {
    One(Tree),
    Many(Vec<Tree>),
}

/// An element that is not closed yet.
#[derive(Default)]
struct Open {
    name: Arc<str>,
    fields: Vec<(Arc<str>, Field)>,
    places: HashMap<Arc<str>, usize>,
    text: String,
    /// Whether an element stands between the text so far and any further text.
    is_parted: bool,
}

#[derive(Default)]
struct Converter {
    open: Vec<Open>,
    root: Option<String>,
    parts: usize,
}

fn syntax(error: impl std::fmt::Display) -> XmlError {
    XmlError::Syntax(error.to_string())
}

impl Converter {
    fn convert(mut self, text: &str) -> Result<String, XmlError> {
        let mut reader = Reader::from_str(text.trim_start_matches('\u{feff}'));
        reader.config_mut().expand_empty_elements = true;
        loop {
            match reader.read_event().map_err(syntax)? {
                Event::Start(start) => self.start(&start)?,
                Event::End(_) => self.end()?,
                Event::Text(text) => self.text(&text.xml10_content())?,
                Event::CData(text) => self.text(&text.xml10_content())?,
                Event::GeneralRef(entity) => self.reference(&entity)?,
                Event::Decl(declaration) => {
                    if let Some(encoding) = declaration.encoding() {
                        let encoding = encoding.map_err(syntax)?;
                        if !["utf-8", "us-ascii"].contains(&&*encoding.to_ascii_lowercase()) {
                            return Err(XmlError::Encoding(encoding.into_owned()));
                        }
                    }
                }
                Event::Empty(_) | Event::Comment(_) | Event::PI(_) | Event::DocType(_) => {}
                Event::Eof => break,
            }
        }
        if !self.open.is_empty() {
            return Err(XmlError::Form("it ends inside an element"));
        }
        self.root.ok_or(XmlError::Form("there is no element"))
    }

    fn count(&mut self) -> Result<(), XmlError> {
        self.parts += 1;
        if self.parts > PARTS_MAX {
            return Err(XmlError::TooMany);
        }
        Ok(())
    }

    fn start(&mut self, start: &BytesStart<'_>) -> Result<(), XmlError> {
        if self.root.is_some() {
            return Err(XmlError::Form("something follows the root element"));
        }
        if self.open.len() == DEPTH_MAX {
            return Err(XmlError::TooDeep);
        }
        self.count()?;
        let mut element = Open {
            name: local(start.name().into_inner()).into(),
            ..Open::default()
        };
        let mut names = HashSet::new();
        // The library's own check for duplicate names takes quadratic time.
        for attribute in start.attributes().with_checks(false) {
            let attribute = attribute.map_err(syntax)?;
            self.count()?;
            let name = attribute.key.into_inner();
            if !names.insert(name.to_owned()) {
                return Err(XmlError::Form("an attribute is given twice"));
            }
            if attribute.key.as_namespace_binding().is_some() {
                continue;
            }
            let value = attribute
                .normalized_value(quick_xml::XmlVersion::Implicit1_0)
                .map_err(syntax)?;
            element.add(local(name).into(), Tree::Leaf(scalar(value.trim())));
        }
        self.open.push(element);
        Ok(())
    }

    fn end(&mut self) -> Result<(), XmlError> {
        let element = self
            .open
            .pop()
            .ok_or(XmlError::Form("an end tag has no start tag"))?;
        match self.open.last_mut() {
            Some(parent) => {
                let name = Arc::clone(&element.name);
                parent.add(name, element.tree());
                parent.is_parted = true;
            }
            None => self.root = Some(element.root()),
        }
        Ok(())
    }

    fn text(&mut self, text: &str) -> Result<(), XmlError> {
        match self.open.last_mut() {
            Some(element) => element.append(text),
            None if text.trim().is_empty() => {}
            None => return Err(XmlError::Form("there is text outside the root element")),
        }
        Ok(())
    }

    fn reference(&mut self, entity: &BytesRef<'_>) -> Result<(), XmlError> {
        if let Some(character) = entity.resolve_char_ref().map_err(syntax)? {
            return self.text(character.encode_utf8(&mut [0; 4]));
        }
        let text = resolve_predefined_entity(entity)
            .ok_or_else(|| XmlError::UnknownEntity(entity.to_string()))?;
        self.text(text)
    }
}

/// A name without its prefix.
fn local(name: &str) -> &str {
    name.split_once(':').map_or(name, |(_, local)| local)
}

impl Open {
    fn add(&mut self, name: Arc<str>, tree: Tree) {
        let Some(place) = self.places.get(&name) else {
            self.places.insert(Arc::clone(&name), self.fields.len());
            self.fields.push((name, Field::One(tree)));
            return;
        };
        let (_, field) = &mut self.fields[*place];
        *field = match std::mem::replace(field, Field::Many(Vec::new())) {
            Field::One(first) => Field::Many(vec![first, tree]),
            Field::Many(mut all) => {
                all.push(tree);
                Field::Many(all)
            }
        };
    }

    /// Appends text; text before and after an element is not joined.
    fn append(&mut self, text: &str) {
        if !self.is_parted {
            self.text.push_str(text);
            return;
        }
        let text = text.trim_start();
        if text.is_empty() {
            return;
        }
        self.text.truncate(self.text.trim_end().len());
        if !self.text.is_empty() {
            self.text.push(' ');
        }
        self.text.push_str(text);
        self.is_parted = false;
    }

    fn tree(mut self) -> Tree {
        let text = self.text.trim();
        if self.fields.is_empty() {
            return Tree::Leaf(scalar(text));
        }
        if !text.is_empty() {
            let text = Tree::Leaf(scalar(text));
            self.add(TEXT.into(), text);
        }
        Tree::Object(self.fields)
    }

    fn root(self) -> String {
        let mut json = String::new();
        if self.fields.is_empty() && self.text.trim().is_empty() {
            return "{}".to_owned();
        }
        match self.tree() {
            Tree::Leaf(value) => write(
                &Tree::Object(vec![(VALUE.into(), Field::One(Tree::Leaf(value)))]),
                &mut json,
            ),
            object @ Tree::Object(_) => write(&object, &mut json),
        }
        json
    }
}

/// The JSON value that a text reads as.
fn scalar(text: &str) -> String {
    match text {
        "true" | "t" | "T" | "TRUE" | "True" => "true".to_owned(),
        "false" | "f" | "F" | "FALSE" | "False" => "false".to_owned(),
        _ if Number::parse(text).is_some() => text.to_owned(),
        _ => quoted(text),
    }
}

fn quoted(text: &str) -> String {
    serde_json::Value::from(text).to_string()
}

fn write(tree: &Tree, json: &mut String) {
    let fields = match tree {
        Tree::Leaf(value) => return json.push_str(value),
        Tree::Object(fields) => fields,
    };
    json.push('{');
    for (index, (name, field)) in fields.iter().enumerate() {
        if index > 0 {
            json.push(',');
        }
        json.push_str(&quoted(name));
        json.push(':');
        match field {
            Field::One(tree) => write(tree, json),
            Field::Many(trees) => {
                json.push('[');
                for (index, tree) in trees.iter().enumerate() {
                    if index > 0 {
                        json.push(',');
                    }
                    write(tree, json);
                }
                json.push(']');
            }
        }
    }
    json.push('}');
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn json(xml: &str) -> Result<String, XmlError> {
        Document::from_xml(xml).map(|document| document.json().as_str().to_owned())
    }

    #[test]
    fn elements_attributes_and_texts_have_their_places() {
        for (xml, expected) in [
            ("<r/>", "{}"),
            ("<r></r>", "{}"),
            ("<r> 7 </r>", r#"{"_value":7}"#),
            ("<r><a>1</a><b> x y </b></r>", r#"{"a":1,"b":"x y"}"#),
            (r#"<r id="7" on="true"/>"#, r#"{"id":7,"on":true}"#),
            (
                "<r><a>1</a><a>2</a><b/><a>x</a></r>",
                r#"{"a":[1,2,"x"],"b":""}"#,
            ),
            ("<r><a><b>1</b></a><a/></r>", r#"{"a":[{"b":1},""]}"#),
            (r#"<r a="1"><a>2</a></r>"#, r#"{"a":[1,2]}"#),
            (
                r#"<r><p lang="en">hello <b>big</b> world</p></r>"#,
                r#"{"p":{"lang":"en","b":"big","_text":"hello world"}}"#,
            ),
            (r#"<r k="v">12</r>"#, r#"{"k":"v","_text":12}"#),
            ("<r>a<!-- no -->b<?p i?>c</r>", r#"{"_value":"abc"}"#),
            ("<r><a><![CDATA[<x> & y]]></a></r>", r#"{"a":"<x> & y"}"#),
            (
                r#"<r a="&lt;&#65;&quot;"><b>&lt;&#x42;&amp;&apos;&gt;</b></r>"#,
                r#"{"a":"<A\"","b":"<B&'>"}"#,
            ),
            (
                "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<r><a>1</a></r>\n<!-- end -->\n",
                r#"{"a":1}"#,
            ),
            ("\u{feff}<r><a>ü</a></r>", r#"{"a":"ü"}"#),
            (
                r#"<n:r xmlns:n="urn:x" xmlns="urn:y" n:id="1"><n:a>2</n:a></n:r>"#,
                r#"{"id":1,"a":2}"#,
            ),
            (
                "<!DOCTYPE r [<!ENTITY e 'x'>]><r><a>1</a></r>",
                r#"{"a":1}"#,
            ),
            (
                "<r><a>9007199254740993</a><b>1.2300e+05</b><c>-0</c><d>01</d><e>+1</e><f>.5</f><g>NaN</g><h>1,5</h></r>",
                r#"{"a":9007199254740993,"b":1.2300e+05,"c":-0,"d":"01","e":"+1","f":".5","g":"NaN","h":"1,5"}"#,
            ),
            (
                "<r><a>true</a><a>T</a><a>False</a><a>f</a><a>tRUE</a><a>yes</a><a>0</a></r>",
                r#"{"a":[true,true,false,false,"tRUE","yes",0]}"#,
            ),
        ] {
            assert_eq!(json(xml).as_deref(), Ok(expected), "{xml}");
        }
    }

    #[test]
    fn what_is_not_well_formed_or_too_much_is_refused() {
        for xml in [
            "",
            "  ",
            "text",
            "<r>",
            "<r></s>",
            "<r/><r/>",
            "<r/>x",
            "</r>",
            "<r a=1/>",
            "<r a='1' a='2'/>",
            "<r>&nope;</r>",
            "<r>&</r>",
            "<r>&#xD800;</r>",
            "{\"a\":1}",
            "<r a=\"&nope;\"/>",
            "<?xml version=\"1.0\" encoding=\"ISO-8859-1\"?><r/>",
            "<!DOCTYPE r [<!ENTITY e 'x'>]><r>&e;</r>",
        ] {
            assert!(json(xml).is_err(), "{xml}");
        }
        let nested = |depth: usize| "<a>".repeat(depth) + "1" + &"</a>".repeat(depth);
        assert!(json(&nested(DEPTH_MAX)).is_ok());
        assert_eq!(json(&nested(DEPTH_MAX + 1)), Err(XmlError::TooDeep));
        let many = format!("<r>{}</r>", "<a/>".repeat(PARTS_MAX));
        assert_eq!(json(&many), Err(XmlError::TooMany));
        let laughs = "<!DOCTYPE r [<!ENTITY a 'ha'><!ENTITY b '&a;&a;&a;'>]><r>&b;</r>";
        assert_eq!(json(laughs), Err(XmlError::UnknownEntity("b".to_owned())));
    }

    #[test]
    fn many_names_take_no_more_than_their_share_of_time() {
        let attributes = (0..100_000).fold(String::new(), |all, n| all + &format!(" a{n}=''"));
        let children = (0..100_000).fold(String::new(), |all, n| all + &format!("<c{n}/>"));
        let document = Document::from_xml(&format!("<r{attributes}>{children}</r>"));
        assert!(document.expect("XML").root().member("c99999").is_some());
    }

    proptest! {
        #[test]
        fn any_text_is_xml_or_refused(xml in "[<>/a-c&;#x0-9\"'=! \\[\\]?-]{0,40}") {
            let _ = json(&xml);
        }

        #[test]
        fn an_escaped_text_is_given_back(text in "[^\\x00-\\x1f\\x7f\u{fffe}\u{ffff}]{0,20}") {
            let xml = format!("<r><a>x{}</a></r>", quick_xml::escape::escape(&text));
            let document = Document::from_xml(&xml).expect("XML");
            let value = document.root().member("a").expect("an element");
            let expected = format!("x{text}");
            prop_assert_eq!(value.json(), quoted(expected.trim()));
        }
    }
}
