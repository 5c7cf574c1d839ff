"""Run requests for payment through their workflow, decide about them, and show what became of them.

It is the compute member, too, on the same stream. Run again, it finds the payments there.
"""

import argparse
import asyncio
import sys
from decimal import Decimal
from pathlib import Path
from typing import Any

from office import INSTRUCTION, NOTICE, ORDER, make_member

from interlock import ConnectionLost, Entity, ModelName, Operations, WorkflowNotFound, documents

HERE = Path(__file__).parent

PAYMENT = ("payment", 1)

ORDERS = {
    "O-1": Decimal("1200.00"),
    "O-2": Decimal("79.90"),
    "O-3": Decimal("9500.00"),
    "O-4": Decimal("640.00"),
    "O-7": Decimal("310.50"),
}

GERMAN, BRITISH = "DE89370400440532013000", "GB82WEST12345698765432"

PAYMENTS = [
    # reference, order, amount, payer, account
    ("P-1001", "O-1", Decimal("1200.00"), "anna@example.com", GERMAN),
    ("P-1002", "O-2", Decimal("79.90"), "anna@example.com", GERMAN),
    ("P-1003", "O-3", Decimal("9500.00"), "bert@example.com", BRITISH),
    ("P-1004", "O-4", Decimal("640.00"), "bert@example.com", BRITISH),
    ("P-1005", "O-5", Decimal("250.00"), "carl@example.com", BRITISH),
    ("P-1006", "O-6", Decimal("0.00"), "carl@example.com", BRITISH),
    ("P-1007", "O-7", Decimal("310.50"), "dora@example.com", GERMAN[:-1] + "1"),
]

CORRECTIONS = {"P-1007": {"iban": GERMAN}}
"""What the payers correct in payments that are not valid."""

DECISIONS = {"P-1001": "approve", "P-1003": "decline", "P-1004": "cancel"}
"""What is decided about payments that are submitted."""


async def play(client: Operations) -> None:
    """Do everything that has not been done yet, and show what there is."""
    for model in (ORDER, INSTRUCTION, NOTICE, PAYMENT):
        await prepare(client, model)
    await take_orders(client)
    await request_payments(client)
    await correct(client)
    await decide(client)
    payments = await read_payments(client)
    await show(client, payments)
    print(
        f"\nThe workflow, in the language of Mermaid\n\n{await client.draw_workflows(PAYMENT)}",
        end="",
    )
    for payment in payments.values():
        if payment.state in ("INVALID", "PENDING"):
            await explain(client, payment)


async def prepare(client: Operations, model: ModelName) -> None:
    """Import and lock a model, and import the workflow of payments, where that is not done yet."""
    name, _version = model
    known = {known.key: known for known in await client.list_models()}
    if model not in known:
        await client.import_model(model, read(f"models/{name}"))
        print(f"model {name} imported")
    if model not in known or not known[model].is_locked:
        await client.lock_model(model)
    if model == PAYMENT:
        try:
            await client.export_workflows(model)
        except WorkflowNotFound:
            await client.import_workflows(model, [read(f"workflows/{name}")])
            print(f"workflow of {name} imported")


async def take_orders(client: Operations) -> None:
    """Add the orders that are not there."""
    there = {order.data["number"] async for order in client.list_entities(ORDER, page_size=1000)}
    missing = [(number, amount) for number, amount in ORDERS.items() if number not in there]
    if missing:
        await client.create_many(
            (ORDER, {"number": number, "amount": amount}) for number, amount in missing
        )
    print(f"{len(missing)} orders taken")


async def request_payments(client: Operations) -> None:
    """Make the payments that are not there; each goes as far as it can by itself."""
    there = await read_payments(client)
    missing = [row for row in PAYMENTS if row[0] not in there]
    for reference, order, amount, payer, iban in missing:
        written = await client.create(
            PAYMENT,
            {
                "reference": reference,
                "order": order,
                "amount": amount,
                "payer": payer,
                "iban": iban,
            },
        )
        print(f"  {reference} is {(await client.get(written.entity_id)).state}")
    print(f"{len(missing)} payments requested")


async def correct(client: Operations) -> None:
    """Correct the payers' mistakes; the payment then continues automatically."""
    payments = await read_payments(client)
    for reference, correction in CORRECTIONS.items():
        payment = payments[reference]
        if payment.state == "INVALID":
            await client.update(payment.id, payment.data | correction)
            state = (await client.get(payment.id)).state
            print(f"  {reference} is corrected, and now {state}")


async def decide(client: Operations) -> None:
    """Approve, decline and cancel."""
    payments = await read_payments(client)
    for reference, transition in DECISIONS.items():
        payment = payments[reference]
        if payment.state == "SUBMITTED":
            await client.transition(payment.id, transition)
            print(f"  {reference}: {transition}")


async def read_payments(client: Operations) -> dict[str, Entity]:
    """Read all payments, by their references, in the order of these."""
    found = [payment async for payment in client.list_entities(PAYMENT, page_size=1000)]
    by_reference = {payment.data["reference"]: payment for payment in found}
    return dict(sorted(by_reference.items()))


async def show(client: Operations, payments: dict[str, Entity]) -> None:
    """Print a table of payments, their states, and what was written on their ways."""
    sent = {
        one.data["payment"]: f"attempt {one.data['attempt']}"
        async for one in client.list_entities(INSTRUCTION, page_size=1000)
    }
    notices = {
        one.data["payment"]: one.data["text"]
        async for one in client.list_entities(NOTICE, page_size=1000)
    }
    print(
        f"\n{'payment':<9}{'order':<7}{'amount':>9}  {'state':<11}{'sent':<11}notice to the payer"
    )
    for reference, payment in payments.items():
        line = f"{reference:<9}{payment.data['order']:<7}{payment.data['amount']:>9}"
        line += f"  {payment.state:<11}{sent.get(reference, ''):<11}{notices.get(reference, '')}"
        print(line.rstrip())


async def explain(client: Operations, payment: Entity) -> None:
    """Print why a payment is no further: what was decided when it was written, and what can be."""
    print(f"\nWhy {payment.data['reference']} is {payment.state}")
    past = await client.explain(payment.id, transaction_id=payment.transaction_id)
    for run in past.runs:
        for step in run.steps:
            for guard in step.considered:
                answer = "yes" if guard.held else "no"
                because = f": {guard.because}" if guard.because else ""
                print(f"  {run.start}, in {step.state}: {guard.name}? {answer}{because}")
    for way in (await client.explain(payment.id)).transitions:
        answer = {True: "open", False: "closed", None: "not known"}[way.open]
        print(f"  now: {way.name} to {way.next} ({way.trigger}) is {answer}: {way.why}")


def read(name: str) -> Any:
    """Read one of the example's JSON files."""
    return documents.decode((HERE / f"{name}.json").read_text())


async def run(arguments: argparse.Namespace) -> None:
    """Join as a member, and play on the same stream."""
    async with make_member(arguments.server, arguments.timeout) as member:
        await play(member.client)


def main() -> None:
    """Say in plain words what is missing, if something is."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--server", default="localhost:9090", help="its gRPC port, as host:port")
    parser.add_argument(
        "--timeout", type=float, default=5, help="how long to wait for the server, in seconds"
    )
    try:
        asyncio.run(run(parser.parse_args()))
    except ConnectionLost as lost:
        sys.exit(f"\n{lost}\nIs the server running? `interlock` starts it.")


if __name__ == "__main__":
    main()
