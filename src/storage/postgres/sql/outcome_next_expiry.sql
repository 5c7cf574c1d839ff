select min(expires) from idempotency
