"""Run three orders through `order-processing.yaml`.

One needs no approval, one is approved at the shell, and one is approved by nobody in time. It is
the compute member, too.
"""

import argparse
import asyncio
import sys
import uuid
from contextlib import aclosing
from decimal import Decimal
from pathlib import Path
from typing import Any

from interlock import ConnectionLost, Member, Operations, Outcome, Rejected, TaskContext

HERE = Path(__file__).parent
WORKFLOW = "order-processing"
ACTIONS = ("validate-order", "charge-payment", "check-approval-needed", "ship-order")
CHARGE = ("flo-charge", 1)

NEEDS_APPROVAL_FROM = Decimal(1000)
SHOWN = ("step_completed", "signal_received", "signal_timeout")
"""What is printed of a history, beside its last event."""

HURRIED = "1.0.0-hurried"
"""The version of the copy with a shorter time limit for the approval."""


def make_member(server: str, connect_timeout: float = 5) -> Member:
    """Make the member; it has not joined yet."""
    member = Member(server, tags=["orders"], connect_timeout=connect_timeout)

    @member.action("validate-order")
    async def validate(order: Any, _context: TaskContext) -> dict[str, Any]:
        if Decimal(order["amount"]) <= 0:
            raise Rejected("the amount is not above 0", code="invalid_amount")
        return {"valid": True}

    @member.action("charge-payment")
    async def charge(order: Any, context: TaskContext) -> dict[str, Any]:
        # Written in the commit that ends the step: never without it, and never twice.
        written = await context.client.create(
            CHARGE, {"order": order["order_id"], "amount": order["amount"]}
        )
        return {"charge": written.entity_id}

    @member.action("check-approval-needed")
    async def check(order: Any, _context: TaskContext) -> dict[str, Any] | Outcome:
        if Decimal(order["amount"]) < NEEDS_APPROVAL_FROM:
            return {"approval": "not needed"}
        return Outcome("failure", {"approval": "needed"})

    @member.action("ship-order")
    async def ship(order: Any, _context: TaskContext) -> dict[str, Any]:
        return {"shipment": f"S-{order['order_id']}"}

    return member


async def prepare(client: Operations) -> None:
    """Make the model of charges, register the actions, and create both versions."""
    known = {known.key for known in await client.list_models()}
    if CHARGE not in known:
        await client.import_model(CHARGE, {"order": "ORD-1", "amount": 9.5})
        await client.lock_model(CHARGE)
    for name in ACTIONS:
        await client.runs.actions.register(name)
    document = (HERE / "order-processing.yaml").read_text()
    hurried = document.replace('version: "1.0.0"', f'version: "{HURRIED}"')
    hurried = hurried.replace("timeoutMs: 3600000", "timeoutMs: 2000")
    for text in (document, hurried):
        created = await client.runs.definitions.create(text)
        print(f"{created.name} {created.version} is {created.change}")


async def order(client: Operations, number: str, amount: str, version: str) -> str:
    """Start the run of an order; return its id."""
    started = await client.runs.start(
        WORKFLOW,
        {"order_id": number, "amount": Decimal(amount)},
        version=version,
        idempotency_key=f"{number}-{uuid.uuid4().hex[:8]}",
    )
    return started.run_id


async def until_it_waits(client: Operations, run_id: str) -> None:
    """Wait until a run waits for its approval."""
    async with aclosing(client.runs.follow(run_id)) as history:
        async for event in history:
            if event.event_type == "waiting_for_signal":
                return


async def show(client: Operations, title: str, run_id: str) -> None:
    """Wait for the end of a run, and print its history and its end."""
    run = await client.runs.finished(run_id)
    print(f"\n{title}: {run.status}")
    async for event in client.runs.history(run_id):
        if event.is_last or event.event_type in SHOWN:
            print(f"  {event.event_type:<16} {event.detail}")


async def play(client: Operations, flo: str) -> None:
    """Run the three orders."""
    await prepare(client)
    small = await order(client, "ORD-1", "99.99", "1.0.0")
    large = await order(client, "ORD-2", "2500.00", "1.0.0")
    late = await order(client, "ORD-3", "3000.00", HURRIED)
    await show(client, "ORD-1 needs no approval", small)
    await until_it_waits(client, large)
    print("\nORD-2 waits for an approval; approve it in another terminal:")
    print(f"""  {flo} workflow signal {large} --type approval '{{"decision":"approved"}}'""")
    sys.stdout.flush()
    await show(client, "ORD-2 was approved", large)
    await show(client, "ORD-3 was approved by nobody within 2 s", late)
    charges = [
        charge.data["order"] async for charge in client.list_entities(CHARGE, page_size=1000)
    ]
    print(f"\ncharges: {', '.join(sorted(charges))}")


async def run(arguments: argparse.Namespace) -> None:
    """Join as a member, and play on the same stream."""
    async with make_member(arguments.server, arguments.timeout) as member:
        await play(member.client, arguments.flo)


def main() -> None:
    """Say in plain words what is missing, if something is."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--server", default="localhost:9090", help="its gRPC port, as host:port")
    parser.add_argument(
        "--timeout", type=float, default=5, help="how long to wait for the server, in seconds"
    )
    parser.add_argument("--flo", default="flo", help="what the printed command begins with")
    try:
        asyncio.run(run(parser.parse_args()))
    except ConnectionLost as lost:
        sys.exit(f"\n{lost}\nIs the server running? `interlock` starts it.")


if __name__ == "__main__":
    main()
