//! The `email` connector: messages by SMTP.
//!
//! Addresses and headers are values of the library, which encodes them, so no text can add a
//! header or a recipient.

mod limited;

use std::{borrow::Cow, sync::Arc};

use futures_util::FutureExt as _;
use lettre::{
    Address, Message,
    message::{Mailbox, MultiPart, SinglePart},
    transport::smtp::{
        Error as SmtpError,
        authentication::{Credentials, Mechanism},
        client::{AsyncSmtpConnection, Certificate, CertificateStore, TlsParameters},
        extension::ClientId,
    },
};
use serde_json::value::RawValue;
use sha2::{Digest as _, Sha256};
use url::Host;

use self::limited::Limited;
use super::{CallFailed, Email, Request, SmtpTls, Trust, check};
use crate::expr::{members, quoted, string};
use crate::outgoing::{Connection, Reach, Tls, Unreachable, addresses, connect, secure};
use crate::text;

/// The most recipients of one message.
const RECIPIENTS_MAX: usize = 100;

/// The largest body, in bytes.
const BODY_BYTES_MAX: usize = 1 << 20;

/// A mail server that can be called.
pub(super) struct Server {
    config: Email,
    reach: Reach,
    from: Mailbox,
    security: Security,
}

/// How a connection is made secure.
enum Security {
    None,
    StartTls(TlsParameters),
    /// With these authorities, else those of the machine.
    Tls(Option<Tls>),
}

impl std::fmt::Debug for Server {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Server")
            .field("config", &self.config)
            .finish_non_exhaustive()
    }
}

/// A message, in texts.
#[derive(Debug, Default)]
struct Content {
    to: Vec<String>,
    cc: Vec<String>,
    subject: Option<String>,
    text: Option<String>,
    html: Option<String>,
}

/// Checks a configuration without contacting anything.
pub(super) fn check(config: &Email) -> Result<(), String> {
    mailbox(&config.from)?;
    config
        .to
        .as_deref()
        .map_or(Ok(()), |to| mailbox(to).map(|_| ()))?;
    match &config.template {
        Some(name) => found(config, name).map(|_| ()),
        None => Ok(()),
    }
}

impl Server {
    pub(super) fn new(config: &Email, reach: Reach, trust: Trust) -> Result<Self, String> {
        let security = match config.tls {
            SmtpTls::None => Security::None,
            SmtpTls::StartTls => Security::StartTls(start_tls(config, trust)?),
            SmtpTls::Tls => Security::Tls(check::authorities(config.tls_ca.as_deref(), trust)?),
        };
        Ok(Self {
            config: config.clone(),
            reach,
            from: mailbox(&config.from)?,
            security,
        })
    }

    /// Sends a message.
    pub(super) async fn call(
        &self,
        request: &Request<'_>,
        idempotency_key: &str,
    ) -> Result<Arc<str>, CallFailed> {
        let operation = request.operation.trim();
        if !operation.eq_ignore_ascii_case("send") {
            let shown = text::start(operation, 100);
            let message = format!("a mail server has no operation `{shown}`; use `send`");
            return Err(CallFailed::failed(message));
        }
        let failed = |reason: String| CallFailed::failed(format!("send: {reason}"));
        let content = content(&self.config, request).map_err(failed)?;
        let message = self.message(&content, idempotency_key).map_err(failed)?;
        let answer = self.sent(&message).await?;
        let recipients: Vec<String> = message.envelope().to().iter().map(shown).collect();
        Ok(format!(
            "{{\"recipients\":[{}],\"answer\":{}}}",
            recipients.join(","),
            quoted(&answer)
        )
        .into())
    }

    /// The identifier is the same for all tries, so that a message that arrives twice can be seen
    /// to be one.
    fn message(&self, content: &Content, idempotency_key: &str) -> Result<Message, String> {
        let key = hex::encode(Sha256::digest(idempotency_key));
        let id = format!("<{key}@{}>", self.from.email.domain());
        let mut message = Message::builder()
            .from(self.from.clone())
            .message_id(Some(id))
            .subject(content.subject.as_deref().unwrap_or_default());
        for to in &content.to {
            message = message.to(mailbox(to)?);
        }
        for cc in &content.cc {
            message = message.cc(mailbox(cc)?);
        }
        let message = match (&content.text, &content.html) {
            (Some(text), Some(html)) => message.multipart(MultiPart::alternative_plain_html(
                text.clone(),
                html.clone(),
            )),
            (None, Some(html)) => message.singlepart(SinglePart::html(html.clone())),
            (text, None) => message.singlepart(SinglePart::plain(text.clone().unwrap_or_default())),
        };
        message.map_err(|error| error.to_string())
    }

