-- A request to a list structure, done as one (the rules are in structure.py).
--
-- KEYS[1] the structure's prefix; ARGV[1] the request, ARGV[2] element size, ARGV[3] elements an entry may have.
-- Answers: {"ok", answers} or {"no", why, at}, packed with msgpack.
--
-- prefix:entries   hash: number -> packed {list, key, adjunct, version, data, arrival, elements}
-- prefix:list:N    sorted set, all scores 0: key (16) .. arrival (8) .. number (8), so the order is that of the bytes
-- prefix:state     hash: number, arrival, entries, elements, entries_total, elements_total
-- prefix:limits, prefix:locks, prefix:watches  hashes
--
-- Redis keeps what a script has written when it fails, so every operation says how it is undone.

local prefix = KEYS[1]
local request = cmsgpack.unpack(ARGV[1])
local element_bytes, elements_max = tonumber(ARGV[2]), tonumber(ARGV[3])
local ENTRIES, STATE = prefix .. ":entries", prefix .. ":state"
local LIMITS, LOCKS, WATCHES = prefix .. ":limits", prefix .. ":locks", prefix .. ":watches"
local undo, filled = {}, {}
local refused

local function list_of(number) return prefix .. ":list:" .. number end
local function state(field) return tonumber(redis.call("HGET", STATE, field) or "0") end
local function big(number)
  local high = math.floor(number / 4294967296)
  return struct.pack(">I4I4", high, number - high * 4294967296)
end
local function number_at(member, at)
  local high, low = struct.unpack(">I4I4", member, at)
  return high * 4294967296 + low
end

-- whether a <= b, byte by byte: Lua's own comparison follows the server's locale
local function not_behind(a, b)
  for at = 1, 16 do
    local x, y = string.byte(a, at), string.byte(b, at)
    if x ~= y then return x < y end
  end
  return true
end

local function refuse(why) refused = why end

local function entry_of(number)
  local packed = redis.call("HGET", ENTRIES, number)
  if not packed then return nil end
  local e = cmsgpack.unpack(packed)
  return {number = number, list = e[1], key = e[2], adjunct = e[3], version = e[4], data = e[5], arrival = e[6], elements = e[7]}
end
local function store(e)
  redis.call("HSET", ENTRIES, e.number, cmsgpack.pack({e.list, e.key, e.adjunct, e.version, e.data, e.arrival, e.elements}))
end
local function told(e)
  if not e then return false end
  return {e.number, e.list, e.key, e.adjunct, e.version, e.data, e.arrival}
end
local function member(e) return e.key .. big(e.arrival) .. big(e.number) end

