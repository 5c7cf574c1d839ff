select name, n, body
from record
where t = $1 and kind = $2 and ns = $3 and name > coalesce($4::text, '')
order by name
limit $5
