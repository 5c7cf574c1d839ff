"""The compute member of the example: the criteria and processors that the workflow names.

The processors run in the mode `ASYNC_NEW_TX`: what they return is not used, and if they fail the
payment moves all the same. What they write is committed with the move, or not at all.
"""

from collections import Counter

from interlock import Context, Entity, Member, No, Retryable

ORDER, INSTRUCTION, NOTICE = ("order", 1), ("instruction", 1), ("notice", 1)

TAG = "payments"
"""What the workflow asks of members, as `calculationNodesTags`."""

BANK_IS_BUSY_FOR = "P-1003"
"""The payment for which the bank does not answer at first."""


def make_member(server: str, connect_timeout: float = 5) -> Member:
    """Make the member; it has not joined yet."""
    member = Member(server, tags=[TAG], connect_timeout=connect_timeout)
    attempts = Counter[str]()

    @member.criterion("IsValid")
    async def is_valid(entity: Entity, _context: Context) -> bool | No:
        return is_iban(entity.data["iban"]) or No(f"{entity.data['iban']} is no account number")

    @member.criterion("HasOrder")
    async def has_order(entity: Entity, context: Context) -> bool | No:
        number, amount = entity.data["order"], entity.data["amount"]
        about = {
            "type": "simple",
            "jsonPath": "$.number",
            "operatorType": "EQUALS",
            "value": number,
        }
        async for order in context.client.search(ORDER, about, limit=1):
            ordered = order.data["amount"]
            return ordered == amount or No(f"order {number} comes to {ordered}, not {amount}")
        return No(f"there is no order {number}")

    @member.processor("send-to-bank")
    async def send_to_bank(entity: Entity, context: Context) -> None:
        # The key is that of every attempt of this call: the bank would know a repeat by it.
        key = context.dispatch_key or entity.id
        attempts[key] += 1
        payment = entity.data
        if payment["reference"] == BANK_IS_BUSY_FOR and attempts[key] == 1:
            print(f"  {payment['reference']}: the bank does not answer; the server tries again")
            raise Retryable("the bank does not answer")
        instruction = {name: payment[name] for name in ("iban", "amount")}
        instruction |= {"payment": payment["reference"], "key": key, "attempt": attempts.pop(key)}
        await context.client.create(INSTRUCTION, instruction)

    @member.processor("notify-payer")
    async def notify_payer(entity: Entity, context: Context) -> None:
        payment = entity.data
        text = (
            f"Your payment for order {payment['order']} is {context.transition.state_to.lower()}."
        )
        notice = {"payment": payment["reference"], "to": payment["payer"], "text": text}
        await context.client.create(NOTICE, notice)

    return member


def is_iban(text: str) -> bool:
    """Check an account number by its check digits (ISO 13616)."""
    if not (text.isascii() and text.isalnum() and 15 <= len(text) <= 34):
        return False
    digits = (str(int(character, 36)) for character in text[4:] + text[:4])
    return int("".join(digits)) % 97 == 1