    async fn sent(&self, message: &Message) -> Result<String, CallFailed> {
        let mut connection = self.connection().await?;
        let answer = connection
            .send(message.envelope(), &message.formatted())
            .await;
        let answer = answer.map_err(|error| {
            let failure = failure(&error);
            if error.status().is_some() {
                return failure;
            }
            // It may have been accepted; the copy of a repetition has the same identifier.
            CallFailed::Lost {
                message: failure.to_string(),
            }
        })?;
        // It has been accepted, whatever the server says to this: nobody waits for that.
        let _ = connection.quit().now_or_never();
        Ok(answer.message().collect::<Vec<_>>().join(" "))
    }

    async fn connection(&self) -> Result<AsyncSmtpConnection, CallFailed> {
        let config = &self.config;
        let host = check::parse_host(&config.host).map_err(CallFailed::failed)?;
        let stream = self.stream(&host).await;
        let stream = stream.map_err(|error| CallFailed::Unavailable {
            message: format!("send: {error}"),
        })?;
        let hello = ClientId::default();
        let connected = AsyncSmtpConnection::connect_with_transport(Box::new(stream), &hello);
        let mut connection = connected.await.map_err(|error| failure(&error))?;
        if let Security::StartTls(tls) = &self.security {
            let secured = connection.starttls(tls.clone(), &hello).await;
            secured.map_err(|error| failure(&error))?;
        }
        if let (Some(user), Some(password)) = (&config.username, &config.password) {
            let pair = Credentials::new(user.to_string(), password.expose().to_owned());
            let known = connection
                .auth(&[Mechanism::Plain, Mechanism::Login], &pair)
                .await;
            known.map_err(|error| failure(&error))?;
        }
        Ok(connection)
    }

    async fn stream(&self, host: &Host<&str>) -> Result<Limited, Unreachable> {
        let port = self.config.port.unwrap_or(match self.security {
            Security::Tls(_) => 465,
            Security::None | Security::StartTls(_) => 587,
        });
        let stream = connect(addresses(host, port, self.reach).await?).await?;
        let peer = stream.peer_addr();
        let peer = peer.map_err(|error| Unreachable::Unconnected(error.to_string()))?;
        let connection = match &self.security {
            Security::None | Security::StartTls(_) => Connection::Left(stream),
            Security::Tls(Some(tls)) => secure(stream, host, tls).await?,
            Security::Tls(None) => secure(stream, host, &Tls::of_this_machine()?).await?,
        };
        Ok(Limited::new(connection, peer))
    }
}

fn start_tls(config: &Email, trust: Trust) -> Result<TlsParameters, String> {
    let mut tls = TlsParameters::builder(config.host.to_string());
    if let Some(given) = &config.tls_ca {
        let text = check::authorities_text(given, trust)?;
        let invalid = |error: SmtpError| format!("`tls_ca`: {error}");
        let authorities = Certificate::from_pem(text.as_bytes()).map_err(invalid)?;
        tls = tls
            .certificate_store(CertificateStore::None)
            .add_root_certificate(authorities);
    }
    tls.build().map_err(|error| error.to_string())
}

fn shown(address: &Address) -> String {
    quoted(address.as_ref())
}

fn failure(error: &SmtpError) -> CallFailed {
    if let Some(code) = error.status() {
        return CallFailed::failed(format!("send: the mail server answered {code}: {error}"));
    }
    let mut message = format!("send: {error}");
    let mut cause = std::error::Error::source(error);
    while let Some(next) = cause {
        message = format!("{message}: {next}");
        cause = next.source();
    }
    CallFailed::Unavailable { message }
}

fn mailbox(text: &str) -> Result<Mailbox, String> {
    text.trim()
        .parse()
        .map_err(|_| format!("`{}` is not a valid address", text.escape_debug()))
}

