//! Applies a bundle: all of its files in one commit, or nothing.

use std::{collections::HashSet, sync::Arc};

use tracing::warn;

use crate::auth::{Permission, ROLE_ADMIN};
use crate::connector::{self, Trust};
use crate::dialect::{
    Findings,
    saga::{BYTES_MAX, FILES_MAX, is_bundle},
};
use crate::error::{Code, Failure};
use crate::event::{
    EventType,
    payload::{
        self,
        bundles::{self, Applied, Removed},
        definitions::Change,
    },
};
use crate::id::Tenant;
use crate::operation::{
    Access, Context, Family, Operation, Output, Services, conditions, definitions, paging,
};
use crate::registry::{
    self,
    bundle::{Applied as Stored, BundleFile, NewBundle, OfEntities, Summary, Variables},
};

use crate::runtime::again;
use crate::storage::Attribution;

use super::{OwnRoutes, models::note_models};

/// The longest path of a file, in bytes.
const PATH_MAX: usize = 512;

pub(in crate::operation) struct ApplyBundle {
    namespace: Arc<str>,
    bundle: Option<String>,
    files: Vec<BundleFile>,
    variables: Variables,
    is_dry: bool,
}

impl Operation for ApplyBundle {
    type Payload = bundles::Apply;
    type Answer = Applied;

    const REQUEST: EventType = EventType::BundleApplyRequest;
    const RESPONSE: EventType = EventType::BundleApplyResponse;
    const FAMILY: Family = Family::Model;
    const ACCESS: Access = Access::Write;
    const NEEDS: Permission = Permission::Role(ROLE_ADMIN);

    fn parse(payload: &str) -> Result<Self, Failure> {
        let request: bundles::Apply = payload::decode(payload)?;
        if let Some(name) = &request.bundle
            && !is_bundle(name)
        {
            let message = format!(
                "\"{name}\" cannot name a bundle: use 1 to 128 letters, digits, dots, hyphens or \
                 underscores"
            );
            return Err(Failure::bad_parameter("bundle", message));
        }
        let files = request.files.into_iter().map(|file| BundleFile {
            path: file.path,
            text: file.text,
        });
        Ok(Self {
            namespace: paging::namespace(request.namespace)?,
            bundle: request.bundle,
            files: checked(files.collect())?,
            variables: Variables::new(request.variables.unwrap_or_default()),
            is_dry: request.dry_run.unwrap_or(false),
        })
    }

    async fn run(self, cx: Context) -> Result<Output<Self::Answer>, Failure> {
        cx.refuse_token()?;
        let Self {
            namespace,
            bundle,
            files,
            variables,
            is_dry,
        } = self;
        let services = cx.services().clone();
        let tenant = cx.caller().tenant.clone();
        let reading = move || {
            let name = bundle.as_deref();
            let new = NewBundle::read(name, files, variables, Trust::Uploaded)?;
            check(new, &tenant, &services.connectors, &services.routes)
        };
        let new = conditions::reading(&cx, reading).await?;
        let mut new = new.map_err(|found| definitions::invalid("bundle", &found))?;
        let tenant = &cx.caller().tenant;
        let native = new.of_entities(&namespace);
        note_models(cx.services(), tenant, &native, &mut new).await?;
        let applied = again(|| store(&cx, &namespace, &new, is_dry)).await?;
        if !is_dry {
            give_machines(cx.services(), tenant, &cx.attribution(), &native).await;
        }
        Ok(applied)
    }
}

/// Gives models the workflows of their machines. What fails is done with the next event.
pub(super) async fn give_machines(
    services: &Services,
    tenant: &Tenant,
    by: &Attribution,
    native: &[OfEntities],
) {
    for one in native {
        let given = services
            .runtime
            .give_machine(tenant, by.clone(), &one.model, &one.workflow);
        if let Err(failure) = given.await
            && failure.code() != Code::ModelNotFound
        {
            warn!(model = %one.model, machine = one.machine, failure = %failure.in_full(), "a model has not got the workflow of its state machine yet");
        }
    }
}

