include "root" {
  path = find_in_parent_folders()
}

include {
  path = "old form"
}

terraform {
  source = "git::https://example.org/modules.git//vpc?ref=v1.2"
  extra_arguments "retry" {
    commands = get_terraform_commands_that_need_locking()
  }
  before_hook "format" {
    execute = ["tofu", "fmt"]
  }
}

dependency "network" {
  config_path = "../network"
  mock_outputs = {
    vpc_id = "vpc-mock"
  }
}

generate "provider" {
  path     = "provider.tf"
  contents = <<-EOF2
    provider "aws" {
      region = "eu-west-1"
    }
  EOF2
}

inputs = {
  vpc_id = dependency.network.outputs.vpc_id
  gauges = { for g in ["havel", "spree"] : g => upper(g) }
}

feature   =   true
equal == no
target "image" { dockerfile = "Dockerfile" }
group "default" { targets = ["image"] }
function "tag" {
  params = [name]
  result = "gauges/${name}"
}
service bare label {
  x = 1
}
