select r from run_key where t = $1 and kind = $2 and scope = $3 and key = $4
