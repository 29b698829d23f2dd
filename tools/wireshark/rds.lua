-- SPDX-License-Identifier: GPL-2.0
--
-- rds.lua: Wireshark's view of RDS, over TCP port 16385 and in sends of RC queue pairs (RoCE v2).
--
-- The layout is docs/wire.md's. It runs in Wireshark 4.0 (Lua 5.2) and 4.4 (Lua 5.4), so it uses
-- neither's integers: numbers of the wire are read by Wireshark, compared as doubles, and printed
-- by num().
--
-- Wireshark dissects a packet once in order, and then again whenever it is looked at. All that
-- depends on what came before is found out the first time (first_look()) and kept as a record of
-- the frame; showing (show_...()) reads the record and changes nothing. The first time there is no
-- tree to ask for other protocols' fields: what is needed of them comes from pinfo.
--
--	line	messages of one path in one direction: what number is next, what is not delivered
--	record	what the first look found out about one RDS frame
--
-- Nothing is trusted: a capture may begin in the midst of a message, be cut short by a snapshot
-- length, or hold any bytes. No bytes may make this file raise an error (tests/wireshark).

local rds = Proto("rds", "Reliable Datagram Sockets")

local TCP_PORT = 16385
local HEADER, EXT_AT, EXT_BYTES = 48, 32, 16
local MAX_MESSAGE = 1048576
local MAP_BYTES = 8192
local IB_FRAME = 4096 -- payload of a send, or twice or four times that
local MOST_PORTS = 1024 -- of one map that are shown one by one

local CONG, ACK, AGAIN, HB_PING, HB_PONG = 0x01, 0x02, 0x04, 0x08, 0x10

-- ---- fields ----

local flag_names = {
	{ "cong", "Congestion map", CONG }, { "ack", "Ack required", ACK },
	{ "again", "Sent again", AGAIN }, { "hb_ping", "Heartbeat", HB_PING },
	{ "hb_pong", "Heartbeat answered", HB_PONG }, { "more", "Several extension headers", 0x20 },
}
local cap_names = {
	{ "heartbeat", "Heartbeat", 1 }, { "ack", "Delivery acks", 2 },
	{ "order", "Understands ORDER", 4 }, { "refuse", "Understands REFUSED", 8 },
	{ "changes", "Understands CHANGES", 16 },
}
-- Extension headers: name, and {field, offset, bytes} of each part. A type that is not here and is
-- below 16 has no payload: a receiver steps over one byte.
local ext_types = {
	[1] = { "VERSION", 4, { { "version", 0, 4 } } },
	[2] = { "RDMA", 4, { { "rkey", 0, 4 } } },
	[3] = { "RDMA_DEST", 8, { { "dest_rkey", 0, 4 }, { "dest_offset", 4, 4 } } },
	[4] = { "RDMA_BYTES", 8, { { "bytes", 0, 4 }, { "bytes_flags", 4, 1 } } },
	[5] = { "NPATHS", 2, { { "npaths", 0, 2 } } },
	[6] = { "GEN_NUM", 4, { { "gen", 0, 4 } } },
	[7] = { "CAP_BITS", 4, { { "caps", 0, 4 } } },
	[8] = { "SPORT_IDX", 1, { { "index", 0, 1 } } },
	[9] = { "CSUM", 8, { { "csum_value", 0, 4 }, { "csum_on", 4, 1 } } },
	[12] = { "CHANGES", 14, { { "changes", 0, 1 } } },
	[13] = { "REFUSED", 14, { { "refused_seq", 0, 8 }, { "epoch", 8, 4 }, { "port", 12, 2 } } },
	[14] = { "RESUME", 6, { { "epoch", 0, 4 }, { "port", 4, 2 } } },
	[15] = { "ORDER", 8, { { "order_number", 0, 4 }, { "order_low", 4, 4 } } },
}
local ext_names = { [0] = "end" }
for number, ext in pairs(ext_types) do
	ext_names[number] = ext[1]
end

