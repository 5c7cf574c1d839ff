-- All indexes, and the models they belong to.
select p.p, p.m, p.path, p.state, p.filled_to, p.declared, p.used, t.name as tenant, m.name, m.version
from search_path p join model m on m.m = p.m join tenant t on t.t = m.t order by p.p
