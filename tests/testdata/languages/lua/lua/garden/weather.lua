#!/usr/bin/env lua
--[==[
Weather over a garden.
local function not_here() end
]==]
local json <const> = require "dkjson"
local util = require("garden.util")
local beds, soil = require 'garden.beds', require 'garden.soil'
local sub = require("garden.util").sub
local ok, extra = pcall(require, "garden.extra")
dofile("settings.lua")
require "garden.side_effects"

local M = {}
M.__index = M
local VERSION <const>, BUILD = "1.0", 7
local counter, unset
DEFAULT_CITY = "function not_code() end"
local text = [[
function in_long_string() end
]]
_G.exported = function() end
_ENV.other = 1

---A day.
---@class Day
---@field high number
---@field low? number
local Day = setmetatable({}, { __index = M, __call = function(cls, ...) return cls.new(...) end })

---@alias Unit "celsius"|"fahrenheit"
---@enum Wind
M.Wind = { CALM = 0, STORM = 9, ["very strong"] = 10 }

--- Makes a day.
--- @param high number
function Day.new(high, low)
  local self = setmetatable({ high = high, low = low }, Day)
  self.mean = (high + low) / 2
  return self
end

function Day:rain(mm) self.mm = mm return self end
function Day.Hour.at(n) end
function M.nested.deep:method(a, ...) return ... end

M.forecast = function(days, callback)
  local function step(n)
    if n == 0 then return callback(nil) end
    return step(n - 1)
  end
  local total = 0
  for i, day in ipairs(days) do
    total = total + day.high
    local inside = function(x) return x end
    inside(i)
  end
  goto done
  ::done::
  return step(total)
end

local helpers = {
  double = function(n) return n * 2 end,
  ["quoted-key"] = function() end,
  [1] = function() end,
  plain = 3,
  nested = {
    triple = function(n) return n * 3 end,
  },
  Day.new,
}

local function local_only(...) local args = { ... } return #args end
local recursive; recursive = function(n) return n <= 0 or recursive(n - 1) end
local one, two = function() end, function() end
function global_one() end function global_two() end
local arrow = (function() return 1 end)()

if _VERSION == "Lua 5.1" then
  function M.compat() return unpack end
else
  M.compat = function() return table.unpack end
end

do
  local hidden = 1
  function M.closure() return hidden end
end

for _, name in ipairs { "sun", "snow" } do
  M["is_" .. name] = function() return name end
end

M["string_key"] = function() end
M[1] = 2
M.CONST, M.SECOND = 1, 2
M.handlers = M.handlers or {}
M.handlers.on_sun = function() end
M.setup = util.once(function(options) M.options = options end)

local mt = {}
mt.__add = function(a, b) return a.high + b.high end
mt.__tostring = function(self) return ("%d"):format(self.high) end
Day.__gc = nil

local co = coroutine.wrap(function() while true do coroutine.yield() end end)

-- function commented_out() end
--[[ function also_commented() end ]] local after_comment = 1

vim.api.nvim_create_user_command("Weather", function() M.forecast({}, print) end, {})
vim.keymap.set("n", "<leader>w", function() M.show() end, { desc = "weather" })

return setmetatable(M, { __call = function(_, ...) return M.forecast(...) end })
