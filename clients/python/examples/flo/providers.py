"""Two payment providers whose moods the example changes, as the actions of a compute member."""

import asyncio
from typing import Any

from interlock import Member, Operations, Outcome, Pending, Rejected, TaskContext

ACTIONS = ("charge-stripe", "charge-adyen", "check-payment-status", "send-notification")

STRIPE_MAY_TAKE = 0.5
"""How long a charge at Stripe may take, in seconds: the `timeout` of its action."""


class Provider:
    """A provider that is in a mood, and notes what it was asked for."""

    def __init__(self, name: str) -> None:
        self.name = name
        self.mood = "healthy"
        self.asked = 0
        self.open_tasks: list[str] = []
        """Charges that were accepted, and whose outcome is to be reported."""
        self._slow_for: set[str | None] = set()

    async def charge(
        self, payment: Any, context: TaskContext
    ) -> dict[str, Any] | Outcome | Pending:
        """Charge as the mood is."""
        self.asked += 1
        charge = {"payment_id": f"{self.name}-{context.task_id}", "amount": payment["amount"]}
        match self.mood:
            case "rejects cards":
                raise Rejected("the card is not valid", code="invalid_card")
            case "down":
                raise Rejected("the provider does not answer", code="unavailable")
            case "slow" if context.run_id not in self._slow_for:
                self._slow_for.add(context.run_id)
                await asyncio.sleep(10 * STRIPE_MAY_TAKE)  # the server gives up before
            case "pending":
                self.open_tasks.append(context.task_id)
                return Pending(charge)
        return charge

    async def report(self, client: Operations) -> int:
        """Report the charges that have succeeded meanwhile, as a webhook would."""
        open_tasks, self.open_tasks = self.open_tasks, []
        for task in open_tasks:
            await client.runs.tasks.complete(task, {"payment_id": f"{self.name}-{task}"})
        return len(open_tasks)


def make_member(
    server: str, stripe: Provider, adyen: Provider, connect_timeout: float = 5
) -> Member:
    """Make the member; it has not joined yet."""
    member = Member(server, tags=["payments"], connect_timeout=connect_timeout)
    member.action("charge-stripe")(stripe.charge)
    member.action("charge-adyen")(adyen.charge)
    asked: set[str | None] = set()

    @member.action("check-payment-status")
    async def check(payment: Any, context: TaskContext) -> dict[str, Any] | Outcome:
        if context.run_id not in asked:
            asked.add(context.run_id)
            return Outcome("pending", payment)
        return {**payment, "state": "captured"}

    @member.action("send-notification")
    async def notify(_notice: Any, _context: TaskContext) -> None:
        return None

    return member