local f = {
	seq = ProtoField.uint64("rds.seq", "Number", base.DEC),
	ack = ProtoField.uint64("rds.ack", "Acknowledged", base.DEC),
	len = ProtoField.uint32("rds.len", "Length", base.DEC),
	sport = ProtoField.uint16("rds.srcport", "Source port", base.DEC),
	dport = ProtoField.uint16("rds.dstport", "Destination port", base.DEC),
	flags = ProtoField.uint8("rds.flags", "Flags", base.HEX),
	unknown = ProtoField.bool("rds.flags.unknown", "Nobody defined", 8, nil, 0xc0),
	credit = ProtoField.uint8("rds.credit", "Credits", base.DEC),
	pad = ProtoField.bytes("rds.pad", "Padding"),
	csum = ProtoField.uint16("rds.csum", "Checksum", base.HEX),
	csum_good = ProtoField.bool("rds.csum.good", "Checksum is right"),
	ext = ProtoField.uint8("rds.ext", "Extension header", base.DEC, ext_names),
	version = ProtoField.uint32("rds.ext.version", "Version", base.DEC),
	rkey = ProtoField.uint32("rds.ext.rkey", "Key of the peer's that is done with", base.HEX),
	dest_rkey = ProtoField.uint32("rds.ext.dest_rkey", "Key of the sender's region", base.HEX),
	dest_offset = ProtoField.uint32("rds.ext.dest_offset", "Offset in it", base.HEX),
	bytes = ProtoField.uint32("rds.ext.bytes", "Bytes of the operation", base.DEC),
	bytes_flags = ProtoField.uint8("rds.ext.bytes_flags", "Operation", base.DEC,
		{ [1] = "write", [2] = "read" }),
	npaths = ProtoField.uint16("rds.ext.npaths", "Paths", base.DEC),
	gen = ProtoField.uint32("rds.ext.gen", "Generation", base.HEX),
	caps = ProtoField.uint32("rds.ext.caps", "Capabilities", base.HEX),
	index = ProtoField.uint8("rds.ext.index", "Index of the path", base.DEC),
	csum_value = ProtoField.uint32("rds.ext.csum", "Checksum of the payload", base.HEX),
	csum_on = ProtoField.uint8("rds.ext.csum_on", "Checksum given", base.DEC),
	changes = ProtoField.uint8("rds.ext.changes", "Ports that have changed", base.DEC),
	refused_seq = ProtoField.uint64("rds.ext.refused", "Refused from number", base.DEC),
	epoch = ProtoField.uint32("rds.ext.epoch", "Epoch", base.HEX),
	port = ProtoField.uint16("rds.ext.port", "Port", base.DEC),
	order_number = ProtoField.uint32("rds.ext.order", "Number in its flow", base.DEC),
	order_low = ProtoField.uint32("rds.ext.order_low", "Lowest not known delivered", base.DEC),
	payload = ProtoField.bytes("rds.payload", "Payload"),
	map_port = ProtoField.uint16("rds.map.port", "Full port", base.DEC),
	map_clear = ProtoField.uint16("rds.map.clear", "Clear port", base.DEC),
	map_count = ProtoField.uint32("rds.map.count", "Full ports", base.DEC),
	kind = ProtoField.string("rds.kind", "Kind"),
	stream = ProtoField.uint32("rds.stream", "Flow", base.DEC),
	path = ProtoField.uint8("rds.path", "Path", base.DEC),
	delivered_in = ProtoField.framenum("rds.delivered_in", "Delivered, said in",
		base.NONE, frametype.ACK),
	delivered_after = ProtoField.relative_time("rds.delivered_after", "Delivered after"),
	answer_in = ProtoField.framenum("rds.answer_in", "Answered in", base.NONE, frametype.RESPONSE),
	answer_to = ProtoField.framenum("rds.answer_to", "Answer to", base.NONE, frametype.REQUEST),
	answer_after = ProtoField.relative_time("rds.answer_after", "Answered after"),
	begins_in = ProtoField.framenum("rds.begins_in", "Header in"),
	offer_from4 = ProtoField.ipv4("rds.offer.from", "From"),
	offer_to4 = ProtoField.ipv4("rds.offer.to", "To"),
	offer_from6 = ProtoField.ipv6("rds.offer.from6", "From"),
	offer_to6 = ProtoField.ipv6("rds.offer.to6", "To"),
	offer_major = ProtoField.uint8("rds.offer.major", "Version", base.DEC),
	offer_minor = ProtoField.uint8("rds.offer.minor", "Minor version", base.DEC),
	offer_minors = ProtoField.uint16("rds.offer.minors", "Minor versions understood", base.HEX),
	offer_tos = ProtoField.uint8("rds.offer.tos", "Type of service", base.DEC),
	offer_ack = ProtoField.uint64("rds.offer.ack", "Last number taken", base.DEC),
	offer_credits = ProtoField.uint32("rds.offer.credits", "Receive buffers (0: not counted)",
		base.DEC),
	offer_secret = ProtoField.uint24("rds.offer.secret", "Secret of the connection", base.HEX),
	offer_ends = ProtoField.bool("rds.offer.ends", "Ends connections in order", 8, nil, 1),
	offer_beats = ProtoField.bool("rds.offer.beats", "Answers heartbeats", 8, nil, 2),
	offer_buffers = ProtoField.uint8("rds.offer.buffers",
		"Receive buffers, counted between two of ours: 2 to the power of (0 and 15: not)", base.DEC, nil, 240),
	offer_frame = ProtoField.uint8("rds.offer.frame", "Buffers have 4096 bytes", base.DEC,
		{ [0] = "once", [1] = "twice", [2] = "four times", [3] = "once (not understood)" }, 12),
	rest = ProtoField.bytes("rds.undecoded", "Not decoded"),
}
for _, n in ipairs(flag_names) do
	f["flag_" .. n[1]] = ProtoField.bool("rds.flags." .. n[1], n[2], 8, nil, n[3])
end
for _, n in ipairs(cap_names) do
	f["cap_" .. n[1]] = ProtoField.bool("rds.caps." .. n[1], n[2], 32, nil, n[3])
end
rds.fields = f

