-- Requests random users, or always one address, and prints the result as one line of JSON.
-- Arguments: the address up to the user's number, how many users there are (0: the address is complete), the address
-- after the number, a seed, to send If-None-Match, a file with one ETag a line in the order of the users (empty: none), and a
-- file with one address a line in place of these (empty: none).
local before, users, after
local etags, addresses = {}, {}

function init(args)
  before, users, after = args[1], tonumber(args[2]), args[3]
  math.randomseed(tonumber(args[4]))
  if args[5] ~= '' then
    for line in io.lines(args[5]) do etags[#etags + 1] = line end
  end
  if args[6] ~= '' then
    for line in io.lines(args[6]) do addresses[#addresses + 1] = line end
  end
  if users == 0 then
    wrk.headers['If-None-Match'] = etags[1]
    local same = wrk.format('GET', before)
    request = function() return same end
  end
end

function request()
  local user = math.random(users)
  wrk.headers['If-None-Match'] = etags[user]
  return wrk.format('GET', addresses[user] or before .. user .. after)
end

function done(summary, latency)
  local failed = summary.errors.connect + summary.errors.read + summary.errors.write + summary.errors.timeout
  io.write(string.format('{"requests":%d,"seconds":%f,"p99":%d,"failed":%d,"refused":%d}\n', summary.requests,
    summary.duration / 1e6, latency:percentile(99), failed, summary.errors.status))
end
