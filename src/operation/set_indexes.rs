//! Replaces the declared search indexes of a model (`stream.md` §3).

use super::{Access, Context, Family, Operation, Output};
use crate::condition::indexed_path;
use crate::entity::Path;
use crate::error::{Code, Failure};
use crate::event::{
    EventType,
    payload::{
        self, AsText,
        model::{self, IndexState},
    },
};
use crate::id::ModelKey;
use crate::model::{ChangeLevel, Lock, Model};
use crate::storage::Index;

/// How many indexes may be declared for a model: each makes every write more expensive.
const INDEXES_MAX: usize = 32;

pub(super) struct SetIndexes {
    model: ModelKey,
    paths: Vec<Path>,
}

impl Operation for SetIndexes {
    type Payload = model::SetIndexes;
    type Answer = model::Indexed;

    const REQUEST: EventType = EventType::EntityModelSetIndexesRequest;
    const RESPONSE: EventType = EventType::EntityModelSetIndexesResponse;
    const FAMILY: Family = Family::Model;
    const ACCESS: Access = Access::Write;

    fn parse(payload: &str) -> Result<Self, Failure> {
        let request: model::SetIndexes = payload::decode(payload)?;
        if request.indexes.len() > INDEXES_MAX {
            return Err(Failure::new(
                Code::BadRequest,
                format!(
                    "{} indexes are too many; a model may have {INDEXES_MAX}",
                    request.indexes.len()
                ),
            ));
        }
        let mut paths = Vec::new();
        for index in &request.indexes {
            let path = Path::parse(&index.path)
                .map_err(|error| Failure::new(Code::InvalidFieldPath, error.to_string()))?;
            let path = indexed_path(&path);
            if !paths.contains(&path) {
                paths.push(path);
            }
        }
        Ok(Self {
            model: request.model.into(),
            paths,
        })
    }

    async fn run(self, cx: Context) -> Result<Output<Self::Answer>, Failure> {
        let definitions = cx.definitions(&self.model).await?;
        for path in &self.paths {
            check(path, &definitions.model)?;
        }
        let storage = cx.storage();
        storage.declare_indexes(&definitions, self.paths).await?;
        let indexes = storage.indexes(&definitions);
        Ok(Output::one(model::Indexed {
            model_id: AsText(self.model.id()),
            indexes: items(&indexes),
        }))
    }
}

/// Indexes as answers have them.
pub(super) fn items(indexes: &[Index]) -> Vec<IndexState> {
    let indexes = indexes.iter().map(|index| IndexState {
        path: index.path.to_string(),
        state: index.state.as_str(),
        declared: index.declared,
    });
    indexes.collect()
}

/// How long the path of an index may be. It is in an index of the database itself.
const PATH_BYTES_MAX: usize = 1_024;

/// An index is by scalars, or by the elements of a list of scalars.
fn check(path: &Path, model: &Model) -> Result<(), Failure> {
    let schema = &model.schema;
    let refuse = |why: &str| {
        Err(Failure::new(
            Code::InvalidFieldPath,
            format!("{path} {why}"),
        ))
    };
    if path.to_string().len() > PATH_BYTES_MAX {
        refuse("is too long to be indexed")
    } else if schema.has_scalars_at(path) {
        Ok(())
    } else if schema.root.at(path).is_some() {
        refuse("has no scalar values to index")
    } else {
        // What adds a field depends on the state of the model.
        refuse(match (model.lock, model.change_level) {
            (Lock::Unlocked, _) => "is not a field of the model; import a sample that has it first",
            (Lock::Locked, Some(ChangeLevel::Structural)) => {
                "is not a field of the model; store a document that has it first"
            }
            (Lock::Locked, _) => {
                "is not a field of the model, which is locked; import the next version from samples \
                 that have it"
            }
        })
    }
}
