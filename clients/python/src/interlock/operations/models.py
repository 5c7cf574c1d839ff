"""Models and their workflows."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, Literal, cast

from interlock.operations.requests import Requests
from interlock.operations.values import ChangeLevel, ModelName, UniqueKey, spec
from interlock.records import Imported, Index, Model, Violation

if TYPE_CHECKING:
    from interlock.api.payloads import UniqueKeyInput, Workflow


class Models(Requests):
    """Models and their workflows."""

    async def import_model(
        self,
        model: ModelName,
        sample: Any,
        *,
        converter: Literal["SAMPLE_DATA", "SIMPLE_VIEW"] = "SAMPLE_DATA",
        idempotency_key: str | None = None,
    ) -> str:
        """Create a model from a sample, or widen one by it; return its id.

        Raises:
            ModelAlreadyLocked: only an unlocked model can be changed.

        """
        answer = await self.api.entity_model_import(
            {
                "model": spec(model),
                "dataFormat": "JSON",
                "converter": converter,
                "payload": sample,
            },
            idempotency_key=idempotency_key,
        )
        return answer["modelId"]

    async def export_model(
        self, model: ModelName, converter: Literal["SIMPLE_VIEW", "JSON_SCHEMA"] = "SIMPLE_VIEW"
    ) -> dict[str, Any]:
        """Return the schema of a model as a document.

        Raises:
            ModelNotFound: there is none.

        """
        answer = await self.api.entity_model_export({"model": spec(model), "converter": converter})
        exported: dict[str, Any] = {**answer["payload"]}
        return exported

    async def lock_model(self, model: ModelName, *, idempotency_key: str | None = None) -> None:
        """Lock a model, so that entities can be created.

        Raises:
            ModelNotFound: there is none.
            ModelAlreadyLocked: it is.

        """
        await self.api.entity_model_transition(
            {"model": spec(model), "transition": "LOCK"}, idempotency_key=idempotency_key
        )

    async def unlock_model(self, model: ModelName, *, idempotency_key: str | None = None) -> None:
        """Unlock a model, so that it can be changed.

        Raises:
            ModelNotFound: there is none.
            ModelAlreadyUnlocked: it is.
            ModelHasEntities: and as long as it has, it stays locked.

        """
        await self.api.entity_model_transition(
            {"model": spec(model), "transition": "UNLOCK"}, idempotency_key=idempotency_key
        )

    async def delete_model(self, model: ModelName, *, idempotency_key: str | None = None) -> None:
        """Delete an unlocked model.

        Raises:
            ModelNotFound: there is none.
            ModelAlreadyLocked: unlock it first.
            ModelHasEntities: delete them first.

        """
        await self.api.entity_model_delete({"model": spec(model)}, idempotency_key=idempotency_key)

    async def list_models(self) -> list[Model]:
        """List the models of the caller's tenant."""
        answer = await self.api.entity_model_get_all({})
        return [Model.read(item) for item in answer["models"]]

    async def set_change_level(
        self, model: ModelName, level: ChangeLevel, *, idempotency_key: str | None = None
    ) -> None:
        """Let new and updated entities widen a model, each level by what the ones before do too.

        `ARRAY_LENGTH` lets lists be longer, `ARRAY_ELEMENTS` have elements of other types, `TYPE`
        fields have values of other types, and `STRUCTURAL` lets entities have new fields. A level
        can be changed at any time, but not removed.

        Raises:
            ModelNotFound: there is no such model.
            InvalidChangeLevel: there is no such level.

        """
        await self.api.entity_model_set_change_level(
            {"model": spec(model), "changeLevel": level}, idempotency_key=idempotency_key
        )

    async def validate(self, model: ModelName, document: Any) -> list[Violation]:
        """Return every violation of a model by a document; none if it matches.

        The change level of the model does not count. Of more than a thousand places the first
        thousand are given.

        Raises:
            ModelNotFound: there is no such model.

        """
        answer = await self.api.entity_model_validate({"model": spec(model), "payload": document})
        return [Violation.read(item) for item in answer["errors"]]

    async def set_unique_keys(
        self, model: ModelName, keys: Sequence[UniqueKey], *, idempotency_key: str | None = None
    ) -> None:
        """Replace the unique keys of an unlocked model; an empty list clears them.

        Raises:
            ModelNotFound: there is no such model.
            ModelAlreadyLocked: the model is locked.
            InvalidUniqueKeyDefinition: a key is given twice, or a field is no scalar.

        """
        await self.api.entity_model_set_unique_keys(
            {"model": spec(model), "uniqueKeys": cast("Sequence[UniqueKeyInput]", keys)},
            idempotency_key=idempotency_key,
        )

    async def set_indexes(self, model: ModelName, paths: Sequence[str]) -> list[Index]:
        """Replace the declared search indexes of a model; they are filled in the background.

        Raises:
            ModelNotFound: there is no such model.
            InvalidFieldPath: a path leads to no scalar of the model.

        """
        answer = await self.api.entity_model_set_indexes(
            {"model": spec(model), "indexes": [{"path": path} for path in paths]}
        )
        return [Index.read(item) for item in answer["indexes"]]

    async def import_workflows(
        self,
        model: ModelName,
        workflows: Sequence[Mapping[str, Any]],
        *,
        mode: Literal["MERGE", "REPLACE", "ACTIVATE"] = "MERGE",
        allow_cycles: bool = False,
        idempotency_key: str | None = None,
    ) -> Imported:
        """Import workflows into a model.

        `MERGE` replaces those of the same names, `REPLACE` all, and `ACTIVATE` those of the same
        names while it makes the others inactive. `allow_cycles` takes even workflows whose
        automated transitions lead in a circle without a criterion.

        Raises:
            ModelNotFound: there is no such model.
            InvalidRequest: a workflow violates a rule; the message names the rule and the place.

        """
        answer = await self.api.entity_workflow_import(
            {
                "model": spec(model),
                "importMode": mode,
                "allowCycles": allow_cycles,
                "workflows": cast("Sequence[Workflow]", workflows),
            },
            idempotency_key=idempotency_key,
        )
        return Imported.read(answer)

    async def export_workflows(self, model: ModelName) -> list[dict[str, Any]]:
        """Export the workflows of a model.

        Raises:
            ModelNotFound: there is no such model.
            WorkflowNotFound: it has none.

        """
        answer = await self.api.entity_workflow_export({"model": spec(model)})
        return list(answer["workflows"])

    async def draw_workflows(
        self, model: ModelName, language: Literal["mermaid", "dot"] = "mermaid"
    ) -> str:
        """Draw the workflows of a model, in the language of Mermaid or Graphviz.

        It shows states, transitions and what makes them fire, guards, and processors.

        Raises:
            ModelNotFound: there is no such model.
            WorkflowNotFound: it has no workflows.

        """
        answer = await self.api.entity_workflow_diagram({"model": spec(model), "format": language})
        return answer["text"]
