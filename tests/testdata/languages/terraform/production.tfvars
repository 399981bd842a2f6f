project = "shop"
region  = "eu-central-1"
open_ports = [
  80,
  443,
]
tags = {
  inner = 1
}
