variable "project" {
  type        = string
  description = "Begins the name of everything."
}

# Where everything runs.
variable "region" {
  type    = string
  default = "eu-central-1"
}

variable "cidr" { default = "10.0.0.0/16" }

variable "instance_type" {
  type    = string
  default = "t3.micro"
  validation {
    condition     = can(regex("^t3", var.instance_type))
    error_message = "Only t3."
  }
}

variable "open_ports" {
  type = set(number)
  default = [80, 443]
}

output "address" {
  value       = aws_instance.web[0].public_ip
  description = "Of the first machine."
}

output "vpc_id" { value = module.vpc.vpc_id }

output "database_password" {
  value     = random_password.database.result
  sensitive = true
}
