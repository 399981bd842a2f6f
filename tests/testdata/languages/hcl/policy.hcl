# What the shop may read.
path "secret/data/shop/*" {
  capabilities = ["read", "list"]
}

path "auth/token/renew-self" { capabilities = ["update"] }

job "web" {
  datacenters = ["dc1"]
  group "frontend" {
    count = 2
    task "server" {
      driver = "docker"
      config {
        image = "shop/web:1.2"
      }
    }
    service "web" {
      port = "http"
    }
  }
}

listener "tcp" {
  address = "127.0.0.1:8200"
}

storage "raft" {
  path = "/var/lib/vault"
}

ui            = true
cluster_addr  = "https://127.0.0.1:8201"
disable_mlock = true
