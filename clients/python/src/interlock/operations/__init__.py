"""The operations of a server, one method for each event type, by subject.

    models          models and their workflows
    entities        writes, and reads by id
    searching       searches, counts and groups
    feeds           what changes, followed
    history         what happened, and why
    messages        messages
    access          who may call
    administration  what operators look after
    requests        requests of any type
    values          the types of parameters

Those of runs, files and managers are in modules of their own. To add an operation: generate
`interlock.api`, add a method that passes its request to `self.api`, and add to `records` the class
of what it answers.
"""

from __future__ import annotations

from interlock.files import Files
from interlock.managers import Managers
from interlock.operations.access import Access
from interlock.operations.administration import Administration
from interlock.operations.entities import Entities
from interlock.operations.feeds import Feeds
from interlock.operations.history import History
from interlock.operations.messages import Messages
from interlock.operations.models import Models
from interlock.operations.requests import Asker
from interlock.operations.searching import Searching
from interlock.operations.values import (
    Aggregation,
    ChangeLevel,
    Condition,
    KeyAudience,
    ModelName,
    OrderBy,
    UniqueKey,
)
from interlock.runs import Runs

__all__ = [
    "Aggregation",
    "Asker",
    "ChangeLevel",
    "Condition",
    "KeyAudience",
    "ModelName",
    "Operations",
    "OrderBy",
    "UniqueKey",
]


class Operations(Models, Entities, Searching, Feeds, History, Messages, Access, Administration):
    """The operations of a server.

    Every method can be cancelled; the server then stops what it has not committed yet.
    Besides the exceptions it documents, every method may raise

    * `ConnectionLost` when there is no connection or when it ends before the answer,
    * `InvalidRequest` when the request is invalid,
    * `Forbidden`, `TooManyRequests`, `TenantLimitExceeded`, `StorageUnavailable` or `ServerError`,
    * in a compute member's callback `TransactionNotFound` or `TransactionExpired`.

    All of these are `InterlockError`s.

    Every method that writes accepts an `idempotency_key`, a text of the caller's choice: the
    request is then performed once, and a repeat with the same key, for instance after a lost
    connection, returns the first answer. A failed request may be repeated. Another request with
    the same key is an `IdempotencyConflict`. Servers keep keys for a limited time, usually a day.
    """

    @property
    def runs(self) -> Runs:
        """Step workflows: definitions, runs, actions, tasks, workers and topics."""
        return Runs(self)

    @property
    def files(self) -> Files:
        """JSON documents under paths."""
        return Files(self)

    @property
    def managers(self) -> Managers:
        """Batches kept in files, whose items workers do."""
        return Managers(self)