local function use(field, change)
  if change == 0 then return end -- its opposite would be written -0
  redis.call("HINCRBY", STATE, field, change)
  undo[#undo + 1] = function() redis.call("HINCRBY", STATE, field, -change) end
end
local function put_at(e, list, key, arrival)
  e.list, e.key, e.arrival = list, key, arrival
  redis.call("ZADD", list_of(list), 0, member(e))
end
local function take_off(e) redis.call("ZREM", list_of(e.list), member(e)) end
local function place(e, list, key)
  put_at(e, list, key, redis.call("HINCRBY", STATE, "arrival", 1))
  filled[#filled + 1] = {list, key}
  undo[#undo + 1] = function() take_off(e) end
end
local function unplace(e)
  local list, key, arrival = e.list, e.key, e.arrival
  take_off(e)
  undo[#undo + 1] = function() put_at(e, list, key, arrival); store(e) end
end
local function first_member(list, low, high)
  return redis.call("ZRANGEBYLEX", list_of(list), "[" .. low, "[" .. high .. string.rep("\255", 16), "LIMIT", 0, 1)[1]
end
local function fits(e, where)
  for _, each in ipairs(where) do
    if string.sub(e.data, each[1] + 1, each[1] + #each[2]) ~= each[2] then return false end
  end
  return true
end
-- entries of a range that fit, from a place on, at most so many
local function entries_from(list, from, high, most, where)
  local found, upto, step = {}, "[" .. high .. string.rep("\255", 16), most
  if #where > 0 and step < 64 then step = 64 end
  while #found < most do
    local members = redis.call("ZRANGEBYLEX", list_of(list), from, upto, "LIMIT", 0, step)
    for _, each in ipairs(members) do
      local e = entry_of(number_at(each, 25))
      if fits(e, where) and #found < most then found[#found + 1] = e end
    end
    if #members < step then break end
    from = "(" .. members[#members]
  end
  return found
end
local function first(list, low, high, where)
  if where and #where > 0 then return entries_from(list, "[" .. low, high, 1, where)[1] end
  local found = first_member(list, low, high)
  return found and entry_of(number_at(found, 25))
end
local function room(list)
  local limit = tonumber(redis.call("HGET", LIMITS, list) or "0")
  if limit > 0 and redis.call("ZCARD", list_of(list)) >= limit then refuse("LIST_FULL") return false end
  return true
end
local function elements_of(data) return math.ceil(#data / element_bytes) end
local function found_at(number, list)
  local e = entry_of(number)
  if not e or (list and e.list ~= list) then refuse("NOT_FOUND") return nil end
  return e
end
local function moved(e, target, key, adjunct)
  unplace(e)
  place(e, target, key or e.key)
  local old = e.adjunct
  if adjunct then
    e.adjunct = adjunct
    undo[#undo + 1] = function() e.adjunct = old end
  end
  store(e)
end

local run = {}

function run.write(list, key, data, adjunct)
  local elements = elements_of(data)
  if elements > elements_max then return refuse("TOO_LONG") end
  if state("entries") >= state("entries_total") or state("elements") + elements > state("elements_total") then
    return refuse("FULL")
  end
  if not room(list) then return end
  local number = redis.call("HINCRBY", STATE, "number", 1)
  local e = {number = number, adjunct = adjunct, version = 1, data = data, elements = elements}
  undo[#undo + 1] = function() redis.call("HDEL", ENTRIES, number) end
  use("entries", 1)
  use("elements", elements)
  place(e, list, key)
  store(e)
  return number
end

function run.rewrite(number, data, adjunct, version)
  local e = found_at(number)
  if not e then return end
  if version and e.version ~= version then return refuse("CHANGED") end
  local old = entry_of(number)
  if data then
    local elements = elements_of(data)
    if elements > elements_max then return refuse("TOO_LONG") end
    if state("elements") + elements - e.elements > state("elements_total") then return refuse("FULL") end
    use("elements", elements - e.elements)
    e.data, e.elements = data, elements
  end
  if adjunct then e.adjunct = adjunct end
  e.version = e.version + 1
  store(e)
  undo[#undo + 1] = function() store(old) end
  return e.version
end

function run.read(number) return told(entry_of(number)) end
function run.first(list, low, high, where) return told(first(list, low, high, where)) end

function run.list(list, low, high, most, arrival, where)
  local from = "[" .. low
  if arrival > 0 then from = "(" .. low .. big(arrival) .. string.rep("\255", 8) end
  local entries = entries_from(list, from, high, most, where)
  for at, each in ipairs(entries) do entries[at] = told(each) end
  return entries
end

function run.move(number, source, target, key, adjunct)
  local e = found_at(number, source)
  if not e then return end
  moved(e, target, key, adjunct)
  return true
end

function run.take(list, low, high, target, key, adjunct)
  local e = first(list, low, high)
  if not e then return false end
  moved(e, target, key, adjunct)
  return told(e)
end

local function remove(e)
  unplace(e)
  redis.call("HDEL", ENTRIES, e.number)
  use("entries", -1)
  use("elements", -e.elements)
end

function run.delete(number, list)
  local e = found_at(number, list)
  if not e then return end
  remove(e)
  return true
end

local function with(done, e)
  local answer = told(e)
  answer[#answer + 1] = done
  return answer
end

function run.claim(list, low, high, target, mark, keep, leave, most, where)
  local e = first(list, low, high, where)
  if not e then return false end
  local flags, length = 0, 0
  if #e.adjunct >= 5 then flags, length = struct.unpack(">BI4", e.adjunct) end
  if bit.band(flags, leave) ~= 0 or length > most then return with(0, e) end
  if keep == 255 or bit.band(flags, keep) ~= 0 then
    moved(e, target, nil, string.sub(e.adjunct, 1, math.max(#e.adjunct - #mark, 0)) .. mark)
    return with(1, e)
  end
  remove(e)
  return with(2, e)
end

function run.count(list, low, high)
  return redis.call("ZLEXCOUNT", list_of(list), "[" .. low, "[" .. high .. string.rep("\255", 16))
end
function run.controls(list)
  return {redis.call("ZCARD", list_of(list)), tonumber(redis.call("HGET", LIMITS, list) or "0")}
end
function run.limit(list, most)
  local old = redis.call("HGET", LIMITS, list) or "0"
  redis.call("HSET", LIMITS, list, most)
  undo[#undo + 1] = function() redis.call("HSET", LIMITS, list, old) end
  return true
end
function run.space()
  return {state("entries"), state("entries_total"), state("elements"), state("elements_total")}
end
function run.alter(entries, elements)
  if entries < state("entries") or elements < state("elements") then return refuse("IN_USE") end
  local old_entries, old_elements = state("entries_total"), state("elements_total")
  redis.call("HSET", STATE, "entries_total", entries, "elements_total", elements)
  undo[#undo + 1] = function()
    redis.call("HSET", STATE, "entries_total", old_entries, "elements_total", old_elements)
  end
  return true
end

function run.lock(lock, holder)
  if redis.call("HSETNX", LOCKS, lock, holder) == 1 then
    undo[#undo + 1] = function() redis.call("HDEL", LOCKS, lock) end
  end
  return redis.call("HGET", LOCKS, lock)
end
function run.unlock(lock, holder)
  if redis.call("HGET", LOCKS, lock) ~= holder then return false end
  redis.call("HDEL", LOCKS, lock)
  undo[#undo + 1] = function() redis.call("HSET", LOCKS, lock, holder) end
  return true
end
function run.holding(lock, holder)
  if redis.call("HGET", LOCKS, lock) ~= holder then return refuse("LOCKED") end
  return true
end

local function rewatch(name, old)
  if old then redis.call("HSET", WATCHES, name, old) else redis.call("HDEL", WATCHES, name) end
end
function run.watch(connector, token, list, low, high, each)
  local name = token .. "@" .. connector
  local old = redis.call("HGET", WATCHES, name)
  redis.call("HSET", WATCHES, name, cmsgpack.pack({list, low, high, each}))
  undo[#undo + 1] = function() rewatch(name, old) end
  return first_member(list, low, high) ~= nil
end
function run.unwatch(connector, token)
  local name = token .. "@" .. connector
  local old = redis.call("HGET", WATCHES, name)
  redis.call("HDEL", WATCHES, name)
  undo[#undo + 1] = function() rewatch(name, old) end
  return old ~= false
end

-- what is watched, and whether it has anything before the request
local watches, before = redis.call("HGETALL", WATCHES), {}
for at = 1, #watches, 2 do
  local range = cmsgpack.unpack(watches[at + 1])
  before[watches[at]] = first_member(range[1], range[2], range[3]) ~= nil
end

local answers = {}
for at, operation in ipairs(request) do
  local result = run[operation[1]](
    operation[2], operation[3], operation[4], operation[5], operation[6], operation[7],
    operation[8], operation[9], operation[10]
  )
  if refused then
    for step = #undo, 1, -1 do undo[step]() end
    return cmsgpack.pack({"no", refused, at - 1})
  end
  answers[at] = result
end

for at = 1, #watches, 2 do
  local name, range = watches[at], cmsgpack.unpack(watches[at + 1])
  local concerned = false
  for _, arrived in ipairs(filled) do
    if arrived[1] == range[1] and not_behind(range[2], arrived[2]) and not_behind(arrived[2], range[3]) then concerned = true end
  end
  if concerned and (range[4] or not before[name]) and first_member(range[1], range[2], range[3]) then
    local token, connector = string.match(name, "^(%d+)@(.*)$")
    redis.call("PUBLISH", prefix .. ":told:" .. connector, token)
  end
end
return cmsgpack.pack({"ok", answers})
