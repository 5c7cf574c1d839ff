//! Actions that a document names and that are not registered yet.

use crate::dialect::Findings;
use crate::error::Failure;
use crate::operation::Context;
use crate::registry::NewDefinition;

/// How many actions of a document are looked up: a document may name very many.
const LOOKED_UP_MAX: usize = 100;

/// Warns of actions that are not registered. The warning is not stored with the document, since the
/// action may be registered later.
pub(super) async fn note_unregistered(
    cx: &Context,
    namespace: &str,
    new: &NewDefinition,
    found: &mut Findings,
) -> Result<(), Failure> {
    let tenant = &cx.caller().tenant;
    for (place, action) in new.document.actions().into_iter().take(LOOKED_UP_MAX) {
        let registered = cx.registry().action(tenant, namespace, action);
        if registered.await?.is_some() {
            continue;
        }
        let message = format!(
            "the action \"{action}\" is not registered yet; register it before a run needs it: \
             flo action register {action}"
        );
        found.warning("E509", &place, message);
    }
    Ok(())
}
