-- Requests to a list structure, each done as one (the rules are in structure.py). A library of functions: its code is
-- compiled once, when it is loaded, and a request is one call.
--
-- FCALL write, claim, run: KEYS[1] the structure's prefix; ARGV[1] the field of the connector's token, ARGV[2] the token;
-- then for write the key, the head from its list on and the data, for claim how it is asked, for run the operations as
-- msgpack. Each answers a string: a byte 0 and {why, at} when it is refused, why "LOST" when the structure is not there,
-- "FENCED" when the token is another; a byte 1, entries and elements in use (8 each), and the answer: of a write the
-- number (8), of a claim nothing or what was done (1) and the head, and then a second string, the data; of run the answers
-- as msgpack, entries as {head, data}.
--
-- FCALL allocate: KEYS[1] the prefix; ARGV[1] which server this is, ARGV[2] whether it forces every write, ARGV[3] entries,
-- ARGV[4] elements, ARGV[5] lists, ARGV[6] the connector, ARGV[7] the field of its token, ARGV[8] the token, ARGV[9]
-- element size, ARGV[10] elements an entry may have.
--
-- FCALL forget: KEYS[1] the prefix; ARGV[1] the connector, ARGV[2] the field of its token, ARGV[3] the token, when it is known.
--
-- prefix:structure hash: "state", see STATE; "server"; tokens; number (8) -> head, see HEAD; number .. "d" -> data
-- prefix:list:N    sorted set, all scores 0: the first 32 bytes of heads, so the order is that of the bytes
-- prefix:index:N   sorted set, all scores 0: secondary key of a list that has one .. what prefix:list:N has
-- prefix:limits, prefix:indexes, prefix:locks, prefix:watches  hashes
--
-- What costs here is not the commands but what goes in and out of Lua: every string is copied and hashed byte by byte,
-- every number that is handed over is printed, every table and closure is garbage. So data is stored as it comes and told
-- as it is stored, and stays where it is when its entry moves or goes; a head and the state are one string each, arguments
-- are strings, and what only a refusal or a watch needs is made only for them.
--
-- Redis keeps what a function has written when it fails, so every operation of several says how it is undone; one alone
-- refuses before it changes anything. The state is read once, changed here, and written at the end.

local STATE = ">I8I8I8I8I8I8I8I4I4BB" -- number to watched, below
local HEAD = 42 -- and adjunct data behind: key (16), arrival (8), number (8), list (2), version (4), length of data (4)
local call, pack, unpack_message, BEHIND_ALL, BEHIND_NUMBERS -- found at the first call: a library has them only then
local bytes, sub, char, struct_pack, struct_unpack, band

-- of the request being done
local prefix, structure_key, limits_key, indexes_key, locks_key, watches_key
local list_keys -- number of a list -> its key
local number, arrival, entries, elements, entries_total, elements_total, limit_least, element_bytes, elements_max
local indexed, watched -- whether any list is, or may be
local state -- as it was read
local many, undo -- whether there are several operations; how they are undone
local late, late_head, late_data -- what one alone stores is written with the state
local gone -- fields of what was deleted, which go at the end
local filled, watches, before, new, refused

local function begin(key, field, token)
  if not call then
    call, pack, unpack_message = redis.call, cmsgpack.pack, cmsgpack.unpack
    bytes, sub, char, struct_pack, struct_unpack, band = string.byte, string.sub, string.char, struct.pack, struct.unpack, bit.band
    BEHIND_ALL, BEHIND_NUMBERS = string.rep("\255", 16), string.rep("\255", 8)
  end
  if prefix ~= key then
    prefix, structure_key, limits_key, indexes_key = key, key .. ":structure", key .. ":limits", key .. ":indexes"
    locks_key, watches_key, list_keys = key .. ":locks", key .. ":watches", {}
  end
  undo, late, late_data, gone, filled, watches, before, new, refused = nil, nil, nil, nil, nil, nil, nil, nil, nil
  local found = call("HMGET", structure_key, "state", field)
  state = found[1]
  if not state then return "LOST" end
  if found[2] ~= token then return "FENCED" end
  number, arrival, entries, elements, entries_total, elements_total, limit_least, element_bytes, elements_max, indexed, watched =
    struct_unpack(STATE, state)
end

