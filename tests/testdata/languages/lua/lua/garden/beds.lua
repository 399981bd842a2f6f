local Util = require("garden.util")
local soil, seeds = require 'garden.soil', require("garden.store").seeds
local util = require("garden.util")
require("garden.signals").setup({
  on_rain = function(amount)
    return amount > 3
  end,
})
local ok, clock = pcall(require, "clock")

---@alias Row integer

--- One bed of the garden.
---@class Bed: Plot
---@field rows Row[]
---@field name? string
local M = {}
M.__index = M

-- How many beds there may be.
local MAX_BEDS <const> = 12
local count, last
local names = { "north", "south" }
local Plot = setmetatable({}, {
  __index = function(_, key)
    return key
  end,
})

M.VERSION = "1.0"
M.defaults = {
  width = 3,
  -- Called for each plant.
  grow = function(plant) return plant end,
  hooks = {
    ["before/planting"] = function() end,
    [names[1]] = function() end,
    after = 1,
  },
  labels = { "a", "b" },
}
vim.g.garden = true
count = 3

--- Waters the bed.
---
--- Not shown.
---@param litres number
function M.water(litres)
  local helper = Util.tap(function() return litres end)
  local later = Util.after(10, function() return litres end)
  local ok = pcall(function() return litres end)
  local function pour(n)
    return n
  end
  M.last_watered = os.time()
  return pour(helper)
end

--[[ Plants a seed.
     In the second line. ]]
function M:plant(
  seed, -- what
  row
)
  self.on_done = function()
    require("garden.log").write(seed)
  end
  for _, one in ipairs(self.rows) do
    local each = one
    M.visit = function(x) return x + each end
  end
end

function M.tools.rake() end

M.weed = function(...) return select("#", ...) end
M["prune"] = function() end
M["title of a test"] = function()
  local function found_inside() end
end

local function private_one() end
local compare = function(a, b) return a < b end

function shout(text)
  print(text:upper())
end

if count > 2 then
  function M.crowded() return true end
  local in_branch = 1
else
  M.crowded = function() return false end
end

do
  local hidden = 0
  function Plot:size() return hidden end
end

return setmetatable(M, {
  __call = function(self, ...) return self.plant(...) end,
})
