module Broken
  class Before
    def fine(a)
      a + 1
    end

    def unfinished(a,
      a.each do |x
    end

    def after_error
      2
    end
  end

  LIMIT = 3
end
