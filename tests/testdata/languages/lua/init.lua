#!/usr/bin/env lua
dofile("scripts/extra.lua")

local broken = function(
  x
end

function after_error() return 1 end

return {
  name = "garden",
  setup = function(options)
    return options
  end,
  tasks = {
    water = { run = function() end },
    { "unnamed", init = function() end },
  },
}
