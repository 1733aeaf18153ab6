-- Asks for random users, or for one address; says what came of it as a line of JSON.
-- Arguments: what stands before the user's number, how many users there are (0: one address), what stands after, a seed,
-- and the ETag that the client has.
local before, users, after

function init(args)
  before, users, after = args[1], tonumber(args[2]), args[3]
  math.randomseed(tonumber(args[4]))
  if args[5] then wrk.headers['If-None-Match'] = args[5] end
  if users == 0 then
    local same = wrk.format('GET', before)
    request = function() return same end
  end
end

function request()
  return wrk.format('GET', before .. math.random(users) .. after)
end

function done(summary, latency)
  local failed = summary.errors.connect + summary.errors.read + summary.errors.write + summary.errors.timeout
  io.write(string.format('{"requests":%d,"seconds":%f,"p50":%d,"p99":%d,"failed":%d,"refused":%d}\n', summary.requests,
    summary.duration / 1e6, latency:percentile(50), latency:percentile(99), failed, summary.errors.status))
end
