variable "project" {
  description = "The Google Cloud project."
  type        = string
}

variable "region" {
  description = "Where the service runs."
  type        = string
  default     = "europe-west1"
}

variable "name" {
  description = "What everything is called."
  type        = string
  default     = "lakelogic"
}

variable "image" {
  description = "The image, by digest or tag, with the estate under /estate (FROM lakelogic, COPY contracts)."
  type        = string
}

variable "ledger_secret" {
  description = "Secret Manager secret that holds the ledger's address: postgresql://user:password@host/database."
  type        = string
}

variable "secrets" {
  description = "Environment variable => Secret Manager secret, for masks and exports: { SNOWFLAKE_PASSWORD = \"snowflake-password\" }."
  type        = map(string)
  default     = {}
}

variable "settings" {
  description = "Environment variable => value, for what is no secret: { SNOWFLAKE_ACCOUNT = \"org-account\" }."
  type        = map(string)
  default     = {}
}

variable "hosts" {
  description = "Names under which the service is called, parted by commas."
  type        = string
}

variable "network" {
  description = "The VPC network that reaches the ledger and the warehouse."
  type        = string
}

variable "subnetwork" {
  description = "A subnetwork of it, in the region."
  type        = string
}

variable "nfs_server" {
  description = "Address of the file server (Filestore) that holds the warehouse."
  type        = string
}

variable "nfs_path" {
  description = "What it shares."
  type        = string
  default     = "/warehouse"
}

variable "schedule" {
  description = "When a pass over the estate begins, as five fields of cron; empty for never."
  type        = string
  default     = "0 3 * * *"
}

variable "invokers" {
  description = "Who may reach the service at all; it asks for a token of its own besides."
  type        = list(string)
  default     = []
}
