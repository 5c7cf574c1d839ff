-- How many bytes the documents of versions have, given as a JSON list of positions, in the order of
-- the list; that is known without reading them.
select json_group_array(coalesce(octet_length(v.data), 0))
from json_each(?1) j left join version v on v.n = j.value
