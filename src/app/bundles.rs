//! The settings of routes, and the definitions of the operator (`runs.md` §7).

use std::{
    collections::BTreeMap,
    fs, io,
    path::{Path, PathBuf},
};

use tracing::{info, warn};

use super::{
    Error,
    config::{ConfigError, ManagerFolder, Sources, process_environment},
};
use crate::auth::Authenticator;
use crate::id::{NAMESPACE_RULE, Tenant, is_namespace};
use crate::operation::{self, Services};
use crate::registry::bundle::{BundleFile, Variables};

/// Files that mails are made from.
const TEMPLATES: [&str; 5] = ["html", "htm", "txt", "md", "tmpl"];

/// Documents that may be step workflows.
const DOCUMENTS: [&str; 3] = ["yaml", "yml", "json"];

/// How deep folders are searched.
const DEPTH_MAX: usize = 16;

/// The folder of the operator's definitions, if there is one, and whose they are.
pub(super) fn definitions(
    sources: &Sources,
    authenticator: &Authenticator,
) -> Result<(Option<PathBuf>, Tenant), ConfigError> {
    let folder = sources.string("DEFINITIONS")?;
    let tenant = operator_tenant("DEFINITIONS_TENANT", sources, authenticator)?;
    let folder = (!folder.is_empty()).then(|| folder.into());
    Ok((folder, tenant))
}

/// The tenant of something of the operator.
fn operator_tenant(
    setting: &str,
    sources: &Sources,
    authenticator: &Authenticator,
) -> Result<Tenant, ConfigError> {
    let given = sources.string(setting)?;
    Ok(if !given.is_empty() {
        given.into()
    } else if authenticator.is_mocked() {
        Authenticator::mock_tenant()
    } else {
        sources.string("BOOTSTRAP_TENANT_ID")?.into()
    })
}

/// The folder that has the files of a namespace, if there is one.
pub(super) fn manager_folder(
    sources: &Sources,
    authenticator: &Authenticator,
) -> Result<Option<ManagerFolder>, ConfigError> {
    let path = sources.string("MANAGER_DIR")?;
    let tenant = operator_tenant("MANAGER_TENANT", sources, authenticator)?;
    let expected = format!("a namespace: {NAMESPACE_RULE}");
    let namespace = sources.read("MANAGER_NAMESPACE", &expected, |text| {
        is_namespace(text).then(|| text.into())
    })?;
    Ok((!path.is_empty()).then(|| ManagerFolder {
        path: path.into(),
        tenant,
        namespace,
    }))
}

/// Why files are not those of a bundle.
#[derive(Debug, thiserror::Error)]
pub enum Unreadable {
    #[error("cannot read {path}; give the path of a file or folder of UTF-8 texts")]
    File {
        path: String,
        #[source]
        source: io::Error,
    },
    #[error("there is no HCL in {0}; give the path of a file *.hcl or of a folder that has one")]
    NoHcl(String),
}

impl Unreadable {
    fn new(path: &Path, source: io::Error) -> Self {
        Self::File {
            path: path.display().to_string(),
            source,
        }
    }
}

/// The files of a bundle that are at these paths, or below them.
///
/// # Errors
/// One cannot be read, or none declares anything.
pub fn files_of_bundle(paths: &[PathBuf]) -> Result<Vec<BundleFile>, Unreadable> {
    let mut files = Vec::new();
    for path in paths {
        files.extend(bundle_files(path)?);
    }
    // Templates alone would replace a bundle and declare nothing.
    let declares = |file: &BundleFile| Path::new(&file.path).extension() == Some("hcl".as_ref());
    if files.iter().any(declares) {
        return Ok(files);
    }
    let paths: Vec<_> = paths
        .iter()
        .map(|path| path.display().to_string())
        .collect();
    Err(Unreadable::NoHcl(paths.join(", ")))
}

/// The files of a bundle below a path: HCL and templates. A file is taken whatever its name.
pub fn bundle_files(path: &Path) -> Result<Vec<BundleFile>, Unreadable> {
    if path.is_file() {
        return Ok(vec![BundleFile {
            path: path.display().to_string(),
            text: read(path)?,
        }]);
    }
    let is_wanted = |extension: &str| extension == "hcl" || TEMPLATES.contains(&extension);
    files_below(path, &is_wanted)
}

/// The files below a folder with these extensions, by their paths within it.
fn files_below(
    folder: &Path,
    is_wanted: &dyn Fn(&str) -> bool,
) -> Result<Vec<BundleFile>, Unreadable> {
    let mut files = Vec::new();
    walk(folder, folder, 0, is_wanted, &mut files)?;
    files.sort_by(|a, b| a.path.cmp(&b.path));
    Ok(files)
}

fn walk(
    root: &Path,
    folder: &Path,
    depth: usize,
    is_wanted: &dyn Fn(&str) -> bool,
    files: &mut Vec<BundleFile>,
) -> Result<(), Unreadable> {
    let failed = |error| Unreadable::new(folder, error);
    for entry in fs::read_dir(folder).map_err(failed)? {
        let path = entry.map_err(failed)?.path();
        let extension = path
            .extension()
            .map(|it| it.to_string_lossy().to_lowercase());
        if path.is_dir() {
            let is_hidden = path
                .file_name()
                .is_some_and(|name| name.to_string_lossy().starts_with('.'));
            if depth < DEPTH_MAX && !is_hidden {
                walk(root, &path, depth + 1, is_wanted, files)?;
            }
        } else if extension.is_some_and(|extension| is_wanted(&extension)) {
            let name = path.strip_prefix(root).unwrap_or(&path);
            files.push(BundleFile {
                path: name.to_string_lossy().into_owned(),
                text: read(&path)?,
            });
        }
    }
    Ok(())
}

fn read(path: &Path) -> Result<String, Unreadable> {
    fs::read_to_string(path).map_err(|error| Unreadable::new(path, error))
}

/// The values that variables have in the environment of this process.
pub fn environment_of(names: impl IntoIterator<Item = String>) -> BTreeMap<String, String> {
    let values = process_environment();
    let with_value = names.into_iter().filter_map(|name| {
        let value = values.get(&name)?.clone();
        Some((name, value))
    });
    with_value.collect()
}

/// Applies the definitions of the operator; an error ends the start.
pub(super) async fn apply(
    services: &Services,
    folder: &Path,
    tenant: &Tenant,
) -> Result<(), Error> {
    let files = bundle_files(folder)?;
    let documents = files_below(folder, &|extension| DOCUMENTS.contains(&extension))?;
    let is_workflow = |file: &BundleFile| operation::is_step_workflow(&file.text);
    let documents: Vec<_> = documents.into_iter().filter(is_workflow).collect();
    // Templates alone are not a bundle.
    let is_hcl = |file: &BundleFile| file.path.to_lowercase().ends_with(".hcl");
    let files = if files.iter().any(is_hcl) {
        files
    } else {
        Vec::new()
    };
    let variables = Variables::new(process_environment().into_iter().collect());
    let (hcl, workflows) = (files.len(), documents.len());
    let warnings = operation::apply_definitions(services, tenant, files, variables, &documents);
    for warning in warnings.await? {
        warn!("{warning}");
    }
    if hcl == 0 && workflows == 0 {
        warn!(
            folder = %folder.display(),
            %tenant,
            "the folder of definitions has neither an HCL file nor a step workflow; check its path and its mount"
        );
    }
    info!(
        folder = %folder.display(),
        %tenant,
        files = hcl,
        workflows,
        "the definitions are applied"
    );
    Ok(())
}
