"""The service can be found out and used with nothing but its address."""

import asyncio
import json
from typing import Any

import grpc
from definitions import PARCEL, make_model
from google.protobuf.descriptor_pool import DescriptorPool
from google.protobuf.message_factory import GetMessageClass
from grpc_reflection.v1alpha.proto_reflection_descriptor_database import (
    ProtoReflectionDescriptorDatabase,
)
from scripts import SERVICE

from interlock import Client


def create_by_reflection(target: str, tenant: dict[str, str], data: Any) -> dict[str, Any]:
    """Ask for an `EntityCreateRequest` as a program would that has no proto files."""
    with grpc.insecure_channel(target) as channel:
        database = ProtoReflectionDescriptorDatabase(channel)
        assert SERVICE in database.get_services()
        service = DescriptorPool(database).FindServiceByName(SERVICE)
        assert [(method.name, method.client_streaming) for method in service.methods] == [
            ("startStreaming", True),
            ("entityModelManage", False),
            ("entityManage", False),
            ("entityManageCollection", False),
            ("entitySearch", False),
            ("entitySearchCollection", False),
        ]
        method = service.FindMethodByName("entityManage")
        request, response = GetMessageClass(method.input_type), GetMessageClass(method.output_type)
        model = {"name": PARCEL[0], "version": PARCEL[1]}
        payload = {"id": "1", "dataFormat": "JSON", "payload": {"model": model, "data": data}}
        create = channel.unary_unary(
            f"/{SERVICE}/{method.name}",
            request_serializer=request.SerializeToString,
            response_deserializer=response.FromString,
        )
        event = request(
            id="1",
            source="test",
            spec_version="1.0",
            type="EntityCreateRequest",
            text_data=json.dumps(payload),
        )
        answer: Any = create(event, metadata=tuple(tenant.items()))
        assert answer.type == "EntityTransactionResponse"
        answered: dict[str, Any] = json.loads(answer.text_data)
        return answered


async def test_an_entity_is_made_through_what_reflection_tells(
    client: Client, target: str, tenant: dict[str, str]
) -> None:
    await make_model(client)
    answer = await asyncio.to_thread(create_by_reflection, target, tenant, {"sku": "R-1"})
    assert answer["success"]
    (identifier,) = answer["transactionInfo"]["entityIds"]
    assert (await client.get(identifier)).data == {"sku": "R-1"}
