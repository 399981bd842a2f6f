require "spec"
require "../src/rally"

describe Rally::Driver do
  it "finds a driver" do
    Rally::Driver.find("Ada").should be_nil
  end

  context "retired" do
    pending "drives on"
  end
end
