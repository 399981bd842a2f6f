# The network of the research cluster.
terraform {
  required_version = ">= 1.7, < 2.0"

  required_providers {
    google = { source = "hashicorp/google", version = "~> 5.20" }
    random = {
      source                = "hashicorp/random"
      configuration_aliases = [random.seeded]
    }
  }

  cloud {
    organization = "seismology"
    workspaces { tags = ["network"] }
  }
}

provider "google" {
  project = var.project
  region  = local.region
}

provider "google" {
  alias = "edge"
}

locals {
  region = "europe-west4"
  # Subnets by name, each a /20.
  subnets = {
    for index, name in toset(var.subnet_names) :
    name => cidrsubnet(var.range, 4, index)
    if !startswith(name, "_")
  }
  startup = <<-SCRIPT
    #!/bin/bash
    resource "not_a" "resource" {}
    echo "${join(",", [for s in local.subnets : s])}"
  SCRIPT
  is_prod = terraform.workspace == "prod" ? true : false
}

variable "subnet_names" {
  type        = list(string)
  description = "Names of subnets; variable \"x\" {} is not one."
  default     = ["compute", "storage"]
  nullable    = false
  validation {
    condition     = length(var.subnet_names) <= 16
    error_message = "At most 16 subnets fit."
  }
}

variable "peering" {
  type = object({
    network = string
    routes  = optional(map(object({ cidr = string, priority = optional(number, 100) })), {})
  })
  default = null
}
variable "range" {}

data "google_compute_image" "debian" {
  family  = "debian-12"
  project = "debian-cloud"
}

resource "google_compute_network" "this" {
  name                    = "seismo-${terraform.workspace}"
  auto_create_subnetworks = false
}

/* One subnet a name. */
resource "google_compute_subnetwork" "this" {
  for_each      = local.subnets
  name          = each.key
  ip_cidr_range = each.value
  network       = google_compute_network.this.id

  dynamic "secondary_ip_range" {
    for_each = var.peering == null ? {} : var.peering.routes
    iterator = route
    content {
      range_name    = route.key
      ip_cidr_range = route.value.cidr
    }
  }

  lifecycle {
    prevent_destroy = true
    ignore_changes  = [secondary_ip_range]
    precondition {
      condition     = can(cidrhost(each.value, 1))
      error_message = "No range."
    }
  }

  provisioner "local-exec" {
    command = "echo ${self.name} >> subnets.txt"
  }
}

resource google_compute_router nat { network = google_compute_network.this.name }

module "firewall" {
  source    = "../modules/firewall"
  version   = "3.1.0"
  providers = { google = google.edge }
  for_each  = toset(["internal", "ssh"])
  network   = google_compute_network.this.self_link
  rules     = templatefile("${path.module}/rules/${each.key}.json.tftpl", { range = var.range })
}

module "bastion" {
  count  = local.is_prod ? 0 : 1
  source = "git::https://example.com/modules.git//bastion?ref=v2"
}

moved {
  from = google_compute_network.main
  to   = google_compute_network.this
}

import {
  to = google_compute_router.nat
  id = "projects/seismo/regions/europe-west4/routers/nat"
}

removed {
  from = google_dns_managed_zone.old
  lifecycle { destroy = false }
}

check "reachable" {
  data "http" "gateway" { url = "https://gateway.example.com/health" }
  assert {
    condition     = data.http.gateway.status_code == 200
    error_message = "The gateway does not answer."
  }
}

ephemeral "random_password" "psk" { length = 32 }

output "subnet_ids" {
  description = "Ids by name."
  value       = { for name, subnet in google_compute_subnetwork.this : name => subnet.id }
  sensitive   = false
  depends_on  = [module.firewall]
}
output "psk" { value = ephemeral.random_password.psk.result }
