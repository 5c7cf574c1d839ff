"""The operations, payloads and codes of the server, as they are on the wire.

All of it but this file and `requester` is generated, by `clients/python/tools/generate.py`, from
the schemas and the protocol of the server:

    operations      `Api`: a method for each request; `client.api` is one
    payloads        the types of all payloads
    codes           the codes of errors, and what to do about them
    cloudevents_pb2 the envelope

    answer = await client.api.entity_get({"entityId": entity_id})
    print(answer["payload"]["meta"]["state"])
"""

from interlock.api.codes import CODES, Code
from interlock.api.operations import Api
from interlock.api.requester import Requester, given

__all__ = ["CODES", "Api", "Code", "Requester", "given"]
