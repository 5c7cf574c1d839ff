-- Whether bundles have variables: a record of this kind has those of one.
select exists (
    select 1
    from tenant t
    cross join record r on r.t = t.t and r.kind = ?1
    where case when json_valid(r.body) then json_extract(r.body, '$.variables') <> '{}' end
)
