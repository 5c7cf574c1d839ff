"""Charge payments through a plan of two providers, one of which fails, is slow, or takes its time.

It is the compute member, too. It ends with a table of which executor served how often, and what
its breaker did.
"""

import argparse
import asyncio
import sys
import uuid
from collections import Counter
from datetime import timedelta
from pathlib import Path

from providers import ACTIONS, STRIPE_MAY_TAKE, Provider, make_member

from interlock import ConnectionLost, Operations, Run

HERE = Path(__file__).parent
WORKFLOW = "payment-processing"
PLAN = "charge-payment"
STRIPE, ADYEN = "stripe-primary", "adyen-fallback"

COOLDOWN = timedelta(seconds=30)
"""Of Stripe's breaker, as the document says."""

EVENTS = {
    "plan_executor_start": "tried",
    "plan_executor_success": "served",
    "plan_executor_retry": "retried",
    "plan_executor_exhausted": "given up",
    "plan_breaker_skip": "skipped",
}
"""What the events of a plan are called in the table."""


class Story:
    """The payments, and what became of them."""

    def __init__(self, client: Operations, stripe: Provider, adyen: Provider) -> None:
        self.client = client
        self.stripe = stripe
        self.adyen = adyen
        self.counted: dict[str, Counter[str]] = {STRIPE: Counter(), ADYEN: Counter()}
        self.breaker: list[str] = []
        self.number = 0
        self.session = uuid.uuid4().hex[:8]
        """Keeps the keys of this session apart from those of earlier ones."""

    async def pay(self, key: str | None = None) -> str:
        """Start a payment; return the id of its run."""
        self.number += 1
        customer = "C-1" if key else f"C-{self.number}"
        payment = {"customer_id": customer, "amount": 100 + self.number}
        # The plan caches charges of one customer under this member of the run's input.
        payment["idempotency_key"] = f"{self.session}-{key or self.number}"
        started = await self.client.runs.start(
            WORKFLOW, payment, idempotency_key=f"{self.session}-{self.number}"
        )
        return started.run_id

    async def act(
        self, title: str, payments: int, *, stripe: str, adyen: str, key: str | None = None
    ) -> None:
        """Have some payments made while the providers are in these moods."""
        self.stripe.mood, self.adyen.mood = stripe, adyen
        print(f"\n{title}")
        for _ in range(payments):
            run_id = await self.pay(key)
            run = await self._end_of(run_id)
            print(f"  {run_id}: {run.status}, {await self._way_of(run)}")
            await self._look_at_the_breaker()

    async def _end_of(self, run_id: str) -> Run:
        """Wait for the end of a run; what a provider has accepted is reported meanwhile."""
        ending = asyncio.ensure_future(self.client.runs.finished(run_id))
        async for event in self.client.runs.follow(run_id):
            if event.event_type == "awaiting_action":
                break
            if event.is_last:
                return await ending
        while not ending.done():
            await self.stripe.report(self.client)
            await asyncio.wait([ending], timeout=0.1)
        return await ending

    async def _way_of(self, run: Run) -> str:
        """Say who charged, and count it."""
        way = []
        async for event in self.client.runs.history(run.run_id):
            if (word := EVENTS.get(event.event_type)) is not None:
                self.counted[event.detail][word] += 1
                if word != "tried":
                    way.append(f"{event.detail} {word}")
            elif event.event_type in ("plan_cache_hit", "plan_fallback_used", "poll_scheduled"):
                way.append(event.event_type.removeprefix("plan_").replace("_", " "))
        return ", ".join(way)

    async def _look_at_the_breaker(self) -> None:
        plan = await self.client.runs.definitions.plan(WORKFLOW, PLAN)
        states = {executor.name: executor.breaker for executor in plan.executors}
        if not self.breaker or self.breaker[-1] != states[STRIPE]:
            self.breaker.append(states[STRIPE])

    async def show(self) -> None:
        """Print the table."""
        plan = await self.client.runs.definitions.plan(WORKFLOW, PLAN)
        scores = {executor.name: executor.score for executor in plan.executors}
        words = list(EVENTS.values())
        print(f"\n{'executor':<16}" + "".join(f"{word:>10}" for word in words) + f"{'score':>8}")
        for name, counted in self.counted.items():
            numbers = "".join(f"{counted[word]:>10}" for word in words)
            print(f"{name:<16}{numbers}{float(scores[name]):>8.2f}")
        print(f"\nThe breaker of {STRIPE}: {', then '.join(self.breaker)}")


async def prepare(client: Operations, document: str) -> None:
    """Register the actions, and create the workflow."""
    for name in ACTIONS:
        timeout = STRIPE_MAY_TAKE if name == "charge-stripe" else 10
        await client.runs.actions.register(name, timeout=timedelta(seconds=timeout))
    created = await client.runs.definitions.create(document)
    for finding in created.findings:
        print(f"[{finding.code}] {finding.severity}: {finding.message}")
    print(f"{created.name} {created.version} is {created.change}")


async def play(client: Operations, stripe: Provider, adyen: Provider, *, quick: bool) -> None:
    """Tell the story."""
    document = (HERE / "payment-processing.yaml").read_text()
    cooldown = COOLDOWN
    if quick:
        cooldown = timedelta(seconds=3)
        document = document.replace("cooldown_ms: 30000", "cooldown_ms: 3000")
    await prepare(client, document)
    story = Story(client, stripe, adyen)
    await story.act(
        "Stripe fails: it rejects every card", 5, stripe="rejects cards", adyen="healthy"
    )
    await story.act(
        "Adyen is down while Stripe's breaker is open", 1, stripe="healthy", adyen="down"
    )
    await story.act("Adyen is pending, and is asked again", 1, stripe="healthy", adyen="pending")
    print(f"\n(the breaker cools down for {cooldown.total_seconds():g} s)")
    await asyncio.sleep(cooldown.total_seconds())
    await story.act("Stripe is healthy again, Adyen is down", 2, stripe="healthy", adyen="down")
    await story.act("Stripe is pending, and reports later", 1, stripe="pending", adyen="down")
    await story.act("Stripe is slow at first", 1, stripe="slow", adyen="down")
    await story.act("Both are healthy", 3, stripe="healthy", adyen="healthy", key="one")
    await story.show()


async def run(arguments: argparse.Namespace) -> None:
    """Join as a member, and play on the same stream."""
    stripe, adyen = Provider("stripe"), Provider("adyen")
    async with make_member(arguments.server, stripe, adyen, arguments.timeout) as member:
        await play(member.client, stripe, adyen, quick=arguments.quick)


def main() -> None:
    """Say in plain words what is missing, if something is."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--server", default="localhost:9090", help="its gRPC port, as host:port")
    parser.add_argument(
        "--timeout", type=float, default=5, help="how long to wait for the server, in seconds"
    )
    parser.add_argument(
        "--quick", action="store_true", help="use a copy whose breaker cools down within 3 s"
    )
    try:
        asyncio.run(run(parser.parse_args()))
    except ConnectionLost as lost:
        sys.exit(f"\n{lost}\nIs the server running? `interlock` starts it.")


if __name__ == "__main__":
    main()
