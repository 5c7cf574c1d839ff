select i.kind, i.name, tenant.name as tenant, i.record
from identity i join tenant using(t)
order by i.kind, i.name