/// What a request sends, with the connector's recipient and template if it names none.
fn content(config: &Email, request: &Request<'_>) -> Result<Content, String> {
    let payload = request.payload.map_or("{}", RawValue::get);
    let fields = if payload == "null" { "{}" } else { payload };
    let values = members(fields).ok_or("the payload must be an object")?;
    let text = |name: &str| match values.get(name).map(|value| value.get()) {
        None | Some("null") => Ok(None),
        Some(value) => string(value)
            .map(Some)
            .ok_or_else(|| format!("`{name}` must be a text")),
    };
    let mut content = Content {
        to: recipients(&values, "to")?,
        cc: recipients(&values, "cc")?,
        subject: text("subject")?.as_deref().map(one_line),
        text: text("textBody")?,
        html: text("htmlBody")?,
    };
    if content.to.is_empty() {
        let to = request.to.as_deref().or(config.to.as_deref());
        content.to.extend(to.map(str::to_owned));
    }
    if content.to.is_empty() && content.cc.is_empty() {
        return Err("the message has no recipient".to_owned());
    }
    if content.to.len() + content.cc.len() > RECIPIENTS_MAX {
        return Err(format!(
            "the message has more than {RECIPIENTS_MAX} recipients"
        ));
    }
    let template = text("template")?;
    let template = template.as_deref().or(request.template.as_deref());
    if let Some(name) = template.or(config.template.as_deref()) {
        let (path, template) = found(config, name)?;
        let is_html = [".html", ".htm"].iter().any(|end| path.ends_with(end));
        let (subject, body) = divided(template);
        if let Some(subject) = subject
            && content.subject.is_none()
        {
            // Plain text, whatever the body is.
            content.subject = Some(one_line(&filled(subject, fields, false)?));
        }
        let body = filled(body, fields, is_html)?;
        let place = if is_html {
            &mut content.html
        } else {
            &mut content.text
        };
        place.get_or_insert(body);
    }
    let bodies = [&content.text, &content.html];
    if bodies.iter().any(|body| {
        body.as_ref()
            .is_some_and(|body| body.len() > BODY_BYTES_MAX)
    }) {
        return Err(format!("the message has more than {BODY_BYTES_MAX} bytes"));
    }
    Ok(content)
}

/// A subject without line ends: programs that decode the header and write it again would make
/// headers of its lines.
fn one_line(subject: &str) -> String {
    subject.split_whitespace().collect::<Vec<_>>().join(" ")
}

/// One address, or a list of them.
fn recipients(
    values: &indexmap::IndexMap<String, &RawValue>,
    name: &str,
) -> Result<Vec<String>, String> {
    let invalid = || format!("`{name}` must be an address or a list of addresses");
    match values.get(name).map(|value| value.get()) {
        None | Some("null") => Ok(Vec::new()),
        Some(list) if list.starts_with('[') => serde_json::from_str(list).map_err(|_| invalid()),
        Some(one) => Ok(vec![string(one).ok_or_else(invalid)?]),
    }
}

/// The file of a template: by its path, or by its name without folder and extension.
fn found<'a>(config: &'a Email, name: &str) -> Result<(&'a str, &'a str), String> {
    let plain = |path: &str| {
        let file = path.rsplit('/').next().unwrap_or(path);
        file.split('.').next().unwrap_or(file).to_owned()
    };
    let by_path = config.templates.get_key_value(name);
    let by_name = || {
        config
            .templates
            .iter()
            .find(|(path, _)| plain(path) == name)
    };
    let found = by_path.or_else(by_name);
    let (path, text) =
        found.ok_or_else(|| format!("the bundle has no file for template `{name}`"))?;
    Ok((path, text))
}

/// A text with the values of `{{.field}}`, in HTML escaped.
fn filled(template: &str, fields: &str, is_html: bool) -> Result<String, String> {
    let mut whole = String::new();
    let mut rest = template;
    while let Some((before, after)) = rest.split_once("{{") {
        whole.push_str(before);
        let (field, after) = after
            .split_once("}}")
            .ok_or("the template has `{{` without `}}`")?;
        let path = field
            .trim()
            .strip_prefix('.')
            .filter(|path| !path.is_empty());
        let path = path.ok_or_else(|| format!("`{{{{{field}}}}}` is not a valid field"))?;
        let mut value: Cow<'_, str> = fields.into();
        for name in path.split('.') {
            let found =
                members(&value).and_then(|members| Some(members.get(name)?.get().to_owned()));
            value = found
                .ok_or_else(|| format!("the template needs a value for `{path}`"))?
                .into();
        }
        let value = match &*value {
            "null" => Cow::Borrowed(""),
            json => string(json).map_or_else(|| json.to_owned().into(), Cow::Owned),
        };
        if is_html {
            push_escaped(&value, &mut whole);
        } else {
            whole.push_str(&value);
        }
        if whole.len() > BODY_BYTES_MAX {
            return Err(format!("the message has more than {BODY_BYTES_MAX} bytes"));
        }
        rest = after;
    }
    whole.push_str(rest);
    Ok(whole)
}

