//! The messages of the load, and those of the echo that are as large.

use bytes::Bytes;
use interlock::event::{
    frame::Frame,
    proto::{
        CloudEvent,
        envelope::cloud_event::{
            CloudEventAttributeValue, Data, cloud_event_attribute_value::Attr,
        },
    },
};
use prost::Message as _;

/// The tag of the member that the processor wants.
pub(crate) const TAG: &str = "bench";

/// The attribute that tells the echo server how large its answer shall be.
const ANSWER_BYTES: &str = "answerbytes";

/// The attribute that tells it how many there shall be.
const ANSWER_COUNT: &str = "answercount";

/// The attribute that names the request an answer is to.
const REQUEST_ID: &str = "requestid";

/// What every good answer says.
const SUCCESS: &str = r#"{"success":true}"#;

/// The models of the load: entities of one are created, those of another processed as well, those
/// of the third wait for the time that their reference is, and those of the last are searched.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Model {
    Plain,
    Processed,
    Timed,
    Searched,
}

impl Model {
    pub(crate) const fn name(self) -> &'static str {
        match self {
            Self::Plain => "plain",
            Self::Processed => "processed",
            Self::Timed => "timed",
            Self::Searched => "searched",
        }
    }

    fn spec(self) -> String {
        format!(r#"{{"name":"{}","version":1}}"#, self.name())
    }

    fn workflow(self) -> String {
        let states = match self {
            Self::Plain | Self::Searched => r#"{"NEW":{}}"#.to_owned(),
            Self::Processed => format!(
                r#"{{"NEW":{{"transitions":[{{"name":"PROCESS","next":"DONE","manual":false,"processors":[
                    {{"type":"EXTERNAL","name":"check","executionMode":"SYNC",
                      "config":{{"attachEntity":true,"calculationNodesTags":"{TAG}"}}}}]}}]}},"DONE":{{}}}}"#
            ),
            Self::Timed => format!(
                r#"{{"NEW":{{"transitions":[{{"name":"FIRE","next":"DONE","manual":false,"schedule":{{
                    "function":{{"name":"when","resultKind":"Schedule","calculationNodesTags":"{TAG}"}}}}}}]}},"DONE":{{}}}}"#
            ),
        };
        format!(r#"{{"version":"1","name":"only","initialState":"NEW","states":{states}}}"#)
    }

    /// The requests that make the model ready for entities: type and payload.
    pub(crate) fn set_up(self) -> [(&'static str, String); 3] {
        let model = self.spec();
        let sample = match self {
            Self::Plain | Self::Processed | Self::Timed => document("0"),
            Self::Searched => searched(1),
        };
        [
            (
                "EntityModelImportRequest",
                format!(
                    r#"{{"id":"1","model":{model},"dataFormat":"JSON","converter":"SAMPLE_DATA","payload":{sample}}}"#
                ),
            ),
            (
                "EntityModelTransitionRequest",
                format!(r#"{{"id":"2","model":{model},"transition":"LOCK"}}"#),
            ),
            (
                "EntityWorkflowImportRequest",
                format!(
                    r#"{{"id":"3","model":{model},"workflows":[{}]}}"#,
                    self.workflow()
                ),
            ),
        ]
    }

    /// The request to create an entity.
    pub(crate) fn create(self, id: &str) -> Frame {
        let text = format!(
            r#"{{"id":"{id}","dataFormat":"JSON","payload":{{"model":{},"data":{}}}}}"#,
            self.spec(),
            document(id)
        );
        event("EntityCreateRequest", id, text, [])
    }
}

impl Model {
    /// The request to save an entity again.
    pub(crate) fn again(entity: &str) -> Frame {
        let text = format!(
            r#"{{"id":"1","dataFormat":"JSON","payload":{{"entityId":"{entity}","data":{}}}}}"#,
            document(entity)
        );
        event("EntityUpdateRequest", "1", text, [])
    }

    /// The request to create many in one transaction.
    pub(crate) fn create_many(self, id: &str, count: u32) -> Frame {
        self.create_all(id, (0..count).map(|n| document(&format!("{id}-{n}"))))
    }

    /// The request to create the entities of these numbers, which are to be searched.
    pub(crate) fn create_searched(numbers: std::ops::Range<u32>) -> Frame {
        Self::Searched.create_all("1", numbers.map(searched))
    }

    fn create_all(self, id: &str, documents: impl Iterator<Item = String>) -> Frame {
        let spec = self.spec();
        let item = |document| format!(r#"{{"model":{spec},"data":{document}}}"#);
        let items: Vec<String> = documents.map(item).collect();
        let text = format!(
            r#"{{"id":"{id}","dataFormat":"JSON","payloads":[{}]}}"#,
            items.join(",")
        );
        event("EntityCreateCollectionRequest", id, text, [])
    }
}

const TEXT: &str = "The interlocking holds every signal at danger until the points are set, \
    locked and proved, and until no other route that conflicts with this one can be set; \
    what makes a movement impossible is worth more than what merely forbids it, and a lever \
    that cannot be pulled needs no rule against pulling it. ";

/// A document of 1 KiB: 32 members, two levels, one long text. No two are alike.
pub(crate) fn document(id: &str) -> String {
    format!(
        r#"{{"reference":"{id}","status":"NEW","priority":3,"weight":1284.75,"urgent":false,"line":"north","track":4,"speed":87.5,"driver":"A. Lovelace","consist":["loco","coach","coach","van"],"origin":{{"station":"Ely","platform":2,"latitude":52.391,"longitude":0.266,"departs":"2026-11-21T09:12:00Z"}},"target":{{"station":"Norwich","platform":5,"latitude":52.627,"longitude":1.306,"arrives":"2026-11-21T10:08:30Z"}},"load":{{"tonnes":412.5,"axles":38,"brake":81,"hazard":false,"class":"B"}},"audit":{{"by":"signaller","shift":2,"checked":true}},"route":"E1-N5","headcode":"1K{track}","note":"{TEXT}{TEXT}"}}"#,
        track = 72
    )
}

/// How many documents there are of each batch, of those that are searched.
pub(crate) const OF_A_BATCH: u32 = 20;

/// The batch of a document that is searched: those of one are made far from each other.
pub(crate) const fn batch(n: u32) -> u32 {
    n % (1_000_000 / OF_A_BATCH)
}

/// Its weight in hundredths, another for each of a million.
pub(crate) const fn weight(n: u32) -> u32 {
    // The factor has no divisor in common with a million.
    ((n as u64 * 104_729) % 1_000_000) as u32
}

/// A document that is searched: like the others, but what it says depends on its number.
fn searched(n: u32) -> String {
    let weight = weight(n);
    format!(
        r#"{{"reference":"R{n:07}","status":"NEW","priority":3,"weight":{}.{:02},"urgent":false,"line":"north","track":{},"speed":{}.5,"driver":"D{:03} Lovelace","consist":["loco","coach","coach","van"],"origin":{{"station":"Ely","platform":2,"latitude":52.391,"longitude":0.266,"departs":"2026-11-21T09:12:00Z"}},"target":{{"station":"Norwich","platform":5,"latitude":52.627,"longitude":1.306,"arrives":"2026-11-21T10:08:30Z"}},"load":{{"tonnes":{}.5,"axles":38,"brake":81,"hazard":false,"class":"B"}},"audit":{{"by":"signaller","shift":2,"checked":true}},"route":"E1-N5","batch":{},"note":"{TEXT}{TEXT}"}}"#,
        weight / 100,
        weight % 100,
        n % 97,
        n % 120,
        n % 1_000,
        n % 50_021,
        batch(n),
    )
}

/// An event with JSON in it, encoded.
pub(crate) fn event<const N: usize>(
    kind: &str,
    id: &str,
    text: String,
    attributes: [(&str, Attr); N],
) -> Frame {
    let attributes = attributes.map(|(name, value)| {
        (
            name.to_owned(),
            CloudEventAttributeValue { attr: Some(value) },
        )
    });
    let event = CloudEvent {
        id: id.to_owned(),
        source: "bench".to_owned(),
        spec_version: "1.0".to_owned(),
        r#type: kind.to_owned(),
        attributes: attributes.into(),
        data: Some(Data::TextData(text)),
    };
    Frame(Bytes::from(event.encode_to_vec()))
}

/// How large a request and its answer are, encoded.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Sizes {
    pub(crate) request: usize,
    pub(crate) answer: usize,
}

impl Sizes {
    /// A request of this size to the echo server, which asks for an answer of this size.
    pub(crate) fn request(self, id: &str) -> Frame {
        let bytes = i32::try_from(self.answer).expect("a message fits memory");
        let sized = |text| {
            event(
                "EntityCreateRequest",
                id,
                text,
                [(ANSWER_BYTES, Attr::CeInteger(bytes))],
            )
        };
        let envelope = sized(String::new()).0.len();
        sized("x".repeat(self.request.saturating_sub(envelope)))
    }
}

/// A request to the echo server for so many messages of this size.
pub(crate) fn stream_of(count: u32, bytes: usize) -> Frame {
    let number = |number| Attr::CeInteger(i32::try_from(number).expect("small"));
    event(
        "EntityChangesSubscribeRequest",
        "1",
        String::new(),
        [
            (ANSWER_BYTES, number(u32::try_from(bytes).expect("small"))),
            (ANSWER_COUNT, number(count)),
        ],
    )
}

/// What the echo server answers to that.
pub(crate) fn streamed(request: Frame) -> impl Iterator<Item = Frame> {
    let request = decode(request);
    let number = |name| match request.attributes.get(name).map(|value| &value.attr) {
        Some(Some(Attr::CeInteger(number))) => usize::try_from(*number).unwrap_or(0),
        _ => 0,
    };
    let sized = |text| event("EntityChangeEvent", "1", text, []);
    let envelope = sized(String::new()).0.len();
    let text = "x".repeat(number(ANSWER_BYTES).saturating_sub(envelope));
    std::iter::repeat_n(sized(text), number(ANSWER_COUNT))
}

/// What the echo server answers.
pub(crate) fn echo(request: Frame) -> Frame {
    let request = decode(request);
    let size = match request
        .attributes
        .get(ANSWER_BYTES)
        .map(|value| &value.attr)
    {
        Some(Some(Attr::CeInteger(size))) => usize::try_from(*size).unwrap_or(0),
        _ => 0,
    };
    // The envelope of an answer is about this large, beside the id that is in it twice.
    let envelope = 80 + 2 * request.id.len();
    let mut text = SUCCESS.to_owned();
    text.extend(std::iter::repeat_n(
        'x',
        size.saturating_sub(envelope + SUCCESS.len()),
    ));
    let quoted = Attr::CeString(request.id.clone());
    event(
        "EntityTransactionResponse",
        &request.id,
        text,
        [(REQUEST_ID, quoted)],
    )
}

pub(crate) fn decode(frame: Frame) -> CloudEvent {
    CloudEvent::decode(frame.0).expect("an event")
}

pub(crate) fn text(event: &CloudEvent) -> &str {
    match &event.data {
        Some(Data::TextData(text)) => text,
        Some(Data::BinaryData(_) | Data::ProtoData(_)) | None => "",
    }
}

/// Decodes an answer, which must say success.
pub(crate) fn succeeded(frame: Frame) -> CloudEvent {
    let answer = decode(frame);
    assert!(
        text(&answer).contains(r#""success":true"#),
        "a request failed: {}",
        text(&answer)
    );
    answer
}

/// The request that an answer on a stream is to.
pub(crate) fn answered(event: &CloudEvent) -> &str {
    match event.attributes.get(REQUEST_ID).map(|value| &value.attr) {
        Some(Some(Attr::CeString(id))) => id,
        _ => panic!("an event that answers nothing: {}", event.r#type),
    }
}
