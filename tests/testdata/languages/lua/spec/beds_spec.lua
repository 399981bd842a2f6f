describe("beds", function()
  local function plant() end

  it("grow", function()
    assert.is_true(true)
  end)

  describe('in winter', function()
    it('rest', function() end)
    pending("snow")
  end)

  it(name, function() end)
  print("it(\"is text\", function() end)")
end)
