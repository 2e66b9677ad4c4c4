-- SPDX-License-Identifier: Apache-2.0
--
-- wrk -s bench/load.lua URL -- SCENARIO: sends one body for each function, or all bodies in
-- turn. Prints one line: requests per second, latency in ms, errors. Every thread compares
-- the status of every answer, and `wrk` counts answers that are not 2xx.

local function row(n, value)
  local cells = {}
  for i = 1, n do cells[i] = value(i) end
  return "[" .. table.concat(cells, ",") .. "]"
end

local function matrix(m, n)
  return row(m, function(i)
    return row(n, function(j) return string.format("%.3f", (i * 7 + j) % 13 / 8) end)
  end)
end

-- With CLOSE=yes each request has its own connection.
local headers = {["Content-Type"] = "application/json",
  ["Connection"] = os.getenv("CLOSE") and "close"}

local function post(path, body)
  return wrk.format("POST", "/api/v1/functions/" .. path, headers, body)
end

local scenarios = {
  add = function()
    return {post("add/add", "[[1.5,2.5,3.5,4.5],[0.5,0.25,0.125,1.0]]")}
  end,
  mlp = function() return {post("tensor/mlp", "[" .. matrix(16, 4) .. "]")} end,
  softmax = function()
    return {post("tensor/softmax", "[" .. matrix(32, 32) .. "]")}
  end,
  large = function()
    return {post("tensor/matmul",
      "[" .. matrix(256, 256) .. "," .. matrix(256, 256) .. "]")}
  end,
}
scenarios.mixed = function()
  local all = {}
  for _ = 1, 20 do all[#all + 1] = scenarios.add()[1] end
  for _ = 1, 5 do all[#all + 1] = scenarios.mlp()[1] end
  for _ = 1, 5 do all[#all + 1] = scenarios.softmax()[1] end
  all[#all + 1] = scenarios.large()[1]
  return all
end

local requests, next_request

function init(args)
  requests = scenarios[args[1] or "add"]()
  next_request = 0
end

function request()
  next_request = next_request % #requests + 1
  return requests[next_request]
end

function done(summary, latency)
  local e = summary.errors
  io.write(string.format(
    "RESULT %.0f req/s  p50 %.3f ms  p99 %.3f ms  requests %d  errors %d\n",
    summary.requests / summary.duration * 1e6,
    latency:percentile(50) / 1000, latency:percentile(99) / 1000,
    summary.requests,
    e.connect + e.read + e.write + e.status + e.timeout))
end