-- Names are rds.expert.NAME in filters.
local experts = {
	again = { "Sent again", expert.group.SEQUENCE, expert.severity.NOTE },
	gap = { "Numbers are missing", expert.group.SEQUENCE, expert.severity.NOTE },
	back = { "A number that was there, not marked as sent again", expert.group.SEQUENCE,
		expert.severity.WARN },
	generation = { "Another generation: numbers begin anew", expert.group.SEQUENCE,
		expert.severity.WARN },
	bad_ack = { "Acknowledges what was never sent", expert.group.SEQUENCE, expert.severity.WARN },
	repeated = { "The same header once more: an adapter sends again", expert.group.SEQUENCE,
		expert.severity.NOTE },
	refused = { "Messages for a port are refused", expert.group.RESPONSE_CODE,
		expert.severity.WARN },
	resumed = { "A port that was refused goes on", expert.group.RESPONSE_CODE,
		expert.severity.NOTE },
	full = { "Ports have become full", expert.group.RESPONSE_CODE, expert.severity.NOTE },
	bad_header = { "No header of RDS", expert.group.MALFORMED, expert.severity.ERROR },
	bad_length = { "Longer than a message may be: the receiver ends the connection",
		expert.group.MALFORMED, expert.severity.ERROR },
	bad_csum = { "Wrong checksum", expert.group.CHECKSUM, expert.severity.ERROR },
	bad_map = { "A congestion map has 8192 bytes, changes are of 1 to 6 ports: skipped", expert.group.PROTOCOL,
		expert.severity.WARN },
	bad_flags = { "Flags that nobody defined", expert.group.PROTOCOL, expert.severity.WARN },
	bad_ext = { "Extension header is cut short, or of a type that ends the list",
		expert.group.PROTOCOL, expert.severity.WARN },
	bad_refusal = { "Refusal of port 0 or 1, or with epoch 0: ignored", expert.group.PROTOCOL,
		expert.severity.WARN },
	bad_port = { "From port 0 to port 0, and no control frame: skipped", expert.group.PROTOCOL,
		expert.severity.WARN },
	foreign_ext = { "RDMA over TCP: ignored", expert.group.PROTOCOL, expert.severity.WARN },
	cut = { "Not all of it was captured", expert.group.UNDECODED, expert.severity.NOTE },
}
local registered = {}
for name, x in pairs(experts) do
	experts[name] = ProtoExpert.new("rds.expert." .. name, x[1], x[2], x[3])
	registered[#registered + 1] = experts[name]
end
rds.experts = registered

-- ---- what is known, made anew for each capture ----

local lines, streams, flows, queue_pairs, orders, records, flow_count

local function forget()
	lines, streams, flows, queue_pairs, orders, records, flow_count = {}, {}, {}, {}, {}, {}, 0
end
rds.init = forget
forget()

local function num(n)
	return string.format("%.0f", n)
end

-- The bit (a power of two) of a small number.
local function has(n, bit)
	return math.floor(n / bit) % 2 == 1
end

-- ---- reading a header ----

-- Its fields as numbers, without the extension headers. 48 bytes are there.
local function read_header(tvb)
	return {
		seq = tvb(0, 8):uint64():tonumber(), ack = tvb(8, 8):uint64():tonumber(),
		len = tvb(16, 4):uint(), sport = tvb(20, 2):uint(), dport = tvb(22, 2):uint(),
		flags = tvb(24, 1):uint(), credit = tvb(25, 1):uint(), pad = tvb(26, 4):uint(),
		csum = tvb(30, 2):uint(), exts = {},
	}
end

-- The extension headers: { {type, offset, bytes} }; the second result is true when the list ends
-- badly.
local function walk_exts(tvb)
	local list, at, limit = {}, EXT_AT, EXT_AT + EXT_BYTES
	while at < limit do
		local number = tvb(at, 1):uint()
		if number == 0 then
			return list, false
		end
		local known = ext_types[number]
		local bytes = known and known[2] or 0
		if number >= 16 or at + 1 + bytes > limit then
			return list, true
		end
		list[#list + 1] = { number, at, bytes }
		at = at + 1 + bytes
	end
	return list, false
end

-- A value of an extension header that is there, as a number, or nil.
local function ext_value(tvb, list, wanted, offset, bytes)
	for _, ext in ipairs(list) do
		if ext[1] == wanted then
			local range = tvb(ext[2] + 1 + offset, bytes)
			return bytes == 8 and range:uint64():tonumber() or range:uint()
		end
	end
end

-- The Internet checksum over a header that has its own in it is 0xffff.
local function csum_is_right(tvb)
	local sum = 0
	for at = 0, HEADER - 2, 2 do
		sum = sum + tvb(at, 2):uint()
	end
	while sum > 0xffff do
		sum = sum % 0x10000 + math.floor(sum / 0x10000)
	end
	return sum == 0xffff
end

-- Empty frames of a queue pair that are more than an ack, by the first byte of the padding.
local ib_marks = { "End", "Heartbeat", "Heartbeat answer" }

local function control_kind(h, list)
	local first = list[1] and list[1][1]
	if has(h.flags, HB_PING) or has(h.flags, HB_PONG) then
		return "Heartbeat"
	elseif h.seq ~= 0 or h.len ~= 0 then
		return "Nothing"
	elseif first == 12 then
		return "Changes"
	elseif first == 13 then
		return "Refused"
	elseif first == 14 then
		return "Resume"
	elseif first then
		return h.flags == AGAIN and "Hello" or "Nothing"
	end
	if h.ib then
		return ib_marks[math.floor(h.pad / 0x1000000)] or "Ack"
	end
	return h.flags == AGAIN and "Ack" or "Nothing"
end

local function kind_of(h, list)
	if h.flags == CONG then
		return "Congestion map"
	elseif h.sport == 0 and h.dport == 0 then
		return control_kind(h, list)
	elseif h.dport == 0 then
		return h.sport == 1 and "Probe" or "Ping"
	elseif h.sport == 0 then
		return h.dport == 1 and "Probe answer" or "Pong"
	end
	return "Message"
end

-- ---- the first look ----

local function line_of(where, from, to)
	local key = from .. ">" .. to .. "#" .. where.path .. where.over
	local line = lines[key]
	if not line then
		line = { next = nil, high = 0, waiting = {}, first = 1, last = 0, asked = {},
			full = {}, acks = {} }
		lines[key] = line
	end
	return line
end

-- What two addresses say from one port to another, in both directions, is one flow.
local function flow_of(h, from, to)
	local a, b = from .. ":" .. h.sport, to .. ":" .. h.dport
	local key = a < b and a .. " " .. b or b .. " " .. a
	if not flows[key] then
		flows[key] = flow_count
		flow_count = flow_count + 1
	end
	return flows[key]
end

-- Everything up to h_ack has reached the peer's RDS.
local function look_at_ack(h, record, line)
	if line.high > 0 and h.ack > line.high then
		record.bad_ack = true
		return
	end
	while line.first <= line.last and line.waiting[line.first].seq <= h.ack do
		local was = line.waiting[line.first]
		was.delivered_in, was.delivered_at = record.frame, record.at
		line.waiting[line.first] = nil
		line.first = line.first + 1
	end
end

local function look_at_number(h, record, line)
	if has(h.flags, AGAIN) then
		record.again = true
	elseif line.next and h.seq > line.next then
		record.gap_from, record.gap_to = line.next, h.seq - 1
	elseif line.next and h.seq < line.next then
		record.repeated = h.ib and line.acks[h.seq] == h.ack
		record.back = not record.repeated
	end
	if h.ib then
		line.acks[h.seq] = h.ack
	end
	if not (record.again or record.repeated) or not line.next or h.seq >= line.next then
		line.next = h.seq + 1
	end
	line.high = math.max(line.high, h.seq)
	-- In order, or acks could not take them from the front.
	if line.first > line.last or line.waiting[line.last].seq < h.seq then
		line.last = line.last + 1
		line.waiting[line.last] = record
	end
end

-- Another generation begins with another count, and what it had sent before is nobody's.
local function look_at_hello(tvb, list, record, line)
	local gen = ext_value(tvb, list, 6, 0, 4)
	if gen and line.gen and gen ~= line.gen then
		record.generation = true
		line.next, line.high, line.waiting, line.first, line.last = nil, 0, {}, 1, 0
		line.acks = {}
	end
	line.gen = gen or line.gen
end

-- Pings and probes are answered in the order in which they came.
local function look_at_ping(h, record, line, back)
	if h.dport == 0 then
		local queue = line.asked[h.sport] or { first = 1, last = 0 }
		queue.last = queue.last + 1
		queue[queue.last] = record
		line.asked[h.sport] = queue
		return
	end
	local queue = back.asked[h.dport]
	if queue and queue.first <= queue.last then
		local was = queue[queue.first]
		queue.first = queue.first + 1
		was.answer_in, was.answer_at = record.frame, record.at
		record.answer_to, record.asked_at = was.frame, was.at
	end
end

-- The ports whose bits are set, lowest first.
local function full_ports(bytes)
	local ports, at = {}, string.find(bytes, "[^%z\0]")
	while at do
		local byte = string.byte(bytes, at)
		for bit = 0, 7 do
			if has(byte, 2 ^ bit) then
				ports[#ports + 1] = (at - 1) * 8 + bit
			end
		end
		at = string.find(bytes, "[^%z\0]", at + 1)
	end
	return ports
end

-- What the map says that the one before did not.
local function look_at_map(ports, record, line)
	local now, more, less = {}, {}, 0
	for _, port in ipairs(ports) do
		now[port] = true
		if not line.full[port] then
			more[#more + 1] = port
		end
	end
	for port in pairs(line.full) do
		less = less + (now[port] and 0 or 1)
	end
	line.full = now
	record.more_full, record.less_full = more, less
end

-- {port, is it full} of each that a frame CHANGES names, the first two bytes of which are count and
-- bits; none: they cannot be meant.
local function changed_ports(tvb, list)
	local n, full, ports = ext_value(tvb, list, 12, 0, 1), ext_value(tvb, list, 12, 1, 1), {}
	for i = 1, n <= 6 and n or 0 do
		ports[i] = { ext_value(tvb, list, 12, 2 * i, 2), math.floor(full / 2 ^ (i - 1)) % 2 == 1 }
	end
	return ports
end

local function look_at_changes(tvb, list, record, line)
	local more, less = {}, 0
	for _, one in ipairs(changed_ports(tvb, list)) do
		local port, full = one[1], one[2]
		if full and not line.full[port] then
			more[#more + 1] = port
		elseif not full and line.full[port] then
			less = less + 1
		end
		line.full[port] = full or nil
	end
	record.more_full, record.less_full = more, less
end

-- h, list: the frame; where: {from, to, path, over}, the line that it came by.
local function first_look(tvb, pinfo, h, list, kind, where)
	local record = { frame = pinfo.number, at = pinfo.rel_ts, seq = h.seq, path = where.path }
	local line = line_of(where, where.from, where.to)
	local back = line_of(where, where.to, where.from)
	record.flow = h.sport + h.dport > 0 and flow_of(h, where.from, where.to) or nil
	if h.ack > 0 then
		look_at_ack(h, record, back)
	end
	if kind == "Hello" then
		look_at_hello(tvb, list, record, line)
	elseif kind == "Congestion map" then
		if h.len == MAP_BYTES and tvb:len() >= HEADER + MAP_BYTES then
			look_at_map(full_ports(tvb(HEADER, MAP_BYTES):raw()), record, line)
		end
	elseif kind == "Changes" then
		look_at_changes(tvb, list, record, line)
	elseif h.seq > 0 and not h.later then
		look_at_number(h, record, line)
	end
	if h.dport == 0 and h.sport > 0 or h.sport == 0 and h.dport > 0 then
		look_at_ping(h, record, line, back)
	end
	return record
end

-- ---- showing ----

local function show_flags(tree, tvb, h)
	local item = tree:add(f.flags, tvb(24, 1))
	for _, n in ipairs(flag_names) do
		item:add(f["flag_" .. n[1]], tvb(24, 1))
	end
	item:add(f.unknown, tvb(24, 1))
	if h.flags >= 0x40 and not h.fault then
		item:add_proto_expert_info(experts.bad_flags)
	end
end

local function show_ext(tree, tvb, ext, h)
	local number, at = ext[1], ext[2]
	local item = tree:add(f.ext, tvb(at, 1))
	item:set_len(1 + ext[3])
	for _, part in ipairs(ext_types[number] and ext_types[number][3] or {}) do
		local range = tvb(at + 1 + part[2], part[3])
		local sub = item:add(f[part[1]], range)
		if part[1] == "caps" then
			for _, n in ipairs(cap_names) do
				sub:add(f["cap_" .. n[1]], range)
			end
		end
	end
	if number >= 2 and number <= 4 and not h.ib then
		item:add_proto_expert_info(experts.foreign_ext)
	end
end

local function show_refusal(tree, tvb, list, kind)
	local number = kind == "Refused" and 13 or 14
	local shift = kind == "Refused" and 8 or 0
	local port = ext_value(tvb, list, number, shift + 4, 2)
	if port < 2 or ext_value(tvb, list, number, shift, 4) == 0 then
		tree:add_proto_expert_info(experts.bad_refusal)
	elseif kind == "Refused" then
		local from = ext_value(tvb, list, 13, 0, 8)
		tree:add_proto_expert_info(experts.refused,
			"Port " .. port .. " has refused number " .. num(from) .. " and all after it")
	else
		tree:add_proto_expert_info(experts.resumed, "Port " .. port .. " takes messages again")
	end
end

-- The header's tree; h.bad_exts says how the list ended.
local function show_header(tree, tvb, h, list)
	tree:add(f.seq, tvb(0, 8))
	tree:add(f.ack, tvb(8, 8))
	tree:add(f.len, tvb(16, 4))
	tree:add(f.sport, tvb(20, 2))
	tree:add(f.dport, tvb(22, 2))
	show_flags(tree, tvb, h)
	tree:add(f.credit, tvb(25, 1))
	tree:add(f.pad, tvb(26, 4))
	local csum = tree:add(f.csum, tvb(30, 2))
	if h.csum > 0 then
		local good = csum_is_right(tvb)
		csum:add(f.csum_good, tvb(30, 2), good):set_generated()
		if not good and h.ib then
			csum:add_proto_expert_info(experts.bad_csum)
		end
	end
	for _, ext in ipairs(list) do
		show_ext(tree, tvb, ext, h)
	end
	if h.bad_exts then
		tree:add_proto_expert_info(experts.bad_ext)
	end
end

local function show_more_full(tree, record)
	local more = record and record.more_full or {}
	if #more > 0 then
		local named = table.concat(more, ", ", 1, math.min(#more, 8))
		tree:add_proto_expert_info(experts.full, "Full now: " .. named ..
			(#more > 8 and " and " .. #more - 8 .. " more" or ""))
	end
end

local function show_changes(tree, tvb, list, record)
	local ports, at = changed_ports(tvb, list), list[1][2] + 1
	for i, one in ipairs(ports) do
		tree:add(one[2] and f.map_port or f.map_clear, tvb(at + 2 * i, 2))
	end
	if #ports == 0 then
		tree:add_proto_expert_info(experts.bad_map)
	end
	show_more_full(tree, record)
end

local function show_map(tree, tvb, record)
	local ports = full_ports(tvb(HEADER, MAP_BYTES):raw())
	tree:add(f.map_count, tvb(HEADER, MAP_BYTES), #ports)
	for i, port in ipairs(ports) do
		if i > MOST_PORTS then
			break
		end
		tree:add(f.map_port, tvb(HEADER + math.floor(port / 8), 1), port)
	end
	show_more_full(tree, record)
	return #ports
end

local function show_time(tree, field, from, to)
	local ns = math.max(0, math.floor((to - from) * 1e9 + 0.5))
	tree:add(field, NSTime.new(math.floor(ns / 1e9), ns % 1e9)):set_generated()
end

-- What the first look found out.
local function show_record(tree, record)
	tree:add(f.path, record.path):set_generated()
	if record.flow then
		tree:add(f.stream, record.flow):set_generated()
	end
	if record.delivered_in then
		tree:add(f.delivered_in, record.delivered_in):set_generated()
		show_time(tree, f.delivered_after, record.at, record.delivered_at)
	end
	if record.answer_in then
		tree:add(f.answer_in, record.answer_in):set_generated()
	elseif record.answer_to then
		tree:add(f.answer_to, record.answer_to):set_generated()
		show_time(tree, f.answer_after, record.asked_at, record.at)
	end
	for _, name in ipairs({ "again", "back", "repeated", "generation", "bad_ack" }) do
		if record[name] then
			tree:add_proto_expert_info(experts[name])
		end
	end
	if record.gap_from then
		tree:add_proto_expert_info(experts.gap, "Not seen: " .. num(record.gap_from) ..
			" to " .. num(record.gap_to) .. " (messages that were cancelled leave gaps)")
	end
end

local function summary(h, kind, tvb, list)
	local text = kind
	if h.sport > 0 or h.dport > 0 then
		text = text .. " " .. h.sport .. " > " .. h.dport
	end
	if h.seq > 0 then
		text = text .. " Seq=" .. num(h.seq)
	end
	if h.ack > 0 then
		text = text .. " Ack=" .. num(h.ack)
	end
	if h.len > 0 then
		text = text .. " Len=" .. h.len
	end
	if kind == "Changes" then
		for i, one in ipairs(changed_ports(tvb, list)) do
			text = text .. (i > 1 and ", " or " ") .. one[1] .. (one[2] and " full" or " clear")
		end
	elseif kind == "Refused" then
		text = text .. " Port=" .. ext_value(tvb, list, 13, 12, 2)
	elseif kind == "Resume" then
		text = text .. " Port=" .. ext_value(tvb, list, 14, 4, 2)
	elseif has(h.flags, AGAIN) and h.seq > 0 then
		text = text .. " [sent again]"
	end
	return text
end

-- How many frames of RDS this packet has had so far: their records are told apart by it.
local function count_in_packet(pinfo)
	local n = (tonumber(pinfo.private["rds_frames"] or "0") or 0) + 1
	pinfo.private["rds_frames"] = tostring(n)
	return n
end

local function say(pinfo, n, text)
	pinfo.cols.protocol:set("RDS")
	if n == 1 then
		pinfo.cols.info:set(text)
	else
		pinfo.cols.info:append(" | " .. text)
	end
end

-- Bytes that are no frame, or not the whole of one.
local function show_rest(tvb, pinfo, tree, which, text)
	say(pinfo, count_in_packet(pinfo), text)
	local item = tree:add(rds, tvb())
	item:append_text(", " .. text)
	if which ~= experts.cut and tvb:len() >= HEADER then
		local h = read_header(tvb)
		h.fault = true
		show_header(item, tvb, h, {})
	end
	item:add(f.rest, tvb())
	item:add_proto_expert_info(which)
end

-- One frame, of which the header is there.
local function show_frame(tvb, pinfo, tree, h, where)
	local n = count_in_packet(pinfo)
	local list, bad = walk_exts(tvb)
	local kind = kind_of(h, list)
	local key = pinfo.number .. "/" .. n
	h.bad_exts = bad
	if not pinfo.visited then
		records[key] = first_look(tvb, pinfo, h, list, kind, where)
	end
	local item = tree:add(rds, tvb())
	local text = summary(h, kind, tvb, list)
	item:append_text(", " .. text)
	item:add(f.kind, kind):set_generated()
	show_header(item, tvb, h, list)
	if kind == "Nothing" then
		item:add_proto_expert_info(experts.bad_port)
	elseif kind == "Refused" or kind == "Resume" then
		show_refusal(item, tvb, list, kind)
	elseif kind == "Changes" then
		show_changes(item, tvb, list, records[key])
	end
	local there = math.min(h.part or h.len, tvb:len() - HEADER)
	if kind == "Congestion map" and h.len ~= MAP_BYTES then
		item:add_proto_expert_info(experts.bad_map)
	end
	if kind == "Congestion map" and h.len == MAP_BYTES and there == MAP_BYTES then
		text = text .. " (" .. show_map(item, tvb, records[key]) .. " full)"
	elseif there > 0 then
		item:add(f.payload, tvb(HEADER, there))
	end
	if there < h.len and not h.ib then
		item:add_proto_expert_info(experts.cut)
	end
	if records[key] then
		show_record(item, records[key])
	end
	say(pinfo, n, text)
	return list
end

-- ---- over TCP ----

-- A header is one as long as nobody says why it cannot be.
local function fault(h)
	if h.len > MAX_MESSAGE then
		return experts.bad_length, "length " .. num(h.len)
	elseif h.pad ~= 0 then
		return experts.bad_header, "no header, or the capture began later"
	end
end

-- What cannot be a header takes the rest of the segment with it: the receiver would end the
-- connection, and a capture that began in the midst of a message finds the next frame that begins
-- a segment.
local function frame_bytes(tvb, _, offset)
	local left = tvb:len() - offset
	if left < HEADER then
		return HEADER
	end
	local h = read_header(tvb(offset, HEADER):tvb())
	return fault(h) and math.max(left, HEADER) or HEADER + h.len
end

-- A stream is one path: hello says which.
local function tcp_where(tvb, pinfo, h)
	local from, to = tostring(pinfo.src), tostring(pinfo.dst)
	local a, b = from .. "/" .. pinfo.src_port, to .. "/" .. pinfo.dst_port
	local stream = a < b and a .. " " .. b or b .. " " .. a
	if h.flags == AGAIN and h.sport + h.dport + h.seq == 0 and not pinfo.visited then
		streams[stream] = ext_value(tvb, (walk_exts(tvb)), 8, 0, 1) or streams[stream]
	end
	return { from = from, to = to, path = streams[stream] or 0, over = "tcp" }
end

local function tcp_frame(tvb, pinfo, tree)
	if tvb:len() < HEADER then
		show_rest(tvb, pinfo, tree, experts.cut, "cut short")
		return tvb:len()
	end
	local h = read_header(tvb)
	local why, text = fault(h)
	if why then
		show_rest(tvb, pinfo, tree, why, text)
	else
		show_frame(tvb, pinfo, tree, h, tcp_where(tvb, pinfo, h))
	end
	return tvb:len()
end

function rds.dissector(tvb, pinfo, tree)
	dissect_tcp_pdus(tvb, tree, HEADER, frame_bytes, tcp_frame)
	return tvb:len()
end
DissectorTable.get("tcp.port"):add(TCP_PORT, rds)

-- ---- over queue pairs ----

-- These 48 bytes are a header of RDS: nothing registers its queue pairs, so it has to look like
-- one. A right checksum is proof; without one the numbers may not be wild.
local function looks_like_rds(tvb, known)
	if tvb:len() < HEADER then
		return false
	end
	local h = read_header(tvb)
	if h.seq + h.len + h.sport + h.dport == 0 then
		h.pad = h.pad % 0x1000000 -- before it is a mark, perhaps
	end
	if fault(h) then
		return false
	elseif h.csum ~= 0 then
		return known or csum_is_right(tvb)
	end
	local _, bad = walk_exts(tvb)
	return known or h.flags < 0x40 and not bad and h.seq < 2 ^ 48 and h.ack < 2 ^ 48
end

-- A frame is a send, which takes several packets when it is longer than the path's MTU. Wireshark
-- does not put them together; qp.left says how many bytes are still to come. The last packet may
-- have up to three bytes more: lengths on the wire are multiples of four.
local function is_continued(tvb, qp)
	if not qp or qp.left == 0 or tvb:reported_len() > math.ceil(qp.left / 4) * 4 then
		return false
	end
	local lost = tvb:len() >= HEADER and tvb(30, 2):uint() ~= 0 and csum_is_right(tvb)
	return not (lost and looks_like_rds(tvb, false))
end

-- The next bytes of a congestion map; with the last of them the record has its full ports.
local function look_at_piece(range, qp, record, line)
	qp.map[#qp.map + 1] = range:raw()
	qp.map_bytes = qp.map_bytes + range:len()
	if qp.map_bytes == MAP_BYTES then
		record.ports = full_ports(table.concat(qp.map))
		look_at_map(record.ports, record, line)
		qp.map = nil
	end
end

-- The most that a send has between these two: the smaller of what both have offered last. Who answers
-- has heard the other's, so that one's alone will do; requests are not shown to us the first time.
local function most_of_frame(pinfo)
	local from, to = tostring(pinfo.src), tostring(pinfo.dst)
	local one, other = orders[from .. ">" .. to], orders[to .. ">" .. from]
	return IB_FRAME * 2 ^ math.min(one or other or 0, other or one or 0)
end

-- Counts the bytes of this frame that other packets will bring. A message of several frames has the
-- same header in each, and empty frames may come between them.
local function begin_frame(tvb, pinfo, qp, line)
	local h = read_header(tvb)
	qp.left = 0
	if h.seq + h.len == 0 then
		return { what = "header", part = 0 }
	end
	local later = qp.rest > 0 and qp.seq == h.seq and qp.len == h.len
	local rest = later and qp.rest or h.len
	local record = { what = "header", later = later, part = math.min(rest, most_of_frame(pinfo)) }
	qp.seq, qp.len, qp.rest, qp.frame = h.seq, h.len, rest - record.part, pinfo.number
	qp.left = math.max(0, HEADER + record.part - tvb:reported_len())
	if not later then
		qp.map, qp.map_bytes = h.flags == CONG and h.len == MAP_BYTES and {} or nil, 0
	end
	local there = math.min(record.part, tvb:len() - HEADER)
	if qp.map and there > 0 then
		look_at_piece(tvb(HEADER, there), qp, record, line)
	end
	return record
end

-- The first look decides what a packet is: "header" or "continued", or nil: none of ours.
local function look_at_packet(tvb, pinfo, key, line)
	local qp = queue_pairs[key]
	if is_continued(tvb, qp) then
		local record = { what = "continued", frame = qp.frame }
		record.part = math.min(qp.left, tvb:reported_len())
		qp.left = qp.left - record.part
		local there = math.min(record.part, tvb:len())
		if qp.map and there > 0 then
			look_at_piece(tvb(0, there), qp, record, line)
		end
		return record
	elseif looks_like_rds(tvb, qp ~= nil) then
		queue_pairs[key] = qp or { rest = 0 }
		return begin_frame(tvb, pinfo, queue_pairs[key], line)
	end
end

-- A map's ports, in the last of its packets.
local function show_ports(tree, record)
	tree:add(f.map_count, #record.ports):set_generated()
	for i, port in ipairs(record.ports) do
		if i > MOST_PORTS then
			break
		end
		tree:add(f.map_port, port):set_generated()
	end
	show_more_full(tree, record)
end

local function show_continued(tvb, pinfo, tree, record)
	local text = record.ports and "Congestion map (" .. #record.ports .. " full)" or "Continued"
	say(pinfo, count_in_packet(pinfo), text)
	local item = tree:add(rds, tvb())
	item:append_text(", continued")
	item:add(f.begins_in, record.frame):set_generated()
	local begun = records[record.frame .. "/1"]
	if begun and begun.flow then
		item:add(f.stream, begun.flow):set_generated()
	end
	local there = math.min(record.part, tvb:len())
	if there > 0 then
		item:add(f.payload, tvb(0, there))
	end
	if record.ports then
		show_ports(item, record)
	end
end

-- A queue pair's number is where other protocols have a port.
local function ib_frame(tvb, pinfo, tree)
	local from, to = tostring(pinfo.src), tostring(pinfo.dst)
	local where = { from = from, to = to, path = 0, over = "qp" }
	local key = pinfo.number .. "/qp"
	if not pinfo.visited then
		local pair = from .. ">" .. to .. "/" .. pinfo.dst_port
		records[key] = look_at_packet(tvb, pinfo, pair, line_of(where, from, to))
	end
	local record = records[key]
	if not record then
		return false
	elseif record.what == "continued" then
		show_continued(tvb, pinfo, tree, record)
		return true
	end
	local h = read_header(tvb)
	h.ib, h.later, h.part = true, record.later, record.part
	show_frame(tvb, pinfo, tree, h, where)
	return true
end
rds:register_heuristic("infiniband.payload", ib_frame)

-- ---- rdma_cm's private data ----

local IP_CM = 36 -- bytes that rdma_cm puts in front of a request's
local OFFER = 24 -- bytes behind the two addresses

-- The place where it begins, and bytes of an address, if RDS says this while it connects: the
-- addresses are the packet's, and no other version is known.
local function find_offer(tvb, pinfo)
	local from, to = tostring(pinfo.src), tostring(pinfo.dst)
	for _, at in ipairs({ 0, IP_CM }) do
		for _, bytes in ipairs({ 4, 16 }) do
			local behind, of = at + 2 * bytes, bytes == 4 and "ipv4" or "ipv6"
			local function address(n)
				local range = tvb(at + n * bytes, bytes)
				return tostring(range[of](range))
			end
			if tvb:len() >= behind + OFFER and address(0) == from and address(1) == to
				and (tvb(behind, 1):uint() == 3 or tvb(behind, 1):uint() == 4)
				and tvb(behind + 5, 3):uint() == 0 then
				return at, bytes
			end
		end
	end
end

local offer_parts = { -- field, and its place behind the addresses
	{ "major", 0, 1 }, { "minor", 1, 1 }, { "minors", 2, 2 }, { "tos", 4, 1 }, { "ack", 8, 8 },
	{ "credits", 16, 4 }, { "secret", 20, 3 }, { "ends", 23, 1 }, { "beats", 23, 1 },
	{ "frame", 23, 1 }, { "buffers", 23, 1 },
}

local function show_offer(tree, tvb, bytes)
	local family = bytes == 4 and "4" or "6"
	tree:add(f["offer_from" .. family], tvb(0, bytes))
	tree:add(f["offer_to" .. family], tvb(bytes, bytes))
	for _, part in ipairs(offer_parts) do
		tree:add(f["offer_" .. part[1]], tvb(2 * bytes + part[2], part[3]))
	end
end

local function cm_private(tvb, pinfo, tree)
	local at, bytes = find_offer(tvb, pinfo)
	if not at then
		return false
	end
	local offer = tvb(at, 2 * bytes + OFFER):tvb()
	local key = pinfo.number .. "/offer"
	if not records[key] then
		records[key] = offer(2 * bytes + 23, 1):bitfield(4, 2) % 3
		orders[tostring(pinfo.src) .. ">" .. tostring(pinfo.dst)] = records[key]
	end
	local text = "Offer " .. offer(2 * bytes, 1):uint() .. "." .. offer(2 * bytes + 1, 1):uint()
	pinfo.cols.protocol:set("RDS")
	pinfo.cols.info:append(", " .. text)
	local item = tree:add(rds, offer())
	item:append_text(", " .. text)
	item:add(f.kind, "Offer"):set_generated()
	show_offer(item, offer, bytes)
	return true
end
rds:register_heuristic("infiniband.mad.cm.private", cm_private)
