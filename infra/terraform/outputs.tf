output "address" {
  description = "Where the service answers."
  value       = google_cloud_run_v2_service.service.uri
}

output "service_account" {
  description = "As whom it runs."
  value       = google_service_account.lakelogic.email
}
