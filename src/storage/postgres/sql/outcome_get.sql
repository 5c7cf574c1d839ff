select part, hash, answer from idempotency where t = $1 and key = $2 and expires > $3 order by part
