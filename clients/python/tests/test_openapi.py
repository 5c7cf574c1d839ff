"""The service answers what its OpenAPI document says, whatever it is asked.

The long version: `SCHEMATHESIS_EXAMPLES=300 pytest clients/python/tests/test_openapi.py`.
"""

import asyncio
import json
import os
import sys
from asyncio.subprocess import PIPE, STDOUT
from pathlib import Path

from definitions import ALL, make_model, transition, workflow
from servers import server

from interlock import Client

EXAMPLES = os.environ.get("SCHEMATHESIS_EXAMPLES", "12")
ORDER = ("order", 1)
CHECKS = [
    "nothing_unexpected",
    "status_code_conformance",
    "content_type_conformance",
    "response_headers_conformance",
    "response_schema_conformance",
    "unsupported_method",
    "allow_header_conformance",
]


async def set_stage(client: Client) -> str:
    """Make what requests can be about, and tell the hooks."""
    flow = workflow(
        "NEW",
        NEW=[
            transition("send", "SENT", manual=True),
            transition("hold", "NEW", manual=True),
            transition("bill", "SENT", {"name": "bill", "type": "EXTERNAL"}, manual=True),
        ],
        SENT=[],
    )
    await make_model(client, ORDER, {"total": 12.5, "name": "Ada"}, flow=flow)
    written = [await client.create(ORDER, {"total": n, "name": "Ada"}) for n in range(100)]
    message = await client.create_message("greeting", {"text": "hello"})
    order = {"total": 20, "name": "Bo"}
    text = json.dumps(order)
    ids = [each.entity_id for each in written]
    return json.dumps(
        {
            "entityName": "order",
            "modelVersion": 1,
            "entityId": ids,
            "format": "JSON",
            "dataFormat": "JSON",
            "transition": ["send", "hold", "bill", "nowhere"],
            "transitionName": ["send", "hold"],
            "transactionId": [each.transaction_id for each in written],
            "messageId": message,
            "bodies": {
                "createEntity": order,
                "updateEntity": order,
                "updateEntityByTransition": order,
                "patchEntity": {"total": 21},
                "patchEntityByTransition": {"total": 21},
                "createEntities": [{"model": {"name": "order", "version": 1}, "payload": text}],
                "updateEntities": [{"id": ids[0], "payload": text}],
                "search": ALL,
                "searchUpToLimit": ALL,
                "explainWorkflows": {"data": order},
            },
        }
    )


async def test_every_answer_is_documented(tmp_path: Path) -> None:
    async with server() as running:
        async with Client(running.target) as client:
            stage = await set_stage(client)
        program = await asyncio.create_subprocess_exec(
            *(sys.executable, "-m", "schemathesis.cli", "run", f"{running.rest}/openapi.json"),
            *("--checks", ",".join(CHECKS)),
            *("--max-examples", EXAMPLES),
            *("--seed", "1", "--no-shrink", "--continue-on-failure", "--no-color"),
            *("--phases", "examples,coverage,fuzzing", "--warnings", "off"),
            *("--generation-database", "none"),
            # Subscriptions have no end that a tester could wait for.
            *("--exclude-path", "/entity/changes/stream"),
            *("--exclude-path", "/search/live/{entityName}/{modelVersion}"),
            *("--exclude-path", "/runs/stream"),
            *("--exclude-path", "/runs/{runId}/history/stream"),
            # A worker waits for tasks as long as the request says.
            *("--exclude-path", "/tasks/await"),
            cwd=tmp_path,
            env={
                **os.environ,
                "STAGE": stage,
                "SCHEMATHESIS_HOOKS": "openapi_stage",
                "PYTHONPATH": str(Path(__file__).parent),
            },
            stdout=PIPE,
            stderr=STDOUT,
        )
        said, _ = await program.communicate()
        assert program.returncode == 0, said.decode()[-20_000:]
        assert b"openapi_stage" not in said
