"""Files: JSON documents under paths.

`client.files` is a `Files`. Every method raises what those of `Operations` raise.
"""

from __future__ import annotations

from collections.abc import AsyncGenerator
from dataclasses import dataclass
from datetime import datetime
from typing import TYPE_CHECKING, Any

from interlock.api.requester import given
from interlock.runs.part import PAGE

if TYPE_CHECKING:
    from interlock.api import payloads
    from interlock.api.payloads import (
        FileDeleteRequest,
        FileGetRequest,
        FilePutRequest,
        FilesGetRequest,
    )
    from interlock.operations import Operations


@dataclass(frozen=True, slots=True)
class File:
    """A file."""

    path: str
    content: Any
    version: str
    """The transaction that wrote it last; in a folder, a hash of the file."""
    updated_at: datetime
    updated_by: str

    @classmethod
    def read(cls, payload: payloads.FileGetResponse) -> File:
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
    def read(cls, payload: payloads.ListedFile) -> ListedFile:
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
        self._namespace = namespace

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
        request: FilePutRequest = {"path": path, "content": content}
        if self._namespace is not None:
            request["namespace"] = self._namespace
        if if_match is not None:
            request["ifMatch"] = if_match
        answer = await self._operations.api.file_put(request, idempotency_key=idempotency_key)
        return answer["version"]

    async def get(self, path: str) -> File:
        """Read a file.

        Raises:
            FileNotFound: there is none.

        """
        request: FileGetRequest = {"namespace": self._namespace, "path": path}
        request = given(request)
        return File.read(await self._operations.api.file_get(request))

    async def delete(self, path: str, *, if_match: str | None = None) -> None:
        """Delete a file.

        Raises:
            FileNotFound: there is none.
            EntityModified: the file is not at that version.

        """
        request: FileDeleteRequest = {
            "namespace": self._namespace,
            "path": path,
            "ifMatch": if_match,
        }
        await self._operations.api.file_delete(given(request))

    async def list(self, prefix: str = "/") -> AsyncGenerator[ListedFile, None]:
        """List the files whose paths begin with a text, by path."""
        request: FilesGetRequest = {"namespace": self._namespace, "prefix": prefix, "limit": PAGE}
        request = given(request)
        while True:
            answer = await self._operations.api.files_get(request)
            for item in answer["items"]:
                yield ListedFile.read(item)
            if not answer["pagination"]["hasNext"]:
                return
            request["cursor"] = answer["pagination"]["nextCursor"]