/// What the settings say of a bundle.
pub(super) fn check(
    mut new: NewBundle,
    tenant: &Tenant,
    settings: &connector::Settings,
    routes: &OwnRoutes,
) -> Result<NewBundle, Findings> {
    new.check_connectors(tenant, settings);
    new.check_routes(&|method, path| routes.has(method, path));
    if new.findings.has_errors() {
        return Err(new.findings);
    }
    Ok(new)
}

async fn store(
    cx: &Context,
    namespace: &str,
    new: &NewBundle,
    is_dry: bool,
) -> Result<Output<Applied>, Failure> {
    let mut session = cx.session().await?;
    let now = cx.storage().now();
    let applied = cx
        .registry()
        .apply(session.unit()?, namespace, new, now)
        .await?;
    let (version, change, removed) = match applied {
        Stored::Done {
            version,
            change,
            removed,
        } => (version, change, removed),
        Stored::Refused(found) => return Err(definitions::invalid("bundle", &found)),
    };
    let summary = new.summary();
    let applied = Applied {
        bundle: new.name.to_string(),
        version,
        change: match change {
            registry::Change::Created => Change::Created,
            registry::Change::Replaced => Change::Replaced,
            registry::Change::Unchanged => Change::Unchanged,
        },
        sagas: summary.sagas,
        machines: summary.machines,
        routes: summary.routes,
        connectors: summary.connectors,
        removed: (removed != Summary::default()).then_some(Removed {
            sagas: removed.sagas,
            machines: removed.machines,
            routes: removed.routes,
            connectors: removed.connectors,
        }),
        findings: definitions::findings(&new.findings),
    };
    let warnings = removal_warning(new, applied.removed.as_ref())
        .into_iter()
        .collect();
    if is_dry {
        // Its unit is dropped with the session.
        return Ok(Output::One(applied, warnings));
    }
    let _critical = cx.critical();
    let done = cx.finish(session, applied, warnings).await?;
    let made = cx
        .runtime()
        .make_mirror(&cx.caller().tenant, namespace, &new.name);
    Ok(match (done, made.await) {
        (Output::One(applied, mut warnings), Some(warning)) => {
            warnings.push(warning);
            Output::One(applied, warnings)
        }
        (done, _) => done,
    })
}

/// Files that name no bundle replace those that named none before, which is easily not meant.
fn removal_warning(new: &NewBundle, removed: Option<&Removed>) -> Option<String> {
    let removed = removed.filter(|_| !new.is_named)?.named();
    Some(format!(
        "no bundle is named, so these files replace the bundle {}; it no longer declares: {}. \
         Apply all files together, or name a bundle for each set of files",
        new.name,
        removed.join(", ")
    ))
}

/// Files within the limits, each with a path of its own.
fn checked(files: Vec<BundleFile>) -> Result<Vec<BundleFile>, Failure> {
    if files.is_empty() {
        return Err(Failure::bad_parameter(
            "files",
            "the bundle has no files; send at least one",
        ));
    }
    if files.len() > FILES_MAX {
        let message = format!("the bundle has more than {FILES_MAX} files; split it");
        return Err(Failure::bad_parameter("files", message));
    }
    let bytes: usize = files.iter().map(|file| file.text.len()).sum();
    if bytes > BYTES_MAX {
        let message =
            format!("the files of the bundle are larger than {BYTES_MAX} bytes together; split it");
        return Err(Failure::bad_parameter("files", message));
    }
    let mut paths = HashSet::new();
    for file in &files {
        let fits =
            (1..=PATH_MAX).contains(&file.path.len()) && !file.path.contains(char::is_control);
        if !fits {
            let message =
                format!("the path of a file has 1 to {PATH_MAX} bytes without control characters");
            return Err(Failure::bad_parameter("files", message));
        }
        if !paths.insert(&*file.path) {
            let message = format!("two files have the path {}; rename one", file.path);
            return Err(Failure::bad_parameter("files", message));
        }
    }
    Ok(files)
}