local function save()
  local now = struct_pack(STATE, number, arrival, entries, elements, entries_total, elements_total, limit_least,
    element_bytes, elements_max, indexed, watched)
  if gone then
    for at = 1, #gone, 1000 do call("HDEL", structure_key, unpack(gone, at, math.min(at + 999, #gone))) end
  end
  if late_data then
    call("HSET", structure_key, late, late_head, late .. "d", late_data, "state", now)
  elseif late then
    call("HSET", structure_key, late, late_head, "state", now)
  elseif now ~= state then
    call("HSET", structure_key, "state", now)
  end
end

local function list_key(list)
  local known = list_keys[list]
  if not known then
    known = prefix .. ":list:" .. list
    list_keys[list] = known
  end
  return known
end
local function index_key(list) return prefix .. ":index:" .. list end

-- whether a <= b, byte by byte: Lua's own comparison follows the server's locale
local function not_behind(a, b)
  for at = 1, 16 do
    local x, y = bytes(a, at), bytes(b, at)
    if x ~= y then return x < y end
  end
  return true
end

local function refuse(why) refused = why end

-- parts of a head
local function member_of(head) return sub(head, 1, 32) end
local function field_of(head) return sub(head, 25, 32) end
local function list_of(head)
  local high, low = bytes(head, 33, 34)
  return high * 256 + low
end
local function length_of(head) return (struct_unpack(">I4", head, 39)) end
local function elements_of(length) return math.ceil(length / element_bytes) end
local function from_list(list, version, length, adjunct) return struct_pack(">I2I4I4", list, version, length) .. adjunct end

local function is_gone(field) return gone and gone[field] end
-- heads and data by the fields of their numbers; false when there are none
local function whole(field)
  local found = call("HMGET", structure_key, field, field .. "d")
  return found[1], found[2]
end
local function store(head, data)
  local field = field_of(head)
  if not many then
    late, late_head, late_data = field, head, data
  elseif data then
    call("HSET", structure_key, field, head, field .. "d", data)
  else
    call("HSET", structure_key, field, head)
  end
end

-- where the secondary key of a list is in the data of its entries: place, length; nil when it has none
local function index_of(list)
  if indexed == 0 then return nil end
  local packed = call("HGET", indexes_key, list)
  if not packed then return nil end
  local at, length = string.match(packed, "^(%d+) (%d+)$")
  return tonumber(at), tonumber(length)
