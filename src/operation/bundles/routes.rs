//! The paths that no route of a bundle may take.

use std::sync::Arc;

use crate::dialect::saga::overlap;

/// What is at the root is always the service's, with all that is below it.
const ROOTS: [&str; 5] = ["workflows", "sagas", "console", "docs", "openapi.json"];

/// The paths of the service itself.
#[derive(Debug, Clone)]
pub struct OwnRoutes(Arc<Inner>);

#[derive(Debug)]
struct Inner {
    /// Before the path of each route.
    prefix: Box<str>,
    /// Everything below it is the service's, unless it is empty.
    context: Box<str>,
    paths: Vec<(String, String)>,
}

impl OwnRoutes {
    /// Methods and whole paths.
    pub fn new(
        prefix: &str,
        context: &str,
        paths: impl IntoIterator<Item = (String, String)>,
    ) -> Self {
        Self(Arc::new(Inner {
            prefix: prefix.into(),
            context: context.into(),
            paths: paths.into_iter().collect(),
        }))
    }

    /// What stands before the path of each route.
    pub fn prefix(&self) -> &str {
        &self.0.prefix
    }

    /// Whether a route would take a path of the service.
    pub fn has(&self, method: &str, path: &str) -> bool {
        let Inner {
            prefix,
            context,
            paths,
        } = &*self.0;
        let path = format!("{prefix}{path}");
        let is_below = |root: &str| {
            let rest = path.strip_prefix(root);
            rest.is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
        };
        let is_root = ROOTS.iter().any(|root| is_below(&format!("/{root}")));
        let is_in_context = !context.is_empty() && is_below(context);
        is_root
            || is_in_context
            || paths
                .iter()
                .any(|(other, own)| overlap(method, &path, other, own))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn paths_of_the_service_are_taken() {
        let paths = || [("GET".to_owned(), "/model/{name}".to_owned())];
        let at_root = OwnRoutes::new("", "", paths());
        let below = OwnRoutes::new("", "/api", paths());
        let prefixed = OwnRoutes::new("/shop", "/api", paths());
        for (routes, method, path, is_taken) in [
            (&at_root, "GET", "/model/x", true),
            (&at_root, "POST", "/model/x", false),
            (&at_root, "GET", "/:any/x", true),
            (&at_root, "GET", "/orders", false),
            (&at_root, "GET", "/workflows/:id", true),
            (&at_root, "GET", "/workflows-x", false),
            (&below, "POST", "/console/x", true),
            (&below, "GET", "/openapi.json", true),
            (&below, "GET", "/api/orders", true),
            (&below, "GET", "/apis", false),
            (&below, "POST", "/orders", false),
            (&prefixed, "GET", "/api/orders", false),
            (&prefixed, "GET", "/workflows/:id", false),
        ] {
            assert_eq!(routes.has(method, path), is_taken, "{method} {path}");
        }
    }
}
