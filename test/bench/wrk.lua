-- Requests random users, or always one address, and prints the result as one line of JSON.
-- Arguments: the address up to the user's number, how many users there are (0: the address is complete), the address
-- after the number, a seed, the exponent of Zipf's law (0: every user is as popular), and, to send If-None-Match, a file
-- with one ETag a line in the order of the users (empty: none).
local before, users, after, pick
local etags = {}

-- Keeps popular users from being neighbours in the database.
local STRIDE = 7919

-- Draws ranks in proportion to 1 / rank ^ exponent, by the inverse of their cumulative distribution.
local function zipf(exponent)
  local cumulative, sum = {}, 0
  for rank = 1, users do
    sum = sum + rank ^ -exponent
    cumulative[rank] = sum
  end
  return function()
    local drawn, low, high = math.random() * sum, 1, users
    while low < high do
      local middle = math.floor((low + high) / 2)
      if cumulative[middle] < drawn then low = middle + 1 else high = middle end
    end
    return low * STRIDE % users + 1
  end
end

local function uniform()
  return math.random(users)
end

function init(args)
  before, users, after = args[1], tonumber(args[2]), args[3]
  math.randomseed(tonumber(args[4]))
  local exponent = tonumber(args[5])
  pick = exponent == 0 and uniform or zipf(exponent)
  if args[6] ~= '' then
    for line in io.lines(args[6]) do etags[#etags + 1] = line end
  end
  if users == 0 then
    wrk.headers['If-None-Match'] = etags[1]
    local same = wrk.format('GET', before)
    request = function() return same end
  end
end

function request()
  local user = pick()
  wrk.headers['If-None-Match'] = etags[user]
  return wrk.format('GET', before .. user .. after)
end

function done(summary, latency)
  local failed = summary.errors.connect + summary.errors.read + summary.errors.write + summary.errors.timeout
  io.write(string.format('{"requests":%d,"seconds":%f,"p50":%d,"p99":%d,"failed":%d,"refused":%d}\n', summary.requests,
    summary.duration / 1e6, latency:percentile(50), latency:percentile(99), failed, summary.errors.status))
end
