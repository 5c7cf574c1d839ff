"""Files: JSON documents under paths.

`client.files` is a `Files`. Every method raises what those of `Operations` raise.
"""

from __future__ import annotations

from collections.abc import AsyncGenerator, Mapping
from contextlib import aclosing
from dataclasses import dataclass
from datetime import datetime
from typing import TYPE_CHECKING, Any

from interlock.runs import PAGE

if TYPE_CHECKING:
    from interlock.operations import Operations


@dataclass(frozen=True, slots=True)
class File:
    """A file."""

    path: str
    content: Any
    version: str
    """The transaction that wrote it last."""
    updated_at: datetime
    updated_by: str

    @classmethod
    def read(cls, payload: Mapping[str, Any]) -> File:
        """Read it from a payload."""
        return cls(
            payload["path"],
            payload["content"],
            payload["version"],
            datetime.fromisoformat(payload["updatedAt"]),
            payload["updatedBy"],
        )


@dataclass(frozen=True, slots=True)
class ListedFile:
    """A file without its content."""

    path: str
    version: str
    size: int
    updated_at: datetime

    @classmethod
    def read(cls, payload: Mapping[str, Any]) -> ListedFile:
        """Read it from a payload."""
        return cls(
            payload["path"],
            payload["version"],
            payload["size"],
            datetime.fromisoformat(payload["updatedAt"]),
        )


class Files:
    """JSON documents under paths, in a namespace: `client.files`.

    In a compute member, `context.client.files.put` writes in the transaction of the call: the file
    is committed with it, or not at all.
    """

    def __init__(self, operations: Operations, namespace: str | None = None) -> None:
        """Ask through `operations`, in a namespace; None is the server's default."""
        self._operations = operations
        self._here: dict[str, Any] = {} if namespace is None else {"namespace": namespace}

    def within(self, namespace: str) -> Files:
        """Return the same for a namespace."""
        return Files(self._operations, namespace)

    async def put(
        self,
        path: str,
        content: Any,
        *,
        if_match: str | None = None,
        idempotency_key: str | None = None,
    ) -> str:
        """Write a file or replace it; return its version.

        Args:
            path: segments, each after a slash.
            content: any JSON, of at most 1 MiB.
            if_match: the version that the change is based on; an empty text if there must be no
                file, `*` if there must be one.
            idempotency_key: has it done once.

        Raises:
            EntityModified: the file is not at that version.

        """
        payload = {**self._here, "path": path, "content": content}
        if if_match is not None:
            payload["ifMatch"] = if_match
        answer = await self._operations.call(
            "FilePutRequest", payload, idempotency_key=idempotency_key
        )
        return str(answer["version"])

    async def get(self, path: str) -> File:
        """Read a file.

        Raises:
            FileNotFound: there is none.

        """
        payload = {**self._here, "path": path}
        return File.read(await self._operations.call("FileGetRequest", payload))

    async def delete(self, path: str, *, if_match: str | None = None) -> None:
        """Delete a file.

        Raises:
            FileNotFound: there is none.
            EntityModified: the file is not at that version.

        """
        payload = {**self._here, "path": path}
        if if_match is not None:
            payload["ifMatch"] = if_match
        await self._operations.call("FileDeleteRequest", payload)

    async def list(self, prefix: str = "/") -> AsyncGenerator[ListedFile, None]:
        """List the files whose paths begin with a text, by path."""
        async with aclosing(self._items({"prefix": prefix})) as items:
            async for item in items:
                yield ListedFile.read(item)

    async def _items(self, wanted: Mapping[str, Any]) -> AsyncGenerator[dict[str, Any], None]:
        """Read the items of all pages."""
        payload: dict[str, Any] = {**self._here, **wanted, "limit": PAGE}
        while True:
            answer = await self._operations.call("FilesGetRequest", payload)
            for item in answer["items"]:
                yield item
            if not answer["pagination"]["hasNext"]:
                return
            payload["cursor"] = answer["pagination"]["nextCursor"]
