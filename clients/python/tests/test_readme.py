"""What the README shows works as it is shown."""

import asyncio
import re
import signal
import sys
from asyncio.subprocess import PIPE, STDOUT, Process
from decimal import Decimal
from pathlib import Path

import pytest
from definitions import (
    asks,
    make_model,
    processed_on_creation,
    processor,
    scheduled_by,
    transition,
    workflow,
)
from servers import server

from interlock import AuditedStep, Client, WorkflowFailed

README = (Path(__file__).parents[1] / "README.md").read_text()


async def paste(begins: str, target: str) -> Process:
    """Run the program of the README that begins like this."""
    programs = re.findall(r"```python\n(.*?)```", README, re.DOTALL)
    (program,) = (program for program in programs if program.startswith(begins))
    return await asyncio.create_subprocess_exec(
        sys.executable,
        "-c",
        program.replace("localhost:9090", target),
        stdout=PIPE,
        stderr=STDOUT,
    )


async def test_the_quick_start_works_as_often_as_it_is_pasted() -> None:
    async with server() as running:
        for _ in range(2):
            program = await paste("import asyncio, contextlib, interlock", running.target)
            said, _ = await program.communicate()
            assert program.returncode == 0, said.decode()
            assert "'sku': 'B-7', 'weight': Decimal('0.25')" in said.decode()


async def test_the_member_works() -> None:
    async with server(CYODA_DISPATCH_WAIT_TIMEOUT="10s") as running:
        program = await paste("import asyncio\nfrom datetime", running.target)
        async with Client(running.target) as client:
            await make_model(
                client,
                flow=processed_on_creation(processor("price", calculationNodesTags="pricing")),
            )
            await make_model(client, ("label", 1), {"sku": "A-1"})
            written = await client.create(("parcel", 1), {"sku": "B-1", "weight": 2})
            entity = await client.get(written.entity_id)
            assert entity.data["price"] == Decimal("9.00")
            with pytest.raises(WorkflowFailed, match="too heavy for us"):
                await client.create(("parcel", 1), {"sku": "B-2", "weight": 21})
            lapsing = transition(
                "lapse",
                "LAPSED",
                schedule=scheduled_by("quote-lapses", calculationNodesTags="pricing"),
            )
            light = transition(
                "send", "SENT", criterion=asks("is-light", calculationNodesTags="pricing")
            )
            flow = workflow("QUOTED", QUOTED=[light, lapsing], SENT=[], LAPSED=[])
            await client.import_workflows(("parcel", 1), [flow], mode="REPLACE")
            quoted = await client.create(("parcel", 1), {"sku": "B-3", "weight": 7})
            trail = {item.kind: item async for item in client.audit(quoted.entity_id)}
            assert "SCHEDULED_TRANSITION_ARM" in trail
            refusal = trail["TRANSITION_NOT_MATCH_CRITERION"]
            assert isinstance(refusal, AuditedStep)
            assert refusal.data is not None
            assert refusal.data["reason"] == "7 kg are more than 5"
            labels = [label.data async for label in client.list_entities(("label", 1))]
            assert labels == [{"sku": "B-1"}]
        program.send_signal(signal.SIGTERM)
        said, _ = await program.communicate()
        assert program.returncode == 0, said.decode()
