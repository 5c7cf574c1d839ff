select m, name, version, state, change_level, unique_keys, updated, rev from model where t = $1 and name = $2 and version = $3 and state <> 'absent'
