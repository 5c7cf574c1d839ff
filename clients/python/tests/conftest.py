"""One server for all tests, and a tenant of its own for each."""

import uuid
from collections.abc import AsyncIterator

import pytest
from definitions import TAG, make_model, processed_on_creation, processor
from gates import Gate
from servers import server

from interlock import Client, Member


@pytest.fixture(scope="session")
async def target() -> AsyncIterator[str]:
    """Where a server listens."""
    async with server() as running:
        yield running.target


@pytest.fixture
def tenant() -> dict[str, str]:
    """Metadata that makes the caller one of a tenant that nobody else uses."""
    return {"x-mock-tenant": uuid.uuid4().hex}


@pytest.fixture
async def client(target: str, tenant: dict[str, str]) -> AsyncIterator[Client]:
    """A client of the test's tenant."""
    async with Client(target, metadata=tenant) as connected:
        yield connected


@pytest.fixture
def member(target: str, tenant: dict[str, str]) -> Member:
    """A member of the test's tenant, not joined yet."""
    return Member(target, tags=[TAG], metadata=tenant)


@pytest.fixture
async def gate(client: Client, member: Member) -> AsyncIterator[Gate]:
    """A member that has joined, whose `price` is called for every parcel."""
    gate = Gate(member)
    await make_model(client, flow=processed_on_creation(processor("price")))
    async with member:
        yield gate
        gate.may_end.set()
