desc "Removes what nobody paid"
task :clean => :environment do
  Order.unpaid.delete_all
end

namespace :orders do
  desc "Sends reminders"
  task remind: [:environment, :clean] do
    remind_all
  end

  namespace :export do
    task :csv, [:month] => "orders:remind" do |_task, args|
      Export.new(args[:month]).write
    end
  end

  multitask "all"
end

db = namespace :database do
  task(:seed) { load "seed.rb" }
end