fn push_escaped(text: &str, to: &mut String) {
    for next in text.chars() {
        match next {
            '&' => to.push_str("&amp;"),
            '<' => to.push_str("&lt;"),
            '>' => to.push_str("&gt;"),
            '"' => to.push_str("&quot;"),
            '\'' => to.push_str("&#39;"),
            next => to.push(next),
        }
    }
}

/// The subject of a template that begins with `Subject:` and an empty line, and the rest.
fn divided(text: &str) -> (Option<&str>, &str) {
    let Some(rest) = text.strip_prefix("Subject:") else {
        return (None, text);
    };
    match rest.split_once('\n') {
        Some((subject, body)) => {
            let body = body.strip_prefix('\r').unwrap_or(body);
            (
                Some(subject.trim()),
                body.strip_prefix('\n').unwrap_or(body),
            )
        }
        None => (Some(rest.trim()), ""),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn config() -> Email {
        let config = r#"{"host":"mail.example","from":"Shop <shop@example.org>","templates":{
            "mails/welcome.txt":"Subject: Hello {{.name}}\n\nDear {{ .name }}, no. {{.user.id}}",
            "mails/ship.html":"<p>{{.name}}</p>"}}"#;
        serde_json::from_str(config).expect("a configuration")
    }

    fn made(payload: &str) -> Result<String, String> {
        let request = format!("{{\"operation\":\"send\",\"payload\":{payload}}}");
        let request = Request::parse(&request)?;
        let server = Server::new(
            &Email {
                tls: SmtpTls::None,
                ..config()
            },
            Reach::Everything,
            Trust::Uploaded,
        )?;
        let message = server.message(&content(&server.config, &request)?, "wf_1:mail:action")?;
        Ok(String::from_utf8(message.formatted()).expect("text"))
    }

    #[test]
    fn a_template_is_filled_with_the_members_of_the_payload() {
        let text =
            made(r#"{"to":"a@b.example","template":"welcome","name":"Ann","user":{"id":1.50}}"#)
                .expect("a message");
        assert!(text.contains("Subject: Hello Ann\r\n"), "{text}");
        assert!(
            text.ends_with("Dear Ann, no. 1.50\r\n") || text.ends_with("Dear Ann, no. 1.50"),
            "{text}"
        );
        let text = made(r#"{"to":["a@b.example"],"template":"ship","name":"<b>&"}"#);
        let text = text.expect("a message");
        assert!(text.contains("<p>&lt;b&gt;&amp;</p>"), "{text}");
        let again =
            made(r#"{"to":["a@b.example"],"template":"ship","name":""}"#).expect("a message");
        let id = |text: &str| {
            let id = text.lines().find(|line| line.starts_with("Message-ID:"));
            id.expect("an identifier").to_owned()
        };
        assert_eq!(id(&text), id(&again));
    }

    #[test]
    fn nothing_adds_a_header_or_a_recipient() {
        let text = made(
            r#"{"to":"a@b.example","subject":"Hi\r\nBcc: evil@b.example","textBody":"x\r\n.\r\nRCPT TO:<evil@b.example>"}"#,
        )
        .expect("a message");
        let (head, _) = text.split_once("\r\n\r\n").expect("a body");
        assert!(!head.lines().any(|line| line.starts_with("Bcc")), "{head}");
        // Nor does the text of the subject have line ends once it is decoded.
        assert!(
            head.contains("Subject: Hi Bcc: evil@b.example\r\n"),
            "{head}"
        );
        for refused in [
            r#"{"to":"a@b.example\r\nBcc: c@d.example"}"#,
            r#"{"to":"a@b.example>, <c@d.example"}"#,
            r#"{"to":"nobody"}"#,
            r#"{"to":7}"#,
            r#"{"to":[]}"#,
            r"{}",
            r"[]",
            r#"{"to":"a@b.example","template":"missing"}"#,
            r#"{"to":"a@b.example","template":"welcome"}"#,
            r#"{"to":"a@b.example","subject":7}"#,
        ] {
            assert!(made(refused).is_err(), "{refused}");
        }
    }
}
