packer {
  required_plugins {
    amazon = {
      version = ">= 1.2.8"
      source  = "github.com/hashicorp/amazon"
    }
  }
}

variable "region" {
  type    = string
  default = "eu-west-1"
}

local "stamp" {
  expression = formatdate("YYYYMMDD", timestamp())
}

data "amazon-ami" "base" {
  filters = {
    name = "base-*"
  }
}

source "amazon-ebs" "gauge" {
  ami_name      = "gauge-${local.stamp}"
  instance_type = "t3.micro"
  source_ami    = data.amazon-ami.base.id
}

source "docker" "gauge" { image = "debian:12" }

build {
  name    = "gauge"
  sources = ["source.amazon-ebs.gauge", "source.docker.gauge"]

  source "source.amazon-ebs.gauge" {
    name = "large"
  }

  provisioner "shell" {
    inline = ["apt-get update", "echo 'provisioner \"fake\" {'"]
  }

  provisioner "file"{
    source      = "gauged.service"
    destination = "/etc/systemd/system/gauged.service"
  }

  post-processor "manifest" {}
  post-processors {
    post-processor "docker-tag" { tags = ["latest"] }
  }
}
