RSpec.describe "a shelf" do
  let(:shelf) { Shelf.new }

  def build(count)
    count
  end

  context "when empty" do
    it "has no books" do
      expect(shelf).to be_empty
    end

    it('says so') { expect(shelf.to_s).to eq("empty") }

    it "is still to be written"
    it "counts #{build(1)} books" do
    end
  end

  describe Book do
    specify "belongs to one shelf" do
    end
  end
end

class ShelfTest < ActiveSupport::TestCase
  test "sorts by title" do
    assert true
  end

  test "takes options",
       slow: true do
    assert true
  end
end
