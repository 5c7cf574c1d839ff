//! The address of a provider's document.

use std::fmt;

use url::{Host, Url};

use super::FetchRules;

/// A URL that may be contacted, as far as its text shows; the addresses of its name are checked
/// when it is.
#[derive(Clone, PartialEq, Eq)]
pub struct ProviderUrl(Url);

/// Why a text is not a URL that may be contacted.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum BadProviderUrl {
    #[error("it is not an absolute URL with a host")]
    Unreadable,
    #[error("it must begin with https:// (CYODA_OIDC_REQUIRE_HTTPS=false allows http://)")]
    NeedsHttps,
    #[error("it must begin with https:// or http://")]
    Scheme,
    #[error("it must not contain a user, a password or a fragment")]
    TooMuch,
}

impl ProviderUrl {
    pub fn parse(text: &str, rules: &FetchRules) -> Result<Self, BadProviderUrl> {
        let mut url = Url::parse(text).map_err(|_| BadProviderUrl::Unreadable)?;
        // A name with a trailing dot is the same name, and has one spelling here.
        if let Some(Host::Domain(name)) = url.host()
            && name.ends_with('.')
        {
            let name = name.trim_end_matches('.').to_owned();
            url.set_host(Some(&name))
                .map_err(|_| BadProviderUrl::Unreadable)?;
        }
        match url.scheme() {
            "https" => {}
            "http" if !rules.needs_https => {}
            "http" => return Err(BadProviderUrl::NeedsHttps),
            _ => return Err(BadProviderUrl::Scheme),
        }
        if !url.username().is_empty() || url.password().is_some() || url.fragment().is_some() {
            return Err(BadProviderUrl::TooMuch);
        }
        match url.host() {
            Some(host) if host != Host::Domain("") => Ok(Self(url)),
            Some(_) | None => Err(BadProviderUrl::Unreadable),
        }
    }

    pub(super) fn is_https(&self) -> bool {
        self.0.scheme() == "https"
    }

    /// Numbers that denote an IPv4 address, in whatever notation, are equal here.
    pub(super) fn host(&self) -> Option<Host<&str>> {
        self.0.host()
    }

    pub(super) fn port(&self) -> u16 {
        self.0.port_or_known_default().unwrap_or(443)
    }

    /// The path and query to request.
    pub(super) fn path_and_query(&self) -> String {
        match self.0.query() {
            Some(query) => format!("{}?{query}", self.0.path()),
            None => self.0.path().to_owned(),
        }
    }

    /// The host, and the port if it is not the default.
    pub(super) fn authority(&self) -> &str {
        self.0.authority()
    }

    pub fn as_str(&self) -> &str {
        self.0.as_str()
    }
}

impl fmt::Debug for ProviderUrl {
    /// Without the query, which may contain secrets.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "ProviderUrl({}{})", self.0.authority(), self.0.path())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parsed(text: &str, needs_https: bool) -> Result<String, BadProviderUrl> {
        let rules = FetchRules {
            needs_https,
            ..FetchRules::default()
        };
        ProviderUrl::parse(text, &rules).map(|place| place.as_str().to_owned())
    }

    #[test]
    fn a_place_has_a_scheme_and_a_host_and_nothing_that_could_mislead() {
        let usual = "https://id.example/realms/a/.well-known/openid-configuration";
        assert_eq!(parsed(usual, true).as_deref(), Ok(usual));
        assert_eq!(
            parsed("http://id.example/", true),
            Err(BadProviderUrl::NeedsHttps)
        );
        assert!(parsed("http://id.example/", false).is_ok());
        for (text, reason) in [
            ("", BadProviderUrl::Unreadable),
            ("id.example", BadProviderUrl::Unreadable),
            ("/well-known", BadProviderUrl::Unreadable),
            ("https://", BadProviderUrl::Unreadable),
            ("ftp://id.example/", BadProviderUrl::Scheme),
            ("file:///etc/passwd", BadProviderUrl::Scheme),
            ("gopher://id.example/", BadProviderUrl::Scheme),
            ("https://someone@id.example/", BadProviderUrl::TooMuch),
            (
                "https://someone:secret@id.example/",
                BadProviderUrl::TooMuch,
            ),
            (
                "https://good.example#@bad.example/",
                BadProviderUrl::TooMuch,
            ),
        ] {
            assert_eq!(parsed(text, false), Err(reason), "{text}");
        }
    }

    #[test]
    fn an_address_is_one_however_it_is_written() {
        for text in [
            "https://127.0.0.1/",
            "https://127.1/",
            "https://2130706433/",
            "https://0x7f000001/",
            "https://0x7f.0.0.1/",
            "https://0177.0.0.1/",
            "https://0177.0.0.01/",
            "https://127.0.0.1./",
            "https://%31%32%37.0.0.1/",
            "https://１２７.０.０.１/",
        ] {
            assert_eq!(
                parsed(text, true).as_deref(),
                Ok("https://127.0.0.1/"),
                "{text}"
            );
        }
        assert!(parsed("https://256.0.0.1/", true).is_err());
    }

    #[test]
    fn what_is_logged_of_a_place_has_no_query() {
        let place = ProviderUrl::parse(
            "https://id.example:8443/a?key=secret",
            &FetchRules::default(),
        );
        assert_eq!(
            format!("{:?}", place.expect("a place")),
            "ProviderUrl(id.example:8443/a)"
        );
    }
}
