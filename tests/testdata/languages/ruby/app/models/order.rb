class Order < ApplicationRecord
  belongs_to :customer
  has_many :items,
           dependent: :destroy
  has_one_attached :receipt

  enum :status, { open: 0, paid: 1 }
  enum channel: %i[web shop]

  scope :recent, -> { where(created_at: 1.week.ago..) }
  scope :of, ->(customer) do
    where(customer: customer)
  end

  def total
    items.sum(&:price)
  end
end

scope :outside
has_many :nothing
