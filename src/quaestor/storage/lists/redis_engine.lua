-- Requests to a list structure, each done as one (the rules are in structure.py). A library of functions: its code is
-- compiled once, when it is loaded, and a request is one call.
--
-- FCALL run: KEYS[1] the structure's prefix; ARGV[1] the request, ARGV[2] element size, ARGV[3] elements an entry may
-- have, ARGV[4] the field of the connector's token, ARGV[5] the token. Answers {"ok", answers, entries, elements} or
-- {"no", why, at}, packed with msgpack; why "LOST" when the structure is not there, "FENCED" when the token is another.
--
-- FCALL allocate: KEYS[1] the prefix; ARGV[1] which server this is, ARGV[2] whether it forces every write, ARGV[3] entries,
-- ARGV[4] elements, ARGV[5] lists, ARGV[6] the connector, ARGV[7] the field of its token, ARGV[8] the token.
--
-- prefix:entries   hash: number -> packed {list, key, adjunct, version, data, arrival, elements}
-- prefix:list:N    sorted set, all scores 0: key (16) .. arrival (8) .. number (8), so the order is that of the bytes
-- prefix:index:N   sorted set, all scores 0: secondary key of a list that has one .. what prefix:list:N has
-- prefix:state     hash: number, arrival, entries, elements, entries_total, elements_total, limits, indexes, server, tokens
-- prefix:limits, prefix:indexes, prefix:locks, prefix:watches  hashes
--
-- Redis keeps what a function has written when it fails, so every operation says how it is undone. The state is read
-- once, changed here, and written at the end.

local FIELDS = {"number", "arrival", "entries", "elements", "entries_total", "elements_total", "limits", "indexes"}
local NUMBER, ARRIVAL, ENTRIES, ELEMENTS, ENTRIES_TOTAL, ELEMENTS_TOTAL, LIMITS, INDEXES = 1, 2, 3, 4, 5, 6, 7, 8
local TOKEN = #FIELDS + 1
local fields -- and the connector's token behind them
local call, pack, unpack_message, BEHIND_ALL, BEHIND_NUMBERS -- found at the first call: a library has them only then

-- of the request being done
local entries_key, state_key, limits_key, indexes_key, locks_key, watches_key, list_prefix, index_prefix, prefix
local element_bytes, elements_max
local state, undo, filled, watches, before, new, refused

local function begin(key, size, most, field, token)
  if not call then
    call, pack, unpack_message = redis.call, cmsgpack.pack, cmsgpack.unpack
    fields = {unpack(FIELDS)}
    BEHIND_ALL, BEHIND_NUMBERS = string.rep("\255", 16), string.rep("\255", 8)
  end
  if prefix ~= key then
    prefix, entries_key, state_key, limits_key = key, key .. ":entries", key .. ":state", key .. ":limits"
    locks_key, watches_key, list_prefix = key .. ":locks", key .. ":watches", key .. ":list:"
    indexes_key, index_prefix = key .. ":indexes", key .. ":index:"
  end
  element_bytes, elements_max = tonumber(size), tonumber(most)
  undo, filled, watches, before, new, refused = {}, {}, nil, {}, {}, nil
  fields[TOKEN] = field
  state = call("HMGET", state_key, unpack(fields))
  if not state[ENTRIES_TOTAL] then return "LOST" end
  if state[TOKEN] ~= token then return "FENCED" end
  for at = 1, #FIELDS do state[at] = tonumber(state[at] or "0") end
end