end
-- an entry comes to the index of its list, or goes from it; its data, unless that is stored
local function index(head, coming, data)
  local list = list_of(head)
  local at, length = index_of(list)
  if not at then return end
  local second = sub(data or call("HGET", structure_key, field_of(head) .. "d"), at + 1, at + length)
  local name = second .. string.rep("\0", length - #second) .. member_of(head)
  if coming then call("ZADD", index_key(list), "0", name) else call("ZREM", index_key(list), name) end
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
  return call("ZRANGEBYLEX", list_key(list), "[" .. low, "[" .. high .. BEHIND_ALL, "LIMIT", "0", "1")[1]
end
local function fits(data, where)
  for _, each in ipairs(where) do
    if sub(data, each[1] + 1, each[1] + #each[2]) ~= each[2] then return false end
  end
  return true
end
-- entries of a range that fit, from a place on, at most so many
local function entries_from(list, from, high, most, where)
  local found, step = {}, most
  local second = #where > 0 and asked_second(list, where)
  local members_key, skipped = list_key(list), 0
  local upto = "[" .. (second or "") .. high .. BEHIND_ALL
  if second then
    members_key, skipped = index_key(list), #second
    from = sub(from, 1, 1) .. second .. sub(from, 2)
  elseif #where > 0 and step < 64 then
    step = 64
  end
  while #found < most do
    local members = call("ZRANGEBYLEX", members_key, from, upto, "LIMIT", "0", step)
    for _, each in ipairs(members) do
      local head, data = whole(sub(each, 25 + skipped))
      if fits(data, where) and #found < most then found[#found + 1] = {head, data} end
    end
    if #members < step then break end
    from = "(" .. members[#members]
  end
  return found
end
-- head and data of the first; nil when there is none
local function first(list, low, high, where)
  if where and #where > 0 then
    local found = entries_from(list, "[" .. low, high, 1, where)[1]
    if found then return found[1], found[2] end
    return nil
  end
  local found = first_member(list, low, high)
  if found then return whole(sub(found, 25)) end
end

-- a list is about to change: whether what is watched of it has anything now
local function touch(list)
  if watched == 0 then return end
  if not watches then
    watches, before = {}, {}
    local known = call("HGETALL", watches_key)
    for at = 1, #known, 2 do watches[#watches + 1] = {known[at], unpack_message(known[at + 1])} end
    if #watches == 0 then watched = 0 end
  end
  for _, each in ipairs(watches) do
    local name, range = each[1], each[2]
    if range[1] == list and before[name] == nil then before[name] = first_member(range[1], range[2], range[3]) ~= nil end
  end
end

-- an entry comes to its list, or goes from it; several operations say how that is undone
local function put_at(list, head, data)
  call("ZADD", list_key(list), "0", member_of(head))
  if indexed ~= 0 then index(head, true, data) end
end
local function take_off(list, head)
  call("ZREM", list_key(list), member_of(head))
  if indexed ~= 0 then index(head, false) end
end
local function place(list, head, data)
  put_at(list, head, data)
  if watches then
    filled = filled or {}
    filled[#filled + 1] = {list, sub(head, 1, 16)}
  end
  if many then undo[#undo + 1] = function() take_off(list, head) end end
end
local function unplace(list, head)
  touch(list)
  take_off(list, head)
  if many then undo[#undo + 1] = function() put_at(list, head); store(head) end end
end
local function room(list)
  if limit_least == 0 or entries < limit_least then return true end
  local limit = tonumber(call("HGET", limits_key, list) or "0")
  if limit > 0 and call("ZCARD", list_key(list)) >= limit then refuse("LIST_FULL") return false end
  return true
end
-- the head of a number, on a list if one is named
local function found_at(wanted, list)
  local field = struct_pack(">I8", wanted)
  local head = not is_gone(field) and call("HGET", structure_key, field)
  if not head or (list and list_of(head) ~= list) then refuse("NOT_FOUND") return nil end
  return head
end
-- the head as it is on another list
local function moved(head, target, key, adjunct)
  unplace(list_of(head), head)
  touch(target)
  arrival = arrival + 1
  local now = (key or sub(head, 1, 16)) .. struct_pack(">I8", arrival) .. field_of(head) .. struct_pack(">I2", target)
    .. sub(head, 35, HEAD) .. (adjunct or sub(head, HEAD + 1))
  place(target, now)
  store(now)
  return now
end
local function remove(head)
  unplace(list_of(head), head)
  local field = field_of(head)
  gone = gone or {}
  gone[#gone + 1] = field
  gone[#gone + 1] = field .. "d"
  gone[field] = true
  entries, elements = entries - 1, elements - elements_of(length_of(head))
end

-- a new entry: its key, its head from the list on, its data; answers its number
local function write(list, key, rest, data)
  local needed = elements_of(#data)
  if needed > elements_max then return refuse("TOO_LONG") end
  if entries >= entries_total or elements + needed > elements_total then return refuse("FULL") end
  if not room(list) then return end
  touch(list)
  number, arrival, entries, elements = number + 1, arrival + 1, entries + 1, elements + needed
  local head = key .. struct_pack(">I8I8", arrival, number) .. rest
  if many then
    local field = field_of(head)
    undo[#undo + 1] = function() call("HDEL", structure_key, field, field .. "d") end
  end
  store(head, data)
  place(list, head, data)
  return number
end

-- an entry, taken if its adjunct data allows it (LO5): what was done, its head and data afterwards
local function claim(head, data, target, mark, keep, leave, most, buffer)
  if #data > buffer then return 3, head, struct_pack(">I4", #data) end
  local flags, length = 0, 0
  if #head >= HEAD + 5 then flags, length = struct_unpack(">BI4", head, HEAD + 1) end
  if band(flags, leave) ~= 0 or length > most then return 0, head, data end
  if keep == 255 or band(flags, keep) ~= 0 then
    local adjunct = sub(head, HEAD + 1)
    return 1, moved(head, target, nil, sub(adjunct, 1, math.max(#adjunct - #mark, 0)) .. mark), data
  end
  remove(head)
  return 2, head, data
end

local run = {}

function run.write(list, key, data, adjunct) return write(list, key, from_list(list, 1, #data, adjunct), data) end

function run.rewrite(wanted, data, adjunct, version)
  local old = found_at(wanted)
  if not old then return end
  local known, had = struct_unpack(">I4I4", old, 35)
  if version and known ~= version then return refuse("CHANGED") end
  if data then
    local needed, freed = elements_of(#data), elements_of(had)
    if needed > elements_max then return refuse("TOO_LONG") end
    if elements + needed - freed > elements_total then return refuse("FULL") end
    elements = elements + needed - freed
    had = #data
  end
  local now = member_of(old) .. from_list(list_of(old), known + 1, had, adjunct or sub(old, HEAD + 1))
  if not data then
    store(now)
    if many then undo[#undo + 1] = function() store(old) end end
    return known + 1
  end
  local before_it = many and call("HGET", structure_key, field_of(old) .. "d")
  if indexed ~= 0 then
    index(old, false)
    index(now, true, data)
  end
  store(now, data)
  if many then undo[#undo + 1] = function() index(now, false); store(old, before_it); index(old, true) end end
  return known + 1
end

function run.read(wanted)
  local field = struct_pack(">I8", wanted)
  if is_gone(field) then return false end
  local head, data = whole(field)
  return head and {head, data}
end
function run.first(list, low, high, where)
  local head, data = first(list, low, high, where)
  return head and {head, data} or false
end

function run.list(list, low, high, most, behind, where)
  local from = "[" .. low
  if behind > 0 then from = "(" .. low .. struct_pack(">I8", behind) .. BEHIND_NUMBERS end
  return entries_from(list, from, high, most, where)
end

function run.move(wanted, source, target, key, adjunct)
  local head = found_at(wanted, source)
  if not head then return end
  moved(head, target, key, adjunct)
  return true
end

function run.take(list, low, high, target, key, adjunct)
  local head, data = first(list, low, high)
  return head and {moved(head, target, key, adjunct), data} or false
end

function run.delete(wanted, list)
  local head = found_at(wanted, list)
  if not head then return end
  remove(head)
  return true
end

function run.claim(list, low, high, target, mark, keep, leave, most, where, buffer)
  local head, data = first(list, low, high, where)
  if not head then return false end
  return {claim(head, data, target, mark, keep, leave, most, buffer)}
end

function run.count(list, low, high)
  return call("ZLEXCOUNT", list_key(list), "[" .. low, "[" .. high .. BEHIND_ALL)
end
function run.controls(list)
  return {call("ZCARD", list_key(list)), tonumber(call("HGET", limits_key, list) or "0")}
end
-- the least limit of any list: with fewer entries in the whole structure no list is full
local function least()
  local found = 0
  for _, each in ipairs(call("HVALS", limits_key)) do
    local limit = tonumber(each)
    if limit > 0 and (found == 0 or limit < found) then found = limit end
  end
  return found
end
function run.limit(list, most)
  local old = call("HGET", limits_key, list) or "0"
  call("HSET", limits_key, list, most)
  limit_least = least()
  if many then undo[#undo + 1] = function() call("HSET", limits_key, list, old) end end
  return true
end
local function reindex(list, packed)
  call("DEL", index_key(list))
  if not packed then call("HDEL", indexes_key, list) return end
  call("HSET", indexes_key, list, packed)
  indexed = 1
  local from, upto = "-", "+"
  while true do
    local members = call("ZRANGEBYLEX", list_key(list), from, upto, "LIMIT", "0", "100")
    for _, each in ipairs(members) do index(call("HGET", structure_key, sub(each, 25)), true) end
    if #members < 100 then return end
    from = "(" .. members[#members]
  end
end
function run.index(list, at, length)
  local old = call("HGET", indexes_key, list)
  reindex(list, length > 0 and at .. " " .. length)
  if many then undo[#undo + 1] = function() reindex(list, old) end end
  return true
end
function run.space() return {entries, entries_total, elements, elements_total} end
function run.alter(entries_now, elements_now)
  if entries_now < entries or elements_now < elements then return refuse("IN_USE") end
  entries_total, elements_total = entries_now, elements_now
  return true
end

function run.lock(lock, holder)
  if call("HSETNX", locks_key, lock, holder) == 1 and many then
    undo[#undo + 1] = function() call("HDEL", locks_key, lock) end
  end
  return call("HGET", locks_key, lock)
end
function run.unlock(lock, holder)
  if call("HGET", locks_key, lock) ~= holder then return false end
  call("HDEL", locks_key, lock)
  if many then undo[#undo + 1] = function() call("HSET", locks_key, lock, holder) end end
  return true
end
function run.holding(lock, holder)
  if call("HGET", locks_key, lock) ~= holder then return refuse("LOCKED") end
  return true
end

local function rewatch(name, old)
  if old then call("HSET", watches_key, name, old) else call("HDEL", watches_key, name) end
end
-- a watch begins or ends: whoever asks for it is not told of this request
local function watch_as(connector, token, packed)
  local name = token .. "@" .. connector
  local old = call("HGET", watches_key, name)
  new = new or {}
  new[name] = true
  rewatch(name, packed)
  if many then undo[#undo + 1] = function() rewatch(name, old) end end
  return old
end
function run.watch(connector, token, list, low, high, each)
  watched = 1
  watch_as(connector, token, pack({list, low, high, each}))
  return first_member(list, low, high) ~= nil
end
function run.unwatch(connector, token) return watch_as(connector, token, false) ~= false end

local function arrived_in(range)
  for _, arrived in ipairs(filled) do
    if arrived[1] == range[1] and not_behind(range[2], arrived[2]) and not_behind(arrived[2], range[3]) then return true end
  end
  return false
end

local function tell()
  for _, each in ipairs(watches) do
    local name, range = each[1], each[2]
    local meant = not (new and new[name]) and (before[name] == false or range[4])
    if meant and arrived_in(range) and first_member(range[1], range[2], range[3]) then
      local token, connector = string.match(name, "^(%d+)@(.*)$")
      call("PUBLISH", prefix .. ":told:" .. connector, token)
    end
  end
end

local function no(why, at) return "\0" .. pack({why, at}) end
local function ended()
  save()
  if filled then tell() end
  return struct_pack(">BI8I8", 1, entries, elements)
end

local function write_alone(keys, arguments)
  many = false
  local why = begin(keys[1], arguments[1], arguments[2])
  if why then return no(why, 0) end
  local rest = arguments[4]
  local high, low = bytes(rest, 1, 2)
  local made = write(high * 256 + low, arguments[3], rest, arguments[5])
  if refused then return no(refused, 0) end
  return ended() .. struct_pack(">I8", made)
end

local function claim_alone(keys, arguments)
  many = false
  local why = begin(keys[1], arguments[1], arguments[2])
  if why then return no(why, 0) end
  local asked = arguments[3]
  local list, target, keep, leave, most, buffer, low, high = struct_unpack(">I2I2BBI4I4c16c16", asked)
  local head, data = first(list, low, high)
  if not head then return ended() end
  local done, now, told = claim(head, data, target, sub(asked, 47), keep, leave, most, buffer)
  return {ended() .. char(done) .. now, told}
end

local function request(keys, arguments)
  local why = begin(keys[1], arguments[1], arguments[2])
  if why then return no(why, 0) end
  local operations, answers = unpack_message(arguments[3]), {}
  many, undo = #operations > 1, {}
  for at, operation in ipairs(operations) do
    local result = run[operation[1]](unpack(operation, 2, 11))
    if refused then
      for step = #undo, 1, -1 do undo[step]() end
      return no(refused, at - 1)
    end
    answers[at] = result
  end
  return ended() .. pack(answers)
end

-- what a server has that was started again and does not force its writes may be old: it is thrown away, as is what
-- another version of these functions has left
local function allocate(keys, arguments)
  local key, server = keys[1], arguments[1]
  local structure = key .. ":structure"
  local known = redis.call("HGET", structure, "server")
  if not known or (known ~= server and arguments[2] ~= "1") then
    for _, part in ipairs({"structure", "limits", "indexes", "locks", "watches", "connectors", "state", "entries"}) do
      redis.call("DEL", key .. ":" .. part)
    end
    for list = 0, tonumber(arguments[5]) do redis.call("DEL", key .. ":list:" .. list, key .. ":index:" .. list) end
    local totals = {tonumber(arguments[3]), tonumber(arguments[4])}
    local new_state = struct.pack(STATE, 0, 0, 0, 0, totals[1], totals[2], 0, tonumber(arguments[9]), tonumber(arguments[10]), 0, 0)
    redis.call("HSET", structure, "state", new_state)
  end
  redis.call("HSET", structure, "server", server, arguments[7], arguments[8])
  redis.call("SADD", key .. ":connectors", arguments[6])
  return 1
end

-- a connector is known no more, unless it lives and has another connection than the one that is named
local function forget(keys, arguments)
  local key, connector, field = keys[1], arguments[1], arguments[2]
  local known = redis.call("HGET", key .. ":structure", field)
  local lives = redis.call("EXISTS", key .. ":alive:" .. connector) == 1
  if known and known ~= arguments[3] and lives then return 0 end
  redis.call("HDEL", key .. ":structure", field)
  redis.call("SREM", key .. ":connectors", connector)
  for _, name in ipairs(redis.call("HKEYS", key .. ":watches")) do
    if string.match(name, "^%d+@(.*)$") == connector then redis.call("HDEL", key .. ":watches", name) end
  end
  return 1
end

redis.register_function("NAME_write", write_alone)
redis.register_function("NAME_claim", claim_alone)
redis.register_function("NAME_run", request)
redis.register_function("NAME_allocate", allocate)
redis.register_function("NAME_forget", forget)
