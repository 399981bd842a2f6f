# The network and the machines of the shop.
terraform {
  required_version = ">= 1.6"
  required_providers {
    aws = {
      source  = "hashicorp/aws"
      version = "~> 5.0"
    }
  }
  backend "s3" {
    bucket = "shop-state"
    key    = "network/terraform.tfstate"
  }
}

provider "aws" {
  region = var.region
  default_tags { tags = local.tags }
}

provider "aws" {
  alias  = "replica"
  region = "eu-west-1"
}

locals {
  name = "${var.project}-${terraform.workspace}"
  tags = {
    project = var.project
    owner   = "platform"
  }
  zones = slice(data.aws_availability_zones.available.names, 0, 3)
  is_production = terraform.workspace == "production"
  public_cidrs  = [for index, zone in local.zones : cidrsubnet(var.cidr, 8, index)]
}

data "aws_availability_zones" "available" {
  state = "available"
}

data "aws_ami" "ubuntu" {
  most_recent = true
  owners      = ["099720109477"]
  filter {
    name   = "name"
    values = ["ubuntu/images/hvm-ssd/ubuntu-*-amd64-server-*"]
  }
}

/* The network. */
module "vpc" {
  source = "./modules/vpc"
  name   = local.name
  cidr   = var.cidr
  zones  = local.zones
}

module "database" {
  source     = "terraform-aws-modules/rds/aws"
  version    = "~> 6.3"
  identifier = "${local.name}-db"
  subnet_ids = module.vpc.private_subnets
  password   = random_password.database.result
}

resource "random_password" "database" {
  length  = 32
  special = false
}

// Lets browsers in.
resource "aws_security_group" "web" {
  name   = "${local.name}-web"
  vpc_id = module.vpc.vpc_id

  dynamic "ingress" {
    for_each = var.open_ports
    content {
      from_port   = ingress.value
      to_port     = ingress.value
      protocol    = "tcp"
      cidr_blocks = ["0.0.0.0/0"]
    }
  }
}

resource "aws_instance" "web" {
  count                  = local.is_production ? 3 : 1
  ami                    = data.aws_ami.ubuntu.id
  instance_type          = var.instance_type
  subnet_id              = element(module.vpc.public_subnets, count.index)
  vpc_security_group_ids = [aws_security_group.web.id]
  user_data              = <<-EOT
    #!/bin/sh
    echo "resource \"aws_instance\" \"hidden\"" > /dev/null
    hostname ${local.name}-${count.index}
  EOT

  lifecycle {
    create_before_destroy = true
    ignore_changes        = [ami]
  }
}

resource "aws_lb_target_group" "web" {
  name     = local.name
  port     = 80
  protocol = "HTTP"
  vpc_id   = module.vpc.vpc_id
}

resource "aws_lb_target_group_attachment" "web" {
  count            = length(aws_instance.web)
  target_group_arn = aws_lb_target_group.web.arn
  target_id        = aws_instance.web[count.index].id
}

resource "null_resource" "empty" {}

moved {
  from = aws_instance.server
  to   = aws_instance.web
}

check "health" {
  assert {
    condition     = length(aws_instance.web) > 0
    error_message = "no machine"
  }
}