local function save(old)
  local changed = {}
  for at = 1, #FIELDS do
    if state[at] ~= old[at] then
      changed[#changed + 1] = FIELDS[at]
      changed[#changed + 1] = string.format("%.0f", state[at])
    end
  end
  if #changed > 0 then call("HSET", state_key, unpack(changed)) end
end

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
  local packed = call("HGET", entries_key, number)
  if not packed then return nil end
  local e = unpack_message(packed)
  return {number = number, list = e[1], key = e[2], adjunct = e[3], version = e[4], data = e[5], arrival = e[6], elements = e[7]}
end
local function store(e)
  call("HSET", entries_key, e.number, pack({e.list, e.key, e.adjunct, e.version, e.data, e.arrival, e.elements}))
end
local function told(e)
  if not e then return false end
  return {e.number, e.list, e.key, e.adjunct, e.version, e.data, e.arrival}
end
local function member(e) return e.key .. big(e.arrival) .. big(e.number) end

-- where the secondary key of a list is in the data of its entries: place, length; nil when it has none
local function index_of(list)
  if state[INDEXES] == 0 then return nil end
  local packed = call("HGET", indexes_key, list)
  if not packed then return nil end
  local at, length = string.match(packed, "^(%d+) (%d+)$")
  return tonumber(at), tonumber(length)
end
local function second_key(e, at, length)
  local second = string.sub(e.data, at + 1, at + length)
  return second .. string.rep("\0", length - #second)
end
-- an entry comes to the index of its list, or goes from it
local function index(e, coming)
  local at, length = index_of(e.list)
  if not at then return end
  local name = second_key(e, at, length) .. member(e)
  if coming then call("ZADD", index_prefix .. e.list, 0, name) else call("ZREM", index_prefix .. e.list, name) end
end
-- the secondary key that `where` asks for; nil when it does not
local function asked_second(list, where)
  local at, length = index_of(list)
  if not at then return nil end
  for _, each in ipairs(where) do
    if each[1] == at and #each[2] == length then return each[2] end
  end
end

local function first_member(list, low, high)
  return call("ZRANGEBYLEX", list_prefix .. list, "[" .. low, "[" .. high .. BEHIND_ALL, "LIMIT", 0, 1)[1]
end
local function fits(e, where)
  for _, each in ipairs(where) do
    if string.sub(e.data, each[1] + 1, each[1] + #each[2]) ~= each[2] then return false end
  end
  return true
end
-- entries of a range that fit, from a place on, at most so many
local function entries_from(list, from, high, most, where)
  local found, step = {}, most
  local second = #where > 0 and asked_second(list, where)
  local members_key, skipped = list_prefix .. list, 0
  local upto = "[" .. (second or "") .. high .. BEHIND_ALL
  if second then
    members_key, skipped = index_prefix .. list, #second
    from = string.sub(from, 1, 1) .. second .. string.sub(from, 2)
  elseif #where > 0 and step < 64 then
    step = 64
  end
  while #found < most do
    local members = call("ZRANGEBYLEX", members_key, from, upto, "LIMIT", 0, step)
    for _, each in ipairs(members) do
      local e = entry_of(number_at(each, 25 + skipped))
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

-- a list is about to change: whether what is watched of it has anything now
local function touch(list)
  if not watches then
    watches = {}
    local known = call("HGETALL", watches_key)
    for at = 1, #known, 2 do watches[#watches + 1] = {known[at], unpack_message(known[at + 1])} end
  end
  for _, each in ipairs(watches) do
    local name, range = each[1], each[2]
    if range[1] == list and before[name] == nil then before[name] = first_member(range[1], range[2], range[3]) ~= nil end
  end
end

local function put_at(e, list, key, arrival)
  e.list, e.key, e.arrival = list, key, arrival
  call("ZADD", list_prefix .. list, 0, member(e))
  if state[INDEXES] ~= 0 then index(e, true) end
end
local function take_off(e)
  call("ZREM", list_prefix .. e.list, member(e))
  if state[INDEXES] ~= 0 then index(e, false) end
end
local function place(e, list, key)
  touch(list)
  state[ARRIVAL] = state[ARRIVAL] + 1
  put_at(e, list, key, state[ARRIVAL])
  filled[#filled + 1] = {list, key}
  undo[#undo + 1] = function() take_off(e) end
end
local function unplace(e)
  local list, key, arrival = e.list, e.key, e.arrival
  touch(list)
  take_off(e)
  undo[#undo + 1] = function() put_at(e, list, key, arrival); store(e) end
end
local function room(list)
  if state[LIMITS] == 0 then return true end
  local limit = tonumber(call("HGET", limits_key, list) or "0")
  if limit > 0 and call("ZCARD", list_prefix .. list) >= limit then refuse("LIST_FULL") return false end
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
  if state[ENTRIES] >= state[ENTRIES_TOTAL] or state[ELEMENTS] + elements > state[ELEMENTS_TOTAL] then
    return refuse("FULL")
  end
  if not room(list) then return end
  local number = state[NUMBER] + 1
  state[NUMBER], state[ENTRIES], state[ELEMENTS] = number, state[ENTRIES] + 1, state[ELEMENTS] + elements
  local e = {number = number, adjunct = adjunct, version = 1, data = data, elements = elements}
  undo[#undo + 1] = function() call("HDEL", entries_key, number) end
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
    if state[ELEMENTS] + elements - e.elements > state[ELEMENTS_TOTAL] then return refuse("FULL") end
    state[ELEMENTS] = state[ELEMENTS] + elements - e.elements
    index(e, false)
    e.data, e.elements = data, elements
    index(e, true)
  end
  if adjunct then e.adjunct = adjunct end
  e.version = e.version + 1
  store(e)
  undo[#undo + 1] = function() index(e, false); store(old); index(old, true) end
  return e.version
end

function run.read(number) return told(entry_of(number)) end
function run.first(list, low, high, where) return told(first(list, low, high, where)) end

function run.list(list, low, high, most, arrival, where)
  local from = "[" .. low
  if arrival > 0 then from = "(" .. low .. big(arrival) .. BEHIND_NUMBERS end
  local found = entries_from(list, from, high, most, where)
  for at, each in ipairs(found) do found[at] = told(each) end
  return found
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
  call("HDEL", entries_key, e.number)
  state[ENTRIES], state[ELEMENTS] = state[ENTRIES] - 1, state[ELEMENTS] - e.elements
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
function run.claim(list, low, high, target, mark, keep, leave, most, where, buffer)
  local e = first(list, low, high, where)
  if not e then return false end
  if #e.data > buffer then
    e.data = struct.pack(">I4", #e.data)
    return with(3, e)
  end
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
  return call("ZLEXCOUNT", list_prefix .. list, "[" .. low, "[" .. high .. BEHIND_ALL)
end
function run.controls(list)
  return {call("ZCARD", list_prefix .. list), tonumber(call("HGET", limits_key, list) or "0")}
end
function run.limit(list, most)
  local old = call("HGET", limits_key, list) or "0"
  call("HSET", limits_key, list, most)
  state[LIMITS] = 1
  undo[#undo + 1] = function() call("HSET", limits_key, list, old) end
  return true
end
local function reindex(list, packed)
  call("DEL", index_prefix .. list)
  if not packed then call("HDEL", indexes_key, list) return end
  call("HSET", indexes_key, list, packed)
  state[INDEXES] = 1
  local from, upto = "-", "+"
  while true do
    local members = call("ZRANGEBYLEX", list_prefix .. list, from, upto, "LIMIT", 0, 100)
    for _, each in ipairs(members) do index(entry_of(number_at(each, 25)), true) end
    if #members < 100 then return end
    from = "(" .. members[#members]
  end
end
function run.index(list, at, length)
  local old = call("HGET", indexes_key, list)
  reindex(list, length > 0 and at .. " " .. length)
  undo[#undo + 1] = function() reindex(list, old) end
  return true
end
function run.space()
  return {state[ENTRIES], state[ENTRIES_TOTAL], state[ELEMENTS], state[ELEMENTS_TOTAL]}
end
function run.alter(entries, elements)
  if entries < state[ENTRIES] or elements < state[ELEMENTS] then return refuse("IN_USE") end
  state[ENTRIES_TOTAL], state[ELEMENTS_TOTAL] = entries, elements
  return true
end

function run.lock(lock, holder)
  if call("HSETNX", locks_key, lock, holder) == 1 then
    undo[#undo + 1] = function() call("HDEL", locks_key, lock) end
  end
  return call("HGET", locks_key, lock)
end
function run.unlock(lock, holder)
  if call("HGET", locks_key, lock) ~= holder then return false end
  call("HDEL", locks_key, lock)
  undo[#undo + 1] = function() call("HSET", locks_key, lock, holder) end
  return true
end
function run.holding(lock, holder)
  if call("HGET", locks_key, lock) ~= holder then return refuse("LOCKED") end
  return true
end

local function rewatch(name, old)
  if old then call("HSET", watches_key, name, old) else call("HDEL", watches_key, name) end
end
function run.watch(connector, token, list, low, high, each)
  local name = token .. "@" .. connector
  local old = call("HGET", watches_key, name)
  new[name] = true -- whoever begins to watch is not told of this request
  call("HSET", watches_key, name, pack({list, low, high, each}))
  undo[#undo + 1] = function() rewatch(name, old) end
  return first_member(list, low, high) ~= nil
end
function run.unwatch(connector, token)
  local name = token .. "@" .. connector
  local old = call("HGET", watches_key, name)
  call("HDEL", watches_key, name)
  new[name] = true
  undo[#undo + 1] = function() rewatch(name, old) end
  return old ~= false
end

local function arrived_in(range)
  for _, arrived in ipairs(filled) do
    if arrived[1] == range[1] and not_behind(range[2], arrived[2]) and not_behind(arrived[2], range[3]) then return true end
  end
  return false
end

local function tell()
  for _, each in ipairs(watches) do
    local name, range = each[1], each[2]
    if not new[name] and (before[name] == false or range[4]) and arrived_in(range) and first_member(range[1], range[2], range[3]) then
      local token, connector = string.match(name, "^(%d+)@(.*)$")
      call("PUBLISH", prefix .. ":told:" .. connector, token)
    end
  end
end

local function request(keys, arguments)
  local why = begin(keys[1], arguments[2], arguments[3], arguments[4], arguments[5])
  if why then return pack({"no", why, 0}) end
  local old = {unpack(state)}
  local answers = {}
  for at, operation in ipairs(unpack_message(arguments[1])) do
    local result = run[operation[1]](unpack(operation, 2, 11))
    if refused then
      for step = #undo, 1, -1 do undo[step]() end
      return pack({"no", refused, at - 1})
    end
    answers[at] = result
  end
  save(old)
  if #filled > 0 then tell() end
  return pack({"ok", answers, state[ENTRIES], state[ELEMENTS]})
end

-- what a server has that was started again and does not force its writes may be old: it is thrown away
local function allocate(keys, arguments)
  local key, server = keys[1], arguments[1]
  local state_of = key .. ":state"
  local known = redis.call("HGET", state_of, "server")
  if known and known ~= server and arguments[2] ~= "1" then
    for _, part in ipairs({":entries", ":state", ":limits", ":indexes", ":locks", ":watches", ":connectors"}) do
      redis.call("DEL", key .. part)
    end
    for list = 0, tonumber(arguments[5]) do redis.call("DEL", key .. ":list:" .. list, key .. ":index:" .. list) end
  end
  redis.call("HSETNX", state_of, "entries_total", arguments[3])
  redis.call("HSETNX", state_of, "elements_total", arguments[4])
  redis.call("HSET", state_of, "server", server, arguments[7], arguments[8])
  redis.call("SADD", key .. ":connectors", arguments[6])
  return 1
end

redis.register_function("NAME_run", request)
redis.register_function("NAME_allocate", allocate)
