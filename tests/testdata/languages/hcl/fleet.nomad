# The job of the readers.
variable "datacenters" {
  type    = list(string)
  default = ["north", "south"]
}

variables {
  image_tag = "2.4.1"
}

locals {
  image = "registry.example.org/gauges/reader:${var.image_tag}"
}

job "gauge-reader" {
  datacenters = var.datacenters
  type        = "service"
  priority    = 60

  constraint {
    attribute = "${attr.kernel.name}"
    value     = "linux"
  }

  update {
    max_parallel = 1
    canary       = 1
  }

  parameterized {
    payload       = "required"
    meta_required = ["gauge"]
  }

  group "readers" {
    count = 3

    network {
      mode = "bridge"
      port "http" {
        to = 8080
      }
      port "metrics" { to = 9100 }
    }

    volume "levels" {
      type      = "host"
      source    = "levels"
      read_only = false
    }

    service {
      name = "gauge-reader"
      port = "http"
      check {
        type = "http"
        path = "/health"
      }
      check "second" {
        type = "tcp"
      }
    }

    task "reader" {
      driver = "docker"

      config {
        image = local.image
        args = [
          "--listen", "0.0.0.0:8080",
        ]
      }

      template {
        data = <<EOH
task "hidden" {
  key = "not here"
}
{{ with secret "database/creds/reader" }}
DATABASE_USER={{ .Data.username }}
{{ end }}
EOH
        destination = "secrets/env"
        env         = true
      }

      env {
        GAUGES_URL = "https://gauges.example.org"
        "QUOTED"   = "1"
      }

      resources { cpu = 200 }
    }

    task "sidecar" { // a comment { with a brace
      driver = "exec"
      lifecycle {
        hook    = "prestart"
        sidecar = true
      }
    }
  }

  /* group "commented" {
    count = 1
  } */
  group "replay" {}
}
