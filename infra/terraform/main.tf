# The service on Cloud Run with its worker inside, and a nightly pass as a job. Ledger: PostgreSQL. Warehouse: NFS, because
# a commit needs a rename that is atomic, which a mounted bucket does not have.

locals {
  # What service and job share is said once, here; blocks cannot be shared, their values can.
  data = {
    volume = "data"
    folder = "/data"
    server = var.nfs_server
    path   = var.nfs_path
  }
  network = {
    egress     = "PRIVATE_RANGES_ONLY"
    network    = var.network
    subnetwork = var.subnetwork
  }
  environment = merge(var.settings, {
    LAKELOGIC_ENGINE    = "duckdb"
    LAKELOGIC_WAREHOUSE = "${local.data.folder}/warehouse"
    LAKELOGIC_API_HOSTS = var.hosts
  })
  secrets = merge(var.secrets, { LAKELOGIC_LEDGER = var.ledger_secret })
}

resource "google_service_account" "lakelogic" {
  account_id   = var.name
  display_name = "LakeLogic service and worker"
}

resource "google_secret_manager_secret_iam_member" "reads" {
  for_each  = toset(values(local.secrets))
  secret_id = each.value
  role      = "roles/secretmanager.secretAccessor"
  member    = "serviceAccount:${google_service_account.lakelogic.email}"
}

resource "google_cloud_run_v2_service" "service" {
  name                = var.name
  location            = var.region
  deletion_protection = true

  template {
    service_account                  = google_service_account.lakelogic.email
    max_instance_request_concurrency = 80
    timeout                          = "60s"

    scaling {
      min_instance_count = 1
      max_instance_count = 3
    }

    vpc_access {
      egress = local.network.egress
      network_interfaces {
        network    = local.network.network
        subnetwork = local.network.subnetwork
      }
    }

    containers {
      image = var.image
      args  = ["serve", "contracts", "--host", "0.0.0.0", "--workers", "1"]

      ports {
        container_port = 8096
      }

      resources {
        # The worker works while nobody asks for anything.
        cpu_idle = false
        limits = {
          cpu    = "2"
          memory = "2Gi"
        }
      }

      startup_probe {
        tcp_socket {
          port = 8096
        }
        period_seconds    = 2
        failure_threshold = 30
      }

      dynamic "env" {
        for_each = local.environment
        content {
          name  = env.key
          value = env.value
        }
      }

      dynamic "env" {
        for_each = local.secrets
        content {
          name = env.key
          value_source {
            secret_key_ref {
              secret  = env.value
              version = "latest"
            }
          }
        }
      }

      volume_mounts {
        name       = local.data.volume
        mount_path = local.data.folder
      }
    }

    volumes {
      name = local.data.volume
      nfs {
        server = local.data.server
        path   = local.data.path
      }
    }
  }

  depends_on = [google_secret_manager_secret_iam_member.reads]
}

resource "google_cloud_run_v2_service_iam_member" "invokers" {
  for_each = toset(var.invokers)
  name     = google_cloud_run_v2_service.service.name
  location = var.region
  role     = "roles/run.invoker"
  member   = each.value
}

resource "google_cloud_run_v2_job" "pass" {
  name     = "${var.name}-pass"
  location = var.region

  template {
    template {
      service_account = google_service_account.lakelogic.email
      max_retries     = 1
      timeout         = "3600s"

      vpc_access {
        egress = local.network.egress
        network_interfaces {
          network    = local.network.network
          subnetwork = local.network.subnetwork
        }
      }

      containers {
        image = var.image
        args  = ["drive", "--registry", "contracts/_registry.yaml"]

        resources {
          limits = {
            cpu    = "2"
            memory = "4Gi"
          }
        }

        dynamic "env" {
          for_each = local.environment
          content {
            name  = env.key
            value = env.value
          }
        }

        dynamic "env" {
          for_each = local.secrets
          content {
            name = env.key
            value_source {
              secret_key_ref {
                secret  = env.value
                version = "latest"
              }
            }
          }
        }

        volume_mounts {
          name       = local.data.volume
          mount_path = local.data.folder
        }
      }

      volumes {
        name = local.data.volume
        nfs {
          server = local.data.server
          path   = local.data.path
        }
      }
    }
  }

  depends_on = [google_secret_manager_secret_iam_member.reads]
}

resource "google_cloud_run_v2_job_iam_member" "scheduler" {
  name     = google_cloud_run_v2_job.pass.name
  location = var.region
  role     = "roles/run.invoker"
  member   = "serviceAccount:${google_service_account.lakelogic.email}"
}

resource "google_cloud_scheduler_job" "pass" {
  count    = var.schedule == "" ? 0 : 1
  name     = "${var.name}-pass"
  region   = var.region
  schedule = var.schedule

  http_target {
    http_method = "POST"
    uri         = "https://run.googleapis.com/v2/${google_cloud_run_v2_job.pass.id}:run"
    oauth_token {
      service_account_email = google_service_account.lakelogic.email
    }
  }
}
